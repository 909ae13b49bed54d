"""The report as text: what it says, what it refuses, how large it is."""

import base64
import html
import json
import re
import shlex
from copy import copy
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pytest
from PIL import Image
from sklearn.datasets import load_digits

from crlm import CRLM, GMMUB, record, scores, theory
from crlm.bandwidth.sigma import estimate_sigma
from crlm.cli import main
from crlm.errors import InputError, OutputError
from crlm.report import read_meta, render
from crlm.report.alerts import find_alerts
from crlm.report.inputs import read_inputs, words_of
from crlm.report.limits import LEVELS
from crlm.report.live import find_stops, live_record, shown_points
from crlm.report.reproduce import PLACE, command, python

CSP = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; "
    "base-uri 'none'; form-action 'none'"
)


@pytest.fixture(scope="module", autouse=True)
def _few_stops():
    """Fewer bandwidths: 200 take seconds for each report."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("crlm.preview.N_STOPS", 24)
        yield


@pytest.fixture(scope="module")
def toy():
    truth = GMMUB.draw(3, 30, sigmas=[1, 2, 3], weights=0.03, D=70, sigma_max=7, rng=0)
    X, y = truth.sample(900, rng=1)
    return CRLM().fit(X), X, y


@pytest.fixture(scope="module")
def page(toy):
    model, X, y = toy
    names = {"name": [f"thing {i}" for i in range(len(X))], "kind": [f"k{v}" for v in y]}
    return render(model, X, meta=names, y=y, title="toy <data>")


def data_of(page):
    (text,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    return json.loads(text)


def words_in(page):
    """What a reader without JavaScript sees."""
    body = re.sub(r"<(script|style).*?</\1>", "", page, flags=re.S)
    return html.unescape(" ".join(re.sub(r"<[^>]*>", " ", body).split()))


# ---- what it says -------------------------------------------------------------------------


def test_the_lines_that_reproduce_a_fit_name_the_draw_of_landmarks():
    X = np.random.default_rng(0).normal(size=(300, 4))
    model = CRLM(0.3, n_landmarks="auto", random_state=7, delta=0.2).fit(X)
    m = theory.plan_candidates(model.min_weight, 0.2, None)
    line = f"crlm fit DATA.npy --sigma-max {{sigma}} --landmarks {m} --seed 7"
    assert command(model) == line.format(sigma=PLACE)
    assert "n_landmarks='auto', random_state=7, delta=0.2" in python(model)


def test_sections_come_in_this_order(page):
    found = re.findall(r'<section id="(\w+)"', page)
    assert found == ["verdict", "sigma", "clusters", "gallery", "map", "truth", "reproduce"]


def test_verdict_counts_clusters_rows_and_background(toy, page):
    model, X, _ = toy
    inside = int((model.labels_ >= 0).sum())
    share = f"{100 * (len(X) - inside) / len(X):.1f}\u00a0%"
    assert f"3 clusters hold {inside} of 900 rows; {share} is background." in html.unescape(page)
    assert record.fingerprint(model)[:16] in page
    assert "toy &lt;data&gt;" in page


def test_table_has_every_cluster_with_the_fitted_numbers(toy, page):
    model, _, _ = toy
    table = page.split("sortable", 1)[1].split("</table>")[0]
    sizes = [float(v) for v in re.findall(r'<td data-value="([^"]*)">', table)]
    lines = np.array(sizes).reshape(3, -1)
    assert lines[:, 0].tolist() == model.cluster_sizes_.tolist()
    assert lines[:, 2].tolist() == model.sigmas_.tolist()
    assert lines[:, 4].tolist() == model.losses_.tolist()
    means = model.cluster_centers_
    far = np.linalg.norm(means[:, None] - means, axis=2) + np.diag([np.inf] * 3)
    np.testing.assert_allclose(lines[:, 5], far.min(axis=1) / np.sqrt(60))


def test_truth_is_scored_as_the_library_scores_it(toy, page):
    model, _, y = toy
    words = words_in(page)
    assert f"F-measure {scores.f_measure(y, model.labels_):.3f}" in words
    assert f"Rand index {scores.rand_index(y, model.labels_):.3f}" in words
    table = page.split("facts confusion", 1)[1].split("</table>")[0]
    counts = [int(c.replace(",", "")) for c in re.findall(r'<td class="(?:zero)?">([\d,]+)', table)]
    largest_first = sorted(range(3), key=lambda t: -(y == t).sum())
    expected = [
        int(((y == t) & (model.labels_ == j)).sum())
        for t in (*largest_first, -1)
        for j in (0, 1, 2, -1)
    ]
    assert counts == expected


def test_without_truth_or_clusters_there_is_no_such_section():
    X = np.random.default_rng(0).uniform(size=(60, 5))
    page = render(CRLM(1e-6).fit(X), X)
    assert re.findall(r'<section id="(\w+)"', page) == [
        *("verdict", "alerts", "sigma", "clusters", "map", "reproduce")
    ]
    assert "No cluster among 60 rows" in page
    assert "No cluster was found" in words_in(page)


def test_reproduce_gives_the_same_labels_again(toy, page):
    model, X, _ = toy
    (code,) = re.findall(r'id="python">(.*?)</pre>', page)
    again = eval(html.unescape(code), {"CRLM": CRLM, "X": X})
    assert np.array_equal(again.labels_, model.labels_)
    (address,) = re.findall(r'href="data:text/csv;base64,([^"]*)"', page)
    table = np.loadtxt(base64.b64decode(address).decode().splitlines(), delimiter=",", skiprows=1)
    assert np.array_equal(table[:, 1], model.labels_)
    assert np.array_equal(table[:, 0], np.arange(900))


def test_settings_that_are_not_the_defaults_are_in_command_and_python(toy):
    _, X, _ = toy
    page = html.unescape(render(CRLM(7.0, alpha=None, min_cluster_size=3).fit(X), X))
    assert "--min-cluster-size 3 --alpha none" in page
    assert "CRLM(sigma_max=7.0, min_cluster_size=3, alpha=None).fit(X)" in page
    assert "σ<sub>max</sub> was given; the data suggest" in page


def test_labels_at_every_stop_are_those_of_a_fit(toy, page):
    model, X, _ = toy
    live = data_of(page)["live"]
    assert model.sigma_max_ in live["sigmas"]
    assert live["sigmas"][0] < model.sigma_max_ / 2 < 1.2 * model.sigma_max_ < live["sigmas"][-1]
    for at in np.linspace(0, len(live["sigmas"]) - 1, 5).astype(int):
        again = CRLM(live["sigmas"][at]).fit(X)
        assert live["steps"][at]["centers"] == again.center_indices_.tolist()
        assert live["steps"][at]["sizes"] == again.cluster_sizes_.tolist()


# ---- what is shown of the rows ------------------------------------------------------------


def test_gallery_names_rows_and_says_how_far_they_are(toy, page):
    model, X, _ = toy
    article = page.split('id="cluster-1"', 1)[1].split("</article>")[0]
    names = [int(i) for i in re.findall(r'shot-title">thing (\d+)', article)]
    assert article.count('class="values"') == len(names) > 0
    reach = [float(r) for r in re.findall(r'shot-reach">([\d.]+) R', article)]
    far = np.linalg.norm(X[names] - model.ball_centers_[1], axis=1) / model.radius_
    np.testing.assert_allclose(reach, np.floor(100 * far) / 100)
    inside = model.labels_[names] == 1
    assert inside.tolist() == [r < 1 for r in reach]
    assert names[0] == model.center_indices_[1]
    kind = page.split("sortable", 1)[1].split("</table>")[0]
    assert kind.count("kind: k") == 3


def test_words_of_others_stay_words(toy):
    model, X, _ = toy
    evil = '<img src=x onerror="alert(1)"></script><script>alert(2)</script>'
    names = [evil] * len(X)
    page = render(model, X, meta={evil: names, "b": names}, title=evil, y=[evil] * 9 + [-1] * 891)
    assert "<img src=x" not in page
    assert "<script>alert" not in page
    assert page.count("<script") == 2
    assert evil in html.unescape(page)


def test_pictures_are_inside_and_those_that_cannot_be_read_are_counted(toy, tmp_path):
    model, X, _ = toy
    paths = [tmp_path / f"{i}.png" for i in range(len(X))]
    for path in paths:
        Image.new("RGB", (30, 20), "red").save(path)
    broken = int(model.center_indices_[0])
    paths[broken].write_bytes(b"no picture")
    page = render(model, X, images=paths)
    assert page.count('src="data:image/jpeg;base64,') > 50
    assert "no picture</div>" in page
    assert "1 picture cannot be shown" in page
    assert not re.findall(r'src="(?!data:)', page)


def test_pictures_in_a_column_with_an_index_are_taken_by_place(toy):
    model, X, _ = toy
    shades = [np.full((4, 4, 3), i % 256, dtype=np.uint8) for i in range(len(X))]
    backwards = pd.Series(shades, index=range(len(X))[::-1])
    assert pictures_of(render(model, X, images=backwards)) == pictures_of(
        render(model, X, images=shades)
    )


def pictures_of(page):
    return re.findall(r'<img src="(data:image[^"]*)"', page)


def test_rows_without_pictures_or_words_are_curves(toy):
    model, X, _ = toy
    page = render(model, X)
    assert page.count('class="values"') == page.count('class="shot"') > 50


def test_rows_with_names_and_numbers_are_curves_too_and_texts_are_shown_as_texts(toy):
    model, X, _ = toy
    n = len(X)
    page = render(model, X, meta={"label": [i % 2 for i in range(n)]})
    assert page.count('class="values"') == page.count('class="shot"') > 50
    assert 'shot-words">' not in page
    assert f'shot-title">row {model.center_indices_[0]}<' in page
    assert "<dt>label</dt><dd>1</dd>" in page

    texts = [f"a sentence about {i}" for i in range(n)]
    page = render(model, X, meta={"id": [f"id-{i}" for i in range(n)], "text": texts})
    assert 'class="values"' not in page
    assert f'shot-words">a sentence about {model.center_indices_[0]}<' in page
    assert f'shot-title">id-{model.center_indices_[0]}<' in page
    assert "<dt>text</dt>" not in page


@pytest.mark.parametrize(
    "meta",
    [
        {"a": ["x", None], "b": [1, 2]},
        pd.DataFrame({"a": ["x", None], "b": [1, 2]}, dtype=object),
        pl.DataFrame({"a": ["x", None], "b": [1, 2]}),
    ],
)
def test_words_come_from_any_table(meta):
    assert words_of(meta) == {"a": ["x", ""], "b": ["1", "2"]}


def test_rows_of_a_file_keep_their_numbers(tmp_path, toy):
    model, X, _ = toy
    rows = np.arange(900) * 2 + 1
    found = record.with_source(
        CRLM().fit(X), record.Source(tmp_path / "x.npy", n_rows=1801, rows=rows)
    )
    page = render(found, X, meta=[f"thing {i}" for i in range(1801)])
    assert f"thing {2 * int(model.center_indices_[0]) + 1}" in page
    assert "x.npy" in page


def test_progress_of_a_report_is_told(toy):
    model, X, _ = toy
    told = []
    listening = copy(model)
    listening.progress = lambda done, total: told.append((done, total))
    stops = data_of(render(listening, X))["live"]["sigmas"]
    assert told == [(done, len(stops)) for done in range(1, len(stops) + 1)]


# ---- size ---------------------------------------------------------------------------------


def test_report_shrinks_to_the_room_there_is_and_says_what_is_missing():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(100 * j, 1, (6, 4)) for j in range(60)])
    images = rng.integers(0, 255, (len(X), 96, 96, 3), dtype=np.uint8)
    model = CRLM(2.5, alpha=None).fit(X)
    assert model.n_clusters_ == 60
    whole = render(model, X, images=images)
    assert "The first 50 of 60 clusters are shown." in whole
    assert len(whole.encode()) < 5_000_000
    small = render(model, X, images=images, max_bytes=1_000_000)
    assert len(small.encode()) <= 1_000_000
    shown = re.search(r"The first (\d+) of 60 clusters are shown", small)
    assert small.count("<article") == int(shown[1]) < 50


def test_every_level_is_smaller_than_the_one_before():
    for before, after in pairwise(LEVELS):
        assert all(b <= a for a, b in zip(before, after, strict=True))
        assert before != after


def test_map_keeps_clusters_when_points_are_too_many():
    labels = np.where(np.arange(1000) % 10 == 0, 0, -1)
    shown = shown_points(labels, 300)
    assert len(shown) == 300
    assert set(np.flatnonzero(labels == 0)) <= set(shown)


def test_page_carries_only_pairs_of_centres_and_fewer_stops_when_those_are_many(toy):
    model, X, _ = toy
    inputs = read_inputs(model, X)
    found = find_stops(model, inputs, model.sigma_estimate_)
    whole = live_record(found, model.sigma_max_, 300_000)
    assert whole["sigmas"] == found.sigmas.tolist()
    n_pairs = len(base64.b64decode(whole["reach"]["data"]))
    centers = {row for step in whole["steps"] for row in step["centers"]}
    owners = np.frombuffer(base64.b64decode(whole["owners"]["data"]), dtype="<i4")
    assert set(owners.tolist()) <= centers
    assert n_pairs < len(found.ranked.sq_dist)
    less = live_record(found, model.sigma_max_, n_pairs - 1)
    assert model.sigma_max_ in less["sigmas"]
    assert len(less["sigmas"]) < len(whole["sigmas"])
    assert live_record(found, model.sigma_max_, 3) is None


# ---- alerts -------------------------------------------------------------------------------


def alerts_of(X, **settings):
    model = CRLM(**settings).fit(X)
    return {alert.title for alert in find_alerts(model, X, estimate_sigma(X))}


def test_a_clear_answer_has_no_alert(toy):
    model, X, _ = toy
    assert find_alerts(model, X, model.sigma_estimate_) == []


def test_each_alert_comes_when_it_should(toy):
    _, X, _ = toy
    rng = np.random.default_rng(0)
    noise = rng.uniform(size=(100, 4))
    assert {"Weak evidence for σ_max", "No cluster was found"} <= alerts_of(noise, sigma_max=1e-6)
    everything = alerts_of(noise, sigma_max=10.0, alpha=None)
    assert "One cluster holds most rows" in everything
    assert "σ_max is outside its stable range" in alerts_of(X, sigma_max=0.5, alpha=None)
    line = rng.normal(size=(60, 6)) * [9, 1, 1, 1, 1, 1]
    assert "Elongated clusters" in alerts_of(line, sigma_max=9.0, alpha=None)
    ball = rng.normal(size=(60, 6))
    assert "Elongated clusters" not in alerts_of(ball, sigma_max=2.5, alpha=None)
    assert "Duplicate rows" in alerts_of(np.concatenate([noise, noise[:3]]), sigma_max=0.1)
    pairs = np.concatenate([noise * 1000, noise[:2] * 1000 + 0.1])
    assert "Clusters of two rows" in alerts_of(pairs, sigma_max=0.2, alpha=None)


def test_means_within_a_radius_of_each_other_are_an_alert(toy):
    model, X, _ = toy
    moved = copy(model)
    moved.cluster_centers_ = model.cluster_centers_.copy()
    moved.cluster_centers_[2] = model.cluster_centers_[0] + model.radius_ / np.sqrt(31)
    (alert,) = find_alerts(moved, X, model.sigma_estimate_)
    assert alert.title == "Clusters close to each other"
    assert "0 and 2" in alert.text
    moved.cluster_centers_[2] = model.cluster_centers_[0] + model.radius_ / np.sqrt(29)
    assert find_alerts(moved, X, model.sigma_estimate_) == []


# ---- refusals -----------------------------------------------------------------------------


def test_saved_clusters_with_bandwidths_of_their_own_are_at_the_saved_stop():
    X, y = load_digits(return_X_y=True)
    rows = np.concatenate([np.flatnonzero(y == j)[: 15 + 45 * (j == 0)] for j in range(10)])
    X = X[rows]
    model = CRLM().fit(X)
    assert model._has_own_bandwidths
    sizes = model.cluster_sizes_.tolist()
    model.update(X)  # rows that the report is not about
    data = data_of(render(model, X))
    at = data["live"]["sigmas"].index(model.sigma_max_)
    assert data["live"]["steps"][at]["sizes"] == sizes
    assert "--sigma-max auto" in data["saved_command"]
    labels = np.frombuffer(base64.b64decode(data["labels"]["data"]), dtype=np.int32)
    assert labels.tolist() == model.labels_.tolist()


def test_clusters_far_tighter_than_the_slider_reaches_have_their_stop():
    rng = np.random.default_rng(0)
    groups = [at + 1e-5 * rng.normal(size=(50, 20)) for at in (5.0, -20.0)]
    X = np.vstack([rng.uniform(-70, 70, (500, 20)), *groups])
    for model in (CRLM().fit(X), CRLM(1e-3).fit(X)):
        assert model.sigma_max_ in data_of(render(model, X))["live"]["sigmas"]


def test_other_rows_are_refused(toy):
    model, X, _ = toy
    with pytest.raises(InputError, match="X is 899 x 30, the model was fitted on 900 x 30"):
        render(model, X[1:])
    changed = X.copy()
    changed[[5, 9]] += 1
    with pytest.raises(InputError, match=r"not the data of fit: 2 of 900 rows differ \(first: 5\)"):
        render(model, changed)
    with pytest.raises(InputError, match="keeps no copy of its data"):
        render(model)
    with pytest.raises(InputError, match="images has 3 entries, the model was fitted on 900 rows"):
        render(model, X, images=[1, 2, 3])
    with pytest.raises(InputError, match="y has 2 entries"):
        render(model, X, y=[0, 1])


def test_a_file_is_not_replaced_unless_asked(toy, tmp_path):
    model, X, _ = toy
    path = tmp_path / "x.html"
    assert model.report(path, X) == path
    first = path.read_bytes()
    with pytest.raises(OutputError, match="Replace it with force=True"):
        model.report(path, X)
    assert model.report(path, X, title="again", force=True) == path
    assert path.read_bytes() != first
    assert [p.name for p in tmp_path.iterdir()] == ["x.html"]
    with pytest.raises(OutputError, match="its suffix must be one of"):
        model.report(tmp_path / "x.pdf", X)


def test_policy_forbids_everything_from_outside(page):
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', page)
    assert html.unescape(policy) == CSP
    assert not re.findall(r'(?:src|href)="(?!data:|#)', page)
    assert "url(" not in page.split("</style>")[0]


# ---- command ------------------------------------------------------------------------------


@pytest.fixture
def fitted(toy, tmp_path, monkeypatch):
    _, X, y = toy
    monkeypatch.chdir(tmp_path)
    np.save("toy.npy", X)
    model = record.with_source(CRLM(7.0).fit(X), record.Source(tmp_path / "toy.npy", n_rows=900))
    model.save("toy.crlm.npz")
    lines = [f"{i},{v},pictures/{i}.png" for i, v in enumerate(y)]
    (tmp_path / "rows.csv").write_text("\n".join(["name,person,file", *lines]))
    return tmp_path


def test_command_writes_the_report_beside_the_model(fitted, capsys):
    assert main(["report", "toy.crlm.npz"]) == 0
    out, err = capsys.readouterr()
    assert out == f"report  {fitted / 'toy.html'}\n"
    assert "Next:  crlm explore toy.crlm.npz" in err
    assert "3 clusters hold" in (fitted / "toy.html").read_text()
    assert main(["report", "toy.crlm.npz"]) == 2
    assert "toy.html exists. Replace it with --force" in capsys.readouterr().err


def test_command_in_the_report_gives_the_same_labels_from_the_file(fitted, capsys):
    how = ["--columns", "0:19", "--standardize", "--min-cluster-size", "4", "--sample", "800"]
    np.savetxt("rows.tsv", np.load("toy.npy"), delimiter="\t")
    assert main(["fit", "rows.tsv", "--no-header", *how, "-o", "first.npy"]) == 0
    assert main(["report", "rows.crlm.npz"]) == 0
    (line,) = re.findall(r'id="command">(.*?)</pre>', (fitted / "rows.html").read_text())
    words = shlex.split(html.unescape(line))
    assert words[:4] == ["crlm", "fit", "rows.tsv", "--sigma-max"]
    assert main([*words[1:], "-o", "again.npy", "--force"]) == 0
    assert np.array_equal(np.load("first.npy"), np.load("again.npy"))
    assert (np.load("first.npy") >= 0).any()


def test_command_takes_words_pictures_and_truth_from_a_table(fitted, capsys):
    argv = ["report", "toy.crlm.npz", "--meta", "rows.csv", "--truth", "person", "-o", "a.html"]
    assert main([*argv, "--image", "file"]) == 0
    page = (fitted / "a.html").read_text()
    assert 'id="truth"' in page
    assert "pictures cannot be shown" in page
    assert main([*argv, "--force", "--image", "no"]) == 3
    assert "rows.csv has no column 'no'. It has: name, person, file" in capsys.readouterr().err
    assert main(["report", "toy.crlm.npz", "--image", "file", "-o", "b.html"]) == 2
    assert "--image names a column of --meta" in capsys.readouterr().err


def test_command_finds_rows_that_were_moved_when_told(fitted, capsys):
    (fitted / "toy.npy").rename(fitted / "moved.npy")
    assert main(["report", "toy.crlm.npz"]) == 3
    assert "toy.npy" in capsys.readouterr().err
    assert main(["report", "toy.crlm.npz", "--data", "moved.npy"]) == 0
    assert "moved.npy" in (fitted / "toy.html").read_text()
    np.save("other.npy", np.zeros((900, 30)))
    assert main(["report", "toy.crlm.npz", "--data", "other.npy", "-o", "o.html"]) == 3
    assert not (fitted / "o.html").exists()


def test_command_reports_a_model_of_python_when_given_the_rows(toy, tmp_path, monkeypatch, capsys):
    model, X, _ = toy
    monkeypatch.chdir(tmp_path)
    model.save("m.crlm.npz")
    assert main(["report", "m.crlm.npz"]) == 3
    assert "keeps no copy of its data" in capsys.readouterr().err
    np.save("x.npy", X)
    assert main(["report", "m.crlm.npz", "--data", "x.npy"]) == 0


def test_a_table_of_words_that_is_none_is_refused(tmp_path):
    path = tmp_path / "rows.csv"
    with pytest.raises(InputError, match="no such file"):
        read_meta(path)
    path.write_text("a,b\n1,\n")
    assert words_of(read_meta(path)) == {"a": ["1"], "b": [""]}
    with pytest.raises(InputError, match="is no table of words"):
        read_meta(path.rename(tmp_path / "rows.txt"))


# ---- other settings -----------------------------------------------------------------------


def test_weights_metric_and_depth_of_the_fit_are_those_of_the_report():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 12))
    X[:40] = X[0] + 0.05 * rng.normal(size=(40, 12))
    weights = rng.integers(0, 4, len(X))
    model = CRLM(metric="cosine", G=3.0, alpha=None, min_cluster_size=5)
    model.fit(X, sample_weight=weights)
    page = render(model, X)
    live = data_of(page)["live"]
    for at in (0, len(live["sigmas"]) // 2, live["sigmas"].index(model.sigma_max_)):
        again = CRLM(live["sigmas"][at], metric="cosine", G=3.0, alpha=None, min_cluster_size=5)
        again.fit(X, sample_weight=weights)
        assert live["steps"][at]["centers"] == again.center_indices_.tolist()
        assert live["steps"][at]["sizes"] == again.cluster_sizes_.tolist()
    article = page.split('id="cluster-0"', 1)[1].split("</article>")[0]
    reach = [float(r) for r in re.findall(r'shot-reach">([\d.]+) R', article)]
    assert 0 < sum(r < 1 for r in reach) < len(reach)


def test_a_report_without_room_for_pairs_stands_still_and_says_so(toy, monkeypatch):
    model, X, _ = toy
    monkeypatch.setattr("crlm.report.LEVELS", (LEVELS[0]._replace(pairs=0),))
    page = render(model, X)
    assert data_of(page)["live"] is None
    assert "cannot be moved in this file" in page
    assert 'id="hist"' not in page
    assert 'class="histogram"' in page


@pytest.mark.parametrize(
    ("X", "settings"),
    [
        (np.zeros((1, 3)), {}),
        (np.array([[0.0, 0.0], [1.0, 1.0]]), {"sigma_max": 1.0, "alpha": None}),
        (np.ones((30, 4)), {"sigma_max": 1.0, "alpha": None}),
        (np.arange(40.0)[:, None], {"sigma_max": 1.0, "alpha": None}),
        (np.random.default_rng(0).normal(size=(60, 3)), {"sigma_max": 100.0, "alpha": None}),
        (pd.DataFrame(np.eye(9), columns=list("abcdefghi")), {"sigma_max": 0.1}),
    ],
)
@pytest.mark.filterwarnings("ignore::crlm.errors.WeakEvidenceWarning")
def test_whatever_can_be_fitted_can_be_reported(X, settings):
    model = CRLM(**settings).fit(X)
    page = render(model, X, y=[0] * len(X))
    assert f"of {len(X)} rows" in page or f"among {len(X)} rows" in page
    assert data_of(page)["n"] == len(X)
