"""The page in a real browser, from disk: on a phone and on a desk, on light and on dark paper."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from metacog_pipeline.report.page import build_report
from metacog_pipeline.report.pieces import SCRIPT

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed (dev extra)")
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
INK = "getComputedStyle(document.body).color"
PAPER = "getComputedStyle(document.body).backgroundColor"

pytestmark = pytest.mark.browser


def test_the_page_fits_and_can_be_read_and_asks_for_nothing(make_home: Callable[..., Path]) -> None:
    browser_path = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if browser_path is None:
        pytest.skip(f"no browser found ({', '.join(BROWSERS)}); install chromium to run this test")
    page_file = build_report(make_home({"alpha": "measured", "a" * 64: "measured", "toy": "simulated"}))
    seen: dict[str, set[str]] = {"light": set(), "dark": set()}
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path, args=ARGUMENTS)
        try:
            for width in (390, 1280):
                for scheme, colours in seen.items():
                    page = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
                    asked: list[str] = []
                    said: list[str] = []
                    page.on("request", lambda request, asked=asked: asked.append(request.url))
                    page.on("console", lambda message, said=said: said.append(message.text))
                    page.goto(page_file.as_uri(), timeout=30_000)
                    assert asked == [page_file.as_uri(), (page_file.parent / SCRIPT).as_uri()] and said == []
                    assert page.evaluate("document.documentElement.scrollWidth") <= width
                    colours |= {page.evaluate(INK), page.evaluate(PAPER)}
                    drawn = page.locator("svg").last.bounding_box()
                    assert drawn is not None and 250 < drawn["width"] <= width and drawn["height"] > 150
                    page.close()
        finally:
            browser.close()
    assert len(seen["light"]) == len(seen["dark"]) == 2 and not seen["light"] & seen["dark"]
