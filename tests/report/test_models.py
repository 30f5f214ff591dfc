"""A page for each model: every text stays text, what is cut says so, and a spreadsheet runs nothing."""

import csv
import io
import json
import re
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from metacog_pipeline.errors import SourceError
from metacog_pipeline.files import canonical_json
from metacog_pipeline.home import Home
from metacog_pipeline.report.models import CHARACTERS, FOLDER
from metacog_pipeline.report.page import build_report
from metacog_pipeline.transcripts.schema import ADDED_IN_2
from tests.report.conftest import made_home, write

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed (dev extra)")
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
HOSTILE = (
    "<script>window.hacked = 1</script>",
    '<img src=x onerror="window.hacked = 2">',
    "</script><script>window.hacked = 3</script>",
    '");window.hacked = 4;//',
    "\\u003cscript>window.hacked = 5</script>\u2028\u2029",
    '=HYPERLINK("http://x.example","here")',
    "@SUM(1)",
    "-2+3",
    "\x1b[31mred\x1b[0m \x00 \u202eright to left\u202c",
    "<!-- <svg onload=window.hacked=6>",
    "plain",
)


def call(place: int, text: str, **columns: object) -> dict[str, object]:
    request = canonical_json(
        {"messages": [["system", "<b>be brief</b>"], ["user", f"question {place} {text[:40]}"]]}
    )
    return {
        "answer_id": f"a{place}", "benchmark": "signaldetection", "model": "alpha", "run": 1, "item_id": f"item-{place:03}",
        "condition": "confidence", "step": "answer", "source": "measured", "provider": "openai", "mode": "text",
        "request_json": request, "status": "ok", "text": text, "started_at": datetime(2026, 1, 2, tzinfo=UTC),
        "attempts": 1, "latency_s": 0.5, "cost_usd": -0.0, "superseded": False,
        **columns,
    }  # fmt: skip


@pytest.fixture
def pages(make_home, write):
    """Return ``pages(texts)``: a report of one model with these answers, or calls; its page."""

    def made(texts: list[str] | list[dict[str, object]]) -> Path:
        home = make_home()
        calls = [text if isinstance(text, dict) else call(place, text) for place, text in enumerate(texts)]
        write(home, "transcripts/**/*.parquet", filled(calls), "all")
        target = home / "transcripts" / "benchmark=signaldetection" / "model=alpha" / "run=1"
        target.mkdir(parents=True)
        (home / "transcripts" / "all.parquet").rename(target / "transcripts.parquet")
        return build_report(home).parent / FOLDER / "alpha" / "index.html"

    return made


def filled(rows: list[dict[str, object]]) -> list[dict[str, object]]:
    from metacog_pipeline.transcripts.schema import ARROW_SCHEMA

    for row in rows:
        for field in ARROW_SCHEMA:
            if row.get(field.name) is None and not field.nullable:
                row[field.name] = (
                    pa.scalar("0" if not pa.types.is_string(field.type) else "").cast(field.type).as_py()
                )
    return rows


def data(page: Path) -> list[list[object]]:
    rows: list[list[object]] = []
    for file in sorted(page.parent.glob("answers-*.js")):
        found = re.fullmatch(r"chunk\((\d+), (\[.*?\]), (\[.*\])\);\n", file.read_text("utf-8"), re.DOTALL)
        assert found
        rows += json.loads(found[3])
    return rows


def test_every_text_is_kept_as_data_and_none_can_end_a_script(pages):
    page = pages(list(HOSTILE))
    source = "".join(file.read_text("utf-8") for file in page.parent.glob("answers-*.js"))
    assert "<" not in source
    assert [row[6] for row in data(page)] == list(HOSTILE)
    assert "hacked" not in page.read_text("utf-8")


def test_a_long_answer_is_cut_for_the_page_and_its_length_told(pages):
    page = pages(["x" * 10_000_000])
    (row,) = data(page)
    assert len(str(row[6])) == CHARACTERS and row[7] == 10_000_000
    assert sum(file.stat().st_size for file in page.parent.iterdir()) < 100_000


def test_thoughts_are_data_beside_the_answer_and_cut_like_it(pages):
    thoughts = [*HOSTILE, "t" * 10_000_000, None]
    page = pages([call(place, "B", reasoning_text=each) for place, each in enumerate(thoughts)])
    rows = data(page)
    assert [row[11] for row in rows] == [*HOSTILE, "t" * CHARACTERS, ""]
    assert [row[12] for row in rows][-2:] == [10_000_000, 0]
    assert "<" not in "".join(file.read_text("utf-8") for file in page.parent.glob("answers-*.js"))


