"""``crlm demo``: see it work once, from nothing to a picture."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from crlm.cli.clusters import summary
from crlm.cli.common import FilePath, check_outputs, debug_option, free_name, say
from crlm.cli.sample import SampleOptions, draw
from crlm.errors import MissingExtraError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from crlm import CRLM

PICTURE = Path("crlm-demo.png")
FORMATS = (".png", ".pdf", ".svg")

EPILOG = """\b
Examples:
  crlm demo
  crlm demo --seed 7 --out seven.png
"""


@click.command(epilog=EPILOG)
@click.option(
    "--out",
    type=FilePath(),
    help=f"Where to draw the picture: .png, .pdf or .svg.  [default: {PICTURE}, "
    "which is replaced if it exists]",
)
@click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, help="Another seed, other data."
)
@click.option(
    "--force",
    is_flag=True,
    help=f"Replace the file named with --out if it exists; {PICTURE} is replaced without.",
)
@debug_option
def demo(out: Path | None, seed: int, force: bool) -> int:
    """Draw toy data, find its clusters without any parameter, and show how well it went.

    6,000 points in 64 dimensions; 95 % are background, the rest are three clusters of
    different spread. The picture needs matplotlib: pip install 'crlm[plot]'
    """
    # The default name is ours to replace; a name the user chose is not.
    check_outputs([out or PICTURE], force or out is None, formats=FORMATS)

    from crlm import CRLM, scores

    X, truth = draw(SampleOptions(seed=seed))
    model = CRLM().fit(X)
    n, d = X.shape
    say(f"toy data  {n:,} × {d}: 3 clusters (σ 1, 3, 5) in uniform background")
    for line in summary(model):
        say(line)
    say(f"F-measure against the truth  {scores.f_measure(truth, model.labels_):.3f}")
    draw_picture(model, X, out or PICTURE)
    toy, labels = free_name("toy.npy"), free_name("labels.csv")
    say(f"Next:  crlm sample {toy} && crlm fit {toy} -o {labels}", err=True)
    return 0


def draw_picture(model: CRLM, X: NDArray[Any], out: Path) -> None:
    """Write the picture and print where it is; without matplotlib, say how to get it."""
    from crlm.tables import replacing

    try:
        figure = picture(model, X)
    except MissingExtraError as error:
        say(f"note: no picture: {error}", err=True)
        return
    with replacing(out) as file:
        figure.savefig(file, format=out.suffix.lower().removeprefix("."))
    say(f"picture  {out.absolute()}")


def picture(model: CRLM, X: NDArray[Any]) -> Any:
    """Figure with the histogram behind sigma_max on the left and the clusters on the right."""
    try:
        from matplotlib.figure import Figure  # not pyplot: no window, no global state
    except ImportError as error:
        raise MissingExtraError("the picture", package="matplotlib", extra="plot") from error
    from crlm.display import ClusterMapDisplay, SigmaHistogramDisplay

    figure = Figure(figsize=(12, 5), layout="constrained")
    left, right = figure.subplots(1, 2)
    SigmaHistogramDisplay.from_estimator(model, ax=left)
    ClusterMapDisplay.from_estimator(model, X, ax=right)
    return figure
