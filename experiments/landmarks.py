"""Do landmarks keep their promises? Missed clusters, false ones, and what a cluster moves.

    python experiments/landmarks.py           # some minutes
    python experiments/landmarks.py --full    # more draws of the background

*Draws*: share of 200 seeded draws of "auto" landmarks that miss a cluster, beside delta. *Centres*:
F of the exact fit, with landmarks, and with `refine`, for balls that cut into clusters. *Null*:
share of backgrounds in which a cluster is found, beside alpha. *Cost*: bytes that the passes of a
fit on Dask send, measured on partitions, and the same for a billion rows by `cost`.
"""

from __future__ import annotations

import argparse
import math
import pickle
from typing import NamedTuple

import numpy as np
from scipy import stats

from crlm import CRLM, GMMUB, scores, theory
from crlm.dask.passes import group_part, survey_part, tally_part
from crlm.landmarks.groups import merge_groups
from crlm.landmarks.keys import likely_bar
from crlm.landmarks.sieve import make_sieve
from crlm.landmarks.survey import make_pool, merge_surveys

N_DRAWS = 200


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--full", action="store_true")
    options = parser.parse_args()
    draws()
    centers()
    null(200 if options.full else 40)
    measured()
    billion()


def draws():
    """Missed clusters with as many landmarks as "auto" takes, for k unknown and k known."""
    print(f"draws: {N_DRAWS} seeds, data fixed; missed if F < 1")
    for weight, k, delta in [(0.01, 3, 0.01), (0.01, 3, 0.1), (0.02, 10, 0.05), (0.005, 1, 0.1)]:
        X, y = clusters(n=4000, k=k, size=round(4000 * weight))
        for known in (None, k):
            m = theory.plan_candidates(weight, delta, known)
            fits = (draw(X, seed, weight, delta, known) for seed in range(N_DRAWS))
            missed = sum(scores.f_measure(y, model.labels_) < 1.0 for model in fits)
            p = stats.binomtest(missed, N_DRAWS, delta, alternative="greater").pvalue
            print(
                f"  weight {weight:<6} k {k:<3} k given: {known is not None!s:<6} m {m:<5} delta "
                f"{delta:<5} missed {missed / N_DRAWS:<6} p of more than delta {p:.2f}",
                flush=True,
            )


def draw(X, seed, weight, delta, known):
    return CRLM(
        2.5,
        alpha=None,
        min_cluster_size=10,
        max_clusters=known,
        n_landmarks="auto",
        min_weight=weight,
        delta=delta,
        random_state=seed,
        n_jobs=1,
    ).fit(X)


def clusters(n, k, size, d=10, seed=0):
    """k clusters of one size, wide apart, in a cube of background."""
    rng = np.random.default_rng(seed)
    tight = [center + rng.normal(size=(size, d)) for center in rng.uniform(-300, 300, (k, d))]
    X = np.vstack([rng.uniform(-300, 300, (n - k * size, d)), *tight])
    return X, np.repeat(np.arange(-1, k), [n - k * size, *[size] * k])


def centers(n_runs=12):
    """F when the radius cuts into the clusters, where it matters which row is the centre."""
    print(f"centres: 4 clusters of 60 rows in 2,000, mean F over {n_runs} data sets")
    for d in (2, 5, 20):
        for sigma_max in (0.75, 1.0, 1.5, 2.1):
            F = np.array([centers_of(d, sigma_max, seed) for seed in range(n_runs)])
            exact, plain, better = F.mean(axis=0)
            print(
                f"  d {d:<3} sigma_max {sigma_max:<5} exact {exact:.3f}  landmarks {plain:.3f}  "
                f"refine {better:.3f}",
                flush=True,
            )


def centers_of(d, sigma_max, seed):
    """F of the exact fit, with landmarks, and with better centres."""
    rng = np.random.default_rng(seed)
    means = np.zeros((4, d))
    means[:, 0] = 100.0 * np.arange(1, 5)
    X = np.vstack([500.0 * uniform_ball(2000, d, rng), *(rng.normal(m, 1, (60, d)) for m in means)])
    y = np.repeat([-1, 0, 1, 2, 3], [2000, 60, 60, 60, 60])
    same = {"max_clusters": 4, "alpha": None, "n_jobs": 1, "random_state": seed}
    few = {"n_landmarks": "auto", "min_weight": 60 / len(X)}
    fits = [CRLM(sigma_max, **same, **more) for more in ({}, few, {**few, "refine": True})]
    return [scores.f_measure(y, model.fit(X).labels_) for model in fits]


