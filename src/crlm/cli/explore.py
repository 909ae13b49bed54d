"""``crlm explore``: a page on this machine to drag sigma_max and look."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from crlm.cli.common import (
    FilePath,
    Session,
    alpha_option,
    bandwidth,
    debug_option,
    remark,
    say,
    without_option,
)
from crlm.cli.reading import ROW_FLAGS, TABLE_FLAGS, read_rows, rows_options

if TYPE_CHECKING:
    from crlm.explorer.session import Session as Exploration

EPILOG = """\b
Examples:
  crlm explore --demo faces
  crlm explore embeddings.npy
  crlm explore faces.crlm.npz --no-browser --port 6006

\b
Keys in the page:
  arrows, Page Up and Down, Home, End   move sigma_max, when its marker has the focus
  1-9 cluster   g gallery   / find a row   Ctrl+Z undo   Esc clear   ? help

Nothing leaves this machine: the server listens on 127.0.0.1 and asks for its token.
"""
LOOPBACK = "127.0.0.1"


@click.command(epilog=EPILOG)
@click.argument("data", type=FilePath(), required=False)
@click.option("--demo", type=click.Choice(["toy", "faces"]), help="Explore an example instead.")
@click.option(
    "-s",
    "--sigma-max",
    type=bandwidth,
    metavar="auto|histogram|FLOAT",
    default="auto",
    show_default=True,
    help="Bandwidth to start with; a model starts with its own.",
)
@click.option(
    "-m",
    "--min-cluster-size",
    type=int,
    default=2,
    show_default=True,
    help="Fewest rows that make a cluster.",
)
@alpha_option
@rows_options
@click.option("--memory", metavar="SIZE", default="auto", show_default=True, help="Most to use.")
@click.option("--threads", type=int, help="Threads to use.  [default: every core]")
@click.option(
    "--host",
    default=None,
    metavar="ADDRESS",
    help="Listen on this address, to be reached from other machines; they need the token, too.  "
    f"[default: {LOOPBACK}]",
)
@click.option("--port", type=click.IntRange(0, 65535), default=5151, show_default=True)
@click.option(
    "--auto-port/--no-auto-port", default=True, help="Take the next port if this one is taken."
)
@click.option("--browser/--no-browser", default=True, help="Open the page in a browser.")
@click.option("--read-only", is_flag=True, help="Write no file: neither exports nor notes.")
@debug_option
@click.pass_obj
def explore(session: Session, /, data: Path | None, demo: str | None, **flags: Any) -> int:
    """Drag sigma_max over the histogram of DATA, or of a saved MODEL, and see the clusters change.

    Every answer is exact: the labels are those of crlm fit with that --sigma-max. Prints the
    address of the page and serves it until interrupted. Exports go to the current folder.
    """
    if (data is None) == (demo is None):
        msg = "give a file, or --demo faces to see an example; one of them."
        raise click.UsageError(msg)
    exploration = open_demo(str(demo), flags) if data is None else open_file(data, session, flags)
    return serve(exploration, flags)


def serve(exploration: Exploration, flags: dict[str, Any]) -> int:
    """Print the address and serve until interrupted."""
    from crlm.explorer.serve import Explorer, is_loopback

    host = flags["host"] or LOOPBACK
    explorer = Explorer(exploration, host=host, port=flags["port"], auto_port=flags["auto_port"])
    if not is_loopback(host):
        say(
            f"warning: listening on {host}: who has the address with its token can see the data.",
            err=True,
        )
    with explorer:
        say(explorer.url)
        sys.stdout.flush()
        exports = "" if flags["read_only"] else "Exports go to the current folder. "
        say(f"{exports}Stop with Ctrl+C.", err=True)
        if flags["browser"]:
            explorer.open()
        try:
            explorer.wait()
        except KeyboardInterrupt:
            say("stopped", err=True)
    return 0


def open_file(data: Path, session: Session, flags: dict[str, Any]) -> Exploration:
    """Explore a file of rows, or a model with the rows it was fitted to."""
    from crlm import record
    from crlm.explorer.opening import explore_rows, subject_of_table
    from crlm.explorer.serve import start_folder

    if record.is_model(data):
        return open_model(data, flags)
    how = {name: flags[name] for name in ("metric", *TABLE_FLAGS, *ROW_FLAGS) if name in flags}
    rows = read_rows(data, **how)
    import numpy as np

    numbers = np.arange(len(rows.table.X)) if rows.numbers is None else rows.numbers
    command = [str(data), *_reading_words(session.argv, data)]
    folder = data if data.is_dir() else data.parent
    subject = subject_of_table(
        rows.table, numbers, folder, command, is_sample=rows.sampled is not None
    )
    with rows.named_in_errors():
        return explore_rows(
            unfitted(flags), rows.X, subject, start_folder(), read_only=flags["read_only"]
        )


def open_model(path: Path, flags: dict[str, Any]) -> Exploration:
    """Explore a saved model."""
    from crlm import CRLM, record
    from crlm.explorer.opening import explore_rows, subject_of_model
    from crlm.explorer.serve import start_folder

    model = CRLM.load(path)
    data = record.open_data(model)
    if model.certificate_ is None:
        remark("note: the model has landmarks; here every row may be a centre, as in an exact fit")
    found = record.source(model)
    where = None if found is None else found.path
    words = () if where is None else (str(where),)
    sampled = found is not None and found.n_rows - found.n_dropped > len(data.X)
    subject = subject_of_model(data, where, words, is_sample=sampled)
    return explore_rows(
        model,
        data.X,
        subject,
        start_folder(),
        sample_weight=model._sample_weight,
        read_only=flags["read_only"],
    )


def open_demo(which: str, flags: dict[str, Any]) -> Exploration:
    """Explore an example that comes with the program."""
    from crlm.explorer.opening import explore_rows, subject_of_rows
    from crlm.explorer.serve import start_folder

    if which == "faces":
        from crlm.faces import load_faces

        faces = load_faces()
        truth = ["face" if y >= 0 else "other" for y in faces.y.tolist()]
        X, known = faces.X, {"images": faces.images, "meta": {"truth": truth}}
    else:
        from crlm.cli.sample import SampleOptions, draw

        X, known = draw(SampleOptions(seed=0))[0], {}
    subject = subject_of_rows(f"{which} demo", len(X), **known)
    return explore_rows(unfitted(flags), X, subject, start_folder(), read_only=flags["read_only"])


def unfitted(flags: dict[str, Any]) -> Any:
    """Estimator with the settings of the command line."""
    from crlm import CRLM

    return CRLM(
        flags["sigma_max"],
        min_cluster_size=flags["min_cluster_size"],
        alpha=flags["alpha"],
        metric=flags["metric"],
        memory_limit=flags["memory"],
        n_jobs=flags["threads"],
    )


def _reading_words(argv: list[str], data: Path) -> list[str]:
    """Words of the command line that say how the file is read, for crlm fit to say them again."""
    words = [word for word in argv if word not in ("explore", str(data))]
    for names in (("-s", "--sigma-max"), ("-m", "--min-cluster-size"), ("--alpha",)):
        words = without_option(words, *names)
    for name in ("--host", "--port", "--memory", "--threads"):
        words = without_option(words, name)
    flags = {"--browser", "--no-browser", "--read-only", "--auto-port", "--no-auto-port", "--debug"}
    return [word for word in words if word not in flags]
