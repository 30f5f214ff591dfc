"""A study whose runs are in PostgreSQL and whose work is done by Celery workers gives the board of one process."""

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


def surroundings(postgres: str, redis_server: str) -> dict[str, str]:
    """The environment of every command: the addresses, and nothing of the tests' own study."""
    own = ("METACOG_STUDY", "DAGSTER_HOME")
    return {
        **{name: value for name, value in os.environ.items() if name not in own},
        "METACOG_TEST_PG": postgres.replace("postgresql://", "postgresql+psycopg2://"),
        "METACOG_TEST_REDIS": redis_server,
    }


@pytest.mark.parametrize("store", [False, True], ids=["one_home", "a_home_each_and_a_store"])
def test_the_board_of_celery_workers_is_that_of_one_process(tmp_path, postgres, redis_server, store, request):
    pytest.importorskip("dagster_celery")
    pytest.importorskip("dagster_postgres")
    deploy = DEPLOY + (f'store = "{request.getfixturevalue("s3")}"\n' if store else "")
    environment = surroundings(postgres, redis_server)
    alone = tmp_path / "alone.toml"
    alone.write_text(STUDY.format(home="alone", models=MODELS, deploy=""))
    subprocess.run(metacog("run", str(alone), "--quiet"), env=environment, check=True, timeout=TIME_S)
    hosts = []
    for name in ("asks", "queues", "first", "second"):
        (tmp_path / name).mkdir()
        hosts.append(tmp_path / name / "spread.toml")
        home = "home" if store else tmp_path / "spread"
        hosts[-1].write_text(STUDY.format(home=home, models=MODELS, deploy=deploy))
    log, watch = tmp_path / "log", metacog("status", str(hosts[0]), "--watch")
    with (
        running(log, environment, "daemon", str(hosts[1])),
        running(log, environment, "worker", str(hosts[2]), "--processes", "1") as worker,
        running(log, environment, "worker", str(hosts[3]), "--processes", "1"),
    ):
        subprocess.run(metacog("run", str(hosts[0]), "--detach"), env=environment, check=True, timeout=TIME_S)
        watching = subprocess.Popen(watch, env=environment, stderr=subprocess.DEVNULL)
        time.sleep(5)
        watching.send_signal(signal.SIGINT)
        assert watching.wait(60) == 130, "Ctrl-C ends only the watching"
        assert worker.poll() is None
        done = subprocess.run(watch, env=environment, capture_output=True, text=True, timeout=TIME_S)
        assert done.returncode == 0, done.stderr + log.read_text()[-4000:]
    assert board(hosts[0], environment) == board(alone, environment) != b""
    for mine in sorted((tmp_path / "alone" / "estimates").rglob("*.parquet")):
        home = hosts[0].parent / "home" if store else tmp_path / "spread"
        other = home / mine.relative_to(tmp_path / "alone")
        assert pq.read_table(other).equals(pq.read_table(mine)), mine.name  # marks beside hold times
