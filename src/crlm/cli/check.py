"""``crlm check``: how far an answer can be trusted, or what to expect before there are data."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from crlm.cli.certificates import chance, trust_lines, trust_record
from crlm.cli.common import (
    BAD_INPUT,
    STYLE,
    FilePath,
    aligned,
    alpha_option,
    auto_or_float,
    check_outputs,
    comma_floats,
    count,
    force_option,
    json_option,
    number,
    remark,
    say,
    say_json,
)
from crlm.cli.failures import in_flags
from crlm.cli.models import load_model
from crlm.cli.reading import ROW_FLAGS, TABLE_FLAGS, read_rows, rows_options
from crlm.errors import MissingExtraError
from crlm.summary import cut_at_half, p_value

if TYPE_CHECKING:
    from crlm import CRLM
    from crlm.theory import Guarantee, SigmaMaxInterval
    from crlm.theory.guarantees import Kind

KINDS: tuple[Kind, ...] = ("sharp", "corrected", "printed")
NEEDED = ("n", "d", "weight", "sigma", "D")

EPILOG = """\b
Examples:
  crlm check embeddings.npy
  crlm check embeddings.npy --sigma-max 2.5 --json
  crlm check faces.crlm.npz
  crlm check --n 1000 --d 20 --weight 0.01 --sigma 1 --sigma-max 2.5 --D 60
  crlm check --n 1e6 --d 100 --weight 0.01,0.02 --sigma 1,2 --D 100 \\
             --separation 900 --plot region.png
