"""``metacog run`` killed, or stopped for a while, at random times in each stage from items to the report.

``METACOG_KILLS=10 pytest -m proof tests/proofs/test_stages.py`` tries fewer, ``METACOG_DRAW=2`` other times. One that was
stopped finishes. The next one asks what is left, at most what was under way twice where it was killed while asking, and
gives the board of an undisturbed study.
"""

import contextlib
import os
import random
import shutil
import signal
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
KILLS, DRAW = int(os.environ.get("METACOG_KILLS", "40")), int(os.environ.get("METACOG_DRAW", "15"))
STAGED = Path(forked.__file__).with_name("staged.py")
STAGES = ("make", "answer", "read", "estimate", "compare", "board", "report")
IN_FLIGHT, ITEMS, LATENCY_S, LONGEST_PAUSE_S = 3, 12, 0.05, 3.0
BOARD = "select * from leaderboard order by all"


class Study:
    """A study of two models in a folder, and the runs of it."""

    def __init__(self, folder, address, runs):
        usual = {
            "provider": "openai",
            "base_url": f"{address}/v1",
            "answer_mode": "text",
            "price_in": 0,
            "price_out": 0,
        }
        usual |= {"max_concurrency": IN_FLIGHT}
        models = ({"name": name, "model": name, **usual} for name in ("one", "two"))
        self.path = write_study(folder, *models, benchmarks=metamedqa(limit=ITEMS, conditions=["baseline"]))
        self._begun, self._runs = folder / "begun", runs

    def start(self):
        loaded = load_study(self.path)
        loaded.prepare()
        home = loaded.home
        self._begun.write_text("")
        own = {
            "METACOG_STUDY": str(self.path),
            "DAGSTER_HOME": str(home.dagster),
            "METACOG_PROGRESS": "quiet",
        }
        return self._runs.python(STAGED, "--quiet", **{**os.environ, **own, "BEGUN": str(self._begun)})

    def begun(self):
        """Return the work that was begun so far, with the process that does it."""
        lines = self._begun.read_text().splitlines() if self._begun.exists() else []
        return [(name, int(process)) for name, process in (line.split() for line in lines)]

    def board(self):
        return run_query(Home(self.path.parent / "home"), BOARD)


def lengths(study):
    """Run an undisturbed study; return the seconds between the begin of a stage and the next piece of work, by stage."""
    run, seen = study.start(), []
    os.set_blocking(run._server.fileno(), False)
    code = None
    while code is None:
        with contextlib.suppress(BlockingIOError):
            code = int(run._server.recv(64))
        now = time.monotonic()
        seen += [(name, now) for name, _ in study.begun()[len(seen) :]]
        time.sleep(0.005)
    os.set_blocking(run._server.fileno(), True)
    ends = [at for _, at in seen[1:]] + [time.monotonic()]
    assert code == 0 and {name for name, _ in seen} == set(STAGES)
    return {name: end - at for (name, at), end in zip(seen, ends, strict=True)}


def disturb(study, run, stage, kind, after, pause):
    """Wait for a run to begin a stage, and a little; send it the signal; return whether it was still there."""
    until = time.monotonic() + 120
    while stage not in dict(study.begun()):
        assert time.monotonic() < until, f"{stage} was never begun"
        time.sleep(0.002)
    time.sleep(after)
    process = dict(study.begun())[stage]
    try:
        os.kill(process, kind)
        if kind is signal.SIGSTOP:
            time.sleep(pause)
            os.kill(process, signal.SIGCONT)
    except ProcessLookupError:
        return False
    return True


def test_a_run_killed_or_stopped_anywhere_costs_at_most_a_run(tmp_path):
    provider, draw, runs = Provider(tmp_path), random.Random(DRAW), forked.Loaded()
    seen: Counter[tuple[str, str]] = Counter()
    wrong: list[str] = []
    twice = 0
    with provider.server, contextlib.closing(runs):
        provider.use(FaultPlan(latency_s=LATENCY_S))
        whole = Study(tmp_path / "whole", provider.server.url, runs)
        length, expected = lengths(whole), whole.board()
        for number in range(KILLS):
            kind = (signal.SIGKILL, signal.SIGSTOP)[number // len(STAGES) % 2]
            stage = STAGES[number % len(STAGES)]
            study = Study(tmp_path / f"{number}", provider.server.url, runs)
            before, run = len(provider.calls()), study.start()
            met = disturb(
                study, run, stage, kind, draw.random() * length[stage], draw.random() * LONGEST_PAUSE_S
            )
            _, err = run.communicate()
            again = study.start()
            _, later = again.communicate()
            asked = Counter(digest for digest, _ in provider.calls()[before:])
            more = asked.total() - 2 * ITEMS
            twice += more
            sound = "Traceback" not in err and (run.returncode == 0 or kind is signal.SIGKILL)
            allowed = IN_FLIGHT if (kind, stage) == (signal.SIGKILL, "answer") else 0
            same = again.returncode == 0 and study.board() == expected
            outcome = "gone" if not met else "ended" if run.returncode else "finished"
            seen[kind.name, outcome] += 1
            line = f"{number}: {kind.name} in {stage}: {outcome}, then {again.returncode}, {more} asked twice, same {same}"
            print(line, flush=True)
            if not (sound and same and 0 <= more <= allowed):
                wrong.append(f"{line}\n{err}{later}")
            shutil.rmtree(study.path.parent)
    print(dict(seen), f"{twice} asked twice")
    assert not wrong, "\n".join(wrong)