def test_answers_of_the_first_version_have_a_page_without_thoughts(pages):
    page = pages(["B"])
    home = Home(page.parents[3])
    (path,) = (home / "transcripts").rglob("transcripts.parquet")
    added = [*ADDED_IN_2, "reask"]
    table = pq.read_table(path)
    pq.write_table(table.drop_columns([name for name in added if name in table.column_names]), path)
    page = build_report(home).parent / FOLDER / "alpha" / "index.html"
    assert [row[6] for row in data(page)] == ["B"] and data(page)[0][11] == ""


def test_a_home_whose_path_looks_like_a_pattern_has_pages_of_its_own_answers(tmp_path):
    for name, text in (("study [d]", "mine"), ("study d", "another's")):  # which the first name would match
        home = made_home(Home(tmp_path / name / "home"))
        write(home, "transcripts/**/*.parquet", filled([call(0, text)]), "all")
        target = home / "transcripts" / "benchmark=signaldetection" / "model=alpha" / "run=1"
        target.mkdir(parents=True)
        (home / "transcripts" / "all.parquet").rename(target / "transcripts.parquet")
    page = build_report(Home(tmp_path / "study [d]" / "home")).parent / FOLDER / "alpha" / "index.html"
    assert [row[6] for row in data(page)] == ["mine"]


def test_a_damaged_copy_of_answers_is_told_in_one_line(pages):
    home = Home(pages(["B"]).parents[3])
    (path,) = (home / "transcripts").rglob("transcripts.parquet")
    path.write_bytes(b"damaged")
    with pytest.raises(SourceError, match=r"transcripts\.parquet: cannot be read .* run `metacog run` again"):
        build_report(home)


def test_a_model_that_left_the_study_loses_its_page(make_home):
    home = make_home({"alpha": "measured"})
    folder = build_report(home).parent / FOLDER
    assert (folder / "alpha" / "index.html").exists()
    (folder / "gone").mkdir()
    build_report(home)
    assert not (folder / "gone").exists() and (folder / "transcripts.js").exists()


def test_a_name_that_is_no_file_name_stays_inside_the_report(make_home):
    home = make_home({"../../../outside": "measured", "a/b": "measured"})
    report = build_report(home)
    found = {path.name for path in (report.parent / FOLDER).iterdir() if path.is_dir()}
    assert len(found) == 2 and all(name.startswith("model-") for name in found)
    assert not (home.path.parent / "outside").exists()


@pytest.mark.browser
def test_the_page_is_searched_paged_and_saved_and_runs_nothing_a_model_wrote(pages):
    path = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if path is None:
        pytest.skip(f"no browser found ({', '.join(BROWSERS)}); install chromium to run this test")
    failed = call(0, HOSTILE[0], status="failed", reasoning_text=HOSTILE[1])
    others = [*HOSTILE[1:], *(f"answer number {n}" for n in range(60))]
    page_file = pages([failed, *(call(place, text) for place, text in enumerate(others, start=1))])
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        try:
            page = browser.new_page(viewport={"width": 390, "height": 800}, accept_downloads=True)
            asked: list[str] = []
            wrong: list[str] = []
            page.on("request", lambda request: asked.append(request.url))
            page.on("pageerror", lambda error: wrong.append(str(error)))
            page.on("dialog", lambda dialog: wrong.append(dialog.message))
            page.goto(page_file.as_uri(), timeout=30_000)
            sync_api.expect(page.locator("#where")).not_to_be_empty(timeout=20_000)
            assert page.inner_text("#where") == "1 to 25 of 71"
            assert page.locator("#answers pre").first.text_content() == HOSTILE[0]
            first = page.locator("#answers tr").first
            assert first.locator("small").first.text_content() == (
                "this had arrived when the call failed; it is not scored"
            )
            thought = first.locator("details").first
            assert thought.get_attribute("open") is None
            assert thought.locator("pre").text_content() == HOSTILE[1]
            page.click("#next")
            page.click("#next")
            assert page.inner_text("#where") == "51 to 71 of 71"
            page.fill("#words", "answer NUMBER 5")
            assert page.inner_text("#where") == "1 to 11 of 11"
            page.fill("#words", "")
            with page.expect_download() as download:
                page.click("#csv")
            saved = list(csv.DictReader(io.StringIO(Path(download.value.path()).read_text("utf-8"))))
            assert page.evaluate("window.hacked") is None and wrong == []
            assert all(url.startswith("file:") or url.startswith("blob:") for url in asked)
            assert page.evaluate("document.documentElement.scrollWidth") <= 390
        finally:
            browser.close()
    texts = [row["text"] for row in saved]
    assert texts[0] == HOSTILE[0] and texts[5] == "'" + HOSTILE[5] and texts[7] == "'-2+3"
    assert not any(
        re.match(r"[=+\-@\t\r]", value) for row in saved for name, value in row.items() if name == "text"
    )
    assert {row["latency_s"] for row in saved} == {"0.5"}
