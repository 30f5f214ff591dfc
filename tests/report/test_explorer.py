"""The explorer: the same page from disk and from its server; every text stays text; each filter shows what it says."""

import http.client
import json
import os
import re
import shutil
import socket
import struct
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest
from markupsafe import Markup

from metacog_pipeline.benchmarks.medley import report as medley
from metacog_pipeline.home import Home
from metacog_pipeline.leaderboard.build import build
from metacog_pipeline.report import confidence, cost, pieces, queries
from metacog_pipeline.report import models as model_pages
from metacog_pipeline.report.explorer import data, pages
from metacog_pipeline.report.explorer.server import Explorer
from metacog_pipeline.report.page import build_report
from metacog_pipeline.study import digests
from tests.report.conftest import made_home, write
from tests.report.test_models import ARGUMENTS, BROWSERS, HOSTILE, call, filled
from tests.tables import every

N_ITEMS = 23  # more than one slice
MODELS = ("alpha", "beta")


def response(place: int, model: str) -> dict[str, object]:
    """Item 0 all wrong and sure, 1 disagreement, 2 unreadable for beta, the rest right."""
    wrong = place == 0 or (place == 1 and model == "beta")
    return {
        "benchmark": "signaldetection", "dataset": "published", "condition": "A confidence", "model": model, "run": 1,
        "item_id": f"item-{place:03}", "cluster": f"item-{place:03}", "correct": 0.0 if wrong else 1.0,
        "confidence": 0.95 if place == 0 else 0.6, "response": HOSTILE[place % len(HOSTILE)],
    }  # fmt: skip


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return filled_home(tmp_path_factory.mktemp("explorer"), MODELS)


def filled_home(folder: Path, models: Sequence[str]) -> Home:
    found = made_home(Home(folder / "home"), dict.fromkeys(models, "measured"))
    write(
        found,
        "items/signaldetection.parquet",
        [
            {
                "item_id": f"item-{i:03}",
                "dataset": "published",
                "position": i,
                "text": HOSTILE[i % len(HOSTILE)],
            }
            for i in range(N_ITEMS)
        ],
    )
    for model in models:
        rows = [response(i, model) for i in range(N_ITEMS) if (i, model) != (2, "beta")]
        write(found, f"harmonised/signaldetection/model={model}/run=1.parquet", rows)
        calls = [
            call(
                i,
                HOSTILE[i % len(HOSTILE)],
                model=model,
                answer_id=f"{model}-{i}",
                reasoning_text="<i>hm</i>",
            )
            for i in range(N_ITEMS)
        ]
        write(
            found,
            f"transcripts/benchmark=signaldetection/model={model}/run=1/transcripts.parquet",
            filled(calls),
        )
    build(found)
    return found


def loaded(script: str) -> list[object]:
    """Return what a data file hands to the page."""
    found = re.fullmatch(r"explorer\.\w+\((.*)\);\n", script, re.DOTALL)
    assert found and "<" not in script
    return list(json.loads(f"[{found[1]}]"))


def test_the_grid_says_right_wrong_and_nothing_readable(home):
    (benchmark,) = data.contents(home)
    assert (benchmark.conditions, benchmark.models, benchmark.n_items) == (("A confidence",), MODELS, N_ITEMS)
    grids = data.grids(home, 0, benchmark, MODELS)
    _, name, ((right, sure, n, judged),) = loaded(grids["beta"])  # type: ignore[misc]
    assert (
        name == "beta" and right[:3] == [0, 0, None] and sure[0] == 95 and n[:3] == judged[:3] == [1, 1, None]
    )
    assert loaded(grids["alpha"])[2][0][0][:3] == [0, 1, 1]  # type: ignore[index]


def test_an_item_has_every_prompt_reply_and_thought_once(home):
    (benchmark,) = data.contents(home)
    _, slice_, items = loaded(data.items(home, 0, benchmark, [0, 1])[1])
    assert slice_ == 1 and isinstance(items, list)
    assert [item["item_id"] for item in items] == ["item-020", "item-021", "item-022"]
    found = data.answers(home, 0, benchmark, MODELS, [0, 1])
    assert found.keys() == {(model, place) for model in MODELS for place in (0, 1)}
    for model in MODELS:
        *where, (one, *others) = loaded(found[model, 0])  # type: ignore[misc]
        assert where == [0, 0, model] and len(others) == data.ITEMS_A_SLICE - 1
        assert one["prompts"] == [f"system: <b>be brief</b>\n\nuser: question 0 {HOSTILE[0][:40]}"]
        (answer,) = one["answers"]
        assert answer["reasoning"] == "<i>hm</i>" and answer["text"] == HOSTILE[0]


