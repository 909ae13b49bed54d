"""What a certificate says is true of the data, and stays checkable."""

import json
from itertools import islice

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial import distance

from crlm import CRLM, GMMUB, theory
from crlm.certificate import Certificate, certify
from crlm.errors import InputError
from crlm.greedy import find_clusters
from crlm.identity import row_marks
from crlm.loss import sq_cutoff
from crlm.model_draw import uniform_ball
from crlm.search import neighbourhood
from crlm.theory.conditions import Partition, cheap_margins
from crlm.uniformity import background_sample, uniform_ball_p_value
from strategies import data_sets

# Bandwidths are drawn at random, and may be far too wide.
pytestmark = pytest.mark.filterwarnings("ignore::crlm.errors.TooLargeWarning")

ENGINES = ["tree", "stored", "stream", "dense"]


@pytest.fixture(scope="module")
def textbook():
    truth = GMMUB.draw(k=2, d=30, sigmas=[1, 2], weights=[0.05, 0.04], D=60, sigma_max=5, rng=0)
    return truth.sample(800, rng=1)[0]


@pytest.fixture(scope="module")
def model(textbook):
    return CRLM(5).fit(textbook)


def brute_force(X, labels, sigma_max, G):
    """Theorem D's conditions and the margins, from the matrix of all distances."""
    X = np.asarray(X, dtype=np.float64)
    d, k = X.shape[1], labels.max() + 1
    sq = np.square(X[:, None] - X[None]).sum(-1)
    R = sigma_max * np.sqrt(d * G)
    L = np.minimum(sq / (d * sigma_max**2) - G, 0).sum(1)
    same = (labels[:, None] == labels) & (labels >= 0)
    to_bg = (labels[:, None] >= 0) & (labels == -1)
    apart = (labels[:, None] >= 0) & (labels >= 0) & ~same
    far = np.sqrt(sq)
    best = [L[labels == j].min() for j in range(k)]
    return {
        "cover": 1 - far[same].max(initial=0) / R,
        "C1": far[to_bg].min(initial=np.inf) / R - 1,
        "separation": far[apart].min(initial=np.inf) / R - 1,
        "loss": (L[labels == -1].min(initial=np.inf) - max(best)) / G if k else np.inf,
    }


@given(data_sets(max_n=60, dtypes=["float64", "float32"]), st.integers(0, 2**32 - 1))
def test_the_cheap_gap_is_that_of_all_rows_and_means_to_the_bit(data, seed):
    X, sigma_max, G = data
    raw = np.random.default_rng(seed).integers(-1, 4, len(X))
    labels = np.unique(np.append(raw, -1), return_inverse=True)[1][:-1] - 1
    part = Partition(X, labels)
    away = distance.cdist(X, part.means) - part.radii
    away[labels[:, None] == np.arange(part.k)] = np.inf
    R = np.sqrt(sq_cutoff(sigma_max, X.shape[1], G))
    gap = float(away.min(initial=np.inf))
    assert cheap_margins(part, R**2)["separation"] == gap / np.sqrt(R**2) - 1.0


@given(data_sets(max_n=40, max_d=20))
@settings(max_examples=60)
def test_margins_are_those_of_all_distances(data):
    X, sigma_max, G = data
    labels = CRLM(sigma_max, G=G).fit(X).labels_
    found = theory.conditions(X, labels, sigma_max, G)
    for name, value in brute_force(X, labels, sigma_max, G).items():
        margin = found.margins[name]
        assert margin.value == pytest.approx(value, rel=1e-6, abs=1e-6), name
        if margin.verdict != "undecided" and abs(value) > 1e-6:
            assert (margin.verdict == "holds") == (value > 0), name


@given(data_sets(max_n=40, max_d=20))
@settings(max_examples=60)
def test_a_fit_never_says_more_than_the_exact_margins(data):
    X, sigma_max, G = data
    fitted = CRLM(sigma_max, G=G).fit(X)
    exact = theory.conditions(X, fitted.labels_, sigma_max, G)
    cheap = fitted.certificate_.conditions
    for name, margin in cheap.margins.items():
        value = exact.margins[name].value
        if margin.known == "exact":
            assert margin.value == pytest.approx(value, rel=1e-9, abs=1e-9), name
        elif margin.known == "at least":
            assert margin.value <= value + 1e-9, name
        else:
            assert margin.value >= value - 1e-9, name
        if "undecided" not in (margin.verdict, exact.margins[name].verdict):
            assert margin.verdict == exact.margins[name].verdict, name
    for name in ("cover", "separation"):
        assert exact.cheap[name] <= exact.margins[name].value + 1e-9
    assert exact.cheap["separation"] <= exact.c1.value + 1e-9


