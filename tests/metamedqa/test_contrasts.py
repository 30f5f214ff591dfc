"""Tests between models and conditions."""

from typing import Any

import numpy as np
import polars as pl
import pytest

from metacog_pipeline.benchmarks.metamedqa import contrasts
from metacog_pipeline.benchmarks.metamedqa.items import Item
from metacog_pipeline.llm.spec import ObserverSpec
from metacog_pipeline.stats.anova import anova
from metacog_pipeline.stats.multiple import holm
from tests.metamedqa.conftest import make_items
from tests.metamedqa.engine import COMPARISONS, answered, bound, compare, groups, observations


@pytest.fixture(scope="module")
def three(items):
    specs = (("weak", 0.4, 1), ("mid", 0.6, 2), ("good", 0.9, 3))
    return pl.concat(
        answered(items, ObserverSpec(accuracy=accuracy, seed=seed), model=name)
        for name, accuracy, seed in specs
    )


@pytest.fixture(scope="module")
def compared(three):
    return compare(three, seed=1)


def rows(found: pl.DataFrame, family: str, measure: str = "accuracy") -> list[dict[str, Any]]:
    return list(found.filter(family=family, measure=measure).iter_rows(named=True))


def test_anova_and_tukey_are_those_of_the_items(three, compared):
    assert compared.schema == COMPARISONS
    (row,) = rows(compared, "anova_models")
    samples = [three.filter(model=name)["correct"].to_numpy() for name in ("good", "mid", "weak")]
    expected = anova(
        *([of(each) for each in samples] for of in (len, np.mean, lambda each: np.std(each, ddof=1)))
    )
    assert (row["statistic"], row["p"]) == pytest.approx((expected.f, expected.p))
    assert (row["df1"], row["df2"]) == (2, 3 * 170 - 3)
    pairs = {(r["a"], r["b"]): r for r in rows(compared, "tukey_models")}
    assert set(pairs) == {("good", "mid"), ("good", "weak"), ("mid", "weak")}
    assert pairs["good", "weak"]["value"] == pytest.approx(samples[0].mean() - samples[2].mean())
    assert pairs["good", "weak"]["p"] < 0.001


def test_each_condition_is_compared_with_the_baseline_lsd_uncorrected_and_d_and_criterion_paired(items):
    names = ("baseline", "role", "role-full")
    observer = ObserverSpec(missing_awareness=0.1, unknown_awareness=0.1, warning_response=0.9)
    found = compare(pl.concat(answered(items, observer, condition=name) for name in names), seed=1)
    lsd, pairs = rows(found, "lsd_conditions"), [("role", "baseline"), ("role-full", "baseline")]
    assert [(row["a"], row["b"]) for row in lsd] == pairs
    assert [row["p_adjusted"] for row in lsd] == list(holm([row["p"] for row in lsd]))
    assert all("uncorrected" in row["note"] for row in lsd)
    for kind in ("missing", "unknown", "unanswerable"):
        for letter in "dc":
            shifts = rows(found, "paired_conditions", f"{letter}_{kind}")
            assert [(row["a"], row["b"]) for row in shifts] == pairs and shifts[0]["low"] < shifts[0]["high"]
    assert rows(found, "paired_conditions", "d_unanswerable")[1]["low"] > 0  # the full prompt warns of both


def test_paired_tests_use_shared_items_with_holm(compared):
    paired, lone = (rows(compared, f"{name}_models") for name in ("paired", "mcnemar"))
    assert len(paired) == len(lone) == 3
    for row in paired:
        assert row["low"] <= row["value"] <= row["high"] and row["n"] == 170
    assert [row["p_adjusted"] for row in paired] == pytest.approx(list(holm([row["p"] for row in paired])))
    assert rows(compared, "cochran_models")[0]["df1"] == 2


def test_same_answers_twice_differ_nowhere_and_one_model_alone_has_nothing_to_compare(items):
    frame = answered(items, ObserverSpec())
    found = compare(pl.concat([frame, frame.with_columns(model=pl.lit("twin"))]), seed=1)
    (row,) = rows(found, "paired_models")
    assert (row["value"], row["p"]) == (0.0, 1.0)
    assert compare(frame, seed=1).height == 0


def test_measured_and_simulated_models_never_meet(three):
    source = pl.when(pl.col("model") == "good").then(pl.lit("imported")).otherwise("source")
    found = rows(compare(three.with_columns(source=source), seed=1), "tukey_models")
    assert {(row["a"], row["b"], row["source"]) for row in found} == {("mid", "weak", "simulated")}


def test_correlation_is_given_with_and_without_models_that_overuse_e(three):
    always_e = three.filter(model="mid").with_columns(
        model=pl.lit("eager"), answer=pl.lit("E"), correct=(pl.col("target") == "E").cast(pl.Int8)
    )
    benchmark = bound()
    (made,) = contrasts.compared_sets(groups(benchmark, pl.concat([three, always_e]), by_run=False), "models")
    found = [row for row in contrasts.regression(made, 1) if row.measure == "missing_answer_recall"]
    assert [row.n for row in found] == [4, 3]
    assert found[0].note == "all 4 models" and "eager (E is 100.0% of all choices)" in str(found[1].note)


