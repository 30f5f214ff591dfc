"""A study whose runs are in PostgreSQL and whose work is done by Celery workers gives the board of one process."""

import json
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

from metacog_pipeline.study import load_study

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
def running(
    log: Path, environment: dict[str, str], study: Path, *command: str
) -> Iterator[subprocess.Popen[bytes]]:
    """One of Dagster's own commands on a study, which goes on until the block ends."""
    home = load_study(study).home.dagster
    own = {**environment, "METACOG_STUDY": str(study), "DAGSTER_HOME": str(home)}
    program = str(Path(sys.executable).with_name(command[0]))
    with log.open("ab") as file:
        process = subprocess.Popen(
            [program, *command[1:]], env=own, stdout=file, stderr=file, start_new_session=True
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
    command = metacog("board", "--all", "--study", str(study), "--format", "csv")
    return subprocess.run(command, env=environment, check=True, capture_output=True, timeout=TIME_S).stdout


def finished(study: Path, environment: dict[str, str]) -> bool:
    """Whether everything is answered and stands on the boards."""
    command = metacog("--json", "status", str(study))
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=TIME_S)
    return done.returncode == 0 and json.loads(done.stdout)["board_current"]


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
    log, settings = tmp_path / "log", tmp_path / "celery.yaml"
    address = "{ env: METACOG_TEST_REDIS }"
    settings.write_text(f"execution: {{config: {{broker: {address}, backend: {address}}}}}")
    subprocess.run(metacog("run", str(hosts[0]), "--detach"), env=environment, check=True, timeout=TIME_S)
    for host in hosts[1:]:
        load_study(host).prepare()
    worker = ("dagster-celery", "worker", "start", "-A", "dagster_celery.app", "-y", str(settings))
    with (
        running(log, environment, hosts[1], "dagster-daemon", "run", "-m", "metacog_assets.definitions"),
        running(log, environment, hosts[2], *worker),
        running(log, environment, hosts[3], *worker),
    ):
        until = time.monotonic() + TIME_S
        while not finished(hosts[0], environment):
            assert time.monotonic() < until, log.read_text()[-4000:]
            time.sleep(5)
    assert board(hosts[0], environment) == board(alone, environment) != b""
    for mine in sorted((tmp_path / "alone" / "estimates").rglob("*.parquet")):
        home = hosts[0].parent / "home" if store else tmp_path / "spread"
        other = home / mine.relative_to(tmp_path / "alone")
        assert pq.read_table(other).equals(pq.read_table(mine)), mine.name  # marks beside hold times