@st.composite
def planted(draw):
    """Clusters in balls of half the radius, all else on a grid of three times the radius."""
    d, k = draw(st.integers(2, 6)), draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    sigma_max = draw(st.sampled_from([0.01, 1.0, 300.0]))
    R = sigma_max * np.sqrt(4.0 * d)
    labels = np.repeat(np.arange(k), draw(st.lists(st.integers(2, 9), min_size=k, max_size=k)))
    labels = np.concatenate([labels, np.full(draw(st.integers(1, 8)), -1)])
    places = np.stack(np.unravel_index(np.arange(k + 8), (4,) * d), axis=1) * 3.0 * R
    X = places[np.where(labels < 0, k + np.cumsum(labels < 0) - 1, labels)]
    return X + uniform_ball(len(X), d, 0.45 * R, rng), sigma_max, labels


@given(data_sets(max_n=40, max_d=12, dtypes=["float64"]), st.integers(0, 99))
@settings(max_examples=60)
def test_a_certified_partition_is_found_again_in_any_order_and_by_any_engine(data, seed):
    X, sigma_max, G = data
    fitted = CRLM(sigma_max, G=G).fit(X)
    if fitted.certificate_.theorem_d != "holds" or not fitted.n_clusters_:
        return
    order = np.random.default_rng(seed).permutation(len(X))
    again = CRLM(sigma_max, G=G, max_clusters=fitted.n_clusters_, n_jobs=1 + seed % 3).fit(X[order])
    assert _as_sets(again.labels_) == _as_sets(fitted.labels_[order])
    for engine in ENGINES:
        weights = np.ones(len(X), dtype=np.int64)
        near = neighbourhood(X, sigma_max, G, weights, memory_limit=10**9, _engine=engine)
        same = certify(X, fitted.labels_, fitted.center_indices_, sigma_max, G, near)
        balls = islice(find_clusters(X, near, sigma_max, weights, big_enough), fitted.n_clusters_)
        found = {frozenset(cluster.ball.members.tolist()) for cluster in balls}
        assert found == _as_sets(fitted.labels_), engine
        assert same.theorem_d in ("holds", "undecided")
        assert engine in ("stream", "dense") or same.theorem_d == "holds"


@given(planted(), st.integers(0, 99))
@settings(max_examples=30)
def test_a_planted_partition_is_certified_and_found_again(data, seed):
    X, sigma_max, labels = data
    order = np.random.default_rng(seed).permutation(len(X))
    fitted = CRLM(sigma_max, alpha=None).fit(X[order])
    assert fitted.certificate_.theorem_d == "holds"
    assert _as_sets(fitted.labels_) == _as_sets(labels[order])
    weights = np.ones(len(X), dtype=np.int64)
    for engine in ENGINES:
        near = neighbourhood(X, sigma_max, 4.0, weights, memory_limit=10**9, _engine=engine)
        balls = find_clusters(X, near, sigma_max, weights, big_enough)
        assert {frozenset(c.ball.members.tolist()) for c in balls} == _as_sets(labels), engine


def big_enough(ball):
    return ball.size >= 2


def _as_sets(labels):
    return {frozenset(np.flatnonzero(labels == j)) for j in range(labels.max() + 1)}


def test_a_textbook_model_is_certified_with_its_estimates(model):
    certificate = model.certificate_
    assert certificate.theorem_d == "holds"
    assert all(slack > 0 for slack in certificate.assumptions.slacks.values())
    assert certificate.guarantee.probability > 0.99
    assert certificate.background_is_plausible
    assert 20 < certificate.background_dimension < 45
    assert certificate.conditions.t0 == 0
    assert certificate.radius == pytest.approx(model.radius_)
    assert list(certificate.sigmas) == pytest.approx(list(model.sigmas_))


def test_a_certificate_survives_json_and_verifies(model, textbook):
    record = json.loads(json.dumps(model.certificate_.to_dict()))
    again = Certificate.from_dict(record)
    assert again.to_dict() == record
    assert again.guarantee == model.certificate_.guarantee
    assert again.background_p_value == model.certificate_.background_p_value
    assert again.verify(textbook) == (True, [])
    assert bool(again.verify(textbook.astype(np.float64)))


def test_verify_says_which_row_was_altered(model, textbook):
    altered = textbook.copy()
    altered[17, 3] = np.nextafter(altered[17, 3], 9)
    ok, problems = model.certificate_.verify(altered)
    assert not ok
    assert problems == ["row 17 is not what was certified"]
    altered[[1, 2]] = 0.0
    assert "rows 1, 2, 17 are" in model.certificate_.verify(altered).problems[0]


