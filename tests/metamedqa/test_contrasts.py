"""Tests between models and conditions."""

from typing import Any

import numpy as np
import polars as pl
import pytest

from metacog_pipeline.benchmarks.metamedqa.contrasts import MOST_PAIRED
from metacog_pipeline.llm.spec import ObserverSpec
from metacog_pipeline.stats.anova import anova
from metacog_pipeline.stats.multiple import holm
from tests.metamedqa.engine import COMPARISONS, compare


@pytest.fixture(scope="module")
def three(answered, items):
    specs = {
        "weak": ObserverSpec(accuracy=0.4, seed=1),
        "mid": ObserverSpec(accuracy=0.6, seed=2),
        "good": ObserverSpec(accuracy=0.9, seed=3),
    }
    frames = [
        answered(items, spec, model=name, conditions=("baseline", "role-full"))
        for name, spec in specs.items()
    ]
    return pl.concat(frames)


def rows(found: pl.DataFrame, family: str, measure: str = "accuracy", **where: str) -> list[dict[str, Any]]:
    chosen = found.filter(pl.col("family") == family, pl.col("measure") == measure)
    for column, value in where.items():
        chosen = chosen.filter(pl.col(column) == value)
    return list(chosen.iter_rows(named=True))


def test_anova_and_tukey_are_those_of_the_items(three):
    found = compare(three, seed=1)
    assert found.schema == COMPARISONS
    (row,) = rows(found, "anova_models", condition="baseline")
    base = three.filter(pl.col("condition") == "baseline")
    samples = [base.filter(pl.col("model") == name)["correct"].to_numpy() for name in ("good", "mid", "weak")]
    expected = anova(
        *([of(each) for each in samples] for of in (len, np.mean, lambda each: np.std(each, ddof=1)))
    )
    assert (row["statistic"], row["p"]) == pytest.approx((expected.f, expected.p))
    assert (row["df1"], row["df2"]) == (2, 3 * 170 - 3)
    pairs = {(r["a"], r["b"]): r for r in rows(found, "tukey_models", condition="baseline")}
    assert set(pairs) == {("good", "mid"), ("good", "weak"), ("mid", "weak")}
    assert pairs["good", "weak"]["value"] == pytest.approx(samples[0].mean() - samples[2].mean())
    assert pairs["good", "weak"]["p"] < 0.001


def test_lsd_compares_each_condition_with_the_baseline_uncorrected_with_holm_beside(three):
    extra = three.with_columns(
        condition=pl.when(pl.col("condition") == "role-full").then(pl.lit("role")).otherwise("condition")
    ).filter(pl.col("condition") == "role")
    found = rows(compare(pl.concat([three, extra]), seed=1), "lsd_conditions", model="mid")
    assert [(row["a"], row["b"]) for row in found] == [("role", "baseline"), ("role-full", "baseline")]
    assert [row["p_adjusted"] for row in found] == list(holm([row["p"] for row in found]))
    assert all("uncorrected" in row["note"] for row in found)


def test_paired_tests_use_shared_items_with_holm(three):
    found = compare(three, seed=1)
    paired, lone = (
        rows(found, "paired_models", condition="baseline"),
        rows(found, "mcnemar_models", condition="baseline"),
    )
    assert len(paired) == len(lone) == 3
    for row in paired:
        assert row["low"] <= row["value"] <= row["high"] and row["n"] == 170
    assert [row["p_adjusted"] for row in paired] == pytest.approx(list(holm([row["p"] for row in paired])))
    assert rows(found, "cochran_models", condition="baseline")[0]["df1"] == 2


def test_same_answers_twice_differ_nowhere(answered, items):
    frame = answered(items, ObserverSpec())
    found = compare(pl.concat([frame, frame.with_columns(model=pl.lit("twin"))]), seed=1)
    (row,) = rows(found, "paired_models")
    assert (row["value"], row["p"]) == (0.0, 1.0)


