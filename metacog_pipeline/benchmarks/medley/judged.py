"""Several judges' grades of the same answers → one grade per dimension.

A judge of the model's own family is left out. The median of three is the rule (of two it is their mean); where one judge is
left, its grade stands and the instance says so. Judges are combined within an instance, before anything is averaged over
instances, and what no judge graded stays missing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from metacog_pipeline.benchmarks.medley.parsing import JUDGE_DIMENSIONS
from metacog_pipeline.benchmarks.medley.rule_based.options import Options
from metacog_pipeline.benchmarks.medley.rule_based.panel import Bools, Floats
from metacog_pipeline.benchmarks.medley.rule_based.table import judged_table

OK, SINGLE_JUDGE, NO_JUDGE = "ok", "single judge", "no judge"

Grades = Mapping[str, float | None]


@dataclass(frozen=True, slots=True, eq=False)
class Combined:
    """Grades of N instances from the judges that count.

    Attributes
    ----------
    grades
        One mapping per instance, dimension -> 0..1 or None, as `triples.score_triples` takes them.
    n_judges
        Shape ``(N,)``: judges that graded at least one dimension.
    status
        One word per instance: ``"ok"``, ``"single judge"``, ``"no judge"``.
    judges
        Which of the judges given count.
    """

    grades: tuple[dict[str, float | None], ...]
    n_judges: NDArray[np.int64]
    status: tuple[str, ...]
    judges: tuple[int, ...]


def combine(
    judges: Sequence[Sequence[Grades | None]], families: Sequence[str], own_family: str, options: Options
) -> Combined:
    """Return one grade per instance and dimension.

    Parameters
    ----------
    judges
        For each judge one mapping per instance (as `parsing.Judgement.dimensions`), or None where it has not judged.
    families
        The family of each judge.
    own_family
        The family of the model that was judged.
    options
        ``judges`` says how to combine, ``exclude_family`` whether the model's own family is left out.

    Raises
    ------
    ValueError
        When there is not one family per judge, or judges have different numbers of instances.
    """
    if len(judges) != len(families) or len({len(one) for one in judges}) > 1:
        raise ValueError(f"{len(judges)} judges, {len(families)} families: one each, over the same instances")
    kept = tuple(
        place
        for place, family in enumerate(families)
        if not (options.exclude_family and family.casefold() == own_family.casefold())
    )
    if options.judges == "single":
        kept = kept[:1]
    n = len(judges[0]) if judges else 0
    tables = [judged_table(judges[place], JUDGE_DIMENSIONS, n) for place in kept]
    if not tables:
        return Combined(({},) * n, np.zeros(n, dtype=np.int64), (NO_JUDGE,) * n, ())
    values, present = np.stack([t.values for t in tables]), np.stack([t.present for t in tables])
    together = _means(values, present) if options.judges == "mean" else _medians(values, present)
    graded: Bools = np.asarray(present.any(axis=0))
    n_judges = present.any(axis=2).sum(axis=0)
    grades = tuple(
        {
            name: float(value) if told else None
            for name, value, told in zip(JUDGE_DIMENSIONS, row, here, strict=True)
        }
        for row, here in zip(together, graded, strict=True)
    )
    status = tuple(NO_JUDGE if k == 0 else SINGLE_JUDGE if k == 1 else OK for k in n_judges)
    return Combined(grades, n_judges, status, kept)


def _means(values: Floats, present: Bools) -> Floats:
    number = np.maximum(present.sum(axis=0), 1)
    mean: Floats = np.where(present, values, 0.0).sum(axis=0) / number
    return mean


def _medians(values: Floats, present: Bools) -> Floats:
    """Return the median over the first axis of what is present; 0 where nothing is."""
    ordered = np.sort(np.where(present, values, np.inf), axis=0)
    number = present.sum(axis=0)
    low = np.take_along_axis(ordered, np.maximum(number - 1, 0)[None] // 2, axis=0)[0]
    high = np.take_along_axis(ordered, np.minimum(number // 2, len(values) - 1)[None], axis=0)[0]
    return np.where(number > 0, (np.where(number > 0, low, 0.0) + np.where(number > 0, high, 0.0)) / 2, 0.0)