def uniform_ball(n, d, rng):
    """Points uniform in a ball of radius sqrt(d)."""
    points = rng.normal(size=(n, d))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    return points * np.sqrt(d) * rng.uniform(size=(n, 1)) ** (1 / d)


def null(n_runs):
    """Clusters found where there are none, at alpha = 0.05."""
    alpha = 0.05
    for name, make in [
        ("Gaussian", lambda rng: rng.normal(size=(6000, 10))),
        ("uniform cube", lambda rng: rng.uniform(size=(6000, 5))),
    ]:
        found = 0
        for seed in range(n_runs):
            X = make(np.random.default_rng(seed))
            sigma_max = float(np.quantile(distances(X), 0.002) / math.sqrt(4 * X.shape[1]))
            model = CRLM(sigma_max, alpha=alpha, n_landmarks=1000, n_jobs=1, random_state=seed)
            found += model.fit(X).n_clusters_ > 0
        print(f"null: {name}, 6,000 rows: {found} of {n_runs} with a cluster at alpha {alpha}")


def distances(X):
    a, b = X[:1000], X[1000:2000]
    return np.sqrt(np.square(a[:, None] - b).sum(axis=-1)).ravel()


class Cost(NamedTuple):
    """What a fit takes, all passes together."""

    flops: float  # float32, in the product
    read: float  # bytes, by the workers from where the data are
    to_workers: float  # bytes
    from_workers: float
    rounds: int


def cost(n, d, m, k, clustered, *, workers, partitions, columns, fan_in=8):
    """Model of the cost of a fit with landmarks on a cluster.

    `clustered` rows lie near some landmark; `columns` is the width of the filter.
    """
    size = max(m, 2048)
    row = 4.0 * d + 16
    drawn = (size + 10.0 * math.sqrt(size) + 50.0) * row  # with some to spare, see likely_bar
    marks = 8.0 * clustered
    # A landmark that is alone is a group of its own; those of clusters are in each partition.
    near = m * clustered / n
    groups = 50.0 * m + partitions * (12.0 * near + 50.0 * k + 500.0)
    sums = partitions * k * (3 * d + 5) * 8.0
    depth = math.ceil(math.log(max(partitions, 2), fan_in))
    return Cost(
        flops=2.0 * n * (m + k) * columns,
        read=3.0 * 4 * n * d,
        to_workers=workers * (size * row + k * 4.0 * d),
        from_workers=drawn + marks + groups + sums,
        rounds=4 * (1 + depth),
    )


def measured():
    """Bytes that come from the partitions of a small data set, beside the model."""
    n, d, k, m, parts = 40_000, 32, 5, 1000, 16
    truth = GMMUB.draw(k, d, 1.0, 0.01, D=60, sigma_max=2.5, rng=0)
    X = truth.sample(n, rng=1)[0].astype(np.float32)
    cuts = np.array_split(np.arange(n), parts)
    about = [(X[rows], number, int(rows[0])) for number, rows in enumerate(cuts)]
    fixed = {"metric": "euclidean", "d": d}
    bar = int(likely_bar(n, 2048))
    surveys = [survey_part(*part, 0, 2048, bar, **fixed) for part in about]
    pool = make_pool(merge_surveys(surveys, 2048), m, 0)
    sieve = make_sieve(pool, 2.5, 4.0)
    groups = [group_part(*part, sieve, np.zeros(d), marked=True, **fixed) for part in about]
    whole = merge_groups(groups)
    chosen = sieve.only(np.arange(k))
    tallies = [tally_part(*part, chosen, 5, **fixed) for part in about]
    sent = [sum(len(pickle.dumps(result)) for result in s) for s in (surveys, groups, tallies)]
    near = len(whole.marks)
    model = cost(n, d, m, k, near, workers=2, partitions=parts, columns=12)
    print(
        f"cost: {n:,} x {d}, {m} landmarks, {parts} partitions: sent {sum(sent):,} bytes (survey, "
        f"groups, tally {sent}), model {model.from_workers:,.0f}; the data are {X.nbytes:,}"
    )


def billion():
    """A billion rows x 512 on 16 machines of 32 cores, by the model."""
    m = theory.plan_candidates(0.001)
    found = cost(10**9, 512, m, 50, 10**7, workers=512, partitions=8000, columns=27)
    print(
        f"a billion rows x 512, {m:,} landmarks: {found.flops:.2g} flops, {found.read:.2g} bytes "
        f"read, {found.to_workers:.2g} to and {found.from_workers:.2g} from the workers, "
        f"{found.rounds} rounds"
    )


if __name__ == "__main__":
    main()