def test_incomplete_models_are_left_out(three):
    broken = three.with_columns(
        status=pl.when((pl.col("model") == "mid") & (pl.col("position") == 3))
        .then(pl.lit("not_run"))
        .otherwise("status")
    )
    assert {row["a"] for row in rows(compare(broken, seed=1), "tukey_models", condition="baseline")} == {
        "good"
    }


def test_measured_and_simulated_models_never_meet(three):
    mixed = three.with_columns(
        source=pl.when(pl.col("model") == "good").then(pl.lit("imported")).otherwise("source")
    )
    found = compare(mixed, seed=1)
    assert {
        (row["a"], row["b"], row["source"]) for row in rows(found, "tukey_models", condition="baseline")
    } == {("mid", "weak", "simulated")}


def test_correlation_is_given_with_and_without_models_that_overuse_e(three):
    always_e = three.filter(pl.col("model") == "mid").with_columns(
        model=pl.lit("eager"), answer=pl.lit("E"), correct=(pl.col("target") == "E").cast(pl.Int8)
    )
    found = rows(
        compare(pl.concat([three, always_e]), seed=1),
        "correlation_models",
        "missing_answer_recall",
        condition="baseline",
    )
    assert [row["n"] for row in found] == [4, 3]
    assert found[0]["note"] == "all 4 models" and "eager (E is 100.0% of all choices)" in found[1]["note"]


def test_runs_of_an_item_are_one_observation(answered, items):
    frames = [
        answered(items, ObserverSpec(seed=seed), model=f"m{seed}", run=run)
        for seed in (1, 2)
        for run in (1, 2, 3)
    ]
    found = compare(pl.concat(frames), seed=1)
    assert rows(found, "anova_models")[0]["n"] == 2 * len(items)
    assert rows(found, "paired_models")[0]["n"] == len(items)
    assert not rows(found, "mcnemar_models")


def test_one_model_alone_has_nothing_to_compare(answered, items):
    assert compare(answered(items, ObserverSpec()), seed=1).height == 0


def test_all_pairs_of_many_models_are_compared_tukeys_with_the_best(answered, items):
    frame, rng = answered(items, ObserverSpec()), np.random.default_rng(1)
    crowd = [
        frame.with_columns(
            model=pl.lit(f"m{n:02d}"), correct=pl.Series(rng.random(len(items)) < 0.3 + n / 60).cast(pl.Int8)
        )
        for n in range(MOST_PAIRED + 2)
    ]
    found = compare(pl.concat(crowd), seed=1)
    n = MOST_PAIRED + 2
    assert len(rows(found, "tukey_models")) == n - 1
    assert len(rows(found, "paired_models")) == n * (n - 1) // 2


def test_a_model_that_lacks_an_answer_is_compared_on_the_others_and_told_with_what_was_lost(three):
    lost = (pl.col("model") == "mid") & (pl.col("condition") == "baseline") & (pl.col("position") == 0)
    lacking = three.with_columns(
        status=pl.when(lost).then(pl.lit("not_run")).otherwise("status"),
        correct=pl.when(~lost).then("correct"),
    )
    found = compare(lacking, seed=1)
    pairs = {(r["a"], r["b"]): r for r in rows(found, "paired_models", condition="baseline")}
    assert set(pairs) == {("good", "mid"), ("good", "weak"), ("mid", "weak")}
    assert pairs["good", "mid"]["n"] == pairs["good", "weak"]["n"] - 1 == 169
    assert "left out: 1 items of a, 0 of b" in pairs["good", "mid"]["note"]
    assert "left out" not in pairs["good", "weak"]["note"]
    anova_pairs = rows(found, "tukey_models", condition="baseline")
    assert {(r["a"], r["b"]) for r in anova_pairs} == {("good", "weak")}


def test_a_model_without_answers_has_a_row_with_the_reason(three):
    silent = three.with_columns(
        status=pl.when(pl.col("model") == "mid").then(pl.lit("not_run")).otherwise("status")
    )
    found = compare(silent, seed=1).filter(pl.col("a") == "mid")
    assert found["condition"].sort().to_list() == ["baseline", "role-full"]
    assert found["status"].unique().to_list() == ["not compared: incomplete: 170 of 170 not answered"]
