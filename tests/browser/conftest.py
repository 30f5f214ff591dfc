"""``metacog ui`` on a study, and a real browser that can reach it and nothing else."""

from __future__ import annotations

import contextlib
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
    from playwright.sync_api import Page, Route

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
# A machine with two slow, busy cores takes more than a minute to load Dagster three times over.
START_S, PAGE_S, STOP_S = 300, 120, 120


@pytest.fixture(scope="session")
def browser_path():
    """The installed browser, or a skip that says how to get one."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.skip(
            f"no browser: none of {', '.join(BROWSERS)} is installed (Debian: apt-get install chromium)"
        )
    return found


@contextlib.contextmanager
def served(study: Path, ended_by: signal.Signals = signal.SIGINT) -> Iterator[str]:
    """Give the address of ``metacog ui`` while the block runs; then it ends and nothing it started is left."""
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
        ui.send_signal(ended_by)
        try:
            ui.wait(STOP_S)
        finally:
            left = _left_after(started, STOP_S)
            for process in left:
                os.kill(process, signal.SIGKILL)
    assert started, "the UI had processes of its own"
    assert not left, f"still running after the UI was stopped: {left}; see {log}"


@contextlib.contextmanager
def opened(browser_path: str, address: str) -> Iterator[Page]:
    """Give a page that can reach ``address`` and nothing else."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path, args=ARGUMENTS)
        try:
            page = browser.new_page(base_url=address, viewport={"width": 1900, "height": 1400})
            page.set_default_timeout(PAGE_S * 1000)
            page.route("**/*", lambda route: _loopback_only(route, address))
            yield page
        finally:
            browser.close()


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
    own: set[int] = set()
    with contextlib.suppress(OSError):  # it may end meanwhile
        for started in Path(f"/proc/{root}/task").glob("*/children"):
            own.update(map(int, started.read_text().split()))
    return own.union(*map(_descendants, own))


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


def _loopback_only(route: Route, address: str) -> None:
    url = route.request.url
    if url.startswith((address, "data:", "blob:")):
        route.continue_()
    else:
        route.abort()
