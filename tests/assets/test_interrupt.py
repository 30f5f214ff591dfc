"""A run that is interrupted or ended finishes calls in flight, keeps their answers and builds no board."""

from __future__ import annotations

import os
import signal
import time
from typing import Any

import pytest

from metacog_pipeline.llm.server.faults import FaultPlan
from metacog_pipeline.transcripts.store import partition_folder, read_partition

ITEMS = 20


def kept(bench: Any) -> int:
    table = read_partition(partition_folder(bench.home, "metamedqa", "slow", 1), ["status"])
    return int(table.column("status").to_pylist().count("ok"))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_keeps_what_was_answered_and_resumes(
    bench: Any, http: Any, provider: Any, number: signal.Signals
) -> None:
    provider.server.provider.use(FaultPlan(latency_s=0.25))
    bench.write(http("slow", max_concurrency=2), http("later"), limit=ITEMS)
    running = bench.command()
    deadline = time.monotonic() + 30
    while provider.calls.get("slow", 0) < 6 and time.monotonic() < deadline:
        time.sleep(0.02)
    os.kill(running.pid, number)
    _, err = running.communicate(timeout=30)
    assert running.returncode == 130, err
    assert "Traceback" not in err
    assert "interrupted" in err
    assert not (bench.home / "leaderboard.duckdb").exists(), "no board is built"
    assert "later" not in provider.calls
    asked = provider.calls["slow"]
    assert 6 <= asked < ITEMS
    assert kept(bench) == asked, "a call in flight was finished and kept"
    assert provider.server.stats["in_flight"] == 0

    provider.server.provider.use(FaultPlan())
    assert bench.launch() == 0
    assert provider.calls["slow"] == ITEMS, "nothing is asked twice"
    assert kept(bench) == ITEMS
