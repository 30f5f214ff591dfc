"""Respondents nobody would ask for leave no exception: every table of every benchmark is built, each empty row with why."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import polars as pl
import pytest

from metacog_pipeline import registry
from metacog_pipeline.benchmark.contract import Scored
from metacog_pipeline.conformance import Tried, try_benchmark
from metacog_pipeline.scoring import comparisons as comparing
from metacog_pipeline.scoring.calibration import CALIBRATION, calibration
from metacog_pipeline.scoring.comparisons import comparisons
from metacog_pipeline.scoring.estimates import estimates, groups_of
from metacog_pipeline.scoring.harmonised import harmonised
from metacog_pipeline.scoring.model_pairs import PAIRED_SCHEMA, paired
from metacog_pipeline.scoring.schemas import COMPARISON, ESTIMATE

Change = Callable[[pl.DataFrame], pl.DataFrame]
SEEDS = range(3)


@pytest.fixture(scope="module", params=registry.names())
def tried(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Tried:
    return try_benchmark(registry.load(request.param), tmp_path_factory.mktemp(request.param))


def _copied(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the responses, every one of a model and condition with the values of its first: one answer, one rating."""
    keep = [
        "benchmark",
        "dataset",
        "task",
        "condition",
        "model",
        "run",
        "item_id",
        "cluster",
        "position",
        "source",
    ]
    own = [name for name in frame.columns if name not in keep and name in _SAID]
    return frame.with_columns(pl.col(own).first().over("model", "condition")) if own else frame


_CLAIMS = tuple(f"{step}_c{number}" for step in "aps" for number in range(1, 6))
_RATINGS = ("confidence", "bet", "pre", "post", *_CLAIMS)
_SAID = ("answer", "response", "yes", "output", "meta_output", "abstained", *_RATINGS)


def _outcome(value: int) -> Change:
    def change(frame: pl.DataFrame) -> pl.DataFrame:
        names = [name for name in ("correct", "correct_strict", "passed") if name in frame.columns]
        return frame.with_columns(pl.lit(value).cast(frame.schema[name]).alias(name) for name in names)

    return change


def _rating(frame: pl.DataFrame) -> pl.DataFrame:
    names = [name for name in _RATINGS if name in frame.columns]
    return frame.with_columns(pl.col(name).max().over("model").alias(name) for name in names)


def _silent(tried: Tried) -> Change:
    status = tried.benchmark.unanswered[0]
    return lambda frame: frame.with_columns(
        status=pl.when(pl.col("model") == "hasty").then(pl.lit(status)).otherwise("status")
    )


def _lacking(tried: Tried) -> Change:
    status = tried.benchmark.unanswered[0]
    return lambda frame: frame.with_columns(
        status=pl.when((pl.col("model") == "hasty") & (pl.col("position") == pl.col("position").min()))
        .then(pl.lit(status))
        .otherwise("status")
    )


def _unreadable(tried: Tried) -> Change:
    return lambda frame: frame.with_columns(status=pl.lit("unparsable"))


def _items(n: int) -> Change:
    return lambda frame: frame.filter(pl.col("item_id").rank("dense").over("condition", "model") <= n)


def changes(tried: Tried) -> dict[str, Change]:
    return {
        "one answer": _copied,
        "one rating": _rating,
        "all right": _outcome(1),
        "all wrong": _outcome(0),
        "silent": _silent(tried),
        "one answer missing": _lacking(tried),
        "unreadable": _unreadable(tried),
        "one item": _items(1),
        "three items": _items(3),
        "one model": lambda frame: frame.filter(pl.col("model") == "careful"),
        "nobody": lambda frame: frame.clear(),
    }


def studies(tried: Tried) -> Iterator[tuple[str, pl.DataFrame]]:
    """Yield each change alone, and random ones on top of each other."""
    known = changes(tried)
    for name, change in known.items():
        yield name, _derived(tried, change(tried.responses))
    for seed in SEEDS:
        names = random.Random(seed).sample(sorted(known), 3)
        frame = tried.responses
        for name in names:
            frame = known[name](frame)
        yield " + ".join(names), _derived(tried, frame)


def _derived(tried: Tried, responses: pl.DataFrame) -> pl.DataFrame:
    return tried.derived(responses) if responses.height else tried.scored.clear()


def _tables(tried: Tried, responses: pl.DataFrame) -> list[str]:
    """Return what went wrong in any table made from ``responses``."""
    benchmark: Any = tried.benchmark
    wrong = []
    for by_run in (True, False):
        groups = groups_of(benchmark, responses, by_run=by_run)
        pooled = estimates(benchmark, groups)
        assert pooled.schema == ESTIMATE
        wrong += comparing.failures_in(pooled)
        assert pooled.filter(pl.col("estimate").is_null() & (pl.col("status") == "ok")).is_empty()
    tests = comparisons(benchmark, groups)
    assert tests.schema == COMPARISON
    wrong += comparing.failures_in(tests)
    few = tests.filter(pl.col("verdict").is_in(comparing.VERDICTS) & (pl.col("n") < 5))
    assert few.is_empty(), few
    assert tests.filter((pl.col("p") < 0) | (pl.col("p") > 1) | pl.col("p").is_nan()).is_empty()
    for each in benchmark.tables:
        _, why = comparing.table(benchmark, each, Scored(responses, groups, None, pooled))
        wrong += [why] if why is not None else []
    alike = harmonised(benchmark, responses)
    assert calibration(alike, seed=1).columns == CALIBRATION.names()
    assert paired(alike, "careful", "hasty", seed=1, n_boot=50).schema == PAIRED_SCHEMA
    return wrong


def test_the_changes_change_something(tried: Tried) -> None:
    same = {
        name for name, change in changes(tried).items() if change(tried.responses).equals(tried.responses)
    }
    assert same <= {"all right", "all wrong"} and (not same or tried.benchmark.name == "medley")


def test_degenerate_respondents_leave_every_table_built_and_nothing_failed(tried: Tried) -> None:
    failed = {name: wrong for name, frame in studies(tried) if (wrong := _tables(tried, frame))}
    assert not failed