"""


@click.command(epilog=EPILOG)
@click.argument("data", type=FilePath(), required=False)
@click.option(
    "-s",
    "--sigma-max",
    type=auto_or_float,
    metavar="auto|FLOAT",
    default="auto",
    show_default=True,
    help="Bandwidth. auto: from the data, or 2.1 times the largest --sigma.",
)
@click.option("-k", "--max-clusters", type=int, help="DATA: stop after this many clusters.")
@alpha_option
@rows_options
@click.option("--n", type=float, help="Numbers: how many points.")
@click.option("--d", type=float, help="Numbers: how many dimensions.")
@click.option("--weight", type=comma_floats, metavar="P,...", help="Share of each cluster.")
@click.option("--sigma", type=comma_floats, metavar="S,...", help="Spread of each cluster.")
@click.option("--D", "D", type=float, help="Radius of the background over sqrt(d).")
@click.option("-G", "--G", "G", type=float, default=4.0, show_default=True, help="Depth.")
@click.option(
    "--delta", type=float, default=0.01, show_default=True, help="Chance of failure allowed."
)
@click.option("--norm", type=comma_floats, metavar="C,...", help="Distances of means from middle.")
@click.option("--separation", type=float, help="Smallest distance between two means.")
@click.option("--plot", type=FilePath(), help="Numbers: draw the admissible region (.png, .svg).")
@force_option
@json_option
def check(data: Path | None, as_json: bool, **options: Any) -> int:
    """Say how far the clusters of DATA can be trusted, or what to expect of numbers.

    With DATA: fits it and prints the certificate, worst condition first. With a model
    (.crlm.npz): prints the certificate that it holds, or why it has none, and checks all of it
    again on the data.
    With numbers (--n --d --weight --sigma --D): the probability of success by three kinds of
    theorem, the bandwidths that are good enough, and how many points are needed.
    """
    given = [name for name in NEEDED if options[name] is not None]
    if data is not None and given:
        msg = f"DATA and --{given[0]} do not go together. Give a file, or numbers."
        raise click.UsageError(msg)
    if data is None and len(given) < len(NEEDED):
        missing = ", ".join(f"--{name}" for name in NEEDED if options[name] is None)
        msg = f"give a file to check, or all numbers; {missing} missing."
        raise click.UsageError(msg)
    if data is None:
        return _check_numbers(options, as_json)
    from crlm.record import is_model

    return check_model(data, as_json) if is_model(data) else _check_data(data, options, as_json)


def _check_data(data: Path, options: dict[str, Any], as_json: bool) -> int:
    from crlm import CRLM

    how = {name: options[name] for name in (*TABLE_FLAGS, *ROW_FLAGS)}
    rows = read_rows(data, metric=options["metric"], **how)
    model = CRLM(
        options["sigma_max"],
        G=options["G"],
        alpha=options["alpha"],
        max_clusters=options["max_clusters"],
        metric=options["metric"],
        n_jobs=STYLE.threads,
    )
    with rows.named_in_errors():
        model.fit(rows.X)
    source = rows.table.source
    if cut := cut_at_half(model):
        say(f"warning: {in_flags(cut)}", err=True)
    if as_json:
        say_json({"schema": "crlm.check/1", "data": source, **trust_record(model)})
        return 0
    say(head(model, source))
    for line in trust_lines(model):
        say(line)
    return 0


def head(model: CRLM, source: str) -> str:
    """What was fitted, and what was found."""
    n, d = len(model.labels_), model.n_features_in_
    clusters = count(model.n_clusters_, "cluster")
    if model.n_clusters_ and model.alpha is not None:
        largest = p_value(model.p_values_.max())
        clusters += f"  p {largest}" if largest.startswith("<") else f"  p up to {largest}"
    if model.sigma_estimate_ is not None:
        clusters += f"  evidence {model.sigma_estimate_.evidence}"
    return f"{source}  {n:,} × {d:,}  σ_max {number(model.sigma_max_)}  {clusters}"


def check_model(path: Path, as_json: bool) -> int:
    """Print the certificate of a model, and check it on the data; changed data are an error."""
    from crlm import record

    model = load_model(path)
    found = record.source(model)
    data = None if found is None or found.path is None or not found.path.exists() else found
    problems = [] if data is None else verify(model)
    if as_json:
        verified = None if data is None else not problems
        say_json(
            {
                "schema": "crlm.check/1",
                "model": str(path),
                "data": None if found is None else found.name,
                "verified": verified,
                "problems": problems,
                **trust_record(model),
            }
        )
    else:
        say(head(model, path.name))
        for line in trust_lines(model):
            say(line)
        if data is None:
            where = "" if found is None else f" of {found.name}"
            remark(f"note: the data{where} are not there, so nothing was checked again")
        elif not problems:
            what = "model" if model.certificate_ is None else "certificate"
            say(f"Checked again on {data.name}: all is as the {what} says.")
    for problem in problems:
        say(f"error: {problem}", err=True)
    return BAD_INPUT if problems else 0


def verify(model: CRLM) -> list[str]:
    """What is not as the model says."""
    from crlm import record
    from crlm.errors import InputError

    try:
        X = record.open_data(model).X
    except InputError as error:
        return [str(error)]
    if model.certificate_ is not None:
        return model.certificate_.verify(X).problems
    moved = int((model.predict(X) != model.labels_).sum())
    return [f"{count(moved, 'row')} not in the cluster that the label says"] if moved else []


def _check_numbers(options: dict[str, Any], as_json: bool) -> int:
    plot = options["plot"]
    if plot is not None:
        check_outputs([plot], options["force"], formats=(".png", ".svg", ".pdf"))
    numbers = _Numbers(options)
    if as_json:
        say_json({"schema": "crlm.check/1", **numbers.record()})
    else:
        for line in numbers.lines():
            say(line)
    if plot is not None:
        numbers.draw(plot)
        remark(f"Wrote {plot}")
    return 0


class _Numbers:
    """All that the theorems say about one setting."""

    def __init__(self, options: dict[str, Any]) -> None:
        from crlm import theory

        self.mixture = {"weights": options["weight"], "sigmas": options["sigma"]}
        self.n, self.d, self.D = options["n"], options["d"], options["D"]
        self.G, self.delta = options["G"], options["delta"]
        auto = options["sigma_max"] == "auto"
        self.sigma_max = 2.1 * max(options["sigma"]) if auto else options["sigma_max"]
        self.where = {"center_norms": options["norm"], "separations": options["separation"]}
        given = {"d": self.d, "D": self.D, "G": self.G, **self.where}
        at = {**given, "sigma_max": self.sigma_max}
        delta = {"delta": self.delta}
        self.guarantees: dict[str, Guarantee] = {}
        self.intervals: dict[str, SigmaMaxInterval] = {}
        self.plans: dict[str, int | None] = {}
        self.weights: dict[str, float | None] = {}
        for kind in KINDS:
            self.guarantees[kind] = theory.guarantee(self.n, **self.mixture, **at, kind=kind)
            self.intervals[kind] = theory.sigma_max_interval(
                self.n, **self.mixture, **given, **delta, kind=kind
            )
            self.plans[kind] = theory.plan_n(**self.mixture, **at, **delta, kind=kind)
            self.weights[kind] = theory.plan_weight(
                self.n, sigmas=options["sigma"], k=self._k, **at, **delta, kind=kind
            )

    @property
    def _k(self) -> int:
        return max(len(self.mixture["weights"]), len(self.mixture["sigmas"]))

    def lines(self) -> list[str]:
        """Say it to people."""
        worst = self.guarantees["sharp"]
        return [
            f"{self.n:,.0f} points, {self.d:,.0f} dimensions, {count(self._k, 'cluster')}  "
            f"σ_max {number(self.sigma_max)}  D {number(self.D)}  G {number(self.G)}",
            "",
            *(f"  {line}" for line in aligned(self._rows())),
            "",
            *self._warnings(),
            f"sharp: {worst.advice}",
        ]

    def _rows(self) -> list[tuple[str, ...]]:
        wanted = f"{1.0 - self.delta:g}"
        return [
            ("", *KINDS),
            ("probability of success", *(chance(self.guarantees[k].failure) for k in KINDS)),
            ("largest term", *(self.guarantees[k].weakest for k in KINDS)),
            (f"σ_max for {wanted}", *(_range(self.intervals[k]) for k in KINDS)),
            (f"points for {wanted}", *(_whole(self.plans[k]) for k in KINDS)),
            (f"smallest share for {wanted}", *(_share(self.weights[k]) for k in KINDS)),
        ]

    def _warnings(self) -> list[str]:
        found = []
        if self.G > 2.6237:
            found.append(
                f"printed: not valid for G above 2.62 (here {self.G:g}); its tail lemma is false."
            )
        for kind in ("printed", "corrected"):
            missing = self.guarantees[kind].violated
            if missing:
                found.append(f"{kind}: does not apply, {' and '.join(missing)} not met.")
        return found

    def record(self) -> dict[str, Any]:
        """Say it to programs."""
        return {
            "n": self.n,
            "d": self.d,
            **self.mixture,
            "sigma_max": self.sigma_max,
            "D": self.D,
            "G": self.G,
            "delta": self.delta,
            "kinds": {
                kind: {
                    **self.guarantees[kind].to_dict(),
                    "interval": vars(self.intervals[kind]),
                    "points_needed": self.plans[kind],
                    "smallest_share": self.weights[kind],
                }
                for kind in KINDS
            },
        }

    def draw(self, path: Path) -> None:
        """Picture of the admissible region around this setting."""
        figure = _figure()
        from crlm.display import AdmissibleRegionDisplay
        from crlm.tables import replacing

        AdmissibleRegionDisplay.from_numbers(
            self.n,
            self.d,
            **self.mixture,
            D=self.D,
            sigma_max=self.sigma_max,
            ax=figure.subplots(),
            G=self.G,
            delta=self.delta,
            **self.where,
        )
        with replacing(path) as file:
            figure.savefig(file, format=path.suffix.lower().removeprefix("."))


def _figure() -> Any:
    try:
        from matplotlib.figure import Figure  # not pyplot: no window, no global state
    except ImportError as error:
        raise MissingExtraError("--plot", package="matplotlib", extra="plot") from error
    return Figure(figsize=(7, 5), layout="constrained")


def _range(interval: SigmaMaxInterval) -> str:
    if interval.is_empty:
        return "none"
    return f"{number(interval.lower)}–{number(interval.upper)}"


def _whole(n: int | None) -> str:
    return "none" if n is None else f"{n:,}" if n < 10**12 else f"{float(n):.2e}"


def _share(weight: float | None) -> str:
    return "none" if weight is None or not math.isfinite(weight) else f"{weight:.3g}"
