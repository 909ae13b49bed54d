"""The loss: its range, its end, its fixed point."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from crlm.loss import QUANTUM, fixed_point, robust_loss, sq_cutoff, total_loss
from crlm.theory import adaptive_G

SQ = st.floats(0, 1e12)
SIGMA = st.floats(1e-3, 1e3)
D = st.integers(1, 5000)
G = st.floats(1.01, 20)


@given(SQ, SIGMA, D, G)
def test_loss_lies_between_minus_G_and_zero(sq, sigma, d, G):
    assert -G <= robust_loss(sq, sigma, d, G) <= 0


@given(SIGMA, D, G)
def test_loss_is_minus_G_at_the_centre_and_zero_from_the_cutoff_on(sigma, d, G):
    cutoff = sq_cutoff(sigma, d, G)
    assert robust_loss(0.0, sigma, d, G) == -G
    assert abs(robust_loss(cutoff, sigma, d, G)) < 1e-12
    assert robust_loss(2 * cutoff, sigma, d, G) == 0


@given(st.lists(st.floats(-20, 0), min_size=1), st.randoms())
def test_sums_in_fixed_point_do_not_depend_on_the_order(losses, random):
    shuffled = random.sample(losses, len(losses))
    assert fixed_point(losses).sum() == fixed_point(shuffled).sum()


@given(st.floats(-20, 0))
def test_fixed_point_is_off_by_at_most_half_a_quantum(loss):
    assert abs(fixed_point(loss) * QUANTUM - loss) <= QUANTUM / 2


def test_total_loss_adds_the_loss_of_every_point():
    X = np.array([[0.0, 0.0], [1.0, 1.0], [9.0, 9.0]])
    assert total_loss(X, [0.0, 0.0], sigma=1.0) == -4.0 + (2 / 2 - 4)


@given(st.integers(1, 10**6), st.integers(1, 3000))
def test_adaptive_G_leaves_out_about_delta_points(n, d):
    G = adaptive_G(n, d, delta=0.01)
    assert G > 1
    assert np.isclose(n * stats.chi2.sf(d * G, d), 0.01, rtol=1e-6)
