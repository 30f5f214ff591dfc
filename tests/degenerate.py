"""Respondents nobody would ask for, and everything that is computed of them: for the quick tests and for the long ones."""

import random
from collections.abc import Callable
from typing import Any

import polars as pl

from metacog_pipeline.benchmark.contract import Scored
from metacog_pipeline.conformance import Tried
from metacog_pipeline.scoring import comparisons as comparing
from metacog_pipeline.scoring.calibration import every_measure
from metacog_pipeline.scoring.comparisons import comparisons, of_confidence
from metacog_pipeline.scoring.estimates import estimates, groups_of
from metacog_pipeline.scoring.harmonised import harmonised
from metacog_pipeline.scoring.schemas import CALIBRATION, COMPARISON, ESTIMATE

Change = Callable[[pl.DataFrame, random.Random], pl.DataFrame]
_CLAIMS = tuple(f"{step}_c{number}" for step in "aps" for number in range(1, 6))
_RATINGS = ("confidence", "bet", "pre", "post", *_CLAIMS)
_SAID = ("answer", "response", "yes", "output", "meta_output", "abstained", *_RATINGS)
_OUTCOMES = ("correct", "correct_strict", "passed")
# Where being right is saying what the key says: the column of either.
_KEYED = {"metamedqa": ("answer", "target"), "signaldetection": ("response", "stimulus")}


def _some(frame: pl.DataFrame, chance: random.Random, share: float) -> pl.Series:
    return pl.Series([chance.random() < share for _ in range(frame.height)], dtype=pl.Boolean)


def _one(frame: pl.DataFrame, chance: random.Random) -> str:
    return chance.choice(sorted(frame["model"].unique()) or [""])


def one_answer(frame: pl.DataFrame, chance: random.Random) -> pl.DataFrame:
    """Every response of a model under a condition says what its first says."""
    own = [name for name in frame.columns if name in _SAID]
    said = frame.with_columns(pl.col(own).first().over("model", "condition")) if own else frame
    if (keyed := _KEYED.get(frame["benchmark"][0])) is None:
        return said
    right = pl.col(keyed[0]).eq_missing(pl.col(keyed[1]))
    return said.with_columns(correct=right.cast(frame.schema["correct"]))


def one_rating(frame: pl.DataFrame, chance: random.Random) -> pl.DataFrame:
    """A model states one confidence, where it is asked for one."""
    names = [name for name in _RATINGS if name in frame.columns]
    return frame.with_columns(pl.col(name).max().over("model", "condition").alias(name) for name in names)


def all_right(frame: pl.DataFrame, chance: random.Random) -> pl.DataFrame:
    """Every response is right, of all models or of one."""
    return _outcome(frame, chance, 1)


def all_wrong(frame: pl.DataFrame, chance: random.Random) -> pl.DataFrame:
    """Every response is wrong, of all models or of one."""
    return _outcome(frame, chance, 0)


def _outcome(frame: pl.DataFrame, chance: random.Random, value: int) -> pl.DataFrame:
    names = [name for name in _OUTCOMES if name in frame.columns]
    who = pl.lit(True) if chance.random() < 0.5 else pl.col("model") == _one(frame, chance)
    if (keyed := _KEYED.get(frame["benchmark"][0])) is not None:
        said, key = keyed
        other = pl.when(pl.col(key) == "A").then(pl.lit("B")).otherwise(pl.lit("A"))
        wrong = other if frame.schema[key] == pl.String else 1 - pl.col(key)
        frame = frame.with_columns(
            pl.when(who).then(pl.col(key) if value else wrong).otherwise(said)
            .cast(frame.schema[said]).alias(said)
        )  # fmt: skip
    if "tier" in frame.columns:  # other tiers follow from bets, cues and fields as well
        who = who & pl.col("tier").is_in(["1b", "2b"])
    return frame.with_columns(
        pl.when(who).then(pl.lit(value).cast(frame.schema[name])).otherwise(name).alias(name)
        for name in names
    )


def silent(frame: pl.DataFrame, chance: random.Random) -> pl.DataFrame:
    """One model gives no answer at all."""
    return _status(frame, pl.col("model") == _one(frame, chance), "transport_error")


def one_missing(frame: pl.DataFrame, chance: random.Random) -> pl.DataFrame:
    """One model lacks the answer to the first item."""
    first = pl.col("position") == pl.col("position").min()
    return _status(frame, (pl.col("model") == _one(frame, chance)) & first, "transport_error")


def often_missing(frame: pl.DataFrame, chance: random.Random) -> pl.DataFrame:
    """Half of all answers are lacking."""
    return _status(frame, _some(frame, chance, 0.5), "transport_error")


