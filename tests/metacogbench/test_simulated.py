"""Observers of known character: their rates come back out of what they write."""

import math
from collections.abc import Sequence

import polars as pl
import pytest

from metacog_pipeline.benchmarks.metacogbench.items import Item, items_of
from metacog_pipeline.benchmarks.metacogbench.prompts import PARTNER, load_wording
from metacog_pipeline.benchmarks.metacogbench.simulated import SimulatedRespondent, chance, stated
from metacog_pipeline.llm.spec import ObserverSpec
from tests.metacogbench.conftest import copies, named
from tests.metacogbench.helpers import read, transcribed

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


@pytest.mark.parametrize("rate", [0.0, 0.4, 1.0])
def test_transfer_comes_back_and_failures_fall_short_by_one_field(rate, answered):
    found = answered(copies(named("tra.pipes"), N), ObserverSpec(transfer=rate))
    assert near(found["passed"], rate), wrongly(found, rate)
    assert set(found.filter(pl.col("passed") == 0)["n_ok"]) <= {2} and near(found["core_ok"], rate)


@pytest.mark.parametrize(("name", "bias"), [("pre.number", -0.2), ("pre.text", 0.25)])
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


@pytest.mark.parametrize(
    ("name", "rate"), [("bet.unknowable", 0.0), ("bet.insufficient", 0.45), ("bet.unknowable", 1.0)]
)
def test_noticing_that_there_is_no_answer_comes_back(name, rate, answered):
    found = answered(copies(named(name), N), ObserverSpec(unknown_awareness=rate, accuracy=0.7))
    assert near(found["passed"], rate), wrongly(found, rate)
    assert near(1 - found["slot_named"], rate)


def test_questions_are_left_to_the_partner_where_it_is_better(answered):
    shipped = [item for item in items_of("metacog147") if item.tier == "1a" and item.answer is not None]
    observer = ObserverSpec(accuracy=0.5, difficulty_slope=0.3, confidence_bias=0.0)
    found = answered(shipped, observer, "delegate")
    handed = [stated(chance(item, observer), observer) < PARTNER for item in shipped]
    assert found["delegated"].to_list() == [int(each) for each in handed] and 0 < sum(handed) < len(handed)
