"""Every page of the report on a phone, a desk and a wide screen, light and dark: it fits, nothing lies on other text, and
who uses a keyboard or a screen reader can use it. `METACOG_SCREENSHOTS=folder` keeps the pictures, to look at them."""

import os
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from metacog_pipeline import registry
from metacog_pipeline.home import Home
from metacog_pipeline.leaderboard.build import build
from metacog_pipeline.leaderboard.read import one_connection
from metacog_pipeline.report import papers
from metacog_pipeline.report.page import build_report
from tests.report.answers import call, filled, response
from tests.report.conftest import compared, made_home, serious_violations, write

pytestmark = pytest.mark.browser

MODELS = ("alpha", "beta", "a-model-with-quite-a-long-name-of-many-words-2026-11-22")
OWN = ("report", "explorer", "item")
PAGES = {
    "report": "index.html",
    "explorer": "explore/index.html",
    "item": "explore/index.html#item=item-001",
    **{name: f"papers/{name}/index.html" for name in registry.names() if registry.load(name).exhibits()},
}
WIDTHS, SCHEMES = (390, 1280, 2560), ("light", "dark")
# Visible rectangles of text, cut at whatever scrolls around them; pairs of which one lies on the other.
OVERLAPS = """() => {
  const boxes = [];
  const visible = (rect, node) => {
    let { left, top, right, bottom } = rect;
    for (let up = node.parentElement; up; up = up.parentElement) {
      if (!["auto", "scroll", "hidden"].includes(getComputedStyle(up).overflowX)) continue;
      const around = up.getBoundingClientRect();
      left = Math.max(left, around.left); right = Math.min(right, around.right);
      top = Math.max(top, around.top); bottom = Math.min(bottom, around.bottom);
    }
    return right - left > 2 && bottom - top > 2 ? { left, top, right, bottom } : null;
  };
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const node = walk.currentNode;
    const unseen = ["SCRIPT", "STYLE", "TEMPLATE", "OPTION"].includes(node.parentElement.tagName);
    if (unseen || !node.textContent.trim()) continue;
    if (!node.parentElement.checkVisibility()) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    [...range.getClientRects()].forEach((rect) => {
      const box = visible(rect, node);
      if (box) boxes.push({ ...box, text: node.textContent.trim().slice(0, 40) });
    });
  }
  boxes.sort((a, b) => a.top - b.top);
  const found = [];
  boxes.forEach((a, i) => {
    for (let j = i + 1; j < boxes.length && boxes[j].top < a.bottom - 3; j += 1) {
      const b = boxes[j];
      const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const high = Math.min(a.bottom, b.bottom) - b.top;
      if (wide > 3 && high > 4) found.push(`${a.text} | ${b.text}`);
    }
  });
  return found;
}"""


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """The report of a study of three models and an observer, with tests between models, questions and answers."""
    models = {**dict.fromkeys(MODELS, "measured"), "toy": "simulated"}
    home = made_home(Home(tmp_path_factory.mktemp("screens") / "home"), models)
    tests = [
        compared("alpha", "beta"),
        compared("alpha", "beta", condition="B confidence", task="B", verdict="not_significant", value=-0.125,
                 low=-0.5, high=0.25, p=0.2, p_adjusted=0.4),
        compared("alpha", MODELS[2], value=-0.5, low=-0.75, high=-0.25),
        compared("beta", "alpha", family="mcnemar", measure="accuracy", primary=False, low=None, high=None),
    ]  # fmt: skip
    write(home, "estimates/signaldetection/comparisons/pairs.parquet", tests)
    items = [
        {
            "item_id": f"item-{i:03}", "dataset": "published", "task": "AB"[i % 2], "position": i,
            "text": f"Question {i}: " + "word " * 30,
        }
        for i in range(12)
    ]  # fmt: skip
    write(home, "items/signaldetection.parquet", items)
    for model in MODELS:
        rows = [response(i, model) | {"response": "yes, I am sure"} for i in range(12)]
        write(home, f"harmonised/signaldetection/model={model}/run=1.parquet", rows)
        calls = [call(i, "Because. " * 40, model=model, answer_id=f"{model}-{i}") for i in range(12)]
        place = f"transcripts/benchmark=signaldetection/model={model}/run=1/transcripts.parquet"
        write(home, place, filled(calls))
    build(home)
    report = build_report(home, "a study").parent
    with one_connection(home):  # the other papers too: they are looked at
        papers.write_papers(home, report, "a study", registry.names())
    return report


