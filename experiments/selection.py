"""Does CRLM() find the clusters that are there, and none where there are none?

    python experiments/selection.py --quick                  # a minute
    python experiments/selection.py --out results.csv        # some minutes; resumable
    python experiments/selection.py --full --out results.csv # hours
    python experiments/selection.py real --cases FOLDER      # your own: npz with X and y

Families: `model` (GMMUB, d >= 5), `low` (d = 2, 3), `rare` (clusters of 8 to 60 points among 3,000
to 50,000), `departures` (from the model), `nulls` (background alone), `columns` (background of
skewed, heavy-tailed or discrete columns) and `real` (a folder of npz files, X and y, -1 for
background). Beside CRLM()
run HDBSCAN, OPTICS and DBSCAN as people use them, and two that see the labels: HDBSCAN at the
best of five settings and CRLM at the best sigma (up to 50 balls, no test). F is that of the
paper, which does not punish clusters in excess: see "false", the found clusters that match no
true one with F >= 0.5. Ctrl-C ends the runs and prints what there is; with --out, the next call
goes on from there. A seed belongs to one case, so that the order does not matter.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import sys
import warnings
from pathlib import Path

import numpy as np
from scipy.spatial.distance import pdist, squareform
from sklearn.cluster import DBSCAN, HDBSCAN, OPTICS
from sklearn.neighbors import NearestNeighbors

from crlm import CRLM, GMMUB
from crlm.errors import ParameterError, WeakEvidenceWarning
from crlm.scores import f_measure

FAMILIES = ("model", "low", "rare", "departures", "nulls", "columns", "real")
DEPARTURES = (
    "elliptical",
    "t5",
    "box",
    "gaussian",
    "power",
    "sizes",
    "copies",
    "half",
    "widths",
)
NULLS = ("ball", "box", "gaussian", "t5", "power", "sphere", "walk")
NULL_D = (2, 5, 20, 100, 500)
# Columns that are skewed, heavy-tailed or of few values, mostly independent: background alone too.
COLUMNS = {
    "exponential": (2, 3, 5, 12),
    "lognormal": (2, 3, 5, 12),
    "lognormal 0.7": (12,),
    "chi2, 1 degree": (2, 3, 12),
    "t, 2 degrees": (12,),
    "gamma, 0.5": (8,),
    "Poisson, mean 1": (8,),
    "0 and 1": (12,),
    "mixed": (6,),
    "arcsine": (2, 3),
    "lognormal 2": (2, 3),
    "lognormal, correlated": (2, 3),
    "normal, 0 and 1": (2, 3),
}
ALPHAS = (0.05, 0.01)
ROWS = (400, 2500)  # of nulls and columns, log-uniform
# Runs of each: of a family, or of each kind of departure and each null and d.
SIZES = {
    "quick": {"model": 6, "low": 4, "rare": 2, "departures": 1, "nulls": 1, "columns": 1},
    "usual": {"model": 60, "low": 30, "rare": 20, "departures": 8, "nulls": 25, "columns": 25},
    "full": {"model": 200, "low": 100, "rare": 100, "departures": 25, "nulls": 200, "columns": 200},
}
FIELDS = ("family", "kind", "case", "method", "n", "d", "k", "F", "found", "false", "evidence")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("family", nargs="*", help=f"of {', '.join(FAMILIES)}; default all")
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", dest="size", action="store_const", const="quick")
    size.add_argument("--full", dest="size", action="store_const", const="full")
    parser.add_argument("--seed", type=int, default=2024)
    parser.add_argument("--cases", type=Path, help="folder of npz files for `real`")
    parser.add_argument("--out", type=Path, help="results, .csv or .json (a line each), resumed")
    parser.add_argument(
        "--rows", type=int, nargs=2, default=ROWS, metavar="N", help="of nulls and columns"
    )
    parser.add_argument("--rivals", type=int, default=2000, metavar="N", help="only up to N rows")
    options = parser.parse_args()
    unknown = set(options.family) - set(FAMILIES)
    if unknown:
        parser.error(f"no such family: {', '.join(sorted(unknown))}")
    if not 8 <= options.rows[0] <= options.rows[1]:
        parser.error("--rows takes the fewest, at least 8, and the most: --rows 3000 30000")
    rows = read(options.out)
    done = {(r["family"], r["case"]) for r in rows}
    try:
        for family in options.family or FAMILIES:
            for kind, name, load in cases(family, SIZES[options.size or "usual"], options):
                if (family, name) in done:
                    continue
                X, y = load()
                print(f"\r{family} {name} {X.shape} ".ljust(70), end="", file=sys.stderr)
                is_null = family in ("nulls", "columns")
                results = null_results(X) if is_null else case_results(X, y, options)
                shape = {"n": len(X), "d": X.shape[1], "k": int(y.max()) + 1}
                new = [
                    {"family": family, "kind": kind, "case": name, **shape, **r} for r in results
                ]
                rows += new
                write(options.out, new)
    except KeyboardInterrupt:
        print("\nstopped; so far:", file=sys.stderr)
    print("", file=sys.stderr)
    report(rows)


# ------------------------------------------------------------------------------ cases


def cases(family, sizes, options):
    """Kind, name and a function that draws the data, of each case."""
    if family == "real":
        for path in sorted(options.cases.glob("*.npz")) if options.cases else []:
            yield path.stem.split("__")[0], path.stem, lambda path=path: load_npz(path)
        return
    for i in range(sizes[family]):
        if family in ("model", "low", "rare"):
            yield family, f"{i}", lambda i=i: model_case(family, [options.seed, 1, i])
        elif family == "departures":
            for j, kind in enumerate(DEPARTURES):
                seed = [options.seed, 2, j, i]
                yield kind, f"{kind} {i}", lambda kind=kind, seed=seed: departure(kind, seed)
        else:
            kinds, draw = (all_nulls(), null) if family == "nulls" else (COLUMNS, columns)
            for j, (kind, dimensions) in enumerate(kinds.items()):
                for d in dimensions:
                    args = (
                        kind,
                        d,
                        [options.seed, 3 if family == "nulls" else 4, j, d, i],
                        options.rows,
                    )
                    name = f"{kind} d={d}"
                    # Resumed results must not mix numbers of rows.
                    many = "" if tuple(options.rows) == ROWS else " n={}-{}".format(*options.rows)
                    case = f"{name}{many} {i}"
                    yield name, case, lambda draw=draw, args=args: draw(*args)


def all_nulls():
    return dict.fromkeys(NULLS, NULL_D)


def load_npz(path):
    with np.load(path) as z:
        return z["X"], z["y"].astype(np.int64)


def model_case(family, seed):
    """A random GMMUB with at least five points in each cluster, in any units and precision."""
    rng = np.random.default_rng([*seed, family == "low"])
    _, X, y = draw_model(family, rng)
    X = X * log_uniform(rng, 1e-6, 1e6)
    X = X + rng.normal(size=X.shape[1]) * X.std() * rng.choice([0, 1, 10])
    return X.astype(rng.choice([np.float32, np.float64])), y


def draw_model(family, rng):
    """The model of such a case, its points as they are, and their clusters."""
    while True:
        low_d = int(rng.integers(2, 4))
        d = low_d if family == "low" else round(log_uniform(rng, 5, 300))
        n = round(log_uniform(rng, 400, 8000))
        k = int(rng.integers(1, 13))
        weights = log_uniform(rng, 0.003, 0.08, k)
        sigmas = rng.uniform(1.0, 3.0, k)
        D = log_uniform(rng, 20, 120)
        if family == "rare":
            d, n = round(log_uniform(rng, 5, 100)), round(log_uniform(rng, 3000, 50_000))
            weights = log_uniform(rng, 8, 60, k) / n
        if weights.sum() > 0.5:
            continue
        try:
            model = GMMUB.draw(k, d, sigmas, weights, D=D, sigma_max=2.1 * sigmas.max(), rng=rng)
        except ParameterError:  # no room for so many clusters
            continue
        X, y = model.sample(n, rng)
        if np.bincount(y[y >= 0], minlength=k).min() >= 5:
            return model, X, y


def departure(kind, seed):
    """Clusters in a background, one thing not as in the model."""
    rng = np.random.default_rng(seed)
    d = int(rng.choice([5, 10, 30, 100]))
    n = int(rng.choice([500, 1000, 2000]))
    k = int(rng.integers(2 if kind in ("sizes", "widths") else 1, 6))
    D = rng.uniform(30, 80) * (2 if kind == "widths" else 1)
    clustered = 0.5 if kind == "half" else rng.uniform(0.05, 0.3)
    share = np.geomspace(1, 10, k) if kind == "sizes" else np.ones(k)
    counts = np.maximum((share / share.sum() * clustered * n).astype(int), 8)
    n_rest = n - counts.sum()
    if kind == "power":
        B = D * power(rng, n_rest, d)
    elif kind == "gaussian":
        B = D * rng.normal(size=(n_rest, d))
    elif kind == "box":
        B = D * rng.uniform(-math.sqrt(3), math.sqrt(3), size=(n_rest, d))
    else:
        B = D * math.sqrt(d) * ball(rng, n_rest, d)
    means = apart(rng, B, k, (40 if kind == "widths" else 12) * math.sqrt(d))
    parts = [B]
    for mean, count in zip(means, counts, strict=True):
        axes = rng.permutation(np.geomspace(0.5, 2.0, d)) if kind == "elliptical" else 1.0
        Z = rng.normal(size=(count, d)) * axes
        Z *= log_uniform(rng, 1.0, 8.0) if kind == "widths" else rng.uniform(1.0, 2.0)
        if kind == "t5":
            Z /= np.sqrt(rng.chisquare(5, size=(count, 1)) / 5)
        parts.append(mean + Z)
    X, y = np.vstack(parts), np.repeat(np.arange(-1, k), [len(B), *counts])
    if kind == "copies":  # forty rows, two to six times each
        again = np.repeat(rng.integers(0, len(X), 40), rng.integers(1, 6, 40))
        X, y = np.vstack([X, X[again]]), np.append(y, y[again])
    return X, y


def apart(rng, B, k, gap):
    """Means drawn from the background, moved inwards, at least a gap from each other if it can."""
    means = []
    for _ in range(k):
        for _ in range(1000):
            mean = 0.8 * B[rng.integers(len(B))]
            if all(np.linalg.norm(mean - other) > gap for other in means):
                break
        means.append(mean)
    return means


def null(kind, d, seed, rows=ROWS):
    rng = np.random.default_rng(seed)
    n = round(log_uniform(rng, *rows))
    if kind == "ball":
        X = ball(rng, n, d)
    elif kind == "box":
        X = rng.uniform(size=(n, d))
    elif kind in ("power", "sphere"):
        X = power(rng, n, d)
        X = X / np.linalg.norm(X, axis=1, keepdims=True) if kind == "sphere" else X
    else:
        X = rng.normal(size=(n, d))
        X = X / np.sqrt(rng.chisquare(5, size=(n, 1)) / 5) if kind == "t5" else X
        X = np.cumsum(X, axis=1) if kind == "walk" else X
    return X, np.full(n, -1)


def columns(kind, d, seed, rows=ROWS):
    rng = np.random.default_rng(seed)
    n = round(log_uniform(rng, *rows))
    draw = {
        "exponential": rng.standard_exponential,
        "lognormal": lambda size: rng.lognormal(size=size),
        "lognormal 0.7": lambda size: rng.lognormal(sigma=0.7, size=size),
        "chi2, 1 degree": lambda size: rng.chisquare(1, size),
        "t, 2 degrees": lambda size: rng.standard_t(2, size),
        "gamma, 0.5": lambda size: rng.gamma(0.5, size=size),
        "Poisson, mean 1": lambda size: rng.poisson(1.0, size).astype(np.float64),
        "0 and 1": lambda size: (rng.random(size) < 0.3).astype(np.float64),
        "arcsine": lambda size: rng.beta(0.5, 0.5, size),
        "lognormal 2": lambda size: rng.lognormal(sigma=2.0, size=size),
        "lognormal, correlated": lambda size: np.exp(
            0.7 * rng.normal(size=size) @ rng.normal(size=(d, d))
        ),
    }
    if kind == "normal, 0 and 1":
        return np.column_stack([rng.normal(size=(n, d - 1)), draw["0 and 1"](n)]), np.full(n, -1)
    if kind != "mixed":
        return draw[kind]((n, d)), np.full(n, -1)
    some = ["exponential", "lognormal", "0 and 1", "Poisson, mean 1"]
    parts = [draw[name](n) for name in some] + [rng.normal(size=n), rng.random(n)]
    return np.stack(parts, axis=1), np.full(n, -1)


def ball(rng, n, d):
    X = rng.normal(size=(n, d))
    return X * (rng.random((n, 1)) ** (1 / d) / np.linalg.norm(X, axis=1, keepdims=True))


def power(rng, n, d):
    """Gaussian whose j-th variance is proportional to 1 / j, one on average."""
    variance = 1.0 / np.arange(1, d + 1)
    return rng.normal(size=(n, d)) * np.sqrt(variance / variance.mean())


def log_uniform(rng, low, high, size=None):
    return np.exp(rng.uniform(math.log(low), math.log(high), size))


# ---------------------------------------------------------------------------- methods


def fit(X, **settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WeakEvidenceWarning)
        return CRLM(**settings).fit(X)


def case_results(X, y, options):
    model = fit(X)
    results = [result("CRLM()", y, model.labels_, model.sigma_estimate_.evidence)]
    if len(X) > options.rivals:
        return results
    results.append(result("CRLM, best sigma*", y, best_sigma(X, y, model.sigma_estimate_)))
    Z = X.astype(np.float64)  # the others lose digits of single precision far from the origin
    Z = (Z - Z.mean(axis=0)) / Z.std()
    results.append(result("HDBSCAN", y, hdbscan(Z)))
    settings = [{}, *({"min_cluster_size": m} for m in (10, 20, 40))]
    settings.append({"min_cluster_size": 10, "cluster_selection_method": "leaf"})
    tried = [hdbscan(Z, **s) for s in settings if s.get("min_cluster_size", 5) < len(Z)]
    results.append(result("HDBSCAN, best of 5*", y, max(tried, key=lambda z: f_measure(y, z))))
    if len(X) <= 1000:
        # A tree gives the same answer as brute force, which is slow here.
        results.append(result("OPTICS", y, OPTICS(algorithm="ball_tree").fit(Z).labels_))
    results.append(result("DBSCAN, knee", y, dbscan(Z)))
    return results


def null_results(X):
    """At each alpha, the larger first: what is background at .05 is so at .01, if nothing is near.

    (With a score below 1.2 no ball was near the threshold, so that the growth is the same.)
    """
    y, results, safe = np.full(len(X), -1), [], False
    for alpha in ALPHAS:
        if not safe:
            model = fit(X, alpha=alpha)
            safe = not model.n_clusters_ and model.sigma_estimate_.score < 1.2
        method = f"CRLM(alpha={alpha})"
        results.append(result(method, y, model.labels_, model.sigma_estimate_.evidence))
    if len(X) <= 1000:
        results.append(result("HDBSCAN", y, hdbscan(X)))
    return results


def result(method, y, labels, evidence=""):
    found = [labels == j for j in np.unique(labels[labels >= 0])]
    true = [y == j for j in range(int(y.max()) + 1)]
    best = [max((2 * (f & t).sum() / (f.sum() + t.sum()) for t in true), default=0) for f in found]
    false = sum(F < 0.5 for F in best)
    F = f_measure(y, labels.astype(np.int64))
    return {"method": method, "F": F, "found": len(found), "false": false, "evidence": evidence}


def best_sigma(X, y, estimate):
    """Labels of Algorithm 2 at the bandwidth with the largest F: twelve, then eight around it."""
    # Divided by a length first: squares of the smallest units would lose their digits.
    sq = np.square(squareform(pdist(X.astype(np.float64) / estimate.suggested)))

    def at(sigma):
        labels = algorithm_2(sq, 4.0 * X.shape[1] * (sigma / estimate.suggested) ** 2)
        return f_measure(y, labels), labels

    # From the smallest ball of three to the median distance, as CRLM() does.
    third = np.sort(sq, axis=1)[:, 2]
    ends = np.array([third[third > 0].min(), np.median(sq)])
    grid = np.geomspace(*estimate.suggested * np.sqrt(ends / (4.0 * X.shape[1])), 14)[1:-1]
    tried = [at(sigma) for sigma in grid]
    best = grid[max(range(len(grid)), key=lambda i: tried[i][0])]
    step = grid[1] / grid[0]
    tried += [at(s) for s in [*best * step ** np.linspace(-0.9, 0.9, 8), estimate.suggested]]
    return max(tried, key=lambda t: t[0])[1]


def algorithm_2(sq, sq_radius, max_clusters=50):
    """``CRLM(sigma_max, max_clusters=50, alpha=None)`` on given squared distances."""
    W = np.minimum(sq / sq_radius - 1.0, 0.0)
    L = W.sum(axis=1)
    labels = np.full(len(sq), -1)
    for j in range(max_clusters):
        center = int(np.argmin(L))
        members = np.flatnonzero((W[center] < 0.0) & (labels < 0))
        if len(members) < 2:
            break
        labels[members] = j
        L -= W[:, members].sum(axis=1)
        L[members] = np.inf
    return labels


def hdbscan(X, **settings):
    """All distances at once: the same tree, sooner where there are many columns."""
    return HDBSCAN(algorithm="brute", copy=True, **settings).fit(X).labels_


def dbscan(X):
    """With eps at the knee of the sorted distances to the fourth neighbour."""
    r = np.sort(NearestNeighbors(n_neighbors=5).fit(X).kneighbors()[0][:, 3])
    x, height = np.linspace(0, 1, len(r)), (r - r[0]) / max(r[-1] - r[0], 1e-300)
    eps = r[int(np.argmax(x - height))]
    return DBSCAN(eps=max(eps, 1e-300), min_samples=5).fit(X).labels_


# ---------------------------------------------------------------------------- results


def read(path):
    if path is None or not path.exists():
        return []
    with path.open(newline="") as f:
        if path.suffix == ".json":
            return [json.loads(line) for line in f]
        number = {"n": int, "d": int, "k": int, "F": float, "found": int, "false": int}
        return [{k: number.get(k, str)(v) for k, v in row.items()} for row in csv.DictReader(f)]


def write(path, rows):
    if path is None:
        return
    first = not path.exists()
    with path.open("a", newline="") as f:
        if path.suffix == ".json":
            f.writelines(
                json.dumps({k: row[k] for k in FIELDS}, default=int) + "\n" for row in rows
            )
            return
        table = csv.DictWriter(f, FIELDS)
        if first:
            table.writeheader()
        table.writerows(rows)


def report(rows):
    for family in FAMILIES[:4]:
        part = [r for r in rows if r["family"] == family]
        if part:
            print(f"\n{family}  (* chosen by the labels)")
            compare(part)
            by_kind(part)
    real = [r for r in rows if r["family"] == "real"]
    if real:
        print("\nreal  (* chosen by the labels)")
        compare(real)
        by_kind(real)
    for family, kinds in (("nulls", all_nulls()), ("columns", COLUMNS)):
        if part := [r for r in rows if r["family"] == family]:
            null_table(family, part, kinds)


def compare(rows):
    """All methods; CRLM() also on the cases that the others were run on."""
    print(f"  {'method':28} cases  mean F  right k  found   true  false  false/case")
    both = {r["case"] for r in rows if r["method"] == "HDBSCAN"}
    small = {r["case"] for r in rows if r["method"] == "OPTICS"}
    methods = {r["method"]: [q for q in rows if q["method"] == r["method"]] for r in rows}
    own = methods["CRLM()"]
    for name, some in ((" beside HDBSCAN", both), (" beside OPTICS", small)):
        if 0 < len(some) < len(own):
            methods["CRLM()" + name] = [r for r in own if r["case"] in some]
    for grade in ("clear", "moderate", "weak"):
        if some := [r for r in own if r["evidence"] == grade]:
            methods[f"CRLM(), {grade}"] = some
    for method, part in methods.items():
        print(f"  {method:28} {line(part)}")


def line(rows):
    F, found, true, false = (np.mean([r[x] for r in rows]) for x in ("F", "found", "k", "false"))
    right = np.mean([r["found"] == r["k"] for r in rows])
    total = sum(r["false"] for r in rows)
    return f"{len(rows):5} {F:7.3f} {right:8.2f} {found:6.1f} {true:6.1f} {total:6} {false:11.2f}"


def by_kind(rows):
    kinds = list(dict.fromkeys(r["kind"] for r in rows))
    if len(kinds) < 2:
        return
    print("  F (false clusters per case) by kind: CRLM(), CRLM best sigma*, HDBSCAN, its best*")
    for kind in kinds:
        cells = []
        for method in ("CRLM()", "CRLM, best sigma*", "HDBSCAN", "HDBSCAN, best of 5*"):
            part = [r for r in rows if r["kind"] == kind and r["method"] == method]
            F, false = (np.mean([r[x] for r in part]) if part else math.nan for x in ("F", "false"))
            cells.append(f"{F:6.3f} ({false:5.2f})")
        n_cases = len({r["case"] for r in rows if r["kind"] == kind})
        print(f"  {kind:28} {n_cases:5} {'  '.join(cells)}")


def null_table(family, rows, dimensions):
    print(f"\n{family}: runs with any cluster / runs; HDBSCAN only up to 1000 rows")
    methods = [*(f"CRLM(alpha={alpha})" for alpha in ALPHAS), "HDBSCAN"]
    print(f"  {'null':22}" + "".join(f"{m:>20}" for m in methods))
    kinds = [f"{kind} d={d}" for kind, some in dimensions.items() for d in some]
    whole = {k: {k} for k in kinds}
    for kind, some in dimensions.items():
        if len(some) > 1:
            whole[f"{kind}, all d"] = {f"{kind} d={d}" for d in some}
    for name, some in {**whole, "all": set(kinds)}.items():
        cells = []
        for method in methods:
            part = [r["found"] > 0 for r in rows if r["method"] == method and r["kind"] in some]
            cells.append(f"{sum(part)} / {len(part)}  {np.mean(part) if part else math.nan:.3f}")
        print(f"  {name:22}" + "".join(f"{c:>20}" for c in cells))


if __name__ == "__main__":
    main()
