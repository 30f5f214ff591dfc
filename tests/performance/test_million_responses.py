"""What it costs to score a million responses of one model: a process of its own, written files included."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from metacog_pipeline import registry
from metacog_pipeline.asking import tasks
from metacog_pipeline.conformance.case import small_study
from metacog_pipeline.scoring.schemas import response_schema
from metacog_pipeline.study.frames import write_frame

pytestmark = pytest.mark.bench

N, MOST_S, MOST_GB = 1_000_000, 20.0, 1.5
SETTINGS = {"dataset": "sample", "conditions": ["baseline"]}
SCORED = """
import json, resource, sys
from tests.performance.test_million_responses import bound
from metacog_pipeline.scoring import files
found = files.score(*bound(sys.argv[1])).estimates
used = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps([found["estimate"].count(), used.ru_utime + used.ru_stime, used.ru_maxrss / 1e6]))
"""


def bound(folder):
    cls = registry.load("metamedqa")
    study = small_study(cls, Path(folder), SETTINGS)
    study.prepare()
    benchmark = cls.of(study)
    return benchmark, tasks.partitions(benchmark)[0]


@pytest.fixture
def folder(tmp_path):
    benchmark, partition = bound(tmp_path)
    rng, letters = np.random.default_rng(1), np.array(list("ABCDEF"))
    key, other = rng.integers(0, 6, N), rng.integers(0, 6, N)
    said = np.where(rng.random(N) < 0.6, key, other)
    names = [f"item-{n}" for n in range(N)]
    own = pl.DataFrame({
        "item_id": names, "cluster": names, "position": np.arange(N), "target": letters[key],
        "answer": letters[said], "confidence": rng.integers(1, 6, N), "correct": key == said,
    })  # fmt: skip
    alike = {"benchmark": "metamedqa", "dataset": "sample", "condition": "baseline", "run": 1, "status": "ok"}
    alike |= {"model": partition.spec.name, "source": "simulated", "asked_again": False, "kind": "Original"}
    frame = own.with_columns(**{name: pl.lit(value) for name, value in alike.items()})
    schema = response_schema(benchmark)
    absent = [pl.lit(None).alias(name) for name in schema if name not in frame.columns]
    whole = frame.with_columns(absent).select(pl.col(name).cast(kind) for name, kind in schema.items())
    write_frame(whole, partition.below("responses"), "made")
    return tmp_path


def test_a_million_responses_of_one_model_are_scored_within_20_seconds_and_1_5_gb(folder, figure):
    done = subprocess.run(
        [sys.executable, "-c", SCORED, str(folder)], capture_output=True, text=True, check=True, timeout=900
    )
    values, seconds, memory = json.loads(done.stdout.splitlines()[-1])
    assert values > 30
    figure(
        "a million responses of one model scored",
        f"{MOST_S:g} s CPU, {MOST_GB:g} GB",
        f"{seconds:.1f} s CPU, {memory:.2f} GB",
        seconds <= MOST_S and memory <= MOST_GB,
    )