def test_every_file_of_the_report_is_on_the_disk_before_it_has_its_name(tmp_path, monkeypatch):
    home, placed, forced, unforced = filled_home(tmp_path, MODELS), [], set(), []
    fsync, replace = os.fsync, Path.replace

    def forces(descriptor: int) -> None:
        forced.add(Path(f"/proc/self/fd/{descriptor}").readlink())
        fsync(descriptor)

    def places(source: Path, target: Path) -> Path:
        if source not in forced:
            unforced.append(target)
        placed.append(target)
        return replace(source, target)

    monkeypatch.setattr(os, "fsync", forces)
    monkeypatch.setattr(Path, "replace", places)
    build_report(home)
    assert {path.name for path in placed} >= {model_pages._NOTE, pages._NOTE, "index.html"} and not unforced
    assert {path.parent for path in placed} <= forced


def test_no_file_of_a_report_is_hidden_from_verify(tmp_path):
    home = filled_home(tmp_path, MODELS)
    build_report(home)
    written = {path for path in home.report.rglob("*") if path.is_file()}
    digests.note(home)
    noted = json.loads((home.status / digests.NOTE).read_text())
    assert written and {home.key(path) for path in written} <= noted.keys()


def test_a_model_more_has_files_of_its_own_and_changes_no_answers_of_others(tmp_path):
    home = filled_home(tmp_path, MODELS[:1])
    folder = build_report(home).parent / pages.FOLDER
    before = {path: path.stat().st_mtime_ns for path in folder.glob("*.js")}
    filled_home(tmp_path, MODELS)
    build_report(home)
    alone = {path.name: path.read_text("utf-8") for path in folder.glob("*.js")}
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert {path.name for path in folder.glob("*.js")} - {path.name for path in before} == {
        "grid-0-beta.js", "answers-0-0-beta.js", "answers-0-1-beta.js",
    }  # fmt: skip
    shutil.rmtree(folder)
    build_report(home)
    assert {path.name: path.read_text("utf-8") for path in folder.glob("*.js")} == alone


def test_the_files_are_the_same_however_many_a_query_fetches(home, tmp_path, monkeypatch):
    pages.write_explorer(home, tmp_path / "many", "study")
    monkeypatch.setattr(pages, "_AT_ONCE", 1)
    monkeypatch.setattr(pages, "_ANSWERS_AT_ONCE", 1)
    pages.write_explorer(home, tmp_path / "one", "study")
    many, one = (
        {path.name: path.read_bytes() for path in tmp_path.glob(f"{each}/*/*")} for each in ("many", "one")
    )
    assert len(many) > len(MODELS) * N_ITEMS // data.ITEMS_A_SLICE and many == one


def test_a_benchmark_may_have_no_table_of_responses(home):
    assert data._own_columns(home, "signaldetection") and data._own_columns(home, "unheard of") == []


def test_files_that_are_gone_are_made_again_and_those_of_a_model_that_went_are_removed(tmp_path):
    home = filled_home(tmp_path, MODELS)
    folder = build_report(home).parent / pages.FOLDER
    whole = {path.name: path.read_text("utf-8") for path in folder.glob("*.js")}
    (folder / "answers-0-1-beta.js").unlink()
    (folder / "items-0-0.js").write_text("changed", "utf-8")
    (folder / "grid-0-gone.js").write_text("old", "utf-8")
    (folder / pages._NOTE).write_text("[]", "utf-8")
    build_report(home)
    assert {path.name: path.read_text("utf-8") for path in folder.glob("*.js")} == whole


def test_beyond_the_limit_no_files_are_written_and_the_report_says_what_to_do(home, monkeypatch):
    monkeypatch.setattr(pages, "MOST_ANSWERS", 2 * N_ITEMS - 1)
    said = build_report(home).read_text("utf-8")
    assert "metacog report STUDY --explore" in said and "explore/index.html" not in said
    assert not (home / "report" / pages.FOLDER).exists()


def test_every_number_of_a_model_leads_to_its_answers_and_printed_ones_nowhere(home):
    page = build_report(home).read_text("utf-8")
    rows = re.findall(r"<tr>\s*<th scope=\"row\">\s*(alpha|beta)\s*</th>(.*?)</tr>", page, re.DOTALL)
    cells = [
        (model, cell)
        for model, row in rows
        for cell in re.findall(r"<td class=\"number\">(.*?)</td>", row, re.DOTALL)
    ]
    shown = [(model, cell) for model, cell in cells if re.search(r"\d", cell)]
    assert len(shown) > 10
    for model, cell in shown:
        assert f'<a href="explore/index.html#benchmark=signaldetection&amp;model={model}' in cell, cell
    assert all(
        "explore/" not in table
        for table in re.findall(r"<caption>.{0,20}as printed.*?</table>", page, re.DOTALL)
    )


