"""The judgements of several judges → one grade per dimension of an instance, before anything is averaged over instances.

No judge of the model's own family is among them. The median is the rule: of two their mean, of one its grade. What no judge
graded stays missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

import polars as pl

from metacog_pipeline.benchmarks.medley.grades import JUDGE_DIMENSIONS

Grades = dict[tuple[str, int, str, str], dict[str, float | None]]


def combined(judgements: pl.DataFrame) -> Grades:
    """Return {(model, run, condition, instance): {dimension: one grade of 0..1 or None}} of `JUDGEMENT_SCHEMA`."""
    found: dict[tuple[str, int, str, str], list[tuple[float | None, ...]]] = {}
    ordered = judgements.sort("judge_place", maintain_order=True)
    for row in ordered.select("model", "run", "condition", "item_id", *JUDGE_DIMENSIONS).iter_rows():
        found.setdefault(row[:4], []).append(row[4:])
    return {
        case: dict(zip(JUDGE_DIMENSIONS, map(_median, zip(*rows, strict=True)), strict=True))
        for case, rows in found.items()
    }


def _median(given: Sequence[float | None]) -> float | None:
    known = [grade for grade in given if grade is not None]
    return median(known) if known else None
