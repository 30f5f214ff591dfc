"""What a person at a terminal sees while a model is asked: a bar that moves, although Dagster captures the output."""

import os
import pty
import re
import subprocess
import sys

import pytest

from metacog_pipeline.llm.server.faults import FaultPlan

ITEMS = 30


@pytest.mark.slow
def test_the_bar_moves_on_a_terminal(bench, http, provider):
    provider.server.provider.use(FaultPlan(latency_s=0.35))
    bench.write(http("slow", max_concurrency=3), limit=ITEMS)
    ours, theirs = pty.openpty()
    running = subprocess.Popen(
        [sys.executable, "-m", "metacog_pipeline", "run", str(bench.path)],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "120"},
    )
    os.close(theirs)
    seen = b""
    try:
        while chunk := os.read(ours, 65536):
            seen += chunk
    except OSError:  # Linux reports the end of a terminal as an error
        pass
    finally:
        os.close(ours)
    assert running.wait(60) == 0, seen.decode()
    steps = {int(done) for done in re.findall(rf"(\d+)/{ITEMS}\b", seen.decode("utf-8", "replace"))}
    assert len(steps) > 3
    assert "$0.0000" in seen.decode("utf-8", "replace")
