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
    specs = (("weak", 0.4, 1), ("mid", 0.6, 2), ("good", 0.9, 3))
    return pl.concat(
        answered(items, ObserverSpec(accuracy=accuracy, seed=seed), model=name, conditions=("baseline", "role-full"))
        for name, accuracy, seed in specs
    )  # fmt: skip


def rows(found: pl.DataFrame, family: str, measure: str = "accuracy", **where: str) -> list[dict[str, Any]]:
    return list(found.filter(family=family, measure=measure, **where).iter_rows(named=True))


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
    paired, lone = (rows(found, f"{name}_models", condition="baseline") for name in ("paired", "mcnemar"))
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
    made = compare(pl.concat([three, always_e]), seed=1)
    found = rows(made, "correlation_models", "missing_answer_recall", condition="baseline")
    assert [row["n"] for row in found] == [4, 3]
    assert found[0]["note"] == "all 4 models" and "eager (E is 100.0% of all choices)" in found[1]["note"]


def test_runs_of_an_item_are_one_observation(answered, items):
    runs = [(seed, run) for seed in (1, 2) for run in (1, 2, 3)]
    frames = [answered(items, ObserverSpec(seed=s), model=f"m{s}", run=run) for s, run in runs]
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


def test_a_model_that_lacks_answers_is_in_every_test_and_the_row_says_so(three):
    lost = (pl.col("model") == "mid") & (pl.col("condition") == "baseline") & (pl.col("position") < 2)
    lacking = three.with_columns(
        status=pl.when(lost).then(pl.lit("not_run")).otherwise("status"),
        correct=pl.when(~lost).then("correct"),
    )
    found, whole = compare(lacking, seed=1), compare(three, seed=1)
    key = ["family", "measure", "condition", "model", "a", "b"]
    assert set(found.select(key).iter_rows()) == set(whole.select(key).iter_rows())
    pairs = {(r["a"], r["b"]): r for r in rows(found, "paired_models", condition="baseline")}
    assert pairs["good", "mid"]["n"] == pairs["good", "weak"]["n"] - 2 == 168
    tested = found.filter(pl.col("condition") == "baseline", pl.col("family").str.ends_with("_models"))
    without = (pl.col("a") == "good") & (pl.col("b") == "weak")
    said = tested.filter(~without)["note"].str.contains("left out: 2 of mid without an answer")
    untouched = tested.filter(without)["note"].str.contains("left out")
    assert tested.height > 30 and said.all() and not untouched.any()
    (anova_row,) = rows(found, "anova_models", condition="baseline")
    assert (anova_row["n"], anova_row["df2"]) == (3 * 170 - 2, 3 * 170 - 2 - 3)


def seen(items: Any, hits: dict[str, float], alarms: float, model: str, seed: int) -> pl.DataFrame:
    """Return responses of a model that says E or F where it is right with these chances, elsewhere with ``alarms``."""
    rng = np.random.default_rng(seed)
    said = []
    for item in items:
        if item.target in hits:
            said.append(item.target if rng.random() < hits[item.target] else "A")
        else:
            said.append("EF"[int(rng.random() < 0.5)] if rng.random() < alarms else item.target)
    return pl.DataFrame({"item_id": [item.item_id for item in items], "answer": said, "model": model})


def test_saying_it_more_moves_the_criterion_and_seeing_it_better_moves_d(answered, many_items):
    frame = answered(many_items, ObserverSpec())
    makers = {
        "keen": seen(many_items, {"E": 0.80, "F": 0.80}, 0.20, "keen", 1),
        "says": seen(many_items, {"E": 0.96, "F": 0.96}, 0.62, "says", 2),  # hits up, false alarms with them
        "same": seen(many_items, {"E": 0.80, "F": 0.80}, 0.20, "same", 3),
        "blind": seen(many_items, {"E": 0.20, "F": 0.20}, 0.40, "blind", 4),
    }
    made = pl.concat(
        frame.drop("answer", "model").join(own, on="item_id").select(frame.columns).with_columns(
            correct=(pl.col("answer") == pl.col("target")).cast(pl.Int8), status=pl.lit("ok"))
        for own in makers.values()
    )  # fmt: skip
    found = compare(made, seed=1)

    def row(measure: str, a: str, b: str) -> dict[str, Any]:
        return next(r for r in rows(found, "paired_models", measure) if (r["a"], r["b"]) == (a, b))

    for kind in ("missing", "unknown", "unanswerable"):
        blind, more = row(f"d_{kind}", "blind", "keen"), row(f"c_{kind}", "keen", "says")
        assert blind["high"] < 0 and blind["p_adjusted"] < 1e-6 and more["low"] > 0.3, kind
        assert row(f"d_{kind}", "keen", "same")["low"] < 0 < row(f"d_{kind}", "keen", "same")["high"], kind
        recall = {"missing": "missing_answer_recall", "unknown": "unknown_recall"}.get(kind)
        assert recall is None or row(recall, "keen", "says")["high"] < 0  # the recall alone calls it better
        assert abs(row(f"d_{kind}", "keen", "says")["value"]) < 0.5 < abs(blind["value"]), kind


def test_two_constant_policies_are_not_told_apart_by_d(answered, items):
    frame = answered(items, ObserverSpec())
    both = [
        frame.with_columns(
            model=pl.lit(f"always-{letter}"),
            answer=pl.lit(letter),
            correct=(pl.col("target") == letter).cast(pl.Int8),
        )
        for letter in "AEF"
    ]
    for row in rows(compare(pl.concat(both), seed=1), "paired_models", "d_unanswerable"):
        assert row["low"] < 0 < row["high"] and row["p_adjusted"] > 0.05, row


def test_a_model_without_answers_has_a_row_with_the_reason(three):
    silent = three.with_columns(
        status=pl.when(pl.col("model") == "mid").then(pl.lit("not_run")).otherwise("status")
    )
    found = compare(silent, seed=1).filter(pl.col("a") == "mid")
    assert found["condition"].sort().to_list() == ["baseline", "role-full"]
    assert found["status"].unique().to_list() == ["not compared: incomplete: 170 of 170 not answered"]
