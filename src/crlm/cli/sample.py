"""``crlm sample``: data of which the truth is known."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from crlm.cli.common import (
    FilePath,
    check_outputs,
    comma_floats,
    count,
    force_option,
    free_name,
    json_option,
    refuse_same_name,
    remark,
    say_json,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

EPILOG = """\b
Examples:
  crlm sample toy.npy
  crlm sample toy.npy --labels truth.csv
  crlm sample wide.csv -n 20000 -d 200 --sigmas 1,2 --weights 0.01 --seed 7
"""

# Spread per coordinate and share of each cluster of the toy data
SIGMAS = [1.0, 3.0, 5.0]
WEIGHTS = [0.02, 0.015, 0.01]


@dataclass(frozen=True)
class SampleOptions:
    """The command line of ``crlm sample``; the defaults are the toy data of ``crlm demo``."""

    n: int = 6000
    k: int | None = None
    dim: int = 64
    sigmas: list[float] | None = None
    weights: list[float] | None = None
    D: float = 80.0
    sigma_max: float | None = None
    seed: int = 0


_DEFAULT = SampleOptions()


@click.command(epilog=EPILOG)
@click.argument("out", type=FilePath())
@click.option(
    "-n", type=click.IntRange(1), default=_DEFAULT.n, show_default=True, help="Number of rows."
)
@click.option(
    "-k",
    type=click.IntRange(0),
    help="Number of clusters.  [default: as many as --sigmas or --weights]",
)
@click.option(
    "-d", "--dim", type=int, default=_DEFAULT.dim, show_default=True, help="Number of columns."
)
@click.option(
    "--sigmas",
    type=comma_floats,
    metavar="S,S,...",
    help="Spread per coordinate of each cluster; a short list is repeated.  [default: 1,3,5]",
)
@click.option(
    "--weights",
    type=comma_floats,
    metavar="W,W,...",
    help="Share of the rows in each cluster; a short list is repeated.  [default: 0.02,0.015,0.01]",
)
@click.option(
    "--D",
    "D",
    type=float,
    default=_DEFAULT.D,
    show_default=True,
    help="The background fills a ball of radius D * sqrt(d).",
)
@click.option(
    "--sigma-max",
    type=float,
    help="Place the clusters so far apart that they are separate for this bandwidth.  "
    "[default: 2.1 times the largest sigma]",
)
@click.option(
    "--seed",
    type=click.IntRange(0),
    default=_DEFAULT.seed,
    show_default=True,
    help="Equal seeds, equal data.",
)
@click.option(
    "--labels",
    type=FilePath(),
    help="Also write the true labels, -1 for background: .csv, .npy or .parquet.",
)
@force_option
@json_option
def sample(out: Path, labels: Path | None, force: bool, as_json: bool, **flags: Any) -> int:
    """Draw clusters in a uniform background and write them to OUT.

    OUT is .npy, .csv or .parquet (the points), or .npz (X the points, y the true labels).
    """
    from crlm.tables import label_writer, write_together

    check_outputs([out], force, formats=tuple(POINT_WRITERS))
    if labels:
        refuse_same_name([out, labels])
        check_outputs([labels], force)
    X, y = draw(SampleOptions(**flags))
    write = POINT_WRITERS[out.suffix.lower()]
    jobs: list[tuple[Path, Callable[[IO[bytes]], None]]] = [(out, lambda file: write(file, X, y))]
    if labels:
        jobs.append((labels, label_writer(labels, y, force=force)))
    write_together(jobs)
    tell([path for path, _ in jobs], X, y, as_json=as_json)
    return 0


def tell(files: list[Path], X: NDArray[np.float64], y: NDArray[np.int64], *, as_json: bool) -> None:
    """Say what was written."""
    n, d = X.shape
    sizes = [int((y == j).sum()) for j in range(int(y.max(initial=-1)) + 1)]
    if as_json:
        record = {"files": [str(path) for path in files], "n": n, "d": d, "sizes": sizes}
        say_json({"schema": "crlm.sample/1", **record})
        return
    written, out = ", ".join(map(str, files)), files[0]
    remark(f"Wrote {written}: {n:,} × {d:,}, {count(sum(sizes), 'row')} in clusters")
    remark(f"Next:  crlm fit {shlex.quote(str(out))} -o {free_name('labels.csv')}")


def draw(options: SampleOptions) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Points and their true labels."""
    import numpy as np

    from crlm import GMMUB

    k, sigmas, weights = per_cluster(options)
    rng = np.random.default_rng(options.seed)
    model = GMMUB.draw(
        k=k,
        d=options.dim,
        sigmas=sigmas,
        weights=weights,
        D=options.D,
        sigma_max=2.1 * max(sigmas, default=1.0)
        if options.sigma_max is None
        else options.sigma_max,
        rng=rng,
    )
    return model.sample(options.n, rng)


def per_cluster(options: SampleOptions) -> tuple[int, list[float], list[float]]:
    """Count the clusters and give each of them a sigma and a weight."""
    given = [len(values) for values in (options.sigmas, options.weights) if values]
    k = max(given, default=len(SIGMAS)) if options.k is None else options.k
    if max(given, default=0) > k:
        msg = f"-k {k} is less than the {max(given)} values of --sigmas or --weights."
        raise click.UsageError(msg)
    return k, _repeated(options.sigmas or SIGMAS, k), _repeated(options.weights or WEIGHTS, k)


def _repeated(values: list[float], k: int) -> list[float]:
    return [values[j % len(values)] for j in range(k)]


def _write_npy(file: IO[bytes], X: NDArray[np.float64], y: NDArray[np.int64]) -> None:
    import numpy as np

    np.save(file, X, allow_pickle=False)


def _write_npz(file: IO[bytes], X: NDArray[np.float64], y: NDArray[np.int64]) -> None:
    import numpy as np

    np.savez(file, X=X, y=y)


def _write_csv(file: IO[bytes], X: NDArray[np.float64], y: NDArray[np.int64]) -> None:
    import numpy as np

    # 17 digits give back the same float64
    np.savetxt(file, X, fmt="%.17g", delimiter=",", header=",".join(_column_names(X)), comments="")


def _write_parquet(file: IO[bytes], X: NDArray[np.float64], y: NDArray[np.int64]) -> None:
    import pyarrow
    import pyarrow.parquet

    columns = dict(zip(_column_names(X), X.T.copy(), strict=True))
    pyarrow.parquet.write_table(pyarrow.table(columns), file)


def _column_names(X: NDArray[np.float64]) -> list[str]:
    return [f"x{j}" for j in range(X.shape[1])]


POINT_WRITERS: dict[str, Callable[[IO[bytes], NDArray[np.float64], NDArray[np.int64]], None]] = {
    ".npy": _write_npy,
    ".npz": _write_npz,
    ".csv": _write_csv,
    ".parquet": _write_parquet,
}
