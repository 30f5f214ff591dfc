"""The explorer as files: every text stays text; each filter shows what it says; numbers lead to their answers."""

import json
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from metacog_pipeline.home import Home
from metacog_pipeline.leaderboard.build import build
from metacog_pipeline.report import explorer, pieces
from metacog_pipeline.report.page import build_report
from tests.report.answers import HOSTILE, answered, call, filled
from tests.report.conftest import made_home, serious_violations, write

N_ITEMS = 23  # more than one slice
MODELS = ("alpha", "beta")


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return filled_home(tmp_path_factory.mktemp("explorer"), MODELS)


@pytest.fixture(autouse=True)
def small_files(monkeypatch):
    """Twenty items of two models are a file, and two files a query."""
    monkeypatch.setattr(explorer, "_ANSWERS_A_FILE", 40)
    monkeypatch.setattr(explorer, "_FILES_AT_ONCE", 2)


def filled_home(folder: Path, models: Sequence[str]) -> Home:
    found = made_home(Home(folder / "home"), dict.fromkeys(models, "measured"))
    texts = [HOSTILE[i % len(HOSTILE)] for i in range(N_ITEMS)]
    answered(found, models, texts, lambda i: texts[i])
    build(found)
    return found


def data(folder: Path, name: str) -> list[object]:
    """Return what a file hands to the page."""
    script = (folder / name).read_text("utf-8")
    found = re.fullmatch(r"explorer\.\w+\((.*)\);\n", script, re.DOTALL)
    assert found and not re.search("[<>&]", script)
    return list(json.loads(f"[{found[1]}]"))


@pytest.fixture(scope="module")
def folder(home):
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(explorer, "_ANSWERS_A_FILE", 40)
        return build_report(home, "a study").parent / explorer.FOLDER


def test_there_is_a_small_index_and_a_file_of_each_question_set_condition_and_slice(folder):
    assert sorted(path.name for path in folder.glob("*")) == [
        *("explorer.js", "grid-0-0.js", "index.html", "items-0-0.js", "items-0-1.js", "questions-0.js"),
    ]
    _, questions = data(folder, "questions-0.js")
    assert [row[0] for row in questions] == [f"item-{i:03}" for i in range(N_ITEMS)]


def test_the_grid_says_right_wrong_and_nothing_readable(folder):
    number, place, grids = data(folder, "grid-0-0.js")
    (alpha, (right, sure, n, judged)) = grids
    assert (number, place) == (0, 0) and alpha[0][:3] == [0, 1, 1]
    assert right[:3] == [0, 0, None] and sure[0] == 95 and n[:3] == judged[:3] == [1, 1, None]


def test_an_item_has_every_prompt_reply_and_thought_once(folder):
    _, slice_, items = data(folder, "items-0-1.js")
    assert slice_ == 1 and [item["item_id"] for item in items] == ["item-020", "item-021", "item-022"]
    _, _, (one, *others) = data(folder, "items-0-0.js")
    assert len(others) == 19 and one["question"] == HOSTILE[0]
    assert one["prompts"] == [f"system: <b>be brief</b>\n\nuser: question 0 {HOSTILE[0][:40]}"]
    assert [(each["model"], each["text"], each["reasoning"], each["prompt"]) for each in one["answers"]] == [
        (0, HOSTILE[0], "<i>hm</i>", 0),
        (1, HOSTILE[0], "<i>hm</i>", 0),
    ]


def test_files_of_models_that_are_gone_are_removed(home, tmp_path):
    home = Home(shutil.copytree(home.path, tmp_path / "home"))
    old = home.report / "explore/answers-0-1-beta.js"
    old.parent.mkdir(parents=True, exist_ok=True)
    old.write_text("old")
    build_report(home)
    assert not old.exists()


def test_a_study_without_answers_has_no_explorer(tmp_path):
    home = made_home(Home(tmp_path / "home"), silent=True)
    assert "explore/" not in build_report(home).read_text("utf-8")
    assert not (home.report / explorer.FOLDER).exists() or not list((home.report / explorer.FOLDER).iterdir())


def test_a_long_text_is_cut_and_its_length_is_kept(tmp_path):
    home = made_home(Home(tmp_path / "home"), {"alpha": "measured"})
    answered(home, ["alpha"], ["q"], lambda i: "x" * 9000)
    build(home)
    _, _, (one,) = data(build_report(home).parent / explorer.FOLDER, "items-0-0.js")
    assert (len(one["answers"][0]["text"]), one["answers"][0]["characters"]) == (explorer.CHARACTERS, 9000)