def test_verify_says_which_label_was_altered(model, textbook):
    record = model.certificate_.to_dict()
    i = record["labels"].index(0)
    record["labels"][i] = -1
    ok, problems = Certificate.from_dict(record).verify(textbook)
    assert not ok
    assert "content of the certificate was changed" in problems[0]
    assert any(f"row {i} is not in the cluster" in problem for problem in problems)
    assert any(problem.startswith("C1: stored margin") for problem in problems)


@pytest.mark.parametrize("key", ["sigma_max", "D", "G"])
def test_verify_notices_an_altered_file(model, textbook, key):
    record = model.certificate_.to_dict()
    record[key] *= 1.001
    problems = Certificate.from_dict(record).verify(textbook).problems
    assert "the content of the certificate was changed after it was made" in problems


def test_verify_refuses_other_data(model, textbook):
    (problem,) = model.certificate_.verify(textbook[:-1]).problems
    assert problem == "the data are 799 x 30, the certificate is for 800 x 30"


def test_a_certificate_of_something_else_is_refused():
    with pytest.raises(InputError, match=r"no certificate: its schema is None.*to_dict"):
        Certificate.from_dict({})


def test_weighted_and_cosine_fits_verify(textbook):
    weights = np.arange(len(textbook)) % 3
    weighted = CRLM(5).fit(textbook, sample_weight=weights).certificate_
    assert Certificate.from_dict(weighted.to_dict()).verify(textbook)
    cosine = CRLM(metric="cosine").fit(textbook[:300]).certificate_
    assert cosine.verify(textbook[:300])


def test_fits_without_cluster_or_background_have_certificates():
    nothing = CRLM(0.1).fit(np.arange(20.0)[:, None]).certificate_
    assert (nothing.k, nothing.guarantee, nothing.theorem_d) == (0, None, "holds")
    everything = CRLM(1.0).fit(np.zeros((5, 2))).certificate_
    assert everything.guarantee is None  # no spread, no model
    assert everything.background_p_value is None
    for certificate, X in ((nothing, np.arange(20.0)[:, None]), (everything, np.zeros((5, 2)))):
        assert Certificate.from_dict(certificate.to_dict()).verify(X)


def test_many_clusters_keep_only_the_smallest_distance():
    X = np.repeat(np.arange(120.0) * 10, 2)[:, None] + np.tile([0.0, 0.1], 120)[:, None]
    certificate = CRLM(0.2, alpha=None).fit(X).certificate_
    assert certificate.k == 120
    assert certificate.gaps.shape == ()
    assert Certificate.from_dict(certificate.to_dict()).verify(X)
    assert certificate.assumptions.a2 > 0
    assert certificate.guarantee.probability == 0.0  # pairs are no clusters one could promise


def test_every_entry_changes_the_mark_of_its_row():
    X = np.random.default_rng(0).normal(size=(6, 5))
    for i in range(6):
        for j in range(5):
            Y = X.copy()
            Y[i, j] = np.nextafter(Y[i, j], 10)
            assert np.flatnonzero(row_marks(X) != row_marks(Y)).tolist() == [i]
    assert (row_marks(np.zeros((1, 3))) == row_marks(-np.zeros((1, 3)))).all()


@pytest.mark.parametrize("d", [3, 20, 200])
def test_a_uniform_ball_is_plausible_and_other_backgrounds_are_not(d):
    rng = np.random.default_rng(d)
    every = np.arange(1000)

    def p(X):
        return uniform_ball_p_value(*background_sample(X, every), d)

    assert sum(p(5 + uniform_ball(1000, d, 3.0, rng)) < 0.05 for _ in range(6)) <= 2
    normal = rng.normal(size=(1000, d))
    assert p(normal) <= 0.02
    assert p(normal / np.linalg.norm(normal, axis=1, keepdims=True)) <= 0.02


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        ([0, 0, -1], ["shape (3,)", "each of the 4 rows"]),
        ([0.0, 0.0, 1.0, 1.0], ["float64", "one whole number"]),
        ([0, 2, 2, -1], ["2 clusters but the largest label is 2", "without a gap"]),
    ],
)
def test_labels_that_are_none_are_refused(labels, words):
    with pytest.raises(InputError) as error:
        theory.conditions(np.zeros((4, 1)), np.array(labels), 1.0)
    for word in words:
        assert word in str(error.value)


def test_true_means_and_sigmas_give_the_condition_of_the_paper():
    truth = GMMUB(means=[[0.0] * 10], sigmas=1.0, weights=0.1, D=40.0)
    X, y = truth.sample(500, rng=3)
    found = theory.conditions(X, y, 2.5, means=truth.means, sigmas=truth.sigmas)
    radius = np.linalg.norm(X[y == 0], axis=1).max()
    assert found.c2.value == pytest.approx(1 - radius / np.sqrt(40))
    assert json.loads(json.dumps(found.to_dict()))["theorem_d"] == found.theorem_d
