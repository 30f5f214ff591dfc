"""Observers of known character: their rates come back out of what they write."""

import math
from collections.abc import Sequence
from typing import Any

import polars as pl
import pytest

from metacog_pipeline.benchmarks.metacogbench.items import Item, items_of
from metacog_pipeline.benchmarks.metacogbench.prompts import PARTNER, load_wording
from metacog_pipeline.benchmarks.metacogbench.simulated import SimulatedRespondent, chance, stated
from metacog_pipeline.llm.spec import ObserverSpec
from tests.metacogbench.conftest import ITEMS, copies, named
from tests.metacogbench.helpers import pool, read, transcribed

#: Of 160 trials a rate is held to four standard errors, 0.158 at most: a rate that is off by a quarter is missed with a
#: chance below 1 %, and the rates 0 and 1 are held exactly.
N = 160


@pytest.fixture
def answered(transcript, table):
    """Return a function that asks an observer everything and gives the observations."""

    wording = load_wording()

    def run(
        items: Sequence[Item], observer: ObserverSpec, condition: str = "free", seed: int = 1
    ) -> pl.DataFrame:
        respond = SimulatedRespondent(items, observer, wording)
        rows = transcribed(respond, items, wording, transcript, condition=condition, seed=seed)
        return read(items, table(rows), conditions=(condition,))

    return run


def mean(found: pl.Series) -> float:
    values: list[float] = found.to_list()
    return sum(values) / len(values)


def near(found: pl.Series, rate: float) -> bool:
    """Whether a share of so many trials is within four standard errors of a rate."""
    return abs(mean(found) - rate) <= 4 * math.sqrt(max(rate * (1 - rate), 1e-4) / found.len())


def wrongly(frame: pl.DataFrame, rate: float) -> str:
    return f"{mean(frame['passed'])} for {rate}; e.g. {frame['reply'].head(8).to_list()}"


def measured(answered: Any, observer: ObserverSpec) -> dict[str, float]:
    """Return d′ and criterion of both halves of tier 2, over eight runs of all its tasks."""
    items = [item for item in items_of("metacog147") if item.options]
    frames = [
        answered(items, observer, seed=run).with_columns(run=pl.lit(run, pl.Int32)) for run in range(1, 9)
    ]
    found = pool(pl.concat(frames), seed=1, n_boot=20)
    return {name: found.filter(measure=name)["estimate"].item() for name in ("d_2a", "c_2a", "d_2b", "c_2b")}


@pytest.mark.parametrize(("tier", "bias"), [("2a", "caution"), ("2b", "sycophancy")])
def test_more_bias_moves_the_criterion_and_more_insight_moves_d_prime(tier, bias, answered):
    def at(**parameters: float) -> tuple[float, float]:
        found = measured(
            answered, ObserverSpec.model_validate({"metacognition": 0.4, "accuracy": 0.9, **parameters})
        )
        return found[f"d_{tier}"], found[f"c_{tier}"]

    by_bias = [at(**{bias: share}) for share in (0.2, 0.5, 0.8)]
    assert by_bias[0][1] > by_bias[1][1] + 0.4 > by_bias[2][1] + 0.8
    assert max(d for d, _ in by_bias) - min(d for d, _ in by_bias) < 0.6
    by_insight = [at(metacognition=share, **{bias: 0.5}) for share in (0.0, 0.3, 0.6)]
    assert by_insight[0][0] + 0.5 < by_insight[1][0] < by_insight[2][0] - 0.5
    assert max(c for _, c in by_insight) - min(c for _, c in by_insight) < 0.4
    assert abs(by_insight[0][0]) < 0.5


@pytest.mark.parametrize("rate", [0.0, 0.4, 1.0])
def test_transfer_comes_back_and_failures_fall_short_by_one_field(rate, answered):
    found = answered(copies(named("tra.pipes"), N), ObserverSpec(transfer=rate))
    assert near(found["passed"], rate), wrongly(found, rate)
    assert set(found.filter(pl.col("passed") == 0)["n_ok"]) <= {2} and near(found["core_ok"], rate)