def unreadable(frame: pl.DataFrame, chance: random.Random) -> pl.DataFrame:
    """No answer, or half of them, can be read."""
    return _status(frame, _some(frame, chance, chance.choice([0.5, 1.1])), "unparsable")


def _status(frame: pl.DataFrame, who: pl.Expr | pl.Series, status: str) -> pl.DataFrame:
    return frame.with_columns(status=pl.when(who).then(pl.lit(status)).otherwise("status"))


def no_number(frame: pl.DataFrame, chance: random.Random) -> pl.DataFrame:
    """Half of the ratings are missing; where they are fractions, not a number."""
    names = [name for name in _RATINGS if name in frame.columns]
    lost = _some(frame, chance, 0.5)
    nothing = {True: float("nan"), False: None}
    return frame.with_columns(
        pl.when(lost).then(pl.lit(nothing[frame.schema[name].is_float()])).otherwise(name)
        .cast(frame.schema[name]).alias(name)
        for name in names
    )  # fmt: skip


def few_items(frame: pl.DataFrame, chance: random.Random) -> pl.DataFrame:
    """1 to 10 items are left, of every condition or of the study."""
    return first_items(frame, chance.choice([1, 1, 2, 3, 5, 10]))


def first_items(frame: pl.DataFrame, n: int) -> pl.DataFrame:
    """Return the responses to the first ``n`` items of every condition and model."""
    return frame.filter(pl.col("item_id").rank("dense").over("condition", "model") <= n)


def one_model(frame: pl.DataFrame, chance: random.Random) -> pl.DataFrame:
    """One model is left."""
    return frame.filter(pl.col("model") == _one(frame, chance))


def more_models(frame: pl.DataFrame, chance: random.Random) -> pl.DataFrame:
    """Each model stands twice, the second answering as the first."""
    return pl.concat([frame, frame.with_columns(pl.format("{}-twin", "model").alias("model"))])


def other_items(frame: pl.DataFrame, chance: random.Random) -> pl.DataFrame:
    """One model was asked other items than the others; MEDLEY refuses what is not among its instances."""
    if frame["benchmark"][0] == "medley":
        return frame
    who = pl.col("model") == _one(frame, chance)
    return frame.with_columns(
        pl.when(who).then(pl.format("{}-other", name)).otherwise(name).alias(name)
        for name in ("item_id", "cluster")
    )


def nobody(frame: pl.DataFrame, chance: random.Random) -> pl.DataFrame:
    """Nothing was asked."""
    return frame.clear()


CHANGES: tuple[Change, ...] = (
    one_answer, one_rating, all_right, all_wrong, silent, one_missing, often_missing, unreadable, no_number, few_items,
    one_model, more_models, other_items,
)  # fmt: skip


def changed(frame: pl.DataFrame, changes: list[Change], seed: int) -> pl.DataFrame:
    """Return the responses with the changes one after the other."""
    chance = random.Random(seed)
    for change in changes:
        frame = change(frame, chance) if frame.height else frame
    return frame


def drawn(seed: int) -> list[Change]:
    """Return 1 to 4 changes."""
    chance = random.Random(seed)
    return chance.sample(CHANGES, chance.randint(1, 4))


def wrong_in(tried: Tried, responses: pl.DataFrame, *, runs: bool = True) -> list[str]:
    """Return what failed in any table made from ``responses``; what no table may hold is an AssertionError."""
    benchmark: Any = tried.benchmark
    scored = tried.derived(responses) if responses.height else tried.scored.clear()
    wrong = []
    for by_run in (True, False) if runs else (False,):
        groups = groups_of(benchmark, scored, by_run=by_run)
        pooled = estimates(benchmark, groups)
        assert pooled.schema == ESTIMATE
        wrong += comparing.failures_in(pooled)
        assert pooled.filter(pl.col("estimate").is_null() & (pl.col("status") == "ok")).is_empty()
        assert pooled.filter(pl.col("estimate").is_nan() | pl.col("low").is_nan()).is_empty()
    tests = comparisons(benchmark, groups)
    assert tests.schema == COMPARISON
    wrong += comparing.failures_in(tests)
    few = tests.filter(pl.col("verdict").is_in(comparing.VERDICTS) & (pl.col("n") < 5))
    assert few.is_empty(), few
    assert tests.filter((pl.col("p") < 0) | (pl.col("p") > 1) | pl.col("p").is_nan()).is_empty()
    for each in benchmark.tables:
        _, why = comparing.table(benchmark, each, Scored(scored, groups, None, pooled))
        wrong += [why] if why is not None else []
    alike = harmonised(benchmark, scored)
    assert every_measure(alike, seed=1).columns == CALIBRATION.names()
    wrong += comparing.failures_in(of_confidence(benchmark, groups, scored, alike))
    return wrong
