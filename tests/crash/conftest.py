"""A study whose only model is a local server, and a process that queries it and can be killed."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from metacog_pipeline.asking import construction
from metacog_pipeline.benchmarks.metamedqa import MetaMedQA
from metacog_pipeline.files import sha256_hex
from metacog_pipeline.llm.types import ChatRequest
from metacog_pipeline.study import load_study
from tests.provider import FaultPlan
from tests.simulated_server import ServerThread
from tests.studies import metamedqa, write_study

LONGEST_SESSION_S = 60


def respond(model: str, request: ChatRequest) -> str:
    """Answer the same words the same way, whoever asks and however often."""
    drawn = int(sha256_hex("".join(message.content for message in request.messages))[:8], 16)
    letter, rating = "ABCDEF"[drawn % 6], drawn // 6 % 5 + 1
    if request.constraint is None:
        return f"Answer: {letter}\nConfidence: {rating}"
    return str(rating) if any(m.role == "assistant" for m in request.messages) else letter


class Events:
    """What one session reported, as ``victim.py`` describes it."""

    def __init__(self, path: Path) -> None:
        text = path.read_text() if path.exists() else ""
        lines = [line.split(" ", 2) for line in text.splitlines()]
        self.digest_of = {
            answer: digest for word, answer, *rest in lines if word == "asked" for digest in rest
        }
        self.kept = [line[1] for line in lines if line[0] == "kept"]
        self.error = next((" ".join(line[1:]) for line in lines if line[0] == "error"), None)
        self._sent = Counter(line[1] for line in lines if line[0] == "sent")
        self._back = Counter(line[1] for line in lines if line[0] == "back")

    @property
    def in_flight(self) -> Counter[str]:
        """Bodies of the calls that had left and whose answer was not durable when the session ended."""
        return self._sent - self._back - Counter(self.digest_of[answer] for answer in self.kept)


class Victim:
    """Sessions in children of the process of ``victim.py``, one at a time."""

    def __init__(self, process: subprocess.Popen[str], folder: Path) -> None:
        self._folder = folder
        self._sessions = 0
        self._child = 0
        self.events = folder
        self._process = process

    def start(self, study: Path, die: tuple[str, int] | None = None, **more: Any) -> None:
        """Start a session on ``study``; ``die`` as in ``victim.py``, ``more`` as in ``batch_victim.py``."""
        self._sessions += 1
        self.events = self._folder / f"session-{self._sessions:03d}"
        environment = dict(os.environ)  # of the test: the process was started before it
        job = {
            "study": str(study),
            "events": str(self.events),
            "die": die,
            "environment": environment,
            **more,
        }
        self._say(json.dumps(job))
        self._child = self._number()

    def wait_for(self, word: str, count: int) -> bool:
        """Wait until the session has reported ``word`` so often; ``False`` when it ended before."""
        until = time.monotonic() + LONGEST_SESSION_S
        while time.monotonic() < until:
            seen = self.events.read_bytes() if self.events.exists() else b""
            if sum(line.startswith(word.encode()) for line in seen.splitlines()) >= count:
                return True
            if _has_ended(self._child):
                return False
            time.sleep(0.002)
        raise AssertionError(f"no {count} × {word!r} within {LONGEST_SESSION_S} s")

    def kill(self) -> bool:
        """Kill the session with SIGKILL; return whether it was still running."""
        os.kill(self._child, signal.SIGKILL)  # not collected yet, so the id is its own even when it has ended
        return self.end() == -signal.SIGKILL

    def end(self) -> int:
        """Wait until the session has ended; return its exit code, -9 when killed."""
        self._say("")
        return self._number()

    def reported(self) -> Events:
        """Return what the session has reported."""
        return Events(self.events)

    def run(self, study: Path, die: tuple[str, int] | None = None, **more: Any) -> tuple[int, Events]:
        """Run a session to its end; return its exit code and what it reported."""
        self.start(study, die, **more)
        return self.end(), self.reported()

    def _say(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    def _number(self) -> int:
        line = self._process.stdout.readline()
        assert line, "the forking process has ended"
        return int(line)


def _has_ended(process: int) -> bool:
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z"


class Provider:
    """The local server and its call log."""

    def __init__(self, folder: Path) -> None:
        self._log = folder / "calls.jsonl"
        self.server = ServerThread(respond, log=self._log)

    def use(self, plan: FaultPlan) -> None:
        self.server.provider.use(plan)

    def calls(self) -> list[tuple[str, str]]:
        """Return the body's digest and the outcome of every call received so far, in order of arrival."""
        rows = [json.loads(line) for line in self._log.read_text().splitlines()]
        return [(row["digest"], row["outcome"]) for row in rows]


@pytest.fixture(scope="module")
def forking():
    """The process of ``victim.py``, which has loaded what every session needs."""
    started = subprocess.Popen(
        [sys.executable, "-m", "tests.crash.victim"],
        cwd=Path(__file__).resolve().parents[2],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    yield started
    started.communicate(timeout=LONGEST_SESSION_S)


@pytest.fixture
def victim(forking, tmp_path):
    folder = tmp_path / "sessions"
    folder.mkdir()
    return Victim(forking, folder)


@pytest.fixture
def provider(tmp_path):
    started = Provider(tmp_path)
    with started.server:
        yield started


@pytest.fixture
def make_study(tmp_path, provider):
    """Write a study with its questions built; return its file. Keywords go to the model, ``budget_usd`` to the study."""

    def make(
        name: str,
        *,
        limit: int | None = None,
        conditions: Any = ("baseline",),
        budget_usd: float | None = None,
        **model: Any,
    ) -> Path:
        usual = {
            "name": "local",
            "provider": "openai",
            "model": "local",
            "base_url": f"{provider.server.url}/v1",
        }
        usual |= {"max_concurrency": 10, "top_logprobs": 0, "answer_mode": "text"}
        asked = metamedqa(conditions=list(conditions), limit=limit)
        path = write_study(tmp_path / name, {**usual, **model}, benchmarks=asked, budget_usd=budget_usd)
        construction.build(MetaMedQA.of(load_study(path)))
        return path

    return make
