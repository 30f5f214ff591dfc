"""Interrupted and ended at a hundred random times: nothing new is asked, what is under way is kept, the end comes in 5 s.

``METACOG_INTERRUPTS=10 pytest -m proof tests/proofs/test_interrupted.py`` tries fewer, ``METACOG_DRAW=2`` other times. They
lie anywhere in a run, from its start to its report; afterwards an undisturbed run asks what is left, once, and gives the
board of an undisturbed study. On a machine that is busy with other things ``METACOG_ENDS_IN_S`` gives more than the 5 s;
how long each took to end is printed.
"""

import contextlib
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from metacog_pipeline.home import Home
from metacog_pipeline.leaderboard.read import run_query
from metacog_pipeline.study import load_study
from tests import forked
from tests.crash.conftest import Provider
from tests.provider.faults import FaultPlan
from tests.studies import metamedqa, write_study

pytestmark = pytest.mark.proof
TIMES = int(os.environ.get("METACOG_INTERRUPTS", "100"))
DRAW = int(os.environ.get("METACOG_DRAW", "15"))
RUN = (sys.executable, "-m", "metacog_pipeline", "run")
IN_FLIGHT, ITEMS, LATENCY_S = 3, 30, 0.15
LONGEST_S = float(os.environ.get("METACOG_ENDS_IN_S", "5"))
BOARD = "select * from leaderboard order by all"


@pytest.fixture
def runs():
    loaded = forked.Loaded()
    yield loaded
    loaded.close()


def _start(runs: forked.Loaded, study: Path) -> forked.Forked:
    loaded = load_study(study)
    loaded.prepare()
    home = loaded.home
    own = {"METACOG_STUDY": str(study), "DAGSTER_HOME": str(home.dagster), "METACOG_PROGRESS": "quiet"}
    started: forked.Forked = runs.Popen([*forked.RUN, "--quiet"], env={**os.environ, **own})
    return started


def _study(folder: Path, address: str) -> Path:
    model = {
        "name": "one",
        "provider": "openai",
        "model": "local",
        "base_url": f"{address}/v1",
        "answer_mode": "text",
    }
    model |= {"price_in": 0, "price_out": 0, "max_concurrency": IN_FLIGHT}
    return write_study(folder, model, benchmarks=metamedqa(limit=ITEMS, conditions=["baseline"]))


class Interrupted:
    """``metacog run`` that gets a signal after some seconds, and what was seen then and at its end."""

    def __init__(self, study: Path, provider: Provider, kind: signal.Signals, at: float) -> None:
        before = len(provider.calls())
        run = subprocess.Popen([*RUN, str(study), "--quiet"])
        with contextlib.suppress(subprocess.TimeoutExpired):
            run.wait(at)
        called, told = len(provider.calls()), time.monotonic()
        run.send_signal(kind)
        self.code, self.took = run.wait(), time.monotonic() - told
        self.asked, self.late = called - before, len(provider.calls()) - called
        self.board = (study.parent / "home" / "leaderboard.duckdb").exists()

    @property
    def sound(self) -> bool:
        """Whether it had ended by itself, or ended as an interrupted run does; boards only where all was answered."""
        if self.code == 0:
            return self.asked + self.late == ITEMS
        if self.code < 0:  # before the command listens to signals, or after its work
            return self.asked + self.late == 0 or self.board
        soon = self.took <= LONGEST_S + LATENCY_S
        return (
            self.code == 130 and self.late <= IN_FLIGHT and soon and (not self.board or self.asked == ITEMS)
        )


def test_an_interrupted_run_asks_nothing_new_and_ends_soon(tmp_path, runs):
    provider = Provider(tmp_path)
    draw = random.Random(DRAW)
    with provider.server:
        provider.use(FaultPlan(latency_s=LATENCY_S))
        whole = _study(tmp_path / "whole", provider.server.url)
        began = time.monotonic()
        subprocess.run([*RUN, whole, "--quiet"], check=True)
        length = time.monotonic() - began
        expected = run_query(Home(whole.parent / "home"), BOARD)
        wrong: list[str] = []
        outcomes: Counter[tuple[str, int]] = Counter()
        ends: list[float] = []
        for number in range(TIMES):
            kind = (signal.SIGINT, signal.SIGTERM)[number % 2]
            study = _study(tmp_path / f"{number}", provider.server.url)
            before = len(provider.calls())
            end = Interrupted(study, provider, kind, draw.random() * length)
            outcomes[kind.name, end.code] += 1
            if end.code == 130:
                ends.append(end.took)
            again = _start(runs, study).wait()
            asked = Counter(digest for digest, _ in provider.calls()[before:])
            same = not again and run_query(Home(study.parent / "home"), BOARD) == expected
            if not end.sound or again or max(asked.values()) > 1 or not same:
                wrong.append(
                    f"{kind.name}: {vars(end)}, then {again}, most asked {max(asked.values())}, same {same}"
                )
            shutil.rmtree(study.parent)
    print(dict(outcomes))
    print(f"took median {statistics.median(ends):.2f}, longest {max(ends):.2f} s of {len(ends)}")
    assert not wrong, "\n".join(wrong)
