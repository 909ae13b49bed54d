"""All methods on one data set, each at its best setting, for the tables."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from crlm.baselines import (
    DBSCAN,
    EM,
    EMGMMUB,
    HDBSCAN,
    KNNCLUST,
    OPTICS,
    TSNE,
    Auto,
    CompleteLinkage,
    KMeans,
    Method,
    Spectral,
    TensorDecomposition,
)
from crlm.baselines.common import Floats, Labels
from crlm.reproduce.best import best, both_scores
from crlm.reproduce.drawing import in_order
from crlm.reproduce.study import Row, Table, distinct, mean, percent, select
from crlm.scores import f_measure, matched_accuracy

KINDS: tuple[type[Method], ...] = (
    Auto,
    KMeans,
    DBSCAN,
    CompleteLinkage,
    EM,
    EMGMMUB,
    Spectral,
    TensorDecomposition,
    TSNE,
    KNNCLUST,
    HDBSCAN,
    OPTICS,
)
BY_NAME = {kind.name: kind for kind in KINDS}
SCORES = {"F": f_measure, "accuracy": matched_accuracy}


def evaluate(method: Method, X: Floats, y: Labels, k: int, by: str = "F") -> Row:
    """Both scores of a method at the setting that is best `by` one of them; that of the usual."""
    score = SCORES[by]
    found = best(method, X, k, lambda trial: score(y, trial.labels))
    F, accuracy = both_scores(y, found.trial)
    return {"method": method.name, "F": F, "accuracy": accuracy, "setting": found.setting,
            "usual": found.usual}  # fmt: skip


def average(rows: list[Row], method: str, key: str) -> float:
    """Mean score of a method."""
    return mean(select(rows, method=method), key)


def first(rows: list[Row], key: str, ours: Sequence[str]) -> tuple[str, float]:
    """Best competitor, ours left out, and its mean score; nobody and NaN if none was run."""
    rivals = [method for method in distinct(rows, "method") if method not in ours]
    means = {method: average(rows, method, key) for method in rivals}
    known = {method: value for method, value in means.items() if np.isfinite(value)}
    return max(known.items(), key=lambda item: item[1], default=("nobody", float("nan")))


def score_table(
    title: str, rows: list[Row], printed: dict[str, dict[str, float]], keys: Sequence[str]
) -> Table:
    """Methods with their mean scores beside those that the paper prints, in percent.

    The first of the keys is that by which settings were chosen, and its value at the usual ones
    stands last.
    """
    head = ["method"]
    for key in keys:
        head += [f"{key} here", f"{key} printed"]
    lines = []
    for method in in_order(distinct(rows, "method")):
        line = [method]
        for key in keys:
            value = printed.get(method, {}).get(key, float("nan")) / 100.0
            line += [percent(average(rows, method, key)), percent(value)]
        part = select(rows, method=method)
        usual = percent(mean(part, "usual"))
        lines.append([*line, usual, str(len(part)), distinct(part, "setting")[0]])
    head += [f"{keys[0]} at the usual setting", "draws", "best setting (of the first draw)"]
    return Table(title, head, lines)