def opened(browser: Any, address: str, width: int = 1280, scheme: str = "light") -> Any:
    page = browser.new_page(
        viewport={"width": width, "height": 900}, color_scheme=scheme, accept_downloads=True
    )
    page.set_default_timeout(30_000)
    page.said, page.asked = [], []
    page.on("request", lambda request: page.asked.append(request.url))
    page.on("console", lambda message: page.said.append(message.text))
    page.on("pageerror", lambda error: page.said.append(str(error)))
    page.goto(address)
    page.wait_for_load_state("load")
    return page


# Pages of papers are alike: they are looked at in `make proofs`.
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in OWN else pytest.mark.proof) for name in PAGES]
)
def test_a_page_fits_every_screen_and_no_text_lies_on_other_text(report, browser, name, tmp_path):
    file, _, rest = PAGES[name].partition("#")
    kept = Path(os.environ.get("METACOG_SCREENSHOTS") or tmp_path)
    page = opened(browser, f"{(report / file).as_uri()}{rest and '#' + rest}")
    if name in ("explorer", "item"):
        page.wait_for_selector("#rows tr a" if name == "explorer" else "#item h2")
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        for scheme in SCHEMES if name in (*OWN, "signaldetection") else SCHEMES[:1]:  # papers are alike
            page.emulate_media(color_scheme=scheme)
            assert page.evaluate("document.documentElement.scrollWidth") <= width, (width, scheme)
            place = kept / f"{name}-{width}-{scheme}.jpg"
            picture = page.screenshot(path=place, full_page=True, type="jpeg", quality=70)
            assert len(picture) > 5000
            if width == WIDTHS[0]:
                assert serious_violations(page) == [], scheme
        assert page.evaluate(OVERLAPS) == [], width
    assert page.said == []
    page.close()


def test_a_table_sorts_by_keyboard_filters_and_saves(report, browser):
    page = opened(browser, (report / "papers" / "signaldetection" / "index.html").as_uri())
    table = page.locator("#table-s1 table").first
    order = lambda: table.locator("tbody tr td:nth-child(3)").all_inner_texts()  # noqa: E731
    asked = order()
    head = table.locator("thead th", has_text=re.compile("^d′$"))
    head.get_by_role("button").focus()
    page.keyboard.press("Enter")
    downwards = sorted(asked, key=float, reverse=True)
    assert head.get_attribute("aria-sort") == "descending" and order() == downwards
    page.keyboard.press("Enter")
    assert head.get_attribute("aria-sort") == "ascending" and order() == sorted(asked, key=float)
    page.keyboard.press("Enter")
    assert head.get_attribute("aria-sort") is None and order() == asked
    tools = page.locator("#table-s1 .tools").first
    tools.get_by_role("searchbox").fill("gpt-5")
    assert tools.get_by_role("status").inner_text() == "3 of 9 rows"
    with page.expect_download() as saved:
        tools.get_by_role("button", name="save as CSV").click()
    lines = Path(saved.value.path()).read_text("utf-8").splitlines()
    assert lines[0] == "task,model,d′,meta-d′,M-ratio" and len(lines) == 4
    assert lines[1] == "A,GPT-5-2025-08-07,3.2396,2.7738,0.8563"
    page.close()


def test_a_figure_saves_itself_with_its_caption(report, browser):
    page = opened(browser, (report / "index.html").as_uri())

    def saved(label: str) -> tuple[str, bytes]:
        with page.expect_download() as found:
            page.get_by_role("button", name=label).first.click()
        return found.value.suggested_filename, Path(found.value.path()).read_bytes()

    box = page.locator("figure svg").first.get_attribute("viewBox").split()
    name, data = saved("save this figure as SVG with its caption")
    root = ElementTree.fromstring(data)
    below = [each for each in root if each.tag.endswith("}text")]
    assert name == "verdict-1.svg" and root.get("width") == "180mm" and b"currentColor" not in data
    assert root[0].tag.endswith("}desc") and " ".join(str(each.text) for each in below) == root[0].text
    *_, wide, high = map(float, root.attrib["viewBox"].split())
    assert high > float(box[3]) and all(float(each.attrib["y"]) < high for each in below)
    assert all(4 * len(str(each.text)) < wide for each in below) and "n = 100 answers" in str(root[0].text)
    assert page.said == []
    page.close()
