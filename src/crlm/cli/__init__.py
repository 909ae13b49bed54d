"""The command ``crlm``.

Every command is a module with a function that returns the exit code. Nothing here imports
NumPy or scikit-learn before a command runs, so that ``--help`` answers at once.
"""

from __future__ import annotations

import sys
from typing import Any

import click

from crlm import __version__
from crlm.cli.bench import bench
from crlm.cli.check import check
from crlm.cli.common import (
    BROKEN_PIPE,
    INTERRUPTED,
    STYLE,
    Session,
    abandon_stdout,
    debug_option,
    open_streams,
    plain_warnings,
    report_error,
    say,
    terminable,
)
from crlm.cli.completion import completion
from crlm.cli.demo import demo
from crlm.cli.embed import embed
from crlm.cli.explore import explore
from crlm.cli.export import export
from crlm.cli.fit import fit
from crlm.cli.info import info
from crlm.cli.predict import predict
from crlm.cli.report import report
from crlm.cli.reproduce import reproduce
from crlm.cli.sample import sample
from crlm.cli.settings import equip
from crlm.cli.sigma import sigma

__all__ = ["main"]

EPILOG = """\b
Start here:
  crlm demo
  crlm sigma data.npy
  crlm fit data.npy -o labels.csv

Nothing leaves this machine.
"""


class _Root(click.Group):
    """Group that ends quietly when the reader of its output has gone."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            abandon_stdout()
            raise click.exceptions.Exit(BROKEN_PIPE) from None


@click.group(
    cls=_Root,
    invoke_without_command=True,
    epilog=EPILOG,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="crlm", message="%(prog)s %(version)s")
@debug_option
@click.pass_context
def root(ctx: click.Context) -> int:
    """Find the few tight clusters in data that is mostly background."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())
    return 0


for _command in (
    *(demo, sigma, fit, report, explore, predict, export),
    *(check, sample, embed, info, reproduce, bench, completion),
):
    root.add_command(equip(_command))


def main(argv: list[str] | None = None) -> int:
    """Run the command line `argv` and return the exit code.

    >>> main(["--version"])
    crlm 0.1.0
    0
    """
    session = Session(sys.argv[1:] if argv is None else list(argv))
    STYLE.reset()
    try:
        open_streams()
        with plain_warnings(session), terminable(session):
            code = root.main(session.argv, prog_name="crlm", standalone_mode=False, obj=session)
    except SystemExit as stop:
        code = stop.code
    except (click.Abort, KeyboardInterrupt):
        say("interrupted; no file was left half written", err=True)
        code = INTERRUPTED
    except Exception as error:  # noqa: BLE001 - the last line: a sentence, not a traceback
        code = report_error(error, session)
    if session.stopped is not None:
        return session.stopped
    return code if isinstance(code, int) else 0
