"""Data sets for property tests, made to be awkward."""

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

DTYPES = ["float64", "float32", "float16", "int64", "int32", "int16", "int8", "uint8", "bool"]
KINDS = ["continuous", "lattice", "duplicates", "clusters", "offset", "line"]
G_VALUES = st.one_of(st.just(4.0), st.floats(1.1, 16.0))


@st.composite
def data_sets(draw, max_n=60, max_d=50, dtypes=DTYPES):
    """(X, sigma_max, G) with n to 60 rows, d to 50 columns, of any dtype."""
    n, d = draw(st.integers(1, max_n)), draw(st.integers(1, max_d))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kind = draw(st.sampled_from(KINDS))
    X = cast(make(kind, n, d, rng), draw(st.sampled_from(dtypes)))
    G = draw(G_VALUES)
    return X, draw(bandwidths(X, G)), G


def cast(X, dtype):
    """X as `dtype`, folded into its range where it does not fit."""
    if dtype == "float16":
        return np.fmod(X, 2000.0).astype(dtype)
    if dtype in ("int16", "int8", "uint8"):
        return np.fmod(X, 100.0).astype(np.int64).astype(dtype)
    return X.astype(dtype)


def make(kind, n, d, rng):
    if kind == "lattice":
        return rng.integers(0, 4, (n, d)).astype(float)
    if kind == "duplicates":
        return rng.normal(0, 3, (max(1, n // 3), d))[rng.integers(0, max(1, n // 3), n)]
    if kind == "clusters":
        return rng.normal(0, 30, (4, d))[rng.integers(0, 4, n)] + rng.normal(0, 2, (n, d))
    if kind == "offset":
        return rng.integers(0, 5, (n, d)) + 1e6
    if kind == "line":
        return np.arange(n)[:, None] * np.ones(d) * rng.choice([1.0, 0.1])
    return rng.normal(0, 10, (n, d))


@st.composite
def bandwidths(draw, X, G):
    """A bandwidth of the size of the distances; often one that puts a pair on the radius."""
    X = np.asarray(X, dtype=np.float64)
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    i, j = rng.integers(0, len(X), 2)
    sq = float(np.square(X[i] - X[j]).sum())
    if sq == 0.0:
        return draw(st.sampled_from([0.5, 1.0, 3.0]))
    on_the_radius = (sq / (X.shape[1] * G)) ** 0.5
    return on_the_radius * draw(st.sampled_from([1.0, 1.0, 0.5, 0.8, 1.3, 3.0]))


@st.composite
def small_lattices(draw):
    """Few points on a small grid: nearly everything ties, and hypothesis can shrink it."""
    shape = draw(st.tuples(st.integers(1, 10), st.integers(1, 3)))
    X = draw(hnp.arrays(np.int64, shape, elements=st.integers(-3, 3)))
    sigma_max = draw(st.sampled_from([0.25, 0.5, 1.0, 1.5, 0.1, 1 / 3]))
    return X, sigma_max, draw(st.sampled_from([4.0, 1.1, 2.0, 3.0, 16.0]))
