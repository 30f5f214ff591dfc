"""A person opens the UI on a study, asks a model by clicking, and sees it succeed. One real browser, loopback only."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page, Route

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed (dev extra)")

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
METACOG = [sys.executable, "-m", "metacog_pipeline"]
START_S, PAGE_S, RUN_S, STOP_S = 60, 45, 75, 30

STUDY = """
[study]
name = "browser"
home = "home"

[[models]]
name = "asked"
provider = "simulated"

[[models]]
name = "waiting"
provider = "simulated"

[benchmarks.metamedqa]
dataset = "sample"
limit = 6
"""

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.fixture(scope="module")
def browser_path() -> str:
    """The installed browser, or a skip that says how to get one."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.skip(
            f"no browser: none of {', '.join(BROWSERS)} is installed (Debian: apt-get install chromium)"
        )
    return found


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study of two models of which one has been asked."""
    path = tmp_path_factory.mktemp("ui") / "study.toml"
    path.write_text(STUDY, encoding="utf-8")
    subprocess.run([*METACOG, "run", str(path), "--model", "asked", "--quiet"], check=True, timeout=90)
    return path


@pytest.fixture(scope="module")
def address(browser_path: str, study: Path) -> Iterator[str]:
    """``metacog ui`` while the tests run; afterwards nothing it started is left."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    log = study.with_name("ui.log")
    with log.open("w") as output:
        ui = subprocess.Popen(
            [*METACOG, "ui", str(study), "--port", str(port)],
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    started, left = set[int](), set[int]()
    try:
        _wait_until_up(f"http://127.0.0.1:{port}/server_info", ui, log)
        yield f"http://127.0.0.1:{port}"
    finally:
        started = _descendants(ui.pid)
        ui.send_signal(signal.SIGINT)
        try:
            ui.wait(STOP_S)
        finally:
            left = _left_after(started, STOP_S)
            for process in left:
                os.kill(process, signal.SIGKILL)
    assert started, "the UI had processes of its own"
    assert not left, f"still running after the UI was stopped: {left}; see {log}"


def _wait_until_up(url: str, ui: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        assert ui.poll() is None, log.read_text()
        try:
            with urllib.request.urlopen(url, timeout=2) as answer:
                if answer.status == 200:
                    return
        except OSError:
            time.sleep(0.2)
    pytest.fail(f"the UI did not start within {START_S} s:\n{log.read_text()}")


def _descendants(root: int) -> set[int]:
    parents: dict[int, int] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        parents[int(folder.name)] = int(fields[1])
    found, waiting = set[int](), [root]
    while waiting:
        parent = waiting.pop()
        children = {child for child, its_parent in parents.items() if its_parent == parent}
        waiting += children - found
        found |= children
    return found


def _left_after(processes: set[int], seconds: float) -> set[int]:
    deadline = time.monotonic() + seconds
    while (left := {each for each in processes if _alive(each)}) and time.monotonic() < deadline:
        time.sleep(0.1)
    return left


def _alive(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state != "Z"


@pytest.fixture(scope="module")
def page(browser_path: str, address: str) -> Iterator[Page]:
    """A page that can reach this machine and nothing else."""
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path, args=ARGUMENTS)
        try:
            opened = browser.new_page(base_url=address, viewport={"width": 1900, "height": 1400})
            opened.set_default_timeout(PAGE_S * 1000)
            opened.route("**/*", lambda route: _loopback_only(route, address))
            yield opened
        finally:
            browser.close()


def _loopback_only(route: Route, address: str) -> None:
    url = route.request.url
    if url.startswith((address, "data:", "blob:")):
        route.continue_()
    else:
        route.abort()


def visible(page: Page, text: str) -> Locator:
    return page.get_by_text(text, exact=True).filter(visible=True)


def test_the_graph_shows_the_three_parts_and_how_far_the_models_are(page: Page) -> None:
    page.goto("/asset-groups")
    for group in ("metamedqa_items", "metamedqa", "leaderboard"):
        visible(page, group).first.wait_for()
    visible(page, "metamedqa").last.click()
    visible(page, "metamedqa_responses").first.wait_for()
    visible(page, "50% filled").first.wait_for()


def test_a_person_sees_the_calibration_plot_and_a_preview(page: Page) -> None:
    page.goto("/assets/metamedqa_run_estimates")
    visible(page, "missing_answer_recall").first.wait_for()
    page.get_by_text("[Show Markdown]").first.click()
    picture = page.get_by_role("dialog").locator("img")
    picture.wait_for()
    assert picture.evaluate("image => image.decode().then(() => image.naturalWidth)") > 100


def test_clicking_materialize_asks_the_waiting_model_and_it_succeeds(page: Page, study: Path) -> None:
    page.goto("/assets/metamedqa_transcripts")
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
    if folder := os.environ.get("METACOG_SCREENSHOTS"):
        page.screenshot(path=Path(folder) / "run.png")
    manifest = study.parent / "home/transcripts/benchmark=metamedqa/model=waiting/run=1/partition.json"
    state = json.loads(manifest.read_text(encoding="utf-8"))
    assert (state["state"], state["n_answered"]) == ("complete", 6)
