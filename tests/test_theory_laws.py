"""Laws of the bounds: what dominates what, what a bound may depend on, no overflow anywhere."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crlm import theory
from crlm.errors import ParameterError
from crlm.theory.setting import make_setting
from crlm.theory.sharp import all_pairs, log_ball, log_crowded, log_geometry, log_loss, log_small
from crlm.theory.special import log_sum

DIMENSIONS = np.unique(np.rint(np.geomspace(1, 1e5, 60)))
DEPTHS = np.geomspace(1.001, 30, 60)
few = settings(max_examples=25)
dims = st.sampled_from([1, 2, 5, 20, 100, 3000])
shares = st.floats(1e-4, 0.45)


def test_chernoff_and_the_mended_lemma_dominate_the_exact_tail():
    d, G = np.meshgrid(DIMENSIONS, DEPTHS)
    exact = theory.chi2_logsf(d * G, d)
    assert (exact <= theory.chi2_logsf_chernoff(d * G, d)).all()
    t = G - 1
    assert (exact <= math.log(2) - d * np.minimum(t, t**2) / 8 + 1e-12).all()
    assert (np.diff(exact, axis=0) < 0).all()


def test_the_printed_lemma_holds_up_to_the_threshold():
    d = DIMENSIONS
    for G in np.linspace(1.01, 2.62, 30):
        assert (theory.chi2_logsf(d * G, d) <= math.log(2) - d * (G - 1) ** 2 / 8 + 1e-12).all()


def test_noncentral_chernoff_dominates_the_exact_tail():
    d = np.array([1, 2, 5, 20, 100, 1000, 10_000])[:, None, None]
    lam = np.array([0.5, 5, 50, 500, 5000])[:, None]
    x = (d + lam) * np.linspace(0.01, 1.2, 40)
    exact = theory.ncx2_logcdf(x, d, lam)
    bound = theory.ncx2_logcdf_chernoff(x, d, lam)
    assert (exact <= bound).all()
    assert (exact < bound).mean() > 0.3  # exact values really were computed


def test_poisson_form_dominates_the_binomial():
    for c in (2.0, 4.0, 6.638, 12.0):
        for n in (20, 100, 10_000, 1e9):
            assert theory.log_binom_le(1, n, c / n) <= math.log1p(c) - c + 1e-12


@given(st.floats(1e-3, 3), st.floats(1e-3, 3), dims)
def test_a_lens_is_no_larger_than_its_ball_and_pairs_are_rarer_than_neighbours(c, r, d):
    assert theory.log_lens(c, r, 1.0, d) <= min(0.0, d * math.log(r)) + 1e-12
    D = 1 / math.sqrt(d)
    assert theory.log_q2(r, D, d) <= theory.log_q(r, D, d) + 1e-12


@given(st.floats(-2000, -1e-6), st.sampled_from([1, 2, 30, 1000, 100_000]))
@few
def test_the_quantile_inverts_the_tail(log_p, d):
    x = theory.chi2_logisf(log_p, d)
    assert theory.chi2_logsf(x, d) == pytest.approx(log_p, rel=1e-8, abs=1e-12)


@given(st.integers(1, 40), st.integers(1, 40), st.floats(0.001, 0.999))
def test_binomial_tails_add_up_to_one(r, more, p):
    n = r + more
    below, above = theory.log_binom_le(r - 1, n, p), theory.log_binom_ge(r, n, math.log(p))
    assert math.exp(below) + math.exp(above) == pytest.approx(1.0)


@given(
    dims, shares, st.floats(2.1, 8), st.floats(9, 400), st.floats(0.01, 100), st.floats(1.05, 16)
)
@few
def test_the_sharp_bound_is_free_of_units_and_of_how_R_is_split(d, weight, s, D, scale, G):
    old = theory.guarantee(1000, d, weight, 1.0, s, D, center_norms=D)
    new = theory.guarantee(
        1000, d, weight, scale, s * scale * math.sqrt(4 / G), D * scale, G, center_norms=D * scale
    )
    assert new.log_failure == pytest.approx(old.log_failure, rel=1e-6, abs=1e-9)


@given(dims, shares, st.floats(2.1, 8), st.floats(9, 400), st.integers(2, 100_000))
@few
def test_probabilities_lie_between_zero_and_one(d, weight, sigma_max, D, n):
    for kind in ("printed", "corrected", "sharp"):
        found = theory.guarantee(
            n, d, [weight, weight], 1.0, sigma_max, D, kind=kind, separations=1e3
        )
        assert 0 <= found.probability <= 1
        assert found.failure <= 1
        assert not math.isnan(found.probability_raw)
        assert found.weakest in found.log_terms
        assert found.weakest in found.advice or found.violated


@given(dims, shares, st.floats(2.1, 8), st.floats(9, 100), st.floats(1.01, 4))
@few
def test_a_wider_background_never_hurts(d, weight, sigma_max, D, factor):
    near, far = (
        make_setting(500, d, weight, 1.0, sigma_max, width, 4.0, 0.0) for width in (D, D * factor)
    )
    assert log_ball(far)[0] <= log_ball(near)[0] + 1e-9
    assert log_geometry(far).total <= log_geometry(near).total + 1e-9


@given(dims, shares, st.integers(3, 2000))
@few
def test_all_points_as_landmarks_are_no_landmarks(d, weight, n):
    full = theory.guarantee(n, d, weight, 1.0, 3.0, 40.0)
    same = theory.guarantee(n, d, weight, 1.0, 3.0, 40.0, landmarks=n)
    assert same.log_failure == pytest.approx(full.log_failure, rel=1e-12, abs=1e-12)
    assert all_pairs(n) == all_pairs(n, n)


def test_k_equal_clusters_multiply_the_printed_loss_term():
    # At equal W: the background weight differs, but nothing of it is left in d = 100.
    one = theory.guarantee(1e5, 100, 0.1, 1.0, 3, 100, kind="printed").log_terms["loss"]
    many = theory.guarantee(1e5, 100, [0.1] * 5, 1.0, 3, 100, kind="printed").log_terms["loss"]
    assert many - one == pytest.approx(math.log(5), rel=1e-9)


@given(st.sampled_from([10, 20, 100]), st.floats(0.01, 0.3), st.floats(2.2, 4))
@few
def test_the_sharp_theorem_needs_fewer_points_and_is_never_worse(d, weight, sigma_max):
    sharp = theory.plan_n(d, weight, 1.0, sigma_max, 60)
    corrected = theory.plan_n(d, weight, 1.0, sigma_max, 60, kind="corrected")
    if corrected is not None:
        assert sharp < corrected
        n = corrected
        found = theory.guarantee(n, d, weight, 1.0, sigma_max, 60)
        assert found.failure <= 0.01 + 1e-12
        fewer = theory.guarantee(sharp - 1, d, weight, 1.0, sigma_max, 60)
        assert theory.guarantee(sharp, d, weight, 1.0, sigma_max, 60).failure <= 0.01
        assert fewer.failure > 0.01


def test_what_a_planner_returns_keeps_its_promise():
    weight = theory.plan_weight(300, 10, 1.0, 3.0, 30)
    assert theory.guarantee(300, 10, weight, 1.0, 3.0, 30).failure <= 0.01
    found = theory.sigma_max_interval(300, 10, 0.1, 1.0, 30)
    for sigma_max in (found.lower, found.best, found.upper):
        assert theory.guarantee(300, 10, 0.1, 1.0, sigma_max, 30).failure <= 0.01 + 1e-12
    for sigma_max in (found.lower * 0.99, found.upper * 1.01):
        assert theory.guarantee(300, 10, 0.1, 1.0, sigma_max, 30).failure > 0.01
    eps = theory.center_bound(300, 10, 0.1, 1.0, 0.05)
    assert theory.center_tail(300, 10, 0.1, 1.0, eps) == pytest.approx(0.05, rel=1e-9)


def test_what_cannot_be_is_told_apart():
    assert theory.plan_n(2, 0.1, 1.0, 2.5, 3.0) is None  # the background fills every ball
    assert theory.plan_n(2, 0.1, 1.0, 2.5, 3.0, kind="printed") is None
    assert theory.plan_weight(1, 20, 1.0, 2.5, 60.0) is None
    nothing = theory.sigma_max_interval(50, 2, 0.01, 1.0, 3.0)
    assert nothing.is_empty
    assert nothing.best_failure > 0.01
    empty = theory.sigma_max_interval(1e4, 10, 0.1, 1.0, 50, kind="printed")
    assert empty.is_empty  # the tail alone is more than delta
    assert math.isnan(empty.theorem)
    assert theory.center_bound(10, 3, 0.01, 1.0) == math.inf
    assert theory.sigma_interval(1.0, 1, 5) == (0.0, math.inf)
    assert theory.plan_landmarks(20, 0.01, 1.0, 2.5, 60.0, n=100) is None
    assert theory.max_n(1e5, sigma_max=2, D=100) == math.inf
    corrected = theory.guarantee(1e5, 20, 0.1, 1.3, 2.5, 60, kind="corrected")
    assert corrected.violated == ("A3",)
    assert corrected.probability == 0.0
    assert "A3 does not hold" in corrected.advice


def test_no_overflow_and_no_warning_at_the_ends_of_the_range():
    for n in (2, 1e12):
        for d in (1, 100, 1e5):
            for weight in (1e-9, 0.3):
                for sigma_max, D in ((2.5, 60), (40, 60), (0.7, 1e4)):
                    for kind in ("printed", "corrected", "sharp"):
                        g = theory.guarantee(n, d, weight, 1.0, sigma_max, D, kind=kind)
                        assert not any(map(math.isnan, g.terms.values()))
                        assert 0 <= g.probability <= 1
    for d in (2, 1e5):
        assert theory.plan_n(d, 1e-9, 1.0, 2.5, 1e9) is not None
        assert theory.plan_n(d, 1e-9, 1.0, 2.5, 1e9, kind="corrected") or d == 2
        assert 0 < theory.plan_weight(1e12, d, 1.0, 2.5, 1e9) < 1e-9
        assert not theory.sigma_max_interval(1e12, d, 1e-9, 1.0, 1e9).is_empty
        assert theory.adaptive_G(1e12, d, 1e-9) > 0
        assert 0 < theory.center_bound(1e12, d, 1e-9, 1.0) < math.inf


def test_loss_bound_of_a_crowded_background_is_least_over_t():
    s = make_setting(300, 3, 0.03, 1.0, 2.5, 20, 4.0)
    best = log_loss(s).total
    for t in range(1, 30):
        terms = [log_crowded(t, 300, 3, 0.97, s.R, 20), log_small(t, 300, 3, 0.03, 1.0, s.R)]
        assert best <= log_sum(terms) + 1e-9


ARGUMENTS = {"n": 100, "d": 5, "weights": 0.1, "sigmas": 1.0, "sigma_max": 2.5, "D": 20.0}
BAD = [
    ({"n": 0}, ["n = 0", "whole number of at least 1"]),
    ({"d": 2.5}, ["d = 2.5", "whole number"]),
    ({"D": -1}, ["D = -1", "greater than 0"]),
    ({"sigma_max": [1, 2]}, ["sigma_max = [1, 2]", "single number"]),
    ({"G": 1.0}, ["G = 1.0", "greater than 1", "paper takes 4"]),
    ({"weights": [0.1, 0.2], "sigmas": [1, 2, 3]}, ["shape (2,)", "(3,)", "equal length"]),
    ({"weights": 0.0}, ["weights 0.0", "greater than 0", "Leave it out"]),
    ({"weights": [0.9, 0.9]}, ["add up to 1.8", "Divide them"]),
    ({"weights": "many"}, ["weights cannot be read as numbers"]),
    ({"sigmas": np.nan}, ["sigmas contains NaN", "Replace or drop"]),
    ({"center_norms": -1.0}, ["center_norms", "at least 0"]),
    ({"separations": [1, 2, 3]}, ["separations has shape (3,)", "(1, 1)"]),
    ({"kind": "exact"}, ["kind = 'exact'", "'printed', 'corrected', 'sharp'"]),
    ({"kind": "printed", "landmarks": 5}, ["says nothing about landmarks", "kind='sharp'"]),
    ({"weights": [0.1, 0.1]}, ["needs separations", "smallest distance between two means"]),
]


@pytest.mark.parametrize(("changes", "words"), BAD)
def test_messages_of_the_theory_say_what_to_do(changes, words):
    with pytest.raises(ParameterError) as error:
        theory.guarantee(**{**ARGUMENTS, **changes})
    for word in words:
        assert word in str(error.value)


def test_messages_of_planners_and_landmarks():
    with pytest.raises(ParameterError, match=r"delta = 2, but a chance.*0\.01 asks"):
        theory.plan_n(5, 0.1, 1.0, 2.5, 20, delta=2)
    with pytest.raises(ParameterError, match=r"disjoint parts of n = 100.*Take fewer"):
        theory.landmark_guarantee(**ARGUMENTS, candidates=90, losses=20)
    with pytest.raises(ParameterError, match=r"must fit into n = 100 points.*at most n landmarks"):
        theory.landmark_conditional(100, [200], [0.4], 10)
    with pytest.raises(ParameterError, match=r"between 0 and 0\.5.*number of neighbours"):
        theory.landmark_conditional(100, [20], [0.7], 10)