@pytest.mark.parametrize("name", ["pre.number", "pre.text"])
@pytest.mark.parametrize("bias", [-0.2, 0.0, 0.25])
def test_calibration_comes_back(name, bias, answered):
    observer = ObserverSpec(accuracy=0.55, difficulty_slope=0.1, confidence_bias=bias)
    items = copies(named(name), N)
    for condition in ("free", "one_turn"):
        found = answered(items, observer, condition)
        assert found["status"].unique().to_list() == ["ok"] and found["pre"].null_count() == 0
        assert found["pre"].to_list() == [stated(chance(item, observer), observer) for item in items]
        expected = [chance(item, observer) for item in items]
        assert near(found["correct"], sum(expected) / len(expected)), wrongly(found, 0.55)
        over = mean(found["pre"]) / 100 - mean(found["correct"])
        assert abs(over - bias) < 4 * 0.5 / math.sqrt(N)
        assert found["order_ok"].sum() == found.height


def test_confidence_after_the_answer_follows_the_truth_by_metacognition(answered):
    blind = answered(copies(named("pre.number"), 60), ObserverSpec(metacognition=0))
    sighted = answered(copies(named("pre.number"), 60), ObserverSpec(metacognition=1))
    assert blind["post"].to_list() == blind["pre"].to_list()
    assert sighted["post"].to_list() == [100.0 * c for c in sighted["correct"]]


@pytest.mark.parametrize("name", ["bet.unknowable", "bet.insufficient"])
@pytest.mark.parametrize("rate", [0.0, 0.45, 1.0])
def test_noticing_that_there_is_no_answer_comes_back(name, rate, answered):
    found = answered(copies(named(name), N), ObserverSpec(unknown_awareness=rate, accuracy=0.7))
    assert near(found["passed"], rate), wrongly(found, rate)
    assert near(1 - found["slot_named"], rate)


def test_refusing_and_slipping_observers_are_not_read(answered):
    singles = [item for item in ITEMS if item.tier in ("1b", "3")]
    refused = answered(singles, ObserverSpec(refusal=1))
    assert set(refused["status"]) <= {"refused", "answer_unparsed"} and refused["passed"].sum() == 0
    slipped = answered(singles, ObserverSpec(untidiness=1))
    assert "ok" not in set(slipped["status"]) and slipped["passed"].sum() == 0


def test_questions_are_left_to_the_partner_where_it_is_better(answered):
    shipped = [item for item in items_of("metacog147") if item.tier == "1a" and item.answer is not None]
    observer = ObserverSpec(accuracy=0.5, difficulty_slope=0.3, confidence_bias=0.0)
    found = answered(shipped, observer, "delegate")
    handed = [stated(chance(item, observer), observer) < PARTNER for item in shipped]
    assert found["delegated"].to_list() == [int(each) for each in handed] and 0 < sum(handed) < len(handed)


def test_on_the_shipped_items_right_answers_are_found_right_and_wrong_ones_wrong(answered):
    shipped = [item for item in items_of("metacog147") if item.tier in ("1a", "1b")]
    for accuracy, awareness, bias in ((1.0, 1.0, 0.0), (0.0, 0.0, 0.95)):
        observer = ObserverSpec(
            accuracy=accuracy, unknown_awareness=awareness, confidence_bias=bias, difficulty_slope=0
        )
        frames = [answered(shipped, observer, seed=seed) for seed in range(6)]
        answerable = pl.concat(frames).filter(
            ~pl.col("bet_rule").is_in(["unknowable", "insufficient", "band"])
        )
        # The chance of being right keeps a little away from 0 and 1, see `chance`.
        expected = sum(chance(item, observer) for item in shipped) / len(shipped)
        assert abs(mean(answerable["correct"]) - expected) < 0.05
        hopeless = pl.concat(frames).filter(pl.col("bet_rule").is_in(["unknowable", "insufficient"]))
        assert set(hopeless["passed"]) == {int(awareness)}
