"""A person opens the UI on a study, asks a model by clicking, and sees it succeed. One real browser, loopback only."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from metacog_pipeline.cli import main
from tests.browser.conftest import opened, served
from tests.studies import metamedqa, write_study

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

pytest.importorskip("playwright.sync_api", reason="playwright is not installed (dev extra)")

RUN_S = 75

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.fixture(scope="module")
def study(few_resamples, tmp_path_factory):
    """A study of two models of which one has been asked."""
    models = ({"name": name, "provider": "simulated"} for name in ("asked", "waiting"))
    path = write_study(tmp_path_factory.mktemp("ui"), *models, benchmarks=metamedqa(limit=6))
    with pytest.raises(SystemExit) as ended:
        main(["run", str(path), "--model", "asked", "--quiet"])
    assert not ended.value.code
    return path


@pytest.fixture(scope="module")
def page(browser_path, study):
    """A page of the UI on the study."""
    with served(study) as address, opened(browser_path, address) as page:
        yield page


def visible(page: Page, text: str) -> Locator:
    return page.get_by_text(text, exact=True).filter(visible=True)


def test_the_graph_shows_benchmark_and_boards_and_how_far_the_models_are(page):
    page.goto("/asset-groups")
    for group in ("metamedqa", "boards"):
        visible(page, group).first.wait_for()
    visible(page, "metamedqa").last.click()
    visible(page, "responses").first.wait_for()
    visible(page, "50% filled").first.wait_for()


def test_a_person_sees_what_the_last_run_of_an_asset_found(page):
    page.goto("/assets/leaderboard")
    visible(page, "main.estimates").first.wait_for()
    visible(page, "verdict (simulated respondents)").first.wait_for()


# What the click starts is run by `assets/test_automation.py`; `test_backfill.py` clicks as well.
@pytest.mark.proof
def test_clicking_materialize_asks_the_waiting_model_and_it_succeeds(page, study):
    page.goto("/assets/metamedqa/transcripts")
    visible(page, "dollars").first.wait_for()
    page.get_by_role("button", name="Materialize").first.click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_text("Select a partition or create one").first.click()
    visible(page, "waiting").last.click()
    page.keyboard.press("Escape")
    dialog.get_by_role("button", name="All").last.click()
    dialog.get_by_role("button", name="Launch 1 run").click()
    page.get_by_text("Launched run").first.wait_for()
    visible(page, "View").last.click()
    page.wait_for_url("**/runs/*")
    visible(page, "Success").first.wait_for(timeout=RUN_S * 1000)
    manifest = study.parent / "home/transcripts/benchmark=metamedqa/model=waiting/run=1/partition.json"
    state = json.loads(manifest.read_text(encoding="utf-8"))
    assert (state["state"], state["n_answered"]) == ("complete", 6)
