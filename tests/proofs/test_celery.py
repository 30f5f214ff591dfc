"""A study whose runs are in PostgreSQL and whose work is done by Celery workers gives the board of one process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow.parquet as pq
import pytest

pytestmark = pytest.mark.proof

STUDY = """
[study]
name = "spread"
home = "{home}"
runs = 2
{models}
[benchmarks.metamedqa]
dataset = "sample"
limit = 12
[benchmarks.signaldetection]
dataset = "sample"
trials = 10
conditions = ["confidence"]
{deploy}
"""
MODELS = "".join(f'[[models]]\nname = "m{number}"\nprovider = "simulated"\n' for number in range(3))
DEPLOY = """
[deploy]
dagster_storage = "METACOG_TEST_PG"
executor = "celery"
broker = "METACOG_TEST_REDIS"
workers = 4
"""
TIME_S = 420


def metacog(*arguments: str, **more: str) -> list[str]:
    return [sys.executable, "-m", "metacog_pipeline", *arguments]


@contextmanager
def running(log: Path, environment: dict[str, str], *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """A command that goes on until the block ends."""
    with log.open("ab") as file:
        process = subprocess.Popen(
            metacog(*arguments), env=environment, stdout=file, stderr=file, start_new_session=True
        )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)


def board(study: Path, environment: dict[str, str]) -> bytes:
    """What `metacog board` prints of all benchmarks."""
    command = metacog("board", "--study", str(study), "--format", "csv")
    return subprocess.run(command, env=environment, check=True, capture_output=True, timeout=TIME_S).stdout


def test_the_board_of_celery_workers_is_that_of_one_process(
    tmp_path: Path, postgres: str, redis_server: str
) -> None:
    pytest.importorskip("dagster_celery")
    pytest.importorskip("dagster_postgres")
    environment = {
        name: value for name, value in os.environ.items() if name not in ("METACOG_STUDY", "DAGSTER_HOME")
    }
    environment |= {
        "METACOG_TEST_PG": postgres.replace("postgresql://", "postgresql+psycopg2://"),
        "METACOG_TEST_REDIS": redis_server,
    }
    alone, spread = tmp_path / "alone.toml", tmp_path / "spread.toml"
    alone.write_text(STUDY.format(home="alone", models=MODELS, deploy=""))
    spread.write_text(STUDY.format(home="spread", models=MODELS, deploy=DEPLOY))
    subprocess.run(metacog("run", str(alone), "--quiet"), env=environment, check=True, timeout=TIME_S)
    log = tmp_path / "log"
    with (
        running(log, environment, "daemon", str(spread)),
        running(log, environment, "worker", str(spread), "--processes", "1") as lost,
        running(log, environment, "worker", str(spread), "--processes", "1"),
    ):
        subprocess.run(metacog("run", str(spread), "--detach"), env=environment, check=True, timeout=TIME_S)
        watching = subprocess.Popen(
            metacog("status", str(spread), "--watch"), env=environment, stderr=subprocess.PIPE, text=True
        )
        time.sleep(5)
        watching.send_signal(signal.SIGINT)
        assert watching.wait(60) == 130, "Ctrl-C ends only the watching"
        assert lost.poll() is None
        done = subprocess.run(
            metacog("status", str(spread), "--watch"),
            env=environment,
            capture_output=True,
            text=True,
            timeout=TIME_S,
        )
        assert done.returncode == 0, done.stderr + log.read_text()[-4000:]
    assert board(spread, environment) == board(alone, environment) != b""
    for mine in sorted((tmp_path / "alone" / "estimates").rglob("*.parquet")):
        other = tmp_path / "spread" / mine.relative_to(tmp_path / "alone")
        assert pq.read_table(other).equals(pq.read_table(mine)), mine.name  # marks beside hold times
