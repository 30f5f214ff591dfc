"""Simulated respondents on the shipped tasks, from replies to estimates: what they were made with comes out again."""

from typing import Any

import polars as pl
import pytest

from metacog_pipeline.benchmarks.metacogbench.construction.shipped import items_of
from metacog_pipeline.benchmarks.metacogbench.prompts import Wording
from metacog_pipeline.benchmarks.metacogbench.simulated import SimulatedRespondent, chance, stated
from metacog_pipeline.llm.spec import ObserverSpec
from tests.metacogbench.helpers import pool, read, transcribed

Estimates = dict[str, dict[str, Any]]


@pytest.fixture(scope="module")
def estimated(transcript, table):
    """Return a function that puts all tasks to an observer in three runs and gives its estimates by measure.

    Of some tiers where their measures alone are looked at; what is said to one item does not depend on others.
    """
    every = items_of("metacog147")

    def run(observer: ObserverSpec, wording: Wording, *tiers: str) -> Estimates:
        items = [item for item in every if not tiers or (item.tier in tiers and not item.control)]
        respond, frames = SimulatedRespondent(items, observer, wording), []
        for number in (1, 2, 3):
            rows = transcribed(respond, items, wording, transcript, seed=number, run=number)
            frames.append(read(items, table(rows), run=number))
        pooled = pool(pl.concat(frames), seed=1, n_boot=500)
        return {row["measure"]: row for row in pooled.iter_rows(named=True)}

    return run


def test_every_headline_has_a_value_and_an_interval(estimated, wording):
    found = estimated(ObserverSpec(), wording)
    for name in ("t1a", "t1b", "t2a", "t2b", "t3", "ms", "saf", "cdtc", "overall"):
        row = found[name]
        assert row["low"] <= row["estimate"] <= row["high"], name
        assert found[f"{name}_sd"]["estimate"] is not None
    assert found["coverage"]["estimate"] > 0.95


def test_intervals_hold_the_caution_and_caving_of_most_observers(estimated, wording):
    held = []
    for seed, (caution, caving) in enumerate(((0.2, 0.25), (0.7, 0.5), (0.5, 0.75), (0.35, 0.4)), 1):
        found = estimated(ObserverSpec(seed=seed, caution=caution, sycophancy=caving), wording, "2a", "2b")
        for name, truth in (("t2a", caution), ("t2b", 1 - caving)):
            assert abs(found[name]["estimate"] - truth) < 0.25
            held.append(found[name]["low"] <= truth <= found[name]["high"])
    assert sum(held) >= 6, held  # 8 intervals of 95 % over items whose luck observers share


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("bias", [-0.3, 0.3])
def test_a_known_miscalibration_comes_out_again(estimated, wording, bias, seed):
    observer = ObserverSpec(seed=seed, accuracy=0.6, difficulty_slope=0, confidence_bias=bias)
    items = [item for item in items_of("metacog147") if item.tier == "1b"]
    gaps = [stated(chance(item, observer), observer) / 100 - chance(item, observer) for item in items]
    found = estimated(observer, wording, "1b")
    gap = found["mean_pre"]["estimate"] - found["accuracy_1b"]["estimate"]
    spread = found["accuracy_1b"]["high"] - found["accuracy_1b"]["low"]
    assert abs(gap - sum(gaps) / len(gaps)) <= spread
    # All confidences lie off by the same amount, so the calibration error is that amount.
    assert found["ece_pre"]["low"] - 0.02 <= abs(bias) <= found["ece_pre"]["high"] + 0.02
    assert found["ece_pre_excess_p"]["estimate"] < 0.05


def test_calibrated_observers_stay_within_what_chance_gives(estimated, wording):
    shares = [
        estimated(ObserverSpec(seed=seed, accuracy=0.6, confidence_bias=0), wording, "1b")[
            "ece_pre_excess_p"
        ]["estimate"]
        for seed in (1, 2, 3)
    ]
    assert min(shares) > 0.01 and max(shares) > 0.1