def test_rows_lead_where_they_and_their_table_say_and_names_stay_text():
    odd = '"><b>&'
    lead = pages.leads([data.Benchmark("b", ("c",), ("m", odd), 1)])

    def made(row: dict[str, object], caption: str = "Table", **known: object) -> str:
        with pieces.leading_to(lead), pieces.told(**known):
            return pieces.table(("which", *row, "n"), [("x", *row.values(), 3)], caption)

    assert '<a href="../../explore/index.html#benchmark=b&amp;model=m">3</a>' in made(
        {"benchmark": "b"}, model="m", up="../../"
    )
    assert "#benchmark=b&amp;model=m&amp;condition=c+d" in made(
        {"model": "m", "condition": "c d"}, benchmark="b"
    )
    assert "model=%22%3E%3Cb%3E%26" in made({"model": odd}, benchmark="b") and "<b>" not in made(
        {"model": odd}
    )
    for row in ({}, {"model": "m, scored as c"}):
        assert '<a href="explore/index.html#benchmark=b">3</a>' in made(row, "Models: of all", benchmark="b")
    for row, caption in (
        ({"model": "m", "source": "published"}, "Table"),
        ({"model": "m"}, pieces.PRINTED),
        ({"model": "m"}, f"{pieces.WORLDS['published']}: c"),
        ({"model": "nobody"}, "Table"),
        ({"benchmark": "other", "model": "m"}, "Models: c"),
        ({}, "Table 4"),
    ):
        assert "<a" not in made(row, caption, benchmark="b"), (row, caption)
    assert "benchmark=b&amp;model=m" in made({"model": "m"}) and "<a" not in made({"model": "nobody"})
    with pieces.leading_to(pages.leads([])):
        assert "<a" not in pieces.table(("model", "n"), [("m", 3)], "Models: c")


def test_what_was_paid_pairs_of_measures_and_agreeing_judges_lead_to_items(monkeypatch):
    pair = ("measured", "convergent", "b ece", "medley mms", 9, 0.5, 0.1, 0.8, "", "b", "medley")
    judged = [("measured", "alpha", "one and two", 0.5, 0.4, 0.6, 130, "ok")]
    judged += [("simulated", *judged[0][1:])]
    found = {queries.CORRELATIONS: [pair], queries.OTHER_COSTS: [("medley", 9, 1.5)]}
    monkeypatch.setattr(queries, "rows", lambda home, sql: found[sql])
    monkeypatch.setattr(medley, "rows", lambda home, sql: judged)
    both = [data.Benchmark(name, ("c",), ("m",), 1) for name in ("b", "medley")]
    with pieces.leading_to(pages.leads(both)):
        pairs = Markup().join(confidence.agreement(Home(Path())))
        assert pairs.count('<a href="explore/index.html#benchmark=b">') == 3
        assert '#benchmark=medley">medley mms</a>' in pairs
        assert '#benchmark=medley">$1.50</a>' in cost.others(Home(Path()))
        with pieces.told(benchmark="medley"):
            agreed = medley.judges(Home(Path()))
    assert '#benchmark=medley">0.500</a>' in agreed
    assert agreed.count("<table>") == 2, "measured and simulated judges share no table"


@pytest.fixture(scope="module")
def server(home):
    made = Explorer(home, "study <b>", 0)
    thread = threading.Thread(target=made.serve_forever, daemon=True)
    thread.start()
    yield made
    made.shutdown()
    made.server_close()
    thread.join(10)


def get(server: Explorer, path: str, host: str | None = None, method: str = "GET") -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=20)
    try:
        connection.request(method, path, headers={"Host": host} if host else {})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def test_the_server_looks_once_at_each_version_of_the_board(home, monkeypatch):
    looked = []
    monkeypatch.setattr(data, "contents", lambda home: looked.append(home) or [])
    with Explorer(home, "study", 0) as made:
        assert made.content("/questions-0.js") is None and made.content("/items-0-0.js") is None
        assert len(looked) == 1
        board = home / "leaderboard.duckdb"
        os.utime(board, ns=(1, board.stat().st_mtime_ns + 1))
        assert "study" in str(made.content("/")) and len(looked) == 2


