"""Asking in processes apart, disturbed at random times: signals to one process and to all, and each of them killed.

``METACOG_DISTURBED=20 pytest -m proof tests/proofs/test_workers.py`` tries fewer. Each time two models are asked one after
the other; whatever happens, no process is left behind, nobody asks after the end, and the next run asks what is left: at
most what was under way is asked twice where a process was killed, nothing where it was told to end.
"""

import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from metacog_pipeline.asking import construction
from metacog_pipeline.benchmarks.metamedqa import MetaMedQA
from metacog_pipeline.home import Home
from metacog_pipeline.llm.server.faults import FaultPlan
from metacog_pipeline.study import load_study
from metacog_pipeline.transcripts.store import PartitionFolder, read_partition
from tests.crash.conftest import Provider
from tests.proofs.processes import alive, below, parent

pytestmark = pytest.mark.proof
TIMES = int(os.environ.get("METACOG_DISTURBED", "140"))
LONGEST_S = float(os.environ.get("METACOG_ENDS_IN_S", "5"))
IN_FLIGHT, ITEMS, LATENCY_S = 3, 15, 0.1
MAIN, ALL, WORKER, NURSERY = "main", "all", "worker", "nursery"
#: What is sent to whom, and the exit codes it may end with besides 0, where it came after the last answer.
DISTURBANCES = (
    (signal.SIGINT, MAIN, {130}),
    (signal.SIGTERM, MAIN, {130, -15}),
    (signal.SIGINT, ALL, {130}),
    (signal.SIGTERM, ALL, {130, -15}),
    (signal.SIGKILL, MAIN, {-9}),
    (signal.SIGKILL, WORKER, {1}),
    (signal.SIGKILL, NURSERY, {1}),
)

STUDY = """
[study]
name = "workers"
home = "home"
[benchmarks.metamedqa]
dataset = "sample"
limit = {items}
conditions = ["baseline"]
"""
MODEL = """
[[models]]
name = "{name}"
provider = "openai"
model = "{name}"
base_url = "{address}/v1"
answer_mode = "text"
price_in = 0
price_out = 0
max_concurrency = {in_flight}
"""


class Runs:
    """The process that forks runs."""

    def __init__(self) -> None:
        script = Path(__file__).with_name("asking_apart.py")
        self.process = subprocess.Popen(
            [sys.executable, script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def start(self, study: Path) -> int:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{study}\n")
        self.process.stdin.flush()
        return self.number()

    def number(self) -> int:
        assert self.process.stdout is not None
        return int(self.process.stdout.readline())


def send(number: signal.Signals, to: str, run: int) -> list[int]:
    """Send a signal; return all processes there were."""
    there = below(run)
    nurseries = [each for each in there if parent(each) == run]
    workers = [each for each in there if each not in nurseries]
    chosen = {MAIN: [run], ALL: [run, *there], WORKER: workers, NURSERY: nurseries}[to]
    for each in chosen:
        with contextlib.suppress(ProcessLookupError):
            os.kill(each, number)
    return there


def kept(study: Path) -> list[tuple[str, ...]]:
    folders = [PartitionFolder(Home(study.parent / "home"), "metamedqa", name, 1) for name in ("one", "two")]
    columns = ["item_id", "status", "text"]
    return [tuple(row.values()) for each in folders for row in read_partition(each, columns).to_pylist()]


def test_however_a_run_is_disturbed_nothing_is_left_behind_lost_or_asked_again(tmp_path):
    provider, draw, runs = Provider(tmp_path), random.Random(15), Runs()
    wrong: list[str] = []
    seen: Counter[tuple[str, str, int]] = Counter()
    twice: Counter[str] = Counter()
    with provider.server:
        provider.use(FaultPlan(latency_s=LATENCY_S))
        template = tmp_path / "template" / "study.toml"
        template.parent.mkdir()
        models = "".join(
            MODEL.format(name=name, address=provider.server.url, in_flight=IN_FLIGHT)
            for name in ("one", "two")
        )
        template.write_text(STUDY.format(items=ITEMS) + models)
        construction.build(MetaMedQA.of(load_study(template)))
        whole = shutil.copytree(template.parent, tmp_path / "whole") / "study.toml"
        runs.start(whole)
        assert runs.number() == 0
        expected = kept(whole)
        for each in range(TIMES):
            number, to, codes = DISTURBANCES[each % len(DISTURBANCES)]
            study = shutil.copytree(template.parent, tmp_path / f"{each}") / "study.toml"
            before = len(provider.calls())
            run, calls, until = runs.start(study), draw.randrange(2 * ITEMS), time.monotonic() + 60
            while len(provider.calls()) - before < calls and time.monotonic() < until:
                time.sleep(0.005)
            time.sleep(draw.random() * LATENCY_S)
            called, told = len(provider.calls()), time.monotonic()
            there = send(number, to, run)
            code = runs.number()
            took, left = time.monotonic() - told, alive(there)
            late = len(provider.calls()) - called
            time.sleep(0.2)
            after = len(provider.calls()) - called - late
            runs.start(study)
            again = runs.number()
            asked = Counter(digest for digest, _ in provider.calls()[before:])
            more = asked.total() - 2 * ITEMS
            seen[number.name, to, code] += 1
            twice[f"{number.name} {to}"] += more
            soon = to in (WORKER, NURSERY) or (took <= LONGEST_S and late <= IN_FLIGHT)
            allowed = IN_FLIGHT if number is signal.SIGKILL else 0
            sound = code in codes | {0} and soon and not left and not after and not again
            if not (sound and 0 <= more <= allowed and kept(study) == expected):
                wrong.append(
                    f"{each}: {number.name} to {to}: ended {code} after {took:.1f} s, {left} left, {late} late, {after} "
                    f"after the end, then {again}, {more} asked twice, same {kept(study) == expected}"
                )
            shutil.rmtree(study.parent)
    assert runs.process.stdin is not None
    runs.process.communicate()
    print(dict(seen), dict(twice))
    assert not wrong, "\n".join(wrong)
