"""What the displays share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crlm.data_checks import check_points, check_table
from crlm.errors import InputError, MissingExtraError

if TYPE_CHECKING:
    from crlm.estimator import CRLM
    from crlm.search import Floats

INK = "#333333"


def axes(caller: str, ax: Any, **figure: Any) -> Any:
    """The axes given, or those of a new figure."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise MissingExtraError(caller, package="matplotlib", extra="plot") from error
    return plt.subplots(**figure)[1] if ax is None else ax


def quiet(ax: Any) -> None:
    """Leave out the lines around a picture that say nothing."""
    ax.spines[["top", "right"]].set_visible(False)


def log_axis(ax: Any) -> None:
    """Make x logarithmic, with plain numbers at 1, 2, 5, 10, 20 ..."""
    from matplotlib.ticker import LogLocator, NullFormatter

    ax.set_xscale("log")
    ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    ax.xaxis.set_major_formatter("{x:g}")
    ax.xaxis.set_minor_formatter(NullFormatter())


def points_of_fit(model: CRLM, X: Any) -> Floats:
    """Data of a fitted model as its distances were measured, once they can be its data."""
    points = check_points(check_table(X), model._metric)
    if points.shape != (len(model.labels_), model.n_features_in_):
        msg = (
            f"X is {points.shape[0]:,} x {points.shape[1]:,}, the model was fitted on "
            f"{len(model.labels_):,} x {model.n_features_in_:,}. Pass the data of fit."
        )
        raise InputError(msg)
    return points
