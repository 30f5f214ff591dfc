"""A person adds models to the study file and backfills them by clicks: one is on the board soon after, one says why not."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from metacog_pipeline.home import Home
from metacog_pipeline.leaderboard.read import run_query
from tests.browser.conftest import METACOG, opened, served
from tests.studies import Keys, metamedqa, write_study

if TYPE_CHECKING:
    pass

pytest.importorskip("playwright.sync_api", reason="playwright is not installed (dev extra)")
pytestmark = [pytest.mark.browser, pytest.mark.proof]

ON_THE_BOARD_S = 90  # what the issue of this page promises; METACOG_PROOF_S gives a loaded machine longer
KEY = "METACOG_TEST_NO_SUCH_KEY"
ASKED, NEWCOMER = ({"name": name, "provider": "simulated"} for name in ("asked", "newcomer"))
KEYLESS = {
    "name": "keyless", "provider": "openai", "model": "some-model", "base_url": "http://127.0.0.1:9/v1", "price_in": 0,
    "price_out": 0, "api_key_env": KEY,
}  # fmt: skip


def write(folder: Path, *models: Keys) -> Path:
    return write_study(folder, *models, benchmarks=metamedqa(limit=12), name="backfill")


@pytest.fixture
def study(tmp_path):
    """A study that was run with one model; the others are added later."""
    path = write(tmp_path, ASKED)
    subprocess.run([*METACOG, "run", str(path), "--quiet"], check=True, timeout=300)
    return path


@pytest.fixture
def page(browser_path, study):
    with served(study) as address, opened(browser_path, address) as page:
        yield page


def coverage(study: Path, model: str) -> object:
    """Return how much of the questions a model has answered, as the board says; None where it is not there."""
    found = run_query(
        Home(study.parent / "home"), f"select max(coverage) from leaderboard where model = '{model}'"
    ).rows
    return found[0][0]


def wait_for(what: str, is_so: object, seconds: float) -> float:
    """Wait until ``is_so()``; return how long it took."""
    assert callable(is_so)
    started = time.monotonic()
    while time.monotonic() - started < seconds:
        if is_so():
            return time.monotonic() - started
        time.sleep(0.5)
    pytest.fail(f"{what}: not within {seconds:.0f} s")


def test_a_model_added_and_backfilled_by_clicks_is_on_the_board_without_another_click(page, study):
    page.goto("/assets/metamedqa/transcripts")
    write(study.parent, ASKED, NEWCOMER, KEYLESS)
    wait_for("the board names the new models", lambda: coverage(study, "keyless") == 0, 180)
    page.reload()
    page.get_by_role("button", name="Materialize").first.click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_text("Select a partition or create one").first.click()
    for model in ("newcomer", "keyless"):
        page.get_by_text(model, exact=True).filter(visible=True).last.click()
    page.keyboard.press("Escape")
    dialog.get_by_role("button", name="All").last.click()
    dialog.get_by_role("button", name="Launch").last.click()
    page.get_by_text("Created backfill").first.wait_for()
    seconds = float(os.environ.get("METACOG_PROOF_S", ON_THE_BOARD_S))
    took = wait_for("newcomer is on the board", lambda: coverage(study, "newcomer") == 1, seconds)
    print(f"on the board {took:.0f} s after the click")
    home = Home(study.parent / "home")
    failed = run_query(home, "select model, state, message from progress where state <> 'complete'").rows
    assert [row[:2] for row in failed] == [("keyless", "failed")] and KEY in str(failed[0][2])
    assert coverage(study, "keyless") == 0, "named on the board, without an answer"
