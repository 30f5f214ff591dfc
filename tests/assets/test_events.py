"""A demo is few runs and few stored events: storing them was a fifth of its time once."""

import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

MOST_RUNS, MOST_EVENTS = 8, 400


def count(database: Path, table: str) -> int:
    with sqlite3.connect(database) as connection:
        return int(connection.execute(f"select count(*) from {table}").fetchone()[0])


@pytest.mark.proof
def test_the_demo_is_few_runs_and_few_events(tmp_path):
    subprocess.run(
        [sys.executable, "-m", "metacog_pipeline", "demo", "--folder", str(tmp_path / "demo"), "--quiet"],
        check=True,
        timeout=600,
    )
    history = tmp_path / "demo" / "home" / "dagster" / "history"
    runs = [path for path in (history / "runs").glob("*.db") if path.stem != "index"]
    assert len(runs) == count(history / "runs.db", "runs") <= MOST_RUNS
    assert sum(count(path, "event_logs") for path in runs) <= MOST_EVENTS
