"""The answers behind a measure, found by its declaration: how many items they belong to, and how many are right or wrong.

What a board says of the answers behind a number, whether they are enough for its interval, and what is listed of them all
come from here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl

from metacog_pipeline.benchmark.contract import Benchmark, Measure
from metacog_pipeline.benchmark.measures import holds
from metacog_pipeline.scoring.harmonised import harmonised


@dataclass(frozen=True, slots=True)
class Behind:
    """What counts of the answers behind a number.

    Attributes
    ----------
    n, n_items
        Answers; the items they belong to.
    rarer
        Right or wrong answers, whichever are fewer; None where nothing is right or wrong.
    """

    n: int
    n_items: int
    rarer: int | None

    @property
    def several(self) -> bool:
        """Whether items have several answers."""
        return self.n > self.n_items


def answers_behind(
    benchmark: Benchmark[Any, Any, Any], answered: pl.DataFrame, measure: Measure | None
) -> pl.DataFrame:
    """Return those of the answered responses that a measure rests on: all, where it declares none."""
    if measure is None or not measure.basis:
        return answered
    seen = harmonised(benchmark, answered) if measure.shared else answered
    return seen.filter(holds(measure.basis, seen.schema))


def behind(answers: pl.DataFrame, measure: Measure | None, unit: str = "item_id") -> Behind:
    """Count the answers behind a number; ``unit`` is the column of the items.

    Answers that are all right, or all wrong, by the declaration itself have no rarer kind: then it is their number that
    an interval rests on.
    """
    right = "correct" if measure is None else measure.right
    rarer = None
    if right in answers.columns:
        verdicts = answers[right].drop_nulls()
        hits = int(verdicts.sum() or 0)
        one_kind = measure is not None and any(name == right and values for name, values in measure.basis)
        rarer = len(verdicts) if one_kind else min(hits, len(verdicts) - hits)
    return Behind(answers.height, answers[unit].n_unique(), rarer)
