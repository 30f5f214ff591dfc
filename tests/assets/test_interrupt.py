"""A run that is interrupted or ended finishes calls in flight, keeps their answers and builds no board."""

import os
import signal
import time
from pathlib import Path
from typing import Any

from metacog_pipeline.llm.server.faults import FaultPlan
from metacog_pipeline.transcripts.store import PartitionFolder, read_partition

ITEMS = 20


def kept(bench: Any) -> int:
    table = read_partition(PartitionFolder(bench.home, "metamedqa", "slow", 1), ["status"])
    return int(table.column("status").to_pylist().count("ok"))


def test_an_interrupted_run_keeps_what_was_answered_and_resumes(bench, http, provider):
    bench.write(http("slow", max_concurrency=2), http("later"), limit=ITEMS)
    # Interrupted, and then, when the next run has gone on, ended as a service is.
    for numbers, enough in (((signal.SIGINT,), 5), ((signal.SIGTERM, signal.SIGINT), 10)):
        provider.server.provider.use(FaultPlan(latency_s=0.25))
        running = bench.command()
        deadline = time.monotonic() + 30
        while provider.calls.get("slow", 0) < enough and time.monotonic() < deadline:
            time.sleep(0.02)
        for number in numbers:
            os.kill(running.pid, number)
        _, err = running.communicate(timeout=30)
        assert running.returncode == 130, err
        assert "Traceback" not in err
        assert "interrupted" in err
        assert not (bench.home / "leaderboard.duckdb").exists(), "no board is built"
        assert "later" not in provider.calls
        asked = provider.calls["slow"]
        assert enough <= asked < ITEMS
        assert kept(bench) == asked, "a call in flight was finished and kept, and nothing is asked twice"
        assert provider.server.stats["in_flight"] == 0

    provider.server.provider.use(FaultPlan())
    assert bench.launch() == 0
    assert provider.calls["slow"] == ITEMS, "nothing is asked twice"
    assert kept(bench) == ITEMS


def below(process: int) -> list[int]:
    """Return the processes a process has started."""
    return [
        int(each)
        for path in Path(f"/proc/{process}/task").glob("*/children")
        for each in path.read_text().split()
    ]


def test_the_work_of_one_model_is_killed_and_the_others_are_asked_and_scored(bench, http, provider):
    provider.server.provider.use(FaultPlan(latency_s=0.25))
    bench.write(http("slow", max_concurrency=2), http("later"), limit=ITEMS)
    running = bench.command()
    deadline = time.monotonic() + 30
    while provider.calls.get("slow", 0) < 6 and time.monotonic() < deadline:
        time.sleep(0.02)
    provider.server.provider.use(FaultPlan())
    workers = [worker for nursery in below(running.pid) for worker in below(nursery)]
    assert workers, "models are asked in a process of their own"
    for each in workers:
        os.kill(each, signal.SIGKILL)
    _, err = running.communicate(timeout=60)
    assert running.returncode == 7, err
    [line] = [each for each in err.splitlines() if "signal 9" in each]
    assert line.startswith(
        "metacog: metamedqa_transcripts, slow, run 1: the process that did this work ended"
    )
    assert "Traceback" not in err
    assert provider.calls["later"] == ITEMS
    assert bench.sql("select distinct model from detail.run_estimates") == [("later",)]
    [(state, message)] = bench.sql("select state, message from progress where model = 'slow'")
    assert state == "failed" and "signal 9" in str(message)
