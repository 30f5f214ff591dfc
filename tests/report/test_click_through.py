"""A reader's way through the report in a real browser, from disk."""

import re
import shutil
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from metacog_pipeline.files import canonical_json
from metacog_pipeline.home import Home
from metacog_pipeline.report.page import build_report
from metacog_pipeline.transcripts.schema import ARROW_SCHEMA

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed (dev extra)")
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
FITS = "document.documentElement.scrollWidth <= innerWidth"

pytestmark = pytest.mark.browser


def write_answers(home: Home, n: int) -> None:
    """Keep ``n`` answers of alpha."""
    rows = []
    for place in range(n):
        request = canonical_json({"messages": [["user", f"question {place}"]]})
        given = {
            "benchmark": "signaldetection", "model": "alpha", "run": 1, "item_id": f"item-{place:03}",
            "condition": "confidence", "step": "answer", "status": "ok", "text": f"answer {place}",
            "request_json": request, "superseded": False, "started_at": datetime(2026, 1, 2, tzinfo=UTC),
        }  # fmt: skip
        row = {field.name: given.get(field.name) for field in ARROW_SCHEMA}
        row |= {
            field.name: pa.scalar("" if pa.types.is_string(field.type) else "0").cast(field.type).as_py()
            for field in ARROW_SCHEMA
            if row[field.name] is None and not field.nullable
        }
        rows.append(row)
    folder = home / "transcripts" / "benchmark=signaldetection" / "model=alpha" / "run=1"
    folder.mkdir(parents=True)
    pq.write_table(pa.Table.from_pylist(rows, schema=ARROW_SCHEMA), folder / "transcripts.parquet")


@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1280, "light")])
def test_from_the_board_to_the_methods_to_a_models_answers_and_back(make_home, width, scheme):
    path = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if path is None:
        pytest.skip(f"no browser found ({', '.join(BROWSERS)}); install chromium to run this test")
    home = make_home({"alpha": "measured"})
    write_answers(home, 40)
    index = build_report(home)
    asked: list[str] = []
    wrong: list[str] = []
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        try:
            page = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
            page.set_default_timeout(30_000)
            page.on("request", lambda request: asked.append(request.url))
            page.on("console", lambda message: wrong.append(message.text))
            page.on("pageerror", lambda error: wrong.append(str(error)))
            page.goto(index.as_uri())
            assert page.evaluate(FITS)
            page.get_by_role("link", name=re.compile("^Methods")).click()
            assert page.inner_text("h1") == "Methods" and page.evaluate(FITS)
            page.get_by_role("link", name=re.compile("^Tests: Holm")).click()
            assert page.url.endswith("methods.html#tests")
            page.get_by_role("link", name="report", exact=True).click()
            page.get_by_role("navigation", name="Models").get_by_role("link", name="alpha").click()
            sync_api.expect(page.locator("#where")).to_have_text("1 to 25 of 40")
            page.fill("#words", "ANSWER 7")
            assert page.inner_text("#where") == "1 to 1 of 1" and page.evaluate(FITS)
            assert page.locator("#answers pre").first.text_content() == "answer 7"
            page.get_by_role("link", name="report", exact=True).click()
            assert page.url == index.as_uri()
            page.get_by_role("link", name=re.compile("this figure as an SVG file, 88 mm")).first.click()
            assert page.url.endswith(".svg") and page.locator("svg").first.is_visible()
            page.go_back()
            assert page.url == index.as_uri()
        finally:
            browser.close()
    inside = index.parent.as_uri() + "/"
    assert wrong == [] and all(url.startswith(inside) for url in asked)
