"""How long scoring takes: a million observations over a hundred models. Wall seconds, best of three."""

import time

import numpy as np
import polars as pl
import pytest

from tests.metamedqa.engine import RESPONSES, compare, pool, score
from tests.performance.timing import least

pytestmark = pytest.mark.bench

MODELS, ROWS = 100, 10_000
ALL_MODELS_S = 1.2
ONE_MODEL_S = 0.2
COMPARISONS_S = 10.0


def one_model(name: str, seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    letters = np.array(list("ABCDEF"))
    target, answer = rng.integers(0, 6, ROWS), rng.integers(0, 6, ROWS)
    frame = pl.DataFrame(
        {
            "item_id": [f"item-{n:05d}" for n in range(ROWS)],
            "cluster": [f"item-{n:05d}" for n in range(ROWS)],
            "position": np.arange(ROWS),
            "target": letters[target],
            "answer": letters[answer],
            "confidence": rng.integers(1, 6, ROWS),
            "correct": target == answer,
            "kind": rng.choice(["Original", "Fictional", "Bad", "Question modified"], ROWS),
            "tags": [[]] * ROWS,
        }
    )
    fixed = {
        "benchmark": "metamedqa",
        "dataset": "published",
        "condition": "baseline",
        "model": name,
        "run": 1,
        "status": "ok",
        "source": "measured",
    }
    frame = frame.with_columns(**{key: pl.lit(value) for key, value in fixed.items()})
    missing = [pl.lit(None).alias(column) for column in RESPONSES.names() if column not in frame.columns]
    return frame.with_columns(missing).select(pl.col(name).cast(kind) for name, kind in RESPONSES.items())


@pytest.fixture(scope="module")
def million():
    return pl.concat([one_model(f"m{n:03d}", n) for n in range(MODELS)]).rechunk()


def best(run, times: int = 3) -> float:
    return least(run, times, clock=time.perf_counter)


def report(what: str, taken: float, reach: float) -> None:
    print(f"\n{what}: {taken:.3f} s (reach {reach} s)")
    assert taken <= reach


def test_a_million_observations_over_a_hundred_models_are_scored(million):
    report(
        "scoring 1,000,000 observations, 100 models",
        best(lambda: pool(million, seed=1)),
        ALL_MODELS_S,
    )


def test_one_model_is_scored_again(million):
    one = million.filter(pl.col("model") == "m050")
    report(
        "scoring one model, 10,000 observations",
        best(lambda: (score(one, seed=1), pool(one, seed=1))),
        ONE_MODEL_S,
    )


def test_a_hundred_models_are_compared(million):
    report(
        "comparing 100 models",
        best(lambda: compare(million, seed=1), times=1),
        COMPARISONS_S,
    )
