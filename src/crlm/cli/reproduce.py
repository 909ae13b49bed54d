"""``crlm reproduce``: the paper's figures and tables, each with checks that can fail."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from crlm.cli.common import BAD_INPUT, UNEXPECTED, FilePath, count, debug_option, say, say_json
from crlm.cli.progress import progress_bar
from crlm.errors import InputError

if TYPE_CHECKING:
    from crlm.reproduce.study import Page, Plan, Study

EPILOG = """\b
Examples:
  crlm reproduce --list
  crlm reproduce convergence
  crlm reproduce all --data ~/shapes --out paper
  crlm reproduce convergence --full --methods CRLM

Work that was stopped is taken up where it was left, unless crlm or the data changed since. Real
data are read from the folder named by --data or CRLM_DATA; nothing is downloaded. Figures need
matplotlib: pip install 'crlm[plot]'
"""


@click.command(epilog=EPILOG)
@click.argument("names", nargs=-1, metavar="[NAME]... | all")
@click.option("--list", "wants_list", is_flag=True, help="Say what can be reproduced, and stop.")
@click.option(
    "--quick/--full",
    default=True,
    help="A minute or two for each, or the paper's sizes, which take hours.  [default: quick]",
)
@click.option(
    "--methods",
    metavar="NAMES",
    help="Competitors to run, with commas between them; CRLM always is, and alone if only it is "
    "named.  [default: all]",
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@click.option(
    "--out",
    type=FilePath(),
    default=Path("crlm-paper"),
    show_default=True,
    help="Folder for pages, figures and tables; files of an earlier run are replaced.",
)
@click.option(
    "--data",
    type=FilePath(),
    envvar="CRLM_DATA",
    help="Folder with the real data, or one of their zip files.  [default: $CRLM_DATA]",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@debug_option
def reproduce(
    names: tuple[str, ...],
    wants_list: bool,
    quick: bool,
    methods: str | None,
    seed: int,
    out: Path,
    data: Path | None,
    as_json: bool,
) -> int:
    """Run the paper's experiments and see where its claims hold.

    Every study writes a page, figures, a table of all its numbers, and states checks. The exit
    code is 0 only if all of them hold, 1 if one does not, 3 if data are missing.
    """
    from crlm.reproduce.study import Plan

    studies = _studies(names, wants_list)
    if wants_list:
        for study in studies:
            say(f"{study.name:<14} {study.title} ({study.place})")
        return 0
    plan = Plan(full=not quick, seed=seed, data=data, methods=_methods(methods))
    done, missing = _run(studies, plan, out, quiet=as_json)
    failed = [check.statement for _, page in done for check in page.checks if not check.holds]
    _finish(done, out)
    if as_json:
        say_json(_record(done, missing))
    for sentence in missing:
        say(f"error: {sentence}", err=True)
    if failed:
        is_one = len(failed) == 1
        what = "1 check does" if is_one else f"{len(failed)} checks do"
        say(f"error: {what} not hold: {'; '.join(failed)}.", err=True)
        return UNEXPECTED
    return BAD_INPUT if missing else 0


def _studies(names: tuple[str, ...], wants_list: bool) -> list[Study]:
    from crlm.reproduce import NAMES, load

    unknown = [name for name in names if name not in (*NAMES, "all")]
    if unknown:
        msg = f"there is no study {unknown[0]!r}. Choose from: {', '.join(NAMES)}, all."
        raise click.UsageError(msg)
    if not names and not wants_list:
        msg = "name what to reproduce, such as convergence or all; --list names everything."
        raise click.UsageError(msg)
    wanted = NAMES if "all" in names or wants_list else tuple(dict.fromkeys(names))
    return [load(name) for name in wanted]


def _methods(names: str | None) -> frozenset[str] | None:
    """Names of competitors as the tables have them, however they were written."""
    from crlm.reproduce.compare import BY_NAME

    if names is None:
        return None
    known = {name.lower(): name for name in ("CRLM", *BY_NAME)}
    given = [name.strip() for name in names.split(",")]
    unknown = [name for name in given if name.lower() not in known]
    if unknown:
        msg = f"there is no method {unknown[0]!r}. Choose from: {', '.join(known.values())}."
        raise click.BadParameter(msg, param_hint="--methods")
    return frozenset(known[name.lower()] for name in given)


def _run(
    studies: list[Study], plan: Plan, out: Path, *, quiet: bool
) -> tuple[list[tuple[Study, Page]], list[str]]:
    """Pages of the studies that could run, and what kept the others from running."""
    from crlm.reproduce.runner import run

    done, missing = [], []
    for study in studies:
        try:
            with progress_bar(True, study.name) as advance:
                page = run(study, plan, out, advance)
        except InputError as error:
            missing.append(f"{study.name}: {error}")
            continue
        done.append((study, page))
        if not quiet:
            _tell(study, page, out)
    return done, missing


def _tell(study: Study, page: Page, out: Path) -> None:
    held = sum(check.holds for check in page.checks)
    say(f"{study.name}: {held} of {count(len(page.checks), 'check')} hold")
    for check in page.checks:
        say(f"  {'yes' if check.holds else 'NO '}  {check.statement} ({check.found})")
    say(f"  page  {out / study.name / study.name}.md")


def _finish(done: list[tuple[Study, Page]], out: Path) -> None:
    """List of all pages; what earlier calls made stays listed by them."""
    from crlm.reproduce.pages import overview
    from crlm.tables import replacing

    if len(done) > 1:
        with replacing(out / "index.md") as file:
            file.write(overview(done).encode())


def _record(done: list[tuple[Study, Page]], missing: list[str]) -> dict[str, object]:
    return {
        "schema": "crlm.reproduce/1",
        "studies": [
            {
                "name": study.name,
                "claims": [claim._asdict() for claim in page.claims],
                "checks": [check._asdict() for check in page.checks],
            }
            for study, page in done
        ],
        "missing": missing,
    }
