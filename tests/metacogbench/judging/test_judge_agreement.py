"""Judges beside the rules: accuracy, kappa and the shift of a tier, per rule, over resampled items."""

from typing import Any

import numpy as np
import polars as pl
import pytest

from metacog_pipeline.benchmark.contract import schema_of
from metacog_pipeline.benchmarks.metacogbench.judging import Judgement, relation
from metacog_pipeline.benchmarks.metacogbench.judging.agreement import NO_JUDGEMENTS, RULES, Agreement
from metacog_pipeline.llm.spec import ModelSpec, ObserverSpec
from metacog_pipeline.stats.agreement import cohen_kappa
from tests.metacogbench.helpers import compare, tabled


def agreement(judgements: pl.DataFrame, responses: pl.DataFrame, **how: int) -> pl.DataFrame:
    return tabled("judges", responses, judgements=judgements, **how)


def judged(observations: pl.DataFrame, verdicts: pl.Expr, **changed: object) -> pl.DataFrame:
    """Return judgements of every observation."""
    made = observations.with_columns(
        verdict=verdicts.cast(pl.Int8), by_rules=pl.col("passed"), judge=pl.lit("self"), status=pl.lit("ok")
    )
    made = made.with_columns(judge_model=pl.col("model"), relation=pl.lit("self"))
    made = made.with_columns(**{name: pl.lit(value) for name, value in changed.items()})
    return made.select(
        pl.col(name).cast(kind) if name in made.columns else pl.lit(None, kind).alias(name)
        for name, kind in schema_of(Judgement).items()
    )


def only(frame: pl.DataFrame, **values: object) -> dict[str, Any]:
    found = frame.filter(
        *(
            pl.col(name).is_null() if value is None else pl.col(name) == value
            for name, value in values.items()
        )
    )
    assert found.height == 1, found
    return found.row(0, named=True)


def test_a_judge_that_says_what_the_rules_say_agrees_fully(make_observed):
    seen = make_observed(rates={"2a": 0.5})
    row = only(
        agreement(judged(seen, pl.col("passed")), seen, seed=1), tier="2a", rule="headline", model=None
    )
    assert row["accuracy"] == 1.0 and row["kappa"] == 1.0 and row["difference"] == 0.0
    assert row["accuracy_low"] < 1.0 and row["status"] == "ok"


def test_a_judge_that_passes_everything_moves_the_tier_and_has_no_skill(make_observed):
    seen = make_observed(rates={"2a": 0.3, "3": 1.0})
    found = agreement(judged(seen, pl.lit(1)), seen, seed=1)
    row = only(found, tier="2a", rule="headline", model=None)
    assert row["judge_rate"] == 1.0 and row["difference"] == pytest.approx(1 - row["rules_rate"])
    assert row["kappa"] == 0.0 and row["n_rules_only"] == 0
    certain = only(found, tier="3", rule="headline", model=None)
    assert certain["kappa"] is None and certain["status"] == "one category used by both"
    shifts = compare(seen, seed=1, judgements=judged(seen, pl.lit(1))).filter(family="judge")
    shift = only(shifts, measure="t2a")
    assert shift["value"] == row["difference"] and shift["verdict"] == "significant" and shift["a"] == "self"


def test_values_are_those_of_the_replies_and_intervals_know_runs_are_not_items(make_observed):
    many = {"2a": 40}
    one = make_observed(rates={"2a": 0.5}, tiers=("2a",), sizes=many)
    flip = (pl.col("position") % 4 == 0).cast(pl.Int8)
    first = judged(one, (pl.col("passed") - flip).abs())
    alone = only(agreement(first, one, seed=1), rule="headline", model=None)
    kappa = cohen_kappa(first["verdict"].to_numpy(), one["passed"].to_numpy())
    assert alone["kappa"] == pytest.approx(kappa.value) and alone["accuracy"] == 0.75
    assert alone["kappa_low"] == pytest.approx(kappa.low, abs=0.08)
    again = pl.concat([one.with_columns(run=pl.lit(run, pl.Int32)) for run in (1, 2, 3)])
    thrice = only(
        agreement(judged(again, (pl.col("passed") - flip).abs()), again, seed=1), rule="headline", model=None
    )
    assert thrice["n"] == 120 and thrice["n_items"] == 40
    for name in ("kappa_low", "kappa_high", "difference_low", "accuracy_high"):
        assert thrice[name] == pytest.approx(alone[name])


def test_every_rule_of_every_tier_has_its_row_per_model_and_for_all(make_observed):
    seen = pl.concat([make_observed("alpha"), make_observed("beta")])
    found = agreement(judged(seen, pl.col("passed")), seen, seed=1, n_boot=50)
    assert found.schema == schema_of(Agreement)
    assert found.height == 3 * sum(map(len, RULES.values()))
    other = make_observed(
        rates={"2a": 0.5}, changes={f"2a-{i:02}": {"passed_keywords_v1": 1} for i in range(10)}
    )
    table = agreement(judged(other, pl.col("passed")), other, seed=1, n_boot=50)
    assert only(table, tier="2a", rule="keywords_v1", model=None)["rules_rate"] == 1.0


def test_what_cannot_be_read_or_was_not_asked_is_counted(make_observed):
    seen = make_observed(tiers=("2a",))
    nothing = judged(seen, pl.lit(None), status="unreadable")
    row = only(agreement(nothing, seen, seed=1), rule="headline", model=None)
    assert (row["status"], row["n"], row["n_unread"], row["n_missing"]) == (NO_JUDGEMENTS, 0, 10, 0)
    waiting = judged(seen, pl.lit(None), status="not_run")
    assert only(agreement(waiting, seen, seed=1), rule="headline", model=None)["n_missing"] == 10
    assert agreement(schema_of(Judgement).to_frame(), seen, seed=1).is_empty()
    assert not np.isnan(
        agreement(nothing, seen, seed=1).select(pl.col(pl.Float64)).fill_null(0).to_numpy()
    ).any()


def test_who_judges_whom():
    def row(name: str, model: str, family: str | None = "b") -> ModelSpec:
        return ModelSpec(name=name, provider="openai", model=model, family=family)

    judge = row("judge", "x")
    others = [row("again", "x"), row("cousin", "y"), row("alpha", "z", "a"), row("who", "w", None)]
    said = [relation(judge, each) for each in others]
    assert said == ["self", "same family", "other family", "family unknown"]
    one, two = (
        ModelSpec(name=name, provider="simulated", observer=ObserverSpec(seed=i))
        for i, name in enumerate("ab")
    )
    assert relation(one, two) == "family unknown" and relation(one, one) == "self"
