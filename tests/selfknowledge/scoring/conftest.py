"""Observations made by hand, for scoring and comparing."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from metacog_pipeline.benchmark.contract import Scored
from metacog_pipeline.benchmarks.selfknowledge import SelfKnowledge
from metacog_pipeline.benchmarks.selfknowledge.measures import CURVES
from metacog_pipeline.conformance.case import Tried, small_study
from metacog_pipeline.scoring.comparisons import comparisons, table
from metacog_pipeline.scoring.estimates import estimates, groups_of
from metacog_pipeline.scoring.schemas import response_schema

SCHEMA = response_schema(SelfKnowledge)


class Scoring:
    """Scores responses made by hand, as the engine scores those it has read."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def groups(self, responses: pl.DataFrame, *, by_run: bool = False, **settings: object) -> Any:
        benchmark = SelfKnowledge.of(small_study(SelfKnowledge, self.folder, settings))
        cluster = pl.coalesce("event_id", "question_id", "item_id")
        tried = Tried(benchmark, settings, {})
        return benchmark, groups_of(
            benchmark, tried.derived(responses.with_columns(cluster=cluster)), by_run=by_run
        )

    def score(self, responses: pl.DataFrame, **settings: object) -> pl.DataFrame:
        return estimates(*self.groups(responses, by_run=True, **settings))

    def pool(self, responses: pl.DataFrame) -> pl.DataFrame:
        return estimates(*self.groups(responses))

    def compare(self, responses: pl.DataFrame) -> pl.DataFrame:
        return comparisons(*self.groups(responses))

    def curves(self, responses: pl.DataFrame) -> pl.DataFrame:
        benchmark, groups = self.groups(responses)
        made, why = table(benchmark, CURVES, Scored(responses, groups, None, pl.DataFrame()))
        assert why is None, why
        return made


@pytest.fixture
def scoring(tmp_path):
    """Return what scores responses."""
    return Scoring(tmp_path)


@pytest.fixture
def rows():
    """Return ``rows(correct, yes, …)``: one observation per entry; further columns as keyword arguments or lists."""

    def make(correct: Sequence[int], yes: Sequence[int | None], **more: object) -> pl.DataFrame:
        n = len(correct)
        given: dict[str, object] = {
            "benchmark": "selfknowledge", "dataset": "sample", "condition": "dual", "language": "en", "model": "alpha",
            "run": 1, "item_id": [f"q{i:05d}" for i in range(n)], "answerable": 1, "correct": list(correct),
            "correct_inclusion": list(correct), "yes": list(yes),
            "yes_reference": [0 if each is None else each for each in yes], "truncated": 0, "meta_truncated": 0,
            "status": ["ok" if each is not None else "meta_invalid" for each in yes], "matching": "inclusion",
            "yes_no": "default", "source": "measured",
        } | more  # fmt: skip
        if given["condition"] == "idk":
            given |= {"abstained": [None if each is None else 1 - each for each in yes], "status": "ok"}
            given |= {"yes": None, "yes_reference": None} | more
        columns = {name: given.get(name) for name in SCHEMA}
        spread = {name: value if isinstance(value, list) else [value] * n for name, value in columns.items()}
        return pl.DataFrame(spread, schema=SCHEMA)

    return make


@pytest.fixture
def observer(rows):
    """Return ``observer(n, accuracy, d, seed, …)``: an observer with this type-2 d′ and a graded yes."""

    def make(
        n: int, accuracy: float, d: float, seed: int = 0, shift: float = 0.0, **more: object
    ) -> pl.DataFrame:
        rng = np.random.default_rng(seed)
        right = (rng.random(n) < accuracy).astype(int)
        evidence = rng.normal(size=n) + d * (right - 0.5) - shift
        graded = 1 / (1 + np.exp(-evidence))
        given: dict[str, object] = {"confidence": graded.tolist()}
        return rows(right.tolist(), (evidence > 0).astype(int).tolist(), **(given | more))

    return make
