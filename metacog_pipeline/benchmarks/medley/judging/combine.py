"""The judgements of several judges → one grade per dimension of an instance, before anything is averaged over instances.

No judge of the model's own family is among them. The median is the rule: of two their mean, of one its grade. What no judge
graded stays missing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import polars as pl

from metacog_pipeline.benchmarks.medley.parsing import JUDGE_DIMENSIONS
from metacog_pipeline.errors import StudyError

Grades = dict[tuple[str, int, str, str], dict[str, float | None]]
_CASE = ("model", "run", "condition", "item_id")


def combined(judgements: pl.DataFrame, how: str = "median") -> Grades:
    """Return {(model, run, condition, instance): {dimension: one grade of 0..1 or None}}.

    Parameters
    ----------
    judgements
        In `JUDGEMENT_SCHEMA`; judges of the model's own family are not among them.
    how
        ``median`` of the judges that graded a dimension, ``mean``, or ``single``: the first of the study's judges, and
        nobody in its place where it gave no grade.

    Raises
    ------
    StudyError
        For an unknown ``how``.
    """
    if how not in HOWS:
        raise StudyError(f"judges combined by {how!r}: unknown; allowed are: {', '.join(HOWS)}")
    rule = HOWS[how]
    found: dict[tuple[str, int, str, str], list[tuple[float | None, ...]]] = {}
    ordered = judgements.sort("judge_place", maintain_order=True)
    for row in ordered.select(*_CASE, *JUDGE_DIMENSIONS).iter_rows():
        found.setdefault(row[: len(_CASE)], []).append(row[len(_CASE) :])
    return {
        case: dict(zip(JUDGE_DIMENSIONS, map(rule, zip(*rows, strict=True)), strict=True))
        for case, rows in found.items()
    }


def _median(given: Sequence[float | None]) -> float | None:
    known = sorted(grade for grade in given if grade is not None)
    n = len(known)
    return (known[(n - 1) // 2] + known[n // 2]) / 2 if n else None


def _mean(given: Sequence[float | None]) -> float | None:
    known = [grade for grade in given if grade is not None]
    return sum(known) / len(known) if known else None


HOWS: Mapping[str, Callable[[Sequence[float | None]], float | None]] = {
    "median": _median,
    "mean": _mean,
    "single": lambda given: given[0],
}
