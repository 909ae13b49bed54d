"""Models on disk: saving and loading changes nothing, and the rows are found again."""

import shutil
from dataclasses import fields
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from crlm import CRLM, GMMUB, record
from crlm.errors import InputError, OutputError, WeakEvidenceWarning
from crlm.record import Scaling, Source
from crlm.scaling import standardizing


@pytest.fixture(scope="module")
def toy():
    model = GMMUB.draw(k=2, d=20, sigmas=[1, 2], weights=[0.06, 0.05], D=60, sigma_max=5, rng=0)
    return model.sample(500, rng=1)[0]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def models(toy):
    """Models of every kind, by name."""
    X = toy
    w = np.random.default_rng(0).integers(1, 3, len(X))
    frame = pd.DataFrame(X, columns=[f"x {j}" for j in range(X.shape[1])])
    with pytest.warns(WeakEvidenceWarning):
        nothing = CRLM().fit(np.random.default_rng(0).uniform(size=(60, 5)))
    return {
        "auto": CRLM().fit(X),
        "given": CRLM(5.0, max_clusters=1, memory_limit="1GB", n_jobs=1).fit(X),
        "paper": CRLM("histogram", alpha=None).fit(X),
        "many": CRLM(20.0, alpha=None).fit(X),
        "cosine": CRLM(0.1, metric="cosine").fit(X),
        "float32": CRLM(5.0, G="auto").fit(X.astype(np.float32)),
        "weights": CRLM(5.0).fit(X, sample_weight=w),
        "fractions": CRLM(5.0, alpha=None).fit(X, sample_weight=w / 3),
        "names": CRLM(5.0).fit(frame),
        "nothing": nothing,
        "one row": CRLM(1.0, alpha=None).fit(X[:1]),
        "copies": CRLM(5.0, alpha=None).fit(np.repeat(X[:3], 4, axis=0)),
        "over a hundred": CRLM(0.1, alpha=None).fit(np.repeat(X[:120], 2, axis=0)),
        "landmarks": CRLM(n_landmarks=200).fit(X),
        "landmarks and weights": CRLM(5.0, n_landmarks=300, alpha=None).fit(X, sample_weight=w),
        "updated": updated(CRLM(5.0).fit(X), X[:50]),
    }


def updated(model, X):
    model.update(X)
    return model


def same(a, b):
    """Whether two values are equal in type, shape and every bit."""
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
    if isinstance(a, tuple | list):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if hasattr(a, "__dataclass_fields__"):
        return all(same(getattr(a, f.name), getattr(b, f.name)) for f in fields(a))
    return a == b or (a != a and b != b)


def test_saving_and_loading_changes_nothing(models):
    for name, model in models.items():
        model.save("a.crlm.npz", force=True)
        again = CRLM.load("a.crlm.npz")
        assert again._origin == (None, None)
        assert same(vars(model) | {"_origin": None}, vars(again) | {"_origin": None}), name
        assert repr(again) == repr(model), name
        assert again._repr_mimebundle_() == model._repr_mimebundle_(), name


def test_loaded_model_predicts_as_the_saved_one(toy, models):
    new = toy[::-1] + 0.01
    for name, model in models.items():
        model.save("a.crlm.npz", force=True)
        again = CRLM.load("a.crlm.npz")
        rows = new[:, : model.n_features_in_]
        if name == "names":
            rows = pd.DataFrame(rows, columns=model.feature_names_in_)
        assert np.array_equal(again.predict(rows), model.predict(rows)), name
        assert np.array_equal(again.predict_proba(rows), model.predict_proba(rows)), name


def test_loaded_certificate_verifies_as_the_saved_one(toy):
    model = CRLM().fit(toy)
    model.save("a.crlm.npz")
    again = CRLM.load("a.crlm.npz").certificate_
    assert again.verify(toy) == model.certificate_.verify(toy) == (True, [])
    assert again.to_dict() == model.certificate_.to_dict()
    other = toy.copy()
    other[17, 3] += 1.0
    assert again.verify(other) == model.certificate_.verify(other)
    assert not again.verify(other)


def test_equal_models_are_equal_files(toy):
    for name in ("a", "b"):
        CRLM(n_jobs=2).fit(toy).save(f"{name}.crlm.npz")
    assert Path("a.crlm.npz").read_bytes() == Path("b.crlm.npz").read_bytes()


def test_numpy_alone_can_read_it(toy):
    model = CRLM(5.0).fit(toy)
    model.save("a.crlm.npz")
    with np.load("a.crlm.npz", allow_pickle=False) as archive:
        assert np.array_equal(archive["labels"], model.labels_)
        assert b'"format": "crlm.model"' in archive["model.json"]


