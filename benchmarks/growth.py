"""How time grows with rows, columns and clusters: slopes between logarithms."""

from collections.abc import Callable

from common import arguments

from crlm.bench import FITS, PAIRS, exponent, time_of
from crlm.bench.data import Data, gmmub, many_clusters, uniform
from crlm.bench.programs import Program


def slope(
    what: str, sizes: list[int], make: Callable[[int], Data], program: Program, repeats: int
) -> None:
    """Print the exponent of time in size."""
    times = [time_of(program, make(size), repeats)[0] for size in sizes]
    between = f"{sizes[0]:,} to {sizes[-1]:,}"
    print(f"{what:<36} {between:<22} exponent {exponent(sizes, times):.2f}", flush=True)


def main() -> None:
    full, repeats = arguments(__doc__)
    scale = 4 if full else 1
    pairs, fit = PAIRS["crlm"], FITS["crlm"]
    rows = [scale * n for n in (5_000, 10_000, 20_000)]
    slope("fit, GMMUB x 100, rows", rows, lambda n: gmmub(n, 100), fit, repeats)
    n = 10_000 * scale
    slope("fit, GMMUB, columns", [50, 200, 800], lambda d: gmmub(n, d), fit, repeats)
    clusters = [1, 8, 64]
    slope("fit, x 50, clusters", clusters, lambda k: many_clusters(n, 50, k), fit, repeats)
    rows = [100_000, 300_000, 1_000_000] if full else [30_000, 100_000, 300_000]
    for d in (2, 3):
        slope(f"pairs, uniform x {d}, rows", rows, lambda n, d=d: uniform(n, d), pairs, repeats)


if __name__ == "__main__":
    main()