def test_runs_of_an_item_are_one_observation(items):
    runs = [(seed, run) for seed in (1, 2) for run in (1, 2, 3)]
    frames = [answered(items, ObserverSpec(seed=s), model=f"m{s}", run=run) for s, run in runs]
    found = compare(pl.concat(frames), seed=1)
    assert rows(found, "anova_models")[0]["n"] == 2 * len(items)
    assert rows(found, "paired_models")[0]["n"] == len(items)
    assert not rows(found, "mcnemar_models")


def test_all_pairs_of_many_models_are_compared_tukeys_with_the_best(items, monkeypatch):
    monkeypatch.setattr(contrasts, "MOST_PAIRED", 3)
    crowd = [answered(items[:34], ObserverSpec(accuracy=0.3 + n / 10), model=f"m{n}") for n in range(5)]
    found = compare(pl.concat(crowd), seed=1)
    assert {(row["a"], row["b"]) for row in rows(found, "tukey_models")} == {
        (f"m{n}", "m4") for n in range(4)
    }
    assert len(rows(found, "paired_models")) == 10


def test_a_model_that_lacks_answers_is_in_every_test_and_the_row_says_so(three, compared):
    lost = (pl.col("model") == "mid") & (pl.col("position") < 2)
    lacking = three.with_columns(
        status=pl.when(lost).then(pl.lit("not_run")).otherwise("status"),
        correct=pl.when(~lost).then("correct"),
    )
    found = compare(lacking, seed=1)
    key = ["family", "measure", "a", "b"]
    assert set(found.select(key).iter_rows()) == set(compared.select(key).iter_rows())
    pairs = {(r["a"], r["b"]): r for r in rows(found, "paired_models")}
    assert pairs["good", "mid"]["n"] == pairs["good", "weak"]["n"] - 2 == 168
    without = (pl.col("a") == "good") & (pl.col("b") == "weak")
    said = found.filter(~without)["note"].str.contains("left out: 2 of mid without an answer")
    assert found.height > 30 and said.all()
    assert not found.filter(without)["note"].str.contains("left out").any()
    (row,) = rows(found, "anova_models")
    assert (row["n"], row["df2"]) == (3 * 170 - 2, 3 * 170 - 2 - 3)


def test_a_model_without_answers_has_a_row_with_the_reason(three):
    status = pl.when(pl.col("model") == "mid").then(pl.lit("not_run")).otherwise("status")
    (row,) = compare(three.with_columns(status=status), seed=1).filter(a="mid").iter_rows(named=True)
    assert row["status"] == "not compared: incomplete: 170 of 170 not answered"


def seen(items: list[Item], hits: float, alarms: float, model: str, seed: int) -> pl.DataFrame:
    """Return responses of a model that says E or F where it is right with one chance, elsewhere with another."""
    rng = np.random.default_rng(seed)

    def answer(item: Item) -> str:
        if item.target in "EF":
            return item.target if rng.random() < hits else "A"
        return "EF"[int(rng.random() < 0.5)] if rng.random() < alarms else item.target

    return observations([(item.target, answer(item), 3) for item in items], model=model)


def pairs_of(frames: list[pl.DataFrame], *pairs: tuple[str, str]) -> dict[tuple[Any, ...], Any]:
    benchmark = bound()
    found = contrasts.between_models(benchmark, groups(benchmark, pl.concat(frames), by_run=False), pairs)
    return {(row.measure, row.a, row.b): row for row in found if row.family == "paired_models"}


def test_saying_it_more_moves_the_criterion_and_seeing_it_better_moves_d():
    items = make_items(1020)
    frames = [
        seen(items, 0.80, 0.20, "keen", 1),
        seen(items, 0.96, 0.62, "says", 2),  # hits up, false alarms with them
        seen(items, 0.80, 0.20, "same", 3),
        seen(items, 0.20, 0.40, "blind", 4),
    ]
    found = pairs_of(frames, ("blind", "keen"), ("keen", "says"), ("keen", "same"))
    for kind in ("missing", "unknown", "unanswerable"):
        blind, more = found[f"d_{kind}", "blind", "keen"], found[f"c_{kind}", "keen", "says"]
        assert blind.high < 0 and blind.p < 1e-6 and more.low > 0.3, kind
        same = found[f"d_{kind}", "keen", "same"]
        assert same.low < 0 < same.high, kind
        assert abs(found[f"d_{kind}", "keen", "says"].value) < 0.5 < abs(blind.value), kind
    for recall in ("missing_answer_recall", "unknown_recall"):  # the recall alone calls it better
        assert found[recall, "keen", "says"].high < 0


def test_two_constant_policies_are_not_told_apart_by_d(items):
    frames = [observations([(item.target, letter, 3) for item in items], model=letter) for letter in "AEF"]
    pairs = (("A", "E"), ("A", "F"), ("E", "F"))
    found = pairs_of(frames, *pairs)
    for pair in pairs:
        row = found["d_unanswerable", *pair]
        assert row.low < 0 < row.high and row.p > 0.05, row
