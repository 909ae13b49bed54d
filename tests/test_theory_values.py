"""Numbers that were computed elsewhere: mpmath, exact fractions, an independent program."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import optimize

from crlm import GMMUB, theory
from crlm.theory.centers import center_rate
from crlm.theory.printed import log_bernstein, log_terms, margins_W
from crlm.theory.setting import make_setting
from crlm.theory.sharp import log_loss, log_pair

PRIMITIVES = [
    ("chi2_logsf", (80, 20), -19.355662004),
    ("chi2_logsf", (400, 100), -84.669265662),
    ("chi2_logsf", (2000, 500), -408.206796615),
    ("chi2_logsf", (1000, 10), -478.311605458),
    ("chi2_logsf", (4700, 4096), -23.135732705),
    ("chi2_logsf", (8, 1), -5.36494126462),
    ("chi2_logsf_chernoff", (80, 20), -16.1370563888),
    ("chi2_logsf_chernoff", (2000, 500), -403.42640972),
    ("ncx2_logcdf_chernoff", (50, 20, 100), -8.46099306264),
    ("ncx2_logcdf_chernoff", (5, 2, 30), -6.18923321451),
    ("ncx2_logcdf", (5, 2, 30), -7.92812451488),
    ("ncx2_logcdf_chernoff", (100, 200, 5000), -2045.55372187),
    ("log_q", (22.3606797749979, 60, 20), -49.6981329958),
    ("log_q2", (22.3606797749979, 60, 20), -49.8520545209),
    ("log_q", (5, 2, 10), -2.35001814623),
    ("log_q", (84, 10, 100), -17.4353387145),
    ("log_q2", (84, 10, 100), -28.6982476591),
    ("log_lens", (0.5, 0.7, 1, 20), -7.15810780009),
    ("log_lens", (1.2, 0.6, 1, 2), -2.42816023915),
    ("log_lens", (0.3, 0.4, 1, 5), -4.58145365937),
    ("log_lens", (0.99, 0.5, 1, 1000), -723.746736986),
    ("log_binom_ge", (1, 999, math.log(1e-06)), -6.90925473798),
    ("log_binom_ge", (3, 4999, math.log(0.0001)), -4.24230557025),
    ("log_binom_ge", (2, 1000000, math.log(1e-300)), -1354.61318286),
    ("log_binom_le", (4, 1000, 0.02), -11.1172130329),
    ("log_kummer_m1", (1, 2), -0.330893268204),
    ("log_kummer_m1", (10, 20), 1.2037972572),
    ("adaptive_G", (10_000, 10, 0.01), 4.68630468468),
    ("adaptive_G", (10_000, 100, 0.01), 1.8212677712),
    ("adaptive_G", (1_000_000, 100, 0.01), 2.00631908737),
    ("adaptive_G", (1_000_000, 768, 0.01), 1.31333886039),
    ("adaptive_G", (1_000_000, 4096, 0.01), 1.12901246209),
    ("points_per_cluster", (0.1,), 3.8897201699),
    ("points_per_cluster", (0.05,), 4.7438645184),
    ("points_per_cluster", (0.01,), 6.6383520680),
    ("points_per_cluster", (0.001,), 9.2334134765),
    ("points_per_cluster", (1e-4,), 11.7563712225),
    ("landmark_conditional", (10_000, [100], [0.4], 800, 0), 0.00224260220546),
    ("landmark_conditional", (10_000, [100], [0.4], 1500, 3), 0.00149135659441),
    ("center_tail", (200, 2, 0.05, 1, math.sqrt(0.8)), 0.03599864057),
    ("center_tail", (500, 20, 0.02, 2, math.sqrt(32.0)), 0.00474138880952),
    ("center_tail", (1000, 100, 0.01, 1, math.sqrt(40.0)), 0.00315115386935),
]


@pytest.mark.parametrize(("name", "args", "value"), PRIMITIVES)
def test_values_agree_with_the_independent_computation(name, args, value):
    assert getattr(theory, name)(*args) == pytest.approx(value, rel=1e-9)


R = 2.5 * math.sqrt(80)
ONE = (1e4, 20, [0.1], [1], 2.5, 60, 4)
THREE = (1e6, 100, [0.01, 0.02, 0.03], [1, 2, 3], 10, 100, 4)
TWO = (1000, 10, [0.05, 0.1], [1, 1.5], 16 / math.sqrt(40), 20)


@pytest.mark.parametrize(
    ("args", "kind", "logs"),
    [
        (ONE, "printed", [-22.0965124475, -26.6248490126, -12.5965124475]),
        (ONE, "corrected", [-22.0965124475, -26.6248490126, -10.1453216321]),
        (THREE, "printed", [-33.1505424728, -76.7149503408, -97.9913422615]),
        (THREE, "corrected", [-33.1505424728, -76.7149503408, -70.853755104]),
    ],
)
def test_terms_of_the_theorems(args, kind, logs):
    found = theory.guarantee(*args, kind=kind)
    assert list(found.log_terms) == ["loss", "intrusion", "cover"]
    assert list(found.log_terms.values()) == pytest.approx(logs, rel=1e-9)


def test_W_and_the_corollary_on_centres_as_printed():
    s = make_setting(1e4, 20, 0.1, 1.0, 2.5, 60, 4)
    assert float(margins_W(s, 2.5, 4)[0]) == pytest.approx(0.32, rel=1e-9)
    logs = [-33.1505424728, -311.806852819, -50, -76.7149503408, -97.9913422615]
    assert center_rate(*THREE).log_terms == pytest.approx(logs, rel=1e-9)


def test_the_bound_by_bernstein():
    s = make_setting(5478, 20, [0.01], [1], 2.5, 60, 4)
    assert math.exp(log_bernstein(s, 2.5, 4)[0]) == pytest.approx(0.00998563600989, rel=1e-9)
    # It is worth more than the printed one, less than Theorem X, and nothing where W <= 0.
    for n in (2_000, 20_000, 200_000):
        s = make_setting(n, 20, [0.01], [1], 2.5, 60, 4)
        printed = log_terms(s, 2.5, 4, corrected=False)["loss"]
        assert log_loss(s).total <= log_bernstein(s, 2.5, 4)[0] <= max(printed, 0.0)
    assert log_bernstein(make_setting(1000, 20, [0.01], [1], 1.0, 60, 4), 1.0, 4)[0] == 0.0


def test_sharp_terms():
    s = make_setting(1000, 20, [0.01], [1], 2.5, 60, 4)
    assert log_pair(s)[:2] == pytest.approx((-90.3619143467, -40.49884346), rel=1e-9)
    two = make_setting(*TWO, 4.0, None, 60)
    logs = (-9.56906474278, -1.98948983487, -295.981057053)
    assert log_pair(two) == pytest.approx(logs, rel=1e-9)
    assert math.exp(theory.log_small(2, 200, 2, 0.05, 1, 3.5)) == pytest.approx(
        0.0269316798434, rel=1e-9
    )
    assert math.exp(theory.log_small(3, 200, 5, 0.05, 1, 6)) == pytest.approx(
        0.0523677936601, rel=1e-9
    )
    loss = log_loss(two)
    assert loss.t == 3
    assert math.exp(loss.crowded) == pytest.approx(1.49515630259e-19, rel=1e-9)
    # The reference has 1.81759700394e-17, which is 2.4e-6 more than its own definition gives;
    # summed in whole numbers P(n_1 <= 4) alone is 1.81759262036e-17, and the rest is nothing.
    p = Fraction(1, 20)
    few = sum(math.comb(1000, r) * p**r * (1 - p) ** (1000 - r) for r in range(5))
    assert math.exp(loss.small) == pytest.approx(float(few), rel=1e-9)
    assert math.exp(loss.small) == pytest.approx(1.81759700394e-17, rel=3e-6)


@pytest.mark.parametrize(
    ("arguments", "options", "failure"),
    [
        ((1000, 20, [0.01], [1], 2.5, 60), {"center_norms": [0]}, 0.000479244453579),
        ((1e5, 20, 0.01, 1, 2.5, 60), {"center_norms": 0, "landmarks": 1000}, 0.000479244453579),
        (TWO, {"separations": 60}, 0.136835037164),
        (TWO, {"separations": 60, "stop": True}, 0.411372472226),
        (TWO, {"separations": 60, "landmarks": 200}, 0.0297174690968),
    ],
)
def test_probability_of_failure(arguments, options, failure):
    found = theory.guarantee(*arguments, **options)
    assert found.failure == pytest.approx(failure, rel=1e-9)
    assert found.probability == pytest.approx(1 - failure, rel=1e-9)


def test_landmarks_apart_from_the_losses():
    disjoint = theory.landmark_guarantee(*TWO, candidates=300, losses=300, separations=60)
    assert disjoint.failure == pytest.approx(0.0905318153145, rel=1e-9)
    everywhere = theory.landmark_guarantee(*TWO, candidates=200, separations=60)
    assert everywhere.failure == pytest.approx(0.137228223087, rel=1e-9)


@pytest.mark.parametrize(
    ("weight", "printed", "sharp"),
    [
        (0.3, 392, 20),
        (0.2, 950, 31),
        (0.1, 4268, 64),
        (0.05, 18_935, 130),
        (0.02, 133_639, 330),
        (0.01, 580_957, 662),
        (0.005, 2_515_667, 1325),
    ],
)
def test_points_needed(weight, printed, sharp):
    assert theory.plan_n(20, weight, 1, 2.5, 60, kind="printed") == printed
    assert theory.plan_n(d=20, weights=weight, sigmas=1, sigma_max=2.5, D=60, G=4.0) == sharp


def test_points_needed_for_three_clusters():
    assert theory.plan_n(20, [0.1] * 3, 1, 2.5, 60, kind="printed") == 4638
    assert theory.plan_n(20, [0.1] * 3, 1, 2.5, 60, separations=1000) == 76
    assert theory.plan_n(20, [0.02] * 3, 1, 2.5, 60, separations=1000) == 391


@pytest.mark.parametrize(
    ("n", "weight"), [(500, 0.0132020931929), (5000, 0.0013269220746), (1e5, 6.63816492439e-05)]
)
def test_smallest_cluster(n, weight):
    assert theory.plan_weight(n, 20, [1], 2.5, 60) == pytest.approx(weight, rel=1e-9)


def test_interval_as_in_the_figures():
    found = theory.sigma_max_interval(
        1e4, 100, [0.1, 0.1], [1, 2], 50, center_norms=[200, 200], separations=400, kind="printed"
    )
    values = [found.a3, found.a1, found.a2, found.weight, found.theorem_lower, found.theorem]
    reference = [4, 7.5, 10, 25.4354596842, 3.33851087061, 10.8118425623]
    assert values == pytest.approx(reference, rel=1e-9)
    assert (found.lower, found.upper) == (4, 7.5)


def test_interval_in_a_hundred_thousand_dimensions():
    found = theory.sigma_max_interval(1e6, 1e5, 0.1, 1, 50, center_norms=0, kind="printed")
    values = [found.a3, found.a1, found.weight, found.theorem_lower, found.theorem]
    reference = [2, 12.5, 25.0021552359, 1.15428723445, 12.497697627]
    assert values == pytest.approx(reference, rel=1e-9)


def test_interval_of_the_sharp_theorem():
    found = theory.sigma_max_interval(1e4, 20, 0.1, 1, 50, center_norms=0)
    radii = found.lower * math.sqrt(80), found.upper * math.sqrt(80)
    assert radii == pytest.approx((12.3128904074, 104.232227964), rel=1e-9)


def test_worked_example_of_the_paper():
    assert theory.log_max_n(500, sigma_max=10, D=100) == pytest.approx(229.072682969, rel=1e-9)
    assert theory.max_n(500, sigma_max=10, D=100) == pytest.approx(3.0549363635e99, rel=1e-9)
    corrected = theory.log_max_n(500, sigma_max=10, D=100, kind="corrected")
    assert corrected / math.log(10) == pytest.approx(87.6029317977, rel=1e-9)
    for kind, largest in (("printed", 194.970004336), ("corrected", 173.281959245)):
        logs = theory.guarantee(1, 500, 0.01, 1, 10, 100, kind=kind).log_terms
        per_point = np.logaddexp(logs["intrusion"], logs["cover"])
        assert (math.log(1e-4) - per_point) / math.log(10) == pytest.approx(largest, rel=1e-9)


def test_lemma_deltato0_is_false_from_these_dimensions_on():
    first = {2.65: 2163, 2.7: 639, 2.8: 232, 3: 86, 3.5: 25, 4: 12, 6: 3, 8: 1}
    d = np.arange(1, 2200)
    for G, expected in first.items():
        printed = np.log(2.0) - d * (G - 1.0) ** 2 / 8.0
        assert d[printed < theory.chi2_logsf(G * d, d)][0] == expected
    G = 2.62
    assert (np.log(2.0) - d * (G - 1.0) ** 2 / 8.0 >= theory.chi2_logsf(G * d, d)).all()
    root = optimize.brentq(lambda G: (G - 1) ** 2 / 4 - (G - 1 - math.log(G)), 2, 4)
    assert root == pytest.approx(2.623772756106, rel=1e-9)


def test_a_printed_guarantee_that_is_false():
    n, d, G = 1e6, 2, 16
    printed = math.exp(theory.guarantee(n, d, 1, 1, 9, 1e9, G, kind="printed").log_terms["cover"])
    exact = math.exp(theory.log_fail_iid(theory.chi2_logsf(G * d, d), n))
    assert printed == pytest.approx(7.4e-19, rel=0.01)
    assert exact == pytest.approx(0.1064, rel=0.001)


def test_slacks_of_a_model():
    model = GMMUB(means=[[0.0] * 20, [600.0] + [0.0] * 19], sigmas=[1, 2], weights=0.1, D=200.0)
    found = theory.assumptions(model, sigma_max=5.0, G=4.0)
    radius = 5 * math.sqrt(80)
    edge = 200 * math.sqrt(20)
    assert found.a1 == pytest.approx([(edge - c - 2 * radius) / radius for c in (0, 600)])
    assert found.a2 == pytest.approx(600 / (2 * radius) - 1)
    assert found.a3 == pytest.approx(0.25)
    assert found.a1_first == pytest.approx(9.0)
    assert found.hold
    assert set(found.slacks) == {"A1", "A2", "A3", "weight"}
    assert not theory.assumptions(model, sigma_max=4.0).hold