def test_a_benchmark_may_have_no_table_of_responses(home):
    assert explorer._own_columns(home, "signaldetection") and explorer._own_columns(home, "unheard of") == []


def test_every_number_of_a_model_leads_to_its_answers_and_printed_ones_nowhere(home):
    page = build_report(home).read_text("utf-8")
    rows = re.findall(r"<tr>\s*<th scope=\"row\">\s*(alpha|beta)\s*</th>(.*?)</tr>", page, re.DOTALL)
    number = re.compile(r"<td class=\"number\">(.*?)</td>", re.DOTALL)
    shown = [(model, cell) for model, row in rows for cell in number.findall(row) if re.search(r"\d", cell)]
    assert len(shown) >= 6
    for model, cell in shown:
        assert f'<a href="explore/index.html#benchmark=signaldetection&amp;model={model}' in cell, cell
    printed = re.findall(r"<caption>.{0,20}as printed.*?</table>", page, re.DOTALL)
    assert not any("explore/" in table for table in printed)


def test_rows_lead_where_they_and_their_table_say_and_names_stay_text():
    odd = '"><b>&'
    lead = explorer.leads([explorer.Benchmark("b", ("c",), ("m", odd), 1)])

    def made(row: dict[str, object], caption: str = "Table", **known: object) -> str:
        with pieces.leading_to(lead), pieces.told(**known):
            return pieces.table(("which", *row, "n"), [("x", *row.values(), 3)], caption)

    above = made({"benchmark": "b"}, model="m", up="../../")
    assert '<a href="../../explore/index.html#benchmark=b&amp;model=m">3</a>' in above
    of_condition = made({"model": "m", "condition": "c d"}, benchmark="b")
    assert "#benchmark=b&amp;model=m&amp;condition=c+d" in of_condition
    assert "model=%22%3E%3Cb%3E%26" in made({"model": odd}, benchmark="b")
    assert "<b>" not in made({"model": odd})
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
    with pieces.leading_to(explorer.leads([])):
        assert "<a" not in pieces.table(("model", "n"), [("m", 3)], "Models: c")


@pytest.mark.browser
def test_in_a_browser_every_filter_shows_what_it_says_and_nothing_runs(home, browser):
    address = (build_report(home).parent / explorer.FOLDER / explorer.PAGE).as_uri()
    page = browser.new_page(viewport={"width": 390, "height": 800})
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))

    def shown(asked: str) -> list[str]:
        page.goto(f"{address}#{asked}")
        page.reload()
        page.wait_for_selector("#rows tr")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        return [text.strip() for text in page.locator("#rows tr th a").all_inner_texts()]

    every = [f"item-{i:03}" for i in range(N_ITEMS)]
    alone = {"wrong": "item-000", "sure": "item-000", "disagree": "item-001", "unread": "item-002"}
    assert shown("which=all") == every
    assert {which: shown(f"which={which}") for which in alone} == {
        which: [item] for which, item in alone.items()
    }
    assert shown("order=hard")[:2] == ["item-000", "item-001"]
    assert serious_violations(page) == []
    page.locator("#rows a").first.focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("#item h2")
    assert page.locator("#item h2").inner_text() == "item-000"
    assert HOSTILE[0] in page.locator("#item").inner_text()
    assert serious_violations(page) == [] and page.evaluate("window.hacked") is None and said == []
    page.close()


def test_an_answer_that_was_replaced_is_not_shown_and_a_model_that_only_failed_is(tmp_path):
    home = made_home(Home(tmp_path / "home"), {"alpha": "measured", "gone": "measured"})
    answered(home, ["alpha"], ["q"], lambda i: "new")
    old = call(0, "old", answer_id="o", superseded=True)
    failed = call(0, "", model="gone", answer_id="g", status="failed", error_kind="fatal")
    write(home, "transcripts/benchmark=signaldetection/9/run=1/transcripts.parquet", filled([old, failed]))
    build(home)
    [found] = explorer.contents(home)
    assert found.models == ("alpha", "gone")
    _, _, (one,) = data(build_report(home).parent / explorer.FOLDER, "items-0-0.js")
    assert [(each["model"], each["text"]) for each in one["answers"]] == [(0, "new"), (1, "")]
