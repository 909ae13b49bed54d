"""Descriptors against another implementation, and faces found with them."""

import sys

import numpy as np
import pytest
from skimage.feature import hog as skimage_hog

from crlm import CRLM, scores
from crlm.display import GalleryDisplay
from crlm.errors import InputError, MissingExtraError, ParameterError
from crlm.faces import load_faces
from crlm.features import hog, principal
from crlm.gallery import pick_rows


@pytest.fixture(scope="module")
def faces():
    return load_faces()


@pytest.fixture(scope="module")
def model(faces):
    return CRLM().fit(faces.X)


@pytest.mark.parametrize(("cell", "block", "orientations"), [(8, 2, 9), (6, 3, 8), (5, 1, 12)])
@pytest.mark.parametrize("channels", [(), (3,)])
def test_hog_equals_that_of_scikit_image(cell, block, orientations, channels):
    images = np.random.default_rng(0).integers(0, 256, (3, 37, 50, *channels)).astype(float)
    expected = [
        skimage_hog(
            image,
            orientations=orientations,
            pixels_per_cell=(cell, cell),
            cells_per_block=(block, block),
            channel_axis=2 if channels else None,
        )
        for image in images
    ]
    ours = hog(images, cell=cell, block=block, orientations=orientations)
    np.testing.assert_allclose(ours, expected, atol=1e-6)  # theirs is partly float32


def test_hog_does_not_see_brightness_or_contrast():
    image = np.random.default_rng(1).random((1, 32, 32)) * 100
    np.testing.assert_allclose(hog(image), hog(3 * image + 50), atol=1e-6)


def test_gradient_at_the_edge_of_the_half_circle_is_counted():
    """Rounding may bring an angle to 180 degrees, which no bin from 0 to below 180 holds."""
    down = -1e-17 * np.arange(16.0)[:, None]
    steps = (np.arange(16.0) + down) * np.ones((1, 16, 16))
    np.testing.assert_allclose(hog(steps), hog(np.arange(16.0) * np.ones((1, 16, 16))), atol=1e-12)


def test_even_picture_has_no_gradient():
    assert not hog(np.full((2, 16, 16), 0.5)).any()


def test_sizes_that_cannot_be_are_refused():
    with pytest.raises(ParameterError, match="too small for a block of 2 × 2 cells of 8 pixels"):
        hog(np.zeros((1, 8, 8)))
    with pytest.raises(ParameterError, match="at least 1, got 0, 2, 9"):
        hog(np.zeros((1, 8, 8)), cell=0)
    with pytest.raises(InputError, match=r"got \(8, 8\)"):
        hog(np.zeros((8, 8)))


def test_principal_components_keep_distances_when_there_are_enough():
    X = np.random.default_rng(2).normal(size=(9, 30))
    Z = principal(X, 50)
    assert Z.shape == (9, 8)
    np.testing.assert_allclose(
        np.linalg.norm(Z[:, None] - Z, axis=2), np.linalg.norm(X[:, None] - X, axis=2)
    )
    np.testing.assert_allclose(principal(X, 3), Z[:, :3])


def test_faces_are_found_without_a_parameter(faces, model):
    assert faces.X.shape == (200, 576)
    assert (faces.y == 0).sum() == 100
    assert model.cluster_sizes_.argmax() == 0
    assert scores.f_measure(faces.y, model.labels_) > 0.9


def test_picks_are_the_middle_the_edge_and_the_nearest_background(faces, model):
    picks = pick_rows(model, faces.X, 0, 10)
    distance = np.linalg.norm(faces.X - model.ball_centers_[0], axis=1)
    inside = model.labels_ == 0
    assert picks.middle[0] == model.center_indices_[0]
    assert inside[picks.middle].all()
    assert inside[picks.edge].all()
    assert not inside[picks.nearly_in].any()
    assert distance[picks.middle[-1]] <= distance[picks.edge].min()
    assert distance[picks.edge[0]] == distance[inside].max()
    assert distance[picks.nearly_in[0]] == distance[model.labels_ == -1].min()
    assert picks.reach[picks.edge[0]] < 1 <= picks.reach[picks.nearly_in[0]]


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_members_reach_less_than_one_and_none_is_shown_twice(metric):
    rng = np.random.default_rng(3)
    X = np.concatenate([rng.normal(5, 0.1, (9, 4)), rng.normal(0, 5, (60, 4))])
    model = CRLM(0.3 if metric == "euclidean" else 0.03, metric=metric, alpha=None).fit(X)
    picks = pick_rows(model, X, 0, 24)
    members = np.flatnonzero(model.labels_ == 0)
    assert sorted([*picks.middle, *picks.edge]) == members.tolist()
    assert picks.reach[members].max() < 1


def test_picks_of_other_data_are_refused(faces, model):
    with pytest.raises(InputError, match="X has 3 rows, the model was fitted on 200"):
        pick_rows(model, faces.X[:3])
    with pytest.raises(InputError, match="no cluster 99; the model has"):
        pick_rows(model, faces.X, 99)
    with pytest.raises(InputError, match="there are 3 images for 200 rows"):
        GalleryDisplay.from_estimator(model, faces.X, faces.images[:3])


def test_gallery_draws_every_pick_and_frames_the_marked(faces, model):
    import matplotlib.pyplot as plt

    picks = pick_rows(model, faces.X, 0, 6)
    marked = {int(picks.edge[0]), int(picks.nearly_in[1])}
    display = GalleryDisplay.from_estimator(
        model, faces.X, faces.images, cluster=0, limit=6, marked=marked
    )
    assert len(display.ax_.images) == 18
    assert len(display.ax_.lines) == 2
    assert [text.get_text().split(":")[0] for text in display.ax_.texts] == [
        *("middle", "edge", "nearly in")
    ]
    plt.close("all")


def test_without_scikit_image_the_message_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "skimage", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'crlm\[images\]'"):
        load_faces()
