"""Do the theorems keep their promises? Monte Carlo of CRLM against (P), (P*) and (X).

    python experiments/guarantees.py           # a minute: 42 settings
    python experiments/guarantees.py --full    # 240 settings, 200 runs each

Every setting is a GMMUB whose terms are made large enough to be seen: radius, size of the
background and distances between means are chosen so that each way to fail has a probability
between 0.001 and 0.3, or, for the printed theorem, so that it promises something at all. A bound
is violated when failures are more than it allows with a one-sided binomial p-value below 0.01
over the number of tests.
"""

from __future__ import annotations

import argparse
import math
from itertools import islice

import numpy as np
from scipy import special

from crlm import GMMUB, theory
from crlm.greedy import find_clusters
from crlm.search import neighbourhood

KINDS = ("printed", "corrected", "sharp")
LEVEL = 0.01


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    n_settings, n_runs = (240, 200) if options.full else (42, 100)
    families = (sharp_setting, printed_setting, size_setting)
    settings = [families[i % 3](rng) for i in range(n_settings)]
    failures = [sum(fails(s, rng) for _ in range(n_runs)) for s in settings]
    report(settings, failures, n_runs)
    false_guarantee(rng, n_runs=1000 if options.full else 200)


def sharp_setting(rng):
    """Small clusters, crowded edges: what the printed theorem has nothing to say about."""
    d = int(rng.choice([2, 3, 5, 10, 20, 50, 100]))
    k = int(rng.integers(1, min(3, d) + 1))
    n = int(rng.choice([200, 300, 500]))
    weights = rng.uniform(5, 14, size=k) / n  # a cluster gets fewer than two points now and then
    sigmas = rng.choice([1.0, 1.5, 2.0], size=k)
    cover, intrusion, meeting = 10 ** rng.uniform(-3, -0.7, size=3)
    log_pairs = 2 * math.log(n) + 2 * math.log(weights.max()) - math.log(2)
    R = sigmas.max() * math.sqrt(2 * theory.chi2_logisf(math.log(cover) - log_pairs, d))
    mixed = n * (n - 1) * weights.sum() * (1 - weights.sum())
    D = R * (mixed / intrusion) ** (1 / d) / math.sqrt(d)
    gap = distance_between(R, d, sigmas.max(), math.log(meeting) - log_pairs - math.log(2))
    return build(rng, n, d, weights, sigmas, R / math.sqrt(4 * d), D, gap, off_center=0.7)


def size_setting(rng):
    """Wide gaps on every side: a cluster fails only for want of points, and the bound is tight."""
    d = int(rng.choice([5, 20, 100]))
    k = int(rng.integers(1, 4))
    n = int(rng.choice([100, 200, 400]))
    weights = rng.uniform(3, 7, size=k) / n
    return build(rng, n, d, weights, np.ones(k), 4.0, 1e4, 1e4, off_center=0.7)


def distance_between(R, d, sigma, log_p):
    """How far apart two means must be for a pair to be within R with this probability only."""
    low, high = 0.0, 4.0 * R + 20.0 * sigma * math.sqrt(d)
    for _ in range(60):
        middle = 0.5 * (low + high)
        near = theory.ncx2_logcdf(R**2 / (2 * sigma**2), d, middle**2 / (2 * sigma**2))
        low, high = (middle, high) if near > log_p else (low, middle)
    return high


def printed_setting(rng):
    """Heavy clusters that meet A2 and A3, with terms of the printed theorem below 1."""
    d = int(rng.choice([10, 20, 50, 100]))
    k = int(rng.integers(1, 3))
    weight = float(rng.choice([0.25, 0.3, 0.4]))
    sigma_max = float(rng.uniform(2.02, 4))
    n = int(rng.choice([300, 500, 700]))
    D = 4 * sigma_max * (n * k / 10 ** rng.uniform(-3, -0.5)) ** (1 / d)
    gap = 2.02 * sigma_max * math.sqrt(4 * d)
    return build(rng, n, d, np.full(k, weight), np.ones(k), sigma_max, D, gap, off_center=0.0)


def build(rng, n, d, weights, sigmas, sigma_max, D, gap, off_center):
    """A model with means at equal distances, off the middle; its bounds by every kind."""
    k = len(weights)
    gap = gap if k > 1 else 0.0
    shift = rng.normal(size=d)
    shift *= rng.uniform(0, off_center) * D * math.sqrt(d) / np.linalg.norm(shift)
    means = np.eye(k, d) * gap / math.sqrt(2) + shift
    model = GMMUB(means, sigmas, weights, D)
    bounds = {
        kind: theory.guarantee(
            n,
            d,
            weights,
            sigmas,
            sigma_max,
            D,
            center_norms=np.linalg.norm(means, axis=1),
            separations=gap if k > 1 else None,
            kind=kind,
        )
        for kind in KINDS
    }
    return model, n, sigma_max, bounds


def fails(setting, rng):
    """Whether the first k balls are anything but the k clusters."""
    model, n, sigma_max, _ = setting
    X, y = model.sample(n, rng)
    weights = np.ones(n, dtype=np.int64)
    near = neighbourhood(X, sigma_max, 4.0, weights, memory_limit=10**9)
    balls = find_clusters(X, near, sigma_max, weights, accept=lambda ball: True)
    found = {frozenset(c.ball.members.tolist()) for c in islice(balls, model.k)}
    truth = {frozenset(np.flatnonzero(y == j).tolist()) for j in range(model.k)}
    return found != truth or min(map(len, truth)) < 2


def report(settings, failures, n_runs):
    print(f"{len(settings)} settings, {n_runs} runs of CRLM each")
    print("     kind  tested  above  least p   needed  observed/bound  verdict")
    for kind in KINDS:
        rows = [
            (s[3][kind].failure, failed)
            for s, failed in zip(settings, failures, strict=True)
            if s[3][kind].failure < 1.0 and not s[3][kind].violated
        ]
        bound, failed = np.array(rows).T if rows else np.empty((2, 0))
        p = special.betainc(np.maximum(failed, 1), n_runs - failed + 1, bound)
        p = np.where(failed == 0, 1.0, p)
        needed = LEVEL / max(len(rows), 1)
        bad = int((p < needed).sum())
        above = int((failed / n_runs > bound).sum())
        ratio = failed.sum() / n_runs / max(bound.sum(), 1e-300)
        verdict = "no violation" if not bad else f"VIOLATED in {bad}"
        print(
            f"{kind:>9} {len(rows):7} {above:6} {p.min(initial=1):8.2g} {needed:8.2g} "
            f"{ratio:15.3f}  {verdict}"
        )


def false_guarantee(rng, n_runs):
    """d = 2, G = 16, a million points of one Gaussian: does one lie beyond sigma sqrt(d G)?"""
    n, d, G = 10**6, 2, 16.0
    printed = theory.guarantee(n, d, 1.0, 1.0, 9.0, 1e9, G, kind="printed").terms["cover"]
    exact = math.exp(theory.log_fail_iid(theory.chi2_logsf(d * G, d), n))
    # In d = 2 half the squared radius is exponential.
    seen = sum(2.0 * rng.standard_exponential(n).max() >= d * G for _ in range(n_runs))
    print(
        f"\nC2 fails for d = 2, G = 16, n = 1e6: printed at most {printed:.1e}, "
        f"exactly {exact:.4f}, observed {seen / n_runs:.3f} in {n_runs} runs"
    )


if __name__ == "__main__":
    main()
