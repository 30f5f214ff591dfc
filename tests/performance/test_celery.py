"""A partition through Celery and PostgreSQL beside one in one process: from the queue to its end."""

import json
import statistics
import subprocess
import sys
from pathlib import Path

import pytest

from tests.proofs.test_celery import DEPLOY, STUDY, TIME_S, metacog, running, surroundings

pytestmark = pytest.mark.bench

MODELS = 4
MOST_S = 3.0
RUNS = """
import json
from dagster import DagsterInstance, RunsFilter
with DagsterInstance.get() as instance:
    found = [each for each in instance.get_run_records() if each.dagster_run.job_name == "ask"]
print(json.dumps([each.end_time - each.create_timestamp.timestamp() for each in reversed(found)]))
"""


def seconds(study: Path, home: Path, environment: dict[str, str]) -> list[float]:
    """Ask one model after another; return the seconds from the making of each run to its end, but for the first."""
    for number in range(MODELS):
        subprocess.run(
            metacog("run", str(study), "--model", f"m{number}", "--quiet"),
            env=environment,
            check=True,
            timeout=TIME_S,
        )
    more = {"DAGSTER_HOME": str(home / "dagster"), "METACOG_STUDY": str(study)}
    told = subprocess.run(
        [sys.executable, "-c", RUNS], env=environment | more, check=True, capture_output=True, text=True
    )
    found: list[float] = json.loads(told.stdout.splitlines()[-1])
    return found[1:]


def test_a_partition_through_celery(tmp_path, postgres, redis_server, figure):
    pytest.importorskip("dagster_celery")
    pytest.importorskip("dagster_postgres")
    environment = surroundings(postgres, redis_server)
    text = STUDY.replace("runs = 2", "runs = 1").split("[benchmarks.signaldetection]")[0] + "{deploy}"
    models = "".join(f'[[models]]\nname = "m{number}"\nprovider = "simulated"\n' for number in range(MODELS))
    alone, spread = tmp_path / "alone.toml", tmp_path / "spread.toml"
    alone.write_text(text.format(home="alone", models=models, deploy=""))
    spread.write_text(text.format(home="spread", models=models, deploy=DEPLOY))
    here = statistics.median(seconds(alone, tmp_path / "alone", environment))
    log = tmp_path / "log"
    with (
        running(log, environment, "daemon", str(spread)),
        running(log, environment, "worker", str(spread), "--processes", "1"),
    ):
        there = statistics.median(seconds(spread, tmp_path / "spread", environment))
    figure(
        "a partition through Celery and PostgreSQL, from its queue to its end, beside one in one process",
        f"≤ {MOST_S:.0f} s more",
        f"{there:.1f} s beside {here:.1f} s",
        there - here <= MOST_S,
    )
