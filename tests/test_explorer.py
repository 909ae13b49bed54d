"""The explorer's server: exact answers, files in one folder, and no for everyone else."""

import csv
import json
import re
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import numpy as np
import pytest

from crlm import CRLM
from crlm.cli import main
from crlm.errors import InputError, ParameterError
from crlm.explorer import notes
from crlm.explorer.serve import listening
from crlm.explorer.view import project
from exploring import ATTACK, labels_of, pictures, running, toy


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("start")


@pytest.fixture(scope="module")
def explorer(folder, tmp_path_factory):
    X = toy()
    images = pictures(tmp_path_factory.mktemp("pictures"), len(X))
    meta = {"note": [ATTACK] * len(X)}
    with running(folder, X, images=images, meta=meta) as explorer:
        yield explorer


def client(explorer, **headers):
    base = f"http://127.0.0.1:{explorer.port}"
    given = {"authorization": f"Bearer {explorer.token}", **headers}
    return httpx.Client(base_url=base, headers=given, timeout=60)


@pytest.fixture
def web(explorer):
    with client(explorer) as opened:
        yield opened


# Answers


@pytest.mark.parametrize("alpha", [0.01, None])
def test_labels_are_those_of_a_fit(web, explorer, alpha):
    X, stops = toy(), explorer.session.engine.stops
    asked = [*stops[np.linspace(0, len(stops) - 1, 5).astype(int)].tolist(), 3.3, 60.0]
    for sigma in asked:
        given = {"sigma": sigma, "alpha": alpha, "minSize": 3, "maxClusters": 9}
        answer = web.post("/api/fit", json=given)
        head, labels = labels_of(answer.content, len(X))
        fitted = CRLM(sigma, alpha=alpha, min_cluster_size=3, max_clusters=9).fit(X)
        assert np.array_equal(labels, fitted.labels_)
        assert head["clusters"]["sigmas"] == fitted.sigmas_.tolist()
        assert head["clusters"]["losses"] == fitted.losses_.tolist()


def test_it_starts_with_what_a_fit_finds(web):
    meta = web.get("/api/meta").json()
    fitted = CRLM().fit(toy())
    assert meta["start"]["sigma"] == fitted.sigma_max_
    assert fitted.sigma_max_ in meta["stops"]
    assert (meta["phase"], meta["n"], meta["d"]) == ("ready", 400, 20)


def test_rows_are_ordered_by_their_distance_from_the_centre(web, explorer):
    engine = explorer.session.engine
    answer = engine.answer(engine.start)
    pages = {
        order: web.get("/api/rows", params={"cluster": 0, "order": order, "limit": 200}).json()
        for order in ("center", "edge", "near", "random")
    }
    members = set(answer.members[0].tolist())
    far = {o: [item["distance"] for item in page["items"]] for o, page in pages.items()}
    rows = {o: [item["row"] for item in page["items"]] for o, page in pages.items()}
    assert rows["center"][0] == answer.record["centers"][0]
    assert far["center"] == sorted(far["center"])
    assert far["edge"] == far["center"][::-1]
    assert set(rows["center"]) == set(rows["edge"]) == set(rows["random"]) == members
    assert far["near"] == sorted(far["near"])
    clustered = set(np.concatenate(answer.members).tolist())
    assert not set(rows["near"]) & clustered
    assert max(far["edge"]) < 1.0
    more = web.get("/api/rows", params={"cluster": 0, "offset": 2, "limit": 3}).json()
    assert [item["row"] for item in more["items"]] == rows["center"][2:5]
    named = web.get("/api/rows", params={"rows": "5,7"}).json()
    assert [item["title"] for item in named["items"]] == ["row 5", "row 7"]


def test_points_graph_certificate_search_and_code_are_there(web, explorer):
    for view in ("clusters", "pca"):
        content = web.get("/api/points", params={"view": view}).content
        assert len(content) > 400 * 8
    assert len(web.get("/api/graph").content) > 1000
    certificate = web.get("/api/certificate").json()
    assert certificate["theorem_d"] in ("holds", "fails", "undecided")
    assert {row["name"] for row in certificate["conditions"]} >= {"C1", "C2", "A1", "A2", "A3"}
    assert web.get("/api/search", params={"q": "17"}).json() == {"rows": [17]}
    code = web.get("/api/code", params={"sigma": 5.5, "alpha": "none"}).json()
    assert code["python"].endswith("CRLM(5.5, alpha=None).fit(X)")
    assert code["shell"] == "crlm fit toy --sigma-max 5.5 --alpha none"


