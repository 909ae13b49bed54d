"""Figures: one colour and one mark for each method, everywhere."""

from __future__ import annotations

from typing import IO, Any

from crlm.errors import MissingExtraError

# Okabe and Ito's colours for those that matter most; what fills up is greyed or brown.
STYLES: dict[str, tuple[str, str, str]] = {
    "CRLM": ("#d55e00", "o", "-"),
    "CRLM()": ("#e69f00", "D", "-"),
    "CRLM, best sigma_max": ("#8c2d04", "P", "-"),
    "Supervised": ("#000000", "", "--"),
    "k-means": ("#0072b2", "s", "-"),
    "DBSCAN": ("#009e73", "^", "-"),
    "CL": ("#56b4e9", "v", "-"),
    "EM": ("#999999", "x", "-"),
    "EM-GMMUB": ("#cc79a7", "*", "-"),
    "SC": ("#b8a800", "<", "-"),
    "TD": ("#7a5195", ">", "-"),
    "t-SNE": ("#8c564b", "h", "-"),
    "KNNCLUST": ("#1f4e2e", "p", "-"),
    "HDBSCAN": ("#4d4d4d", "+", ":"),
    "OPTICS": ("#a6761d", "1", ":"),
}
ORDER = list(STYLES)
KIND_COLORS = {"printed": "#999999", "corrected": "#0072b2", "sharp": "#009e73"}
EXPERIMENT = "#f0c9a8"


def style(method: str) -> dict[str, Any]:
    """Keyword arguments of `plot` for a method."""
    color, marker, line = STYLES[method]
    above = method.startswith("CRLM")
    return {
        "color": color,
        "marker": marker,
        "linestyle": line,
        "label": method,
        "markersize": 7 if above else 5,
        "linewidth": 2.2 if above or method == "Supervised" else 1.2,
        "zorder": 6 if method == "Supervised" else 5 if above else 3,
        "fillstyle": "none" if method == "CRLM" else "full",
    }


def in_order(methods: list[str]) -> list[str]:
    """Methods as every legend and table lists them."""
    return sorted(methods, key=ORDER.index)


def new_figure(rows: int = 1, cols: int = 1, *, width: float = 4.2, height: float = 3.4) -> Any:
    """Figure and its axes, an array of shape (rows, cols); no window is opened."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError("reproduce", package="matplotlib", extra="plot") from error
    figure = Figure(figsize=(width * cols, height * rows), layout="constrained")
    return figure, figure.subplots(rows, cols, squeeze=False)


def save(figure: Any, file: IO[bytes], suffix: str) -> None:
    """Write a figure; ticks of logarithmic axes are 2 and 30 rather than 2 x 10^0 and 3 x 10^1."""
    from matplotlib import rc_context

    with rc_context({"axes.formatter.min_exponent": 4}):
        figure.savefig(file, format=suffix, dpi=130)


def common_legend(figure: Any, axes: Any, *, columns: int = 6) -> None:
    """One legend below all panels, each name once."""
    handles: dict[str, Any] = {}
    for ax in axes.ravel():
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    names = sorted(handles, key=lambda name: ORDER.index(name) if name in ORDER else -1)
    figure.legend(
        [handles[name] for name in names],
        names,
        loc="outside lower center",
        ncols=columns,
        fontsize="small",
        frameon=False,
    )
