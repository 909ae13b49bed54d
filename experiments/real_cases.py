"""Cases of real data for `selection.py real`: few classes among much else.

    python experiments/real_cases.py CASES --data FOLDER      # FOLDER as for `crlm reproduce`
    python experiments/selection.py real --cases CASES

    python experiments/real_cases.py CASES --near-copies [ROWS.npz ...]

Writes npz files of X and y (-1 for background) to the folder CASES, always the same ones. Digits,
iris, wine and breast cancer come with scikit-learn, faces of LFW with scikit-image; faces among
ImageNet and shapes are read from FOLDER (without it they are left out). With --near-copies these
are groups of rows that are nearly one of the others, among digits and the X of each npz file.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from sklearn import datasets

from crlm.faces import load_faces as load_lfw
from crlm.reproduce.data import (
    load_faces,
    load_kimia216,
    load_kimia1070,
    principal_components,
    resized,
)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("cases", type=Path, help="folder to write to")
    parser.add_argument("--data", type=Path, help="folder with faces and shapes")
    parser.add_argument("--near-copies", type=Path, nargs="*", metavar="ROWS")
    options = parser.parse_args()
    options.cases.mkdir(parents=True, exist_ok=True)
    families = [digits, tables, lfw]
    if options.data:
        families += [lambda: faces(options.data), lambda: shapes(options.data)]
        families += [lambda: kimia(options.data)]
    if options.near_copies is not None:
        families = [lambda: near_copies(options.near_copies)]
    for family in families:
        for name, X, y in family():
            # In an order of their own, so that nothing depends on which class comes first.
            order = np.random.default_rng(len(name)).permutation(len(X))
            np.savez(options.cases / f"{name}.npz", X=X[order], y=y[order])
    print(f"{len(list(options.cases.glob('*.npz')))} cases in {options.cases}")


def near_copies(files):
    """One to three groups of 8 to 80 rows, each a row and noise, among up to 7,000 others."""
    sources = {"digits": datasets.load_digits().data}
    for file in files:
        with np.load(file) as arrays:
            sources[file.stem] = arrays["X"].astype(np.float64)
    for name, X in sources.items():
        for j in range(8):
            rng = np.random.default_rng([len(name), j])
            rows = X[rng.permutation(len(X))[:7000]]
            sizes = np.exp(rng.uniform(np.log(8), np.log(80), rng.integers(1, 4))).astype(int)
            groups = [
                rng.choice(rows)
                + rng.uniform(0.1, 0.5) * X.std(axis=0) * rng.normal(size=(m, X.shape[1]))
                for m in sizes
            ]
            y = np.repeat(np.arange(-1, len(sizes)), [len(rows), *sizes])
            yield f"near copies, {name}__{j}", np.vstack([rows, *groups]), y


def digits():
    """Sixty of one digit, fifteen of each other."""
    X, digit = datasets.load_digits(return_X_y=True)
    for j in range(10):
        rng = np.random.default_rng(j)
        rows = [pick(rng, digit == i, 60 if i == j else 15) for i in range(10)]
        rows = np.concatenate(rows)
        yield f"digits__{j}", X[rows], np.where(digit[rows] == j, 0, -1)


def tables():
    """One class of up to forty rows among a hundred of the others, columns of one spread."""
    loads = {
        "iris": datasets.load_iris,
        "wine": datasets.load_wine,
        "breast": datasets.load_breast_cancer,
    }
    for name, load in loads.items():
        X, label = load(return_X_y=True)
        for j in range(label.max() + 1):
            rng = np.random.default_rng(j)
            rows = np.concatenate([pick(rng, label == j, 40), pick(rng, label != j, 100)])
            part = X[rows]
            yield f"{name}__{j}", (part - part.mean(0)) / part.std(0), target(rows, label == j)


def lfw():
    """All faces, and thirty at a time, among the hundred pieces of background; HOG."""
    X, y, _ = load_lfw()
    yield "lfw__100", X, y
    for seed in range(5):
        rng = np.random.default_rng(seed)
        rows = np.concatenate([pick(rng, y == 0, 30), np.flatnonzero(y < 0)])
        yield f"lfw__30_{seed}", X[rows], y[rows]


def faces(source):
    """Thirty portraits among up to 970 pictures, one of each ImageNet class."""
    X, is_face = load_faces(source)
    for n in (100, 200, 500, 1000):
        for seed in range(3):
            rng = np.random.default_rng(seed)
            rows = [pick(rng, is_face == 1, 30), pick(rng, is_face == 0, n - 30)]
            rows = np.concatenate(rows)
            raw, y = X[rows], target(rows, is_face == 1)
            yield f"faces raw__{n}_{seed}", raw, y
            yield f"faces normalised__{n}_{seed}", normalised(raw), y
            yield f"faces centred__{n}_{seed}", normalised(raw - raw.mean(axis=0)), y


def shapes(source):
    """Ten of each of the six positive classes among one of each other class."""
    found = load_kimia1070(source)
    X, label = resized(found.images, 64), found.labels
    positive = np.unique(label[found.is_positive])
    targets = np.concatenate([np.flatnonzero(label == j)[:10] for j in positive])
    for seed in range(6):
        rng = np.random.default_rng(seed)
        others = [pick(rng, label == j, 1) for j in np.unique(label) if j not in positive]
        rows = np.concatenate([targets, *others])
        y = np.append(np.repeat(np.arange(6), 10), np.full(len(others), -1))
        yield f"1070 shapes__{seed}", principal_components(X[rows], len(rows) - 1), y


def kimia(source):
    """Three to six classes of twelve among two of each other."""
    found = load_kimia216(source)
    X, label = resized(found.images, 64), found.labels
    for seed in range(8):
        rng = np.random.default_rng(seed)
        chosen = rng.choice(18, 3 + seed % 4, replace=False)
        rows = [pick(rng, label == j, 12 if j in chosen else 2) for j in range(18)]
        rows = np.concatenate(rows)
        y = np.full(len(rows), -1)
        for i, j in enumerate(chosen):
            y[label[rows] == j] = i
        yield f"216 shapes__{seed}", X[rows], y


def pick(rng, where, size):
    rows = np.flatnonzero(where)
    return rng.choice(rows, min(size, len(rows)), replace=False)


def target(rows, is_target):
    return np.where(is_target[rows], 0, -1)


def normalised(X):
    return X / np.linalg.norm(X, axis=1, keepdims=True)


if __name__ == "__main__":
    main()
