"""``crlm demo``: see it work once, from nothing to a picture."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from crlm.cli.clusters import summary
from crlm.cli.common import FilePath, check_outputs, free_name, remark, say
from crlm.cli.sample import SampleOptions, draw
from crlm.errors import MissingExtraError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from crlm import CRLM
    from crlm.faces import Faces

PICTURES = {"toy": Path("crlm-demo.png"), "faces": Path("crlm-demo-faces.png")}
FORMATS = (".png", ".pdf", ".svg")
COLUMNS = 12  # of the gallery

EPILOG = """\b
Examples:
  crlm demo
  crlm demo --seed 7 --out seven.png
  crlm demo faces
"""


@click.command(epilog=EPILOG)
@click.argument("which", type=click.Choice(list(PICTURES)), default="toy")
@click.option(
    "--out",
    type=FilePath(),
    help=f"Where to draw the picture: .png, .pdf or .svg; the faces go to {PICTURES['faces']}.  "
    f"[default: {PICTURES['toy']}, which is replaced if it exists]",
)
@click.option(
    "--seed",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    help="Another seed, other toy data; the faces are always the same.",
)
@click.option(
    "--force",
    is_flag=True,
    help=f"Replace the file named with --out if it exists; {PICTURES['toy']} is replaced without.",
)
def demo(which: str, out: Path | None, seed: int, force: bool) -> int:
    """Find clusters without any parameter, and show how well it went.

    toy (the default) draws 6,000 points in 64 dimensions; 95 % are background, the rest are three
    clusters of different spread. faces takes the 100 faces and 100 other patches that come with
    scikit-image, described by HOG, finds the faces, and writes a report of them beside the
    picture: pip install 'crlm[images]'

    The picture needs matplotlib: pip install 'crlm[plot]'
    """
    picture = out or PICTURES[which]
    # The default name is ours to replace; a name the user chose is not.
    check_outputs([picture], force or out is None, formats=FORMATS)
    if which == "toy":
        return show_toy(picture, seed)
    check_outputs([picture.with_suffix(".html")], force or out is None, formats=(".html",))
    return show_faces(picture)


def show_toy(out: Path, seed: int) -> int:
    """Three Gaussians in a uniform background."""
    from crlm import CRLM, scores

    X, truth = draw(SampleOptions(seed=seed))
    model = CRLM().fit(X)
    n, d = X.shape
    say(f"toy data  {n:,} × {d}: 3 clusters (σ 1, 3, 5) in uniform background")
    for line in summary(model):
        say(line)
    say(f"F-measure against the truth  {scores.f_measure(truth, model.labels_):.3f}")
    write_picture(lambda: picture(model, X), out)
    toy, labels = free_name("toy.npy"), free_name("labels.csv")
    remark(f"Next:  crlm sample {toy} && crlm fit {toy} -o {labels}")
    return 0


def show_faces(out: Path) -> int:
    """Real faces among pieces of other pictures."""
    from crlm import CRLM, scores
    from crlm.faces import load_faces

    faces = load_faces()
    model = CRLM().fit(faces.X)
    n, d = faces.X.shape
    say(f"LFW patches  {n:,} × {d} HOG features: 100 faces, 100 other pieces of pictures")
    for line in summary(model):
        say(line)
    for line in against_truth(faces, model):
        say(line)
    say(f"F-measure against the truth  {scores.f_measure(faces.y, model.labels_):.3f}")
    write_picture(lambda: gallery(model, faces), out)
    report = model.report(
        out.with_suffix(".html"),
        faces.X,
        images=faces.images,
        y=["face" if label >= 0 else "background" for label in faces.y],
        title="100 faces among 200 patches (LFW, scikit-image)",
        force=True,
    )
    say(f"report   {report.absolute()}")
    remark("Next:  open the report in a browser, or drag the bandwidth: crlm explore --demo faces")
    remark("       crlm embed FOLDER && crlm fit FOLDER.npz    (pictures of your own)")
    return 0


def against_truth(faces: Faces, model: CRLM) -> list[str]:
    """How many faces each cluster holds, and how many are in none."""
    face = faces.y >= 0
    lines = [
        f"cluster {j}  {int(face[members].sum())} faces, {int((~face[members]).sum())} others"
        for j in range(model.n_clusters_)
        for members in [model.labels_ == j]
    ]
    return [*lines, f"background  {int(face[model.labels_ < 0].sum())} faces"]


def write_picture(make: Any, out: Path) -> None:
    """Write the picture and print where it is; without matplotlib, say how to get it."""
    from crlm.tables import replacing

    try:
        figure = make()
    except MissingExtraError as error:
        remark(f"note: no picture: {error}")
        return
    with replacing(out) as file:
        figure.savefig(file, format=out.suffix.lower().removeprefix("."))
    say(f"picture  {out.absolute()}")


def new_figure(width: float, height: float) -> Any:
    """Empty figure, or a sentence about how to get matplotlib."""
    try:
        from matplotlib.figure import Figure  # not pyplot: no window, no global state
    except ImportError as error:
        raise MissingExtraError("the picture", package="matplotlib", extra="plot") from error
    return Figure(figsize=(width, height), layout="constrained")


def picture(model: CRLM, X: NDArray[Any]) -> Any:
    """Figure with the histogram behind sigma_max on the left and the clusters on the right."""
    figure = new_figure(12, 5)
    from crlm.display import ClusterMapDisplay, SigmaHistogramDisplay

    left, right = figure.subplots(1, 2)
    SigmaHistogramDisplay.from_estimator(model, ax=left)
    ClusterMapDisplay.from_estimator(model, X, ax=right)
    return figure


def gallery(model: CRLM, faces: Faces) -> Any:
    """Figure with the largest cluster: middle, edge and nearly in; mistakes are framed."""
    figure = new_figure(10, 7.6)
    from crlm.display import GalleryDisplay

    ax = figure.subplots()
    if model.n_clusters_ == 0:
        ax.set_title("no cluster found")
        return figure
    largest = int(model.cluster_sizes_.argmax())
    wrong = {int(i) for i in ((model.labels_ == largest) != (faces.y >= 0)).nonzero()[0]}
    GalleryDisplay.from_estimator(
        model, faces.X, faces.images, cluster=largest, limit=2 * COLUMNS, marked=wrong, ax=ax
    )
    which = "one cluster" if model.n_clusters_ == 1 else f"largest of {model.n_clusters_} clusters"
    ax.set_title(
        f"{which}, found without parameters: {model.cluster_sizes_[largest]} of {len(faces.y)} "
        "patches; framed: not as in the truth"
    )
    return figure
