"""``crlm embed``: pictures in, vectors out."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from crlm.cli.common import (
    FilePath,
    check_outputs,
    comma_floats,
    count,
    debug_option,
    say,
    say_json,
)
from crlm.cli.models import model_path_beside
from crlm.cli.progress import progress_bar

if TYPE_CHECKING:
    from crlm.describe import Described, Descriptor

NETWORK_ONLY = ("layer", "mean", "std", "white", "fit", "batch")
MAX_NAMED = 10

EPILOG = """\b
Examples:
  crlm embed photos
  crlm embed photos --method pixels --components 100 -o photos.npz
  crlm embed photos --model mobilenet.onnx --layer features
  crlm embed list.txt --model vgg16.onnx --layer fc7 --size 224 -o faces.npz
  crlm embed new --like photos.npz
  crlm fit photos.npz

\b
Exit codes:
  0 done, also when some images could not be read (they are named)
  2 wrong usage   3 no image can be read   5 disk full   130 interrupted   143 terminated
"""


@click.command(epilog=EPILOG)
@click.argument("source", type=FilePath(), metavar="FOLDER|LIST")
@click.option(
    "-o",
    "--output",
    type=FilePath(),
    help="File of vectors, .npz.  [default: the name of FOLDER or LIST with .npz]",
)
@click.option(
    "--method",
    type=click.Choice(["hog", "pixels"]),
    help="Without a network: hog sees outlines, pixels shades (resized, then principal "
    "components). Neither sees what is meant.  [default: hog]",
)
@click.option(
    "--like",
    type=FilePath(),
    metavar="FILE.npz",
    help="Describe as in this file of vectors, so that both can be compared; a network must be "
    "named again with --model.",
)
@click.option("--model", type=FilePath(), help="A network that you have, as an ONNX file.")
@click.option(
    "--layer",
    metavar="NAME",
    help="Network: value to take as vector; maps are averaged.  [default: its first output]",
)
@click.option(
    "--size",
    type=click.IntRange(1),
    help="Pixels of the square that a picture is brought to.  [default: 64 for hog, 32 for "
    "pixels, and what a network says, or 224]",
)
@click.option(
    "--components",
    type=click.IntRange(1),
    help="Pixels: principal components.  [default: 64]",
)
@click.option(
    "--mean",
    type=comma_floats,
    metavar="R,G,B",
    help="Network: taken from each colour.  [default: that of ImageNet, 0.485,0.456,0.406]",
)
@click.option(
    "--std",
    type=comma_floats,
    metavar="R,G,B",
    help="Network: what each colour is divided by.  [default: 0.229,0.224,0.225]",
)
@click.option(
    "--white", type=float, help="Network: value of a white pixel before that.  [default: 1]"
)
@click.option(
    "--fit",
    type=click.Choice(["crop", "stretch"]),
    help="Network: take the square in the middle, or squeeze the whole picture into it.  "
    "[default: crop]",
)
@click.option("--batch", type=click.IntRange(1), help="Network: pictures at once.  [default: 16]")
@click.option("--threads", type=click.IntRange(1), help="Threads of a network.  [default: all]")
@click.option(
    "--resume/--no-resume",
    default=True,
    help="Go on where the same command was stopped.  [default: resume]",
)
@click.option("--force", is_flag=True, help="Replace a file that exists.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("-q", "--quiet", is_flag=True, help="Print only warnings and errors.")
@click.option("--progress/--no-progress", default=True, help="Draw a bar if stderr is a terminal.")
@debug_option
def embed(source: Path, output: Path | None, force: bool, **flags: Any) -> int:
    """Describe the pictures of a FOLDER, or those named in a LIST, by vectors.

    LIST is a text file with a path a line. The file that is written holds the vectors X and the
    paths; crlm fit reads it and keeps the paths. Pictures that cannot be read are named and left
    out. Nothing leaves this machine.
    """
    out = output or default_output(source)
    check_outputs([out], force, source=source, formats=(".npz",))

    from crlm.embed import embed as embed_pictures
    from crlm.embed import pictures_of, unfinished_name

    pictures = pictures_of(source)
    descriptor = chosen(flags) if flags["like"] is None else alike(flags)
    bar = progress_bar(flags["progress"] and not flags["quiet"], "Images")
    try:
        with bar as progress:
            described = embed_pictures(
                pictures, out, descriptor, resume=flags["resume"], progress=progress
            )
    except (KeyboardInterrupt, SystemExit):
        say(f"What is done is in {unfinished_name(out)}; the same command goes on.", err=True)
        raise
    tell(described, descriptor, len(pictures), out, flags)
    return 0


def default_output(source: Path) -> Path:
    """File beside the folder or list.

    >>> default_output(Path("photos/")).as_posix(), default_output(Path("a/list.txt")).as_posix()
    ('photos.npz', 'a/list.npz')
    """
    if source.name in ("", ".."):
        source = source.resolve()
    name = source.stem if source.is_file() or source.suffix == ".txt" else source.name
    return source.with_name(f"{name}.npz")


def chosen(flags: dict[str, Any]) -> Descriptor:
    """Descriptor that the flags ask for."""
    given = [name for name in NETWORK_ONLY if flags[name] is not None]
    if flags["model"] is None and given:
        msg = f"--{given[0]} is about a network. Name one with --model."
        raise click.UsageError(msg)
    if flags["model"] is not None and flags["method"] is not None:
        msg = f"--model and --method {flags['method']} do not go together. Choose one."
        raise click.UsageError(msg)
    if flags["components"] is not None and flags["method"] != "pixels":
        msg = "--components is about --method pixels."
        raise click.UsageError(msg)
    return network(flags) if flags["model"] is not None else basic(flags)


def alike(flags: dict[str, Any]) -> Descriptor:
    """Descriptor of an earlier file of vectors."""
    given = [name for name in (*NETWORK_ONLY, "method", "size", "components") if flags[name]]
    if given:
        msg = f"--like and --{given[0]} do not go together: the settings are those of the file."
        raise click.UsageError(msg)
    from crlm.embed import descriptor_like

    return descriptor_like(flags["like"], model=flags["model"], threads=flags["threads"])


def basic(flags: dict[str, Any]) -> Descriptor:
    """Descriptor without a network."""
    from crlm.describe import Hog, Pixels

    size = {} if flags["size"] is None else {"size": flags["size"]}
    if flags["method"] != "pixels":
        return Hog(**size)
    if flags["components"] is not None:
        size["components"] = flags["components"]
    return Pixels(**size)


def network(flags: dict[str, Any]) -> Descriptor:
    """Descriptor of the user."""
    from crlm.network import Network

    options = {name: flags[name] for name in ("white", "fit", "batch") if flags[name] is not None}
    for name in ("mean", "std"):
        if flags[name] is not None:
            options[name] = tuple(flags[name])
    model, layer, size = flags["model"], flags["layer"], flags["size"]
    return Network(model, layer, size=size, threads=flags["threads"], **options)


def tell(
    described: Described, descriptor: Descriptor, total: int, out: Path, flags: dict[str, Any]
) -> None:
    """Name what was left out, and say what was written."""
    for sentence in described.failures[:MAX_NAMED]:
        say(f"warning: left out: {sentence}", err=True)
    more = len(described.failures) - MAX_NAMED
    if more > 0:
        say(f"warning: left out: {more:,} more (all of them: --json)", err=True)
    n, d = described.X.shape
    if flags["as_json"]:
        facts = {"file": str(out), "n": n, "d": d, "images": total}
        failures = {"failures": described.failures}
        say_json({"schema": "crlm.embed/1", **facts, **descriptor.settings, **failures})
    elif not flags["quiet"]:
        say(f"{out}  {n:,} × {d:,} float32, {count(total - n, 'image')} left out")
        say(f"described by {descriptor.words}")
        say(f"Next:  {shlex.join(['crlm', *next_line(out, flags['like'])])}", err=True)


def next_line(out: Path, like: Path | None) -> list[str]:
    """Command for the vectors: to look for clusters, or in those found among the ones before."""
    model = None if like is None else model_path_beside(like)
    if model is None or not model.exists():
        return ["fit", str(out)]
    return ["predict", str(model), str(out)]