def test_the_server_makes_the_files_that_the_report_writes(home, server):
    folder = build_report(home).parent / pages.FOLDER
    names = sorted(path.name for path in folder.glob("*.js"))
    assert names == [
        *("answers-0-0-alpha.js", "answers-0-0-beta.js", "answers-0-1-alpha.js", "answers-0-1-beta.js"),
        *(
            "explorer.js",
            "grid-0-alpha.js",
            "grid-0-beta.js",
            "items-0-0.js",
            "items-0-1.js",
            "questions-0.js",
        ),
    ]
    for name in names:
        assert get(server, f"/{name}") == (200, (folder / name).read_text("utf-8")), name
    status, page = get(server, "/")
    assert status == 200 and "study &lt;b&gt;" in page


def test_a_reader_who_leaves_costs_no_traceback(server, capfd, monkeypatch):
    asked, left = threading.Event(), threading.Event()

    def gone(path: str) -> str:
        asked.set()
        left.wait(10)
        return "x" * 10**7

    monkeypatch.setattr(server, "content", gone)
    with socket.create_connection(("127.0.0.1", server.server_port)) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1:1\r\n\r\n")
        assert asked.wait(10)
    left.set()
    for thread in [each for each in threading.enumerate() if "process_request_thread" in each.name]:
        thread.join(10)
    assert "Traceback" not in capfd.readouterr().err


@every(
    "path",
    [
        "/grid-0-gamma.js",
        "/grid-1-alpha.js",
        "/answers-0-2-alpha.js",
        "/answers-0-0-gamma.js",
        "/answers-0-alpha.js",
        "/answers-0-0.js",
        "/items-0-0-alpha.js",
        "/items-0-2.js",
        "/questions-0-0.js",
        "/grid-0.js",
        "/../study.toml",
        "/%2e%2e/x",
        "//x",
    ],
)
def test_what_is_not_there_is_404(server, path):
    assert get(server, path)[0] == 404


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "LOCALHOST:3977", "127.0.0.1:", "LocalHost:80"])
def test_who_calls_it_by_one_of_its_names_is_answered_whatever_the_port_and_the_case(server, host):
    status, page = get(server, "/", host)
    assert status == 200 and page
    assert get(server, "/", host, "HEAD") == (200, "")


@pytest.mark.parametrize(
    "host", ["elsewhere.example:80", "127.0.0.1.elsewhere.example:80", "localhost:80.example", ""]
)
def test_who_calls_it_by_another_name_is_refused(server, host):
    assert get(server, "/", host or "x")[0] == 403


@pytest.mark.browser
def test_in_a_browser_every_filter_shows_what_it_says_and_nothing_runs(home):
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed (dev extra)")
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright", reason="axe is not installed (dev extra)"
    )
    browser_path = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if browser_path is None:
        pytest.skip(f"no browser found ({', '.join(BROWSERS)}); install chromium to run this test")
    address = (build_report(home).parent / pages.FOLDER / pages.PAGE).as_uri()
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path, args=ARGUMENTS)
        try:
            page = browser.new_page(viewport={"width": 390, "height": 800})
            said: list[str] = []
            page.on("console", lambda message: said.append(message.text))
            page.on("pageerror", lambda error: said.append(str(error)))
            shown = lambda: [  # noqa: E731
                text.strip() for text in page.locator("#rows tr th a").all_inner_texts()
            ]
            for which, items in {
                "all": [f"item-{i:03}" for i in range(N_ITEMS)],
                "wrong": ["item-000"],
                "sure": ["item-000"],
                "disagree": ["item-001"],
                "unread": ["item-002"],
            }.items():
                page.goto(f"{address}#which={which}")
                page.reload()
                page.wait_for_selector("#rows tr")
                assert shown() == items, which
                assert page.evaluate("document.documentElement.scrollWidth") <= 390
            page.goto(f"{address}#order=hard")
            page.reload()
            page.wait_for_selector("#rows tr")
            assert shown()[:2] == ["item-000", "item-001"]
            _no_serious_violation(axe, page)
            page.locator("#rows a").first.focus()
            page.keyboard.press("Enter")
            page.wait_for_selector("#item h2")
            assert page.locator("#item h2").inner_text() == "item-000"
            assert HOSTILE[0] in page.locator("#item").inner_text()
            _no_serious_violation(axe, page)
            assert page.evaluate("window.hacked") is None
            assert said == []
        finally:
            browser.close()


def _no_serious_violation(axe: object, page: object) -> None:
    found = axe.Axe().run(page).response["violations"]  # type: ignore[attr-defined]
    assert [each["id"] for each in found if each["impact"] in ("serious", "critical")] == []
