"""A run that is interrupted or ended finishes calls in flight, keeps their answers and builds no board."""

import os
import signal
import time
from typing import Any

from metacog_pipeline.transcripts.store import PartitionFolder, read_partition
from tests.provider.faults import FaultPlan

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