def test_labels_take_few_bytes(toy):
    CRLM(5.0).fit(toy).save("a.crlm.npz")
    with np.load("a.crlm.npz") as archive:
        assert archive["labels"].dtype == np.int8


def test_old_file_stays_without_force(toy):
    model = CRLM(5.0).fit(toy)
    Path("a.crlm.npz").write_text("mine")
    with pytest.raises(OutputError, match=r"a\.crlm\.npz exists"):
        model.save("a.crlm.npz")
    assert Path("a.crlm.npz").read_text() == "mine"
    model.save("a.crlm.npz", force=True)
    assert CRLM.load("a.crlm.npz").n_clusters_ == model.n_clusters_


def test_name_says_that_it_is_a_model(toy):
    model = CRLM(5.0).fit(toy)
    for name in ("a.npz", "a", ".crlm.npz"):
        with pytest.raises(OutputError, match=r"ends in \.crlm\.npz"):
            model.save(name)


def test_unfitted_model_cannot_be_saved():
    with pytest.raises(ValueError, match="not fitted"):
        CRLM().save("a.crlm.npz")


# The rows


SETTINGS = {"values": {"alpha": 0.01}, "origins": {}}


def fitted_from_file(toy, **how):
    """Model with its source, as the command line makes it."""
    np.save("toy.npy", toy)
    source = Source(Path("toy.npy"), len(toy), **how)
    return record.with_source(CRLM(5.0).fit(source.points(source.read())), source, SETTINGS)


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"rows": np.arange(3, 400), "n_dropped": 3},
        {"transform": Scaling(normalize=True)},
        {"transform": Scaling(np.full(20, 0.5), np.full(20, 2.0))},
        {"reading": {"columns": ["0:19"]}},
    ],
)
def test_rows_are_found_again_wherever_model_and_data_are_moved(toy, how):
    model = fitted_from_file(toy, **how)
    Path("models").mkdir()
    model.save("models/a.crlm.npz")
    shutil.copytree(".", "moved", ignore=shutil.ignore_patterns("moved"))
    Path("toy.npy").unlink()
    again = CRLM.load("moved/models/a.crlm.npz")
    X, rows, _ = record.open_data(again)
    assert np.array_equal(again.predict(X), again.labels_)
    assert rows.tolist() == how.get("rows", np.arange(len(toy))).tolist()
    assert again.certificate_.verify(X)
    assert record.settings(again) == SETTINGS
    assert record.source(again).n_dropped == how.get("n_dropped", 0)
    assert np.array_equal(record.prepare(again, toy[rows]), X)


def test_another_fit_forgets_the_file(toy):
    model = fitted_from_file(toy)
    assert record.source(model) is not None
    assert record.source(model.fit(toy)) is None


def test_changed_data_are_refused_by_row(toy):
    model = fitted_from_file(toy, rows=np.arange(5, 300))
    changed = toy.copy()
    changed[0] = 0.0  # not fitted, so no matter
    np.save("toy.npy", changed)
    record.open_data(model)
    changed[7, 2] += 1e-9
    np.save("toy.npy", changed)
    with pytest.raises(InputError, match=r"1 of 295 rows differ \(first: 7\)"):
        record.open_data(model)


def test_data_elsewhere_or_gone_or_longer(toy):
    model = fitted_from_file(toy)
    Path("toy.npy").rename("other.npy")
    with pytest.raises(
        InputError, match=r"no such file: .*toy\.npy, where .* crlm report --data FILE"
    ):
        record.open_data(model)
    assert len(record.open_data(model, "other.npy").X) == len(toy)
    np.save("other.npy", toy[:-1])
    with pytest.raises(InputError, match="has 499 rows, but had 500"):
        record.open_data(model, "other.npy")
    with pytest.raises(InputError, match="fitted in Python"):
        record.open_data(CRLM(5.0).fit(toy))


def test_standardize_gives_mean_0_and_deviation_1_and_leaves_constants(toy):
    X = np.column_stack([toy * 3.0 + 7.0, np.ones(len(toy))])
    Z = standardizing(X).apply(X)
    assert np.allclose(Z.mean(axis=0), 0.0)
    assert np.allclose(Z.std(axis=0), [1.0] * 20 + [0.0])
    assert Scaling(normalize=True).names == ["normalize"]
    assert standardizing(X, normalize=True).names == ["standardize", "normalize"]
    assert standardizing(X).apply(X.astype(np.float32)).dtype == np.float32