def test_events_tell_every_stop(web, explorer):
    seen, stops = set(), len(explorer.session.engine.stops)
    with web.stream("GET", "/api/events") as answer:
        for line in answer.iter_lines():
            if line.startswith("data: ") and '"i"' in line:
                seen.add(json.loads(line[6:])["i"])
            if len(seen) == stops:
                break
    assert seen == set(range(stops))


# Files


def test_labels_are_exported_as_fitted_and_as_edited(web, folder):
    fitted = CRLM().fit(toy()).labels_
    member = int(np.flatnonzero(fitted == 0)[0])
    kept = web.post("/api/notes", json={"names": {str(member): "a, b"}, "excluded": [member]})
    assert kept.json() == {"kept": True}
    for name in ("all.csv", "all.npy", "all.parquet"):
        assert web.post("/api/export", json={"file": name}).status_code == 200
    with (folder / "all.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["label"]) for row in rows] == fitted.tolist()
    assert int(rows[member]["edited"]) == -1
    other = int(np.flatnonzero(fitted == 0)[1])
    assert rows[other]["name"] == "a, b"
    assert np.array_equal(np.load(folder / "all.npy"), fitted)
    again = web.post("/api/export", json={"file": "all.csv"})
    assert (again.status_code, again.json()["error"]) == (409, "all.csv exists.")
    some = {"file": "all.csv", "replace": True, "rows": [3, 1]}
    assert web.post("/api/export", json=some).json()["rows"] == 2
    assert notes.read(folder / "toy.notes.json", 400).names == {member: "a, b"}
    web.post("/api/notes", json={"names": {}, "excluded": []})


def test_a_read_only_explorer_writes_nothing(tmp_path):
    with running(tmp_path, read_only=True) as explorer, client(explorer) as web:
        assert web.post("/api/export", json={"file": "x.csv"}).status_code == 403
        assert web.post("/api/notes", json={"names": {"1": "x"}, "excluded": []}).json() == {
            "kept": False
        }
    assert not list(tmp_path.iterdir())


def test_notes_that_are_none_are_refused(tmp_path):
    path = tmp_path / "toy.notes.json"
    path.write_text("[" * 100_000)
    with pytest.raises(InputError, match="Move it away"):
        notes.read(path, 10)


# Attacks


def test_nobody_gets_anything_without_the_token(explorer):
    paths = ["/", "/page/app.js", "/api/meta", "/api/points", "/api/thumb/0", "/api/events"]
    for headers in ({}, {"authorization": "Bearer wrong"}, {"cookie": "crlm=1"}):
        for path in paths:
            url = f"http://127.0.0.1:{explorer.port}{path}"
            answer = httpx.get(url, headers=headers)
            assert answer.status_code == 401, path
            assert explorer.token not in answer.text
    wrong = httpx.get(f"http://127.0.0.1:{explorer.port}/?token=wrong", follow_redirects=False)
    assert wrong.status_code == 401


def test_the_token_moves_from_the_address_to_a_cookie(explorer):
    answer = httpx.get(explorer.url, follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie


def test_a_foreign_host_is_refused(explorer):
    port = explorer.port
    for host in ("evil.example", f"evil.example:{port}", "127.0.0.1", f"127.0.0.1.evil:{port}", ""):
        with client(explorer, host=host) as web:
            assert web.get("/api/meta").status_code in (400, 421), host
    for host in (f"localhost:{port}", f"127.0.0.1:{port}"):
        with client(explorer, host=host) as web:
            assert web.get("/api/meta").status_code == 200


def test_another_origin_is_refused(explorer):
    for headers in (
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": f"http://127.0.0.1:{explorer.port + 1}"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ):
        with client(explorer, **headers) as web:
            for answer in (web.get("/api/meta"), web.post("/api/export", json={"file": "o.csv"})):
                assert answer.status_code == 403, headers
                assert "access-control-allow-origin" not in answer.headers
    with client(explorer, origin=f"http://127.0.0.1:{explorer.port}") as web:
        assert web.get("/api/meta").status_code == 200


def test_forms_of_other_pages_cannot_ask(web):
    sent = web.post("/api/export", data={"file": "form.csv"})
    assert sent.status_code == 400
    assert web.request("OPTIONS", "/api/export").status_code == 405


def test_no_answer_loads_anything_from_elsewhere(web):
    for path in ("/", "/api/meta", "/api/thumb/0", "/page/nothing.js"):
        policy = web.get(path).headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'")
    assert "http" not in re.sub(r"http://www.w3.org/\S+", "", web.get("/").text)


CLIMBS = [
    "../x.csv",
    "..",
    "/etc/passwd",
    "a/b.csv",
    "..\\x.csv",
    "x.csv\0",
    "%2e%2e/x.csv",
    ".csv",
]


@pytest.mark.parametrize("name", [*CLIMBS, "x.txt", "", None, 7, ["x.csv"], "a" * 300 + ".csv"])
def test_exports_stay_in_the_folder(web, folder, name):
    before = sorted(folder.parent.rglob("*"))
    answer = web.post("/api/export", json={"file": name})
    assert answer.status_code == 400
    assert sorted(folder.parent.rglob("*")) == before


def test_a_link_does_not_lead_out_of_the_folder(web, folder, tmp_path):
    (folder / "link.csv").symlink_to(tmp_path / "out.csv")
    sent = {"file": "link.csv", "replace": True}
    assert web.post("/api/export", json=sent).status_code == 400
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize("climb", ["../", "..%2f", "%2e%2e/", "....//", "..\\"])
def test_no_parameter_is_a_path(web, climb):
    path = climb * 6 + "etc/passwd"
    asked = [
        web.get(f"/page/{path}"),
        web.get(f"/api/thumb/{path}"),
        web.get("/api/points", params={"view": path}),
        web.get("/api/rows", params={"order": path}),
        web.get("/api/rows", params={"rows": path}),
        web.get("/api/rows", params={"cluster": path}),
        web.get("/api/certificate", params={"sigma": path}),
        web.post("/api/fit", json={"sigma": path}),
    ]
    for answer in asked:
        assert answer.status_code in (400, 404), answer.url
        assert "root:" not in answer.text
    assert web.get("/api/search", params={"q": path}).json() == {"rows": []}


def test_only_pictures_of_rows_are_shown(web):
    assert web.get("/api/thumb/0").headers["content-type"] == "image/jpeg"
    for row, why in ((1, "missing"), (2, "damaged"), (3, "10,000 x 10,000 pixels")):
        answer = web.get(f"/api/thumb/{row}")
        assert answer.status_code == 404, why
        assert "/" not in answer.text
    for row in ("-1", "400", "99999999999999999999", "1.5", "x", "0x1", "true", "NaN"):
        assert web.get(f"/api/thumb/{row}").status_code == 400


@pytest.mark.parametrize(
    "given",
    [
        {"sigma": 0},
        {"sigma": -1},
        {"sigma": "NaN"},
        {"sigma": 1e999},
        {"sigma": True},
        {"sigma": [1]},
        {"minSize": 1},
        {"minSize": 2.5},
        {"minSize": 10**30},
        {"maxClusters": 0},
        {"alpha": 0},
        {"alpha": 1},
        {"alpha": {}},
        {"serial": -1},
    ],
)
def test_settings_out_of_range_are_refused(web, given):
    content = json.dumps(given)
    answer = web.post("/api/fit", content=content, headers={"content-type": "application/json"})
    assert answer.status_code == 400
    assert "cannot be" in answer.json()["error"]


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"[" * 100_000, b"null", b"\xff\xfe"])
def test_what_is_no_question_is_refused(web, content):
    for path in ("/api/fit", "/api/notes", "/api/export", "/api/fill"):
        sent = web.post(path, content=content, headers={"content-type": "application/json"})
        assert sent.status_code == 400


@pytest.mark.parametrize("rows", ["-1", "400", "1,2,400", "1,,2", ",".join(["1"] * 201), "1e2"])
def test_rows_that_are_not_there_are_refused(web, rows):
    assert web.get("/api/rows", params={"rows": rows}).status_code == 400
    assert web.get("/api/rows", params={"cluster": 99}).status_code == 400
    sent = {"names": {"400": "x"}, "excluded": []}
    assert web.post("/api/notes", json=sent).status_code == 400
    assert web.post("/api/export", json={"file": "r.csv", "rows": [400]}).status_code == 400


def test_words_stay_words(web):
    item = web.get("/api/rows", params={"rows": "0"}).json()["items"][0]
    assert item["text"] == f"note: {ATTACK}"


def test_slow_clients_keep_nobody_waiting(explorer, web):
    slow = [socket.create_connection(("127.0.0.1", explorer.port)) for _ in range(20)]
    for connection in slow:
        connection.sendall(b"POST /api/fit HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-")
    answer = web.get("/api/meta")
    for connection in slow:
        connection.close()
    assert answer.status_code == 200


def test_two_hundred_questions_at_once_are_answered(explorer, web):
    stops = explorer.session.engine.stops.tolist()

    def ask(i):
        given = {"sigma": stops[i % 7] * 1.0001, "page": "many", "serial": i}
        return web.post("/api/fit", json=given).status_code

    with ThreadPoolExecutor(40) as pool:
        codes = list(pool.map(ask, range(200)))
    assert set(codes) <= {200, 409}  # an older question may be passed over
    assert 200 in codes
    assert web.get("/api/meta").status_code == 200


# Starting


def test_a_question_before_the_data_are_there_is_put_off(tmp_path):
    with running(tmp_path, wait=False) as explorer, client(explorer) as web:
        explorer.session.phase = {"phase": "loading", "done": 1, "total": 2}
        assert web.post("/api/fit", json={}).status_code == 503
        assert web.get("/api/meta").json()["phase"] == "loading"


def test_preparing_can_be_cancelled(tmp_path):
    with running(tmp_path, wait=False, X=toy(1000)) as explorer, client(explorer) as web:
        web.post("/api/cancel", json={})
        until = time.monotonic() + 60
        while explorer.session.phase["phase"] == "loading" and time.monotonic() < until:
            time.sleep(0.05)
        assert explorer.session.phase["phase"] == "cancelled"


def test_the_next_port_is_taken_when_one_is(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with listening("127.0.0.1", port, True) as other:
            assert other.getsockname()[1] > port
        with pytest.raises(ParameterError, match=f"port {port} is taken"):
            listening("127.0.0.1", port, False)
    with pytest.raises(ParameterError, match="--host must be an address"):
        listening("203.0.113.7", 0, False)


def test_it_listens_on_loopback_alone_unless_told(explorer):
    assert explorer.url.startswith("http://127.0.0.1:")
    assert explorer._socket.getsockname()[0] == "127.0.0.1"


def test_open_to_others_it_still_wants_the_token(tmp_path):
    with running(tmp_path, wait=False, host="0.0.0.0") as explorer:
        url = f"http://127.0.0.1:{explorer.port}/api/meta"
        assert httpx.get(url).status_code == 401
        with client(explorer, host=f"evil.example:{explorer.port}") as web:
            assert web.get("/api/meta").status_code == 421


def test_the_command_prints_one_address(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    np.save("toy.npy", toy(60))
    monkeypatch.setattr("crlm.explorer.serve.Explorer.wait", lambda self: None)
    assert main(["explore", "toy.npy", "--no-browser", "--port", "0"]) == 0
    out = capsys.readouterr().out
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/\?token=[\w-]{32}\n", out)


@pytest.mark.parametrize("delay", [0.0, 0.7])
def test_an_interrupt_ends_the_command_without_a_traceback(tmp_path, delay):
    np.save(tmp_path / "toy.npy", toy(60))
    command = [sys.executable, "-m", "crlm", "explore", "toy.npy", "--no-browser", "--port", "0"]
    told = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen([*command, "--read-only"], cwd=tmp_path, **told) as process:
        assert process.stdout.readline().startswith("http://127.0.0.1:")
        assert process.stderr.readline() == "Stop with Ctrl+C.\n"
        time.sleep(delay)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert err == "stopped\n"
    assert process.returncode == 130


def test_the_command_wants_data_or_a_demo(capsys):
    assert main(["explore"]) == 2
    assert "--demo faces" in capsys.readouterr().err
    assert main(["explore", "nothing.npy"]) == 3


def test_a_model_finds_its_rows_or_is_given_them(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X = toy(60)
    explorer = CRLM(6.0).fit(X).explore(X, ids=[f"no {i}" for i in range(60)], browser=False)
    try:
        assert explorer.session.subject.title(7) == "no 7"
        assert explorer.url in repr(explorer)
    finally:
        explorer.close()
    with pytest.raises(InputError, match="note has 3 entries"):
        CRLM(6.0).explore(X, meta={"note": [1, 2, 3]}, browser=False)
    with pytest.raises(InputError, match="fitted in Python"):
        CRLM(6.0).fit(X).explore(browser=False)


# The map


def test_a_map_is_always_the_same_and_takes_odd_data():
    X = toy(100)
    members = [np.arange(10), np.arange(20, 30)]
    for view in ("clusters", "pca"):
        first, again = project(X, view, members), project(X.copy(), view, members)
        assert first.shape == (2, 100)
        assert np.array_equal(first, again)
    for odd in (np.ones((5, 3)), np.arange(4.0)[:, None], np.zeros((1, 2))):
        assert np.isfinite(project(odd, "clusters", [np.array([0])])).all()


def test_a_closed_explorer_answers_no_more(tmp_path):
    with running(tmp_path, wait=False) as explorer:
        pass
    with pytest.raises(httpx.ConnectError):
        httpx.get(explorer.url)
