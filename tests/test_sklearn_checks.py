"""The contract of scikit-learn, whole: no failure, no expected failure, nothing skipped."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from crlm import CRLM


@pytest.mark.filterwarnings("ignore::crlm.errors.WeakEvidenceWarning")
@parametrize_with_checks([CRLM()])
def test_crlm_passes_the_check_of_scikit_learn(estimator, check):
    check(estimator)


def test_clone_keeps_every_parameter_and_no_fitted_attribute():
    model = CRLM(3.0, max_clusters=2, min_cluster_size=3, alpha=0.2, G=2.0, n_jobs=1)
    twin = clone(model.fit(np.eye(4)))
    assert twin.get_params() == model.get_params()
    assert not hasattr(twin, "labels_")


def test_set_params_changes_the_next_fit():
    X = np.array([[0.0], [0.5], [9.0], [9.5]])
    model = CRLM(1.0, alpha=None).fit(X)
    assert model.labels_.tolist() == [0, 0, 1, 1]
    assert model.set_params(max_clusters=1).fit(X).labels_.tolist() == [0, 0, -1, -1]


def test_works_as_the_last_step_of_a_pipeline():
    X = np.array([[0.0, 0.0], [0.1, 0.1], [9.0, 9.0], [50.0, 50.0]])
    pipe = make_pipeline(StandardScaler(), CRLM(0.02, alpha=None))
    assert pipe.fit_predict(X).tolist() == [0, 0, -1, -1]
    assert pipe.predict(X).tolist() == [0, 0, -1, -1]
