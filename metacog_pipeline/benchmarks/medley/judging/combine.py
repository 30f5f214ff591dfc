"""The judgements of several judges → one grade per dimension of an instance, before anything is averaged over instances."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import polars as pl

from metacog_pipeline.benchmarks.medley import judged
from metacog_pipeline.benchmarks.medley.judging.rows import JUDGEMENT_SCHEMA
from metacog_pipeline.benchmarks.medley.parsing import JUDGE_DIMENSIONS
from metacog_pipeline.benchmarks.medley.rule_based.options import REFERENCE
from metacog_pipeline.errors import StudyError

How = Literal["median", "mean", "single"]
HOWS = ("median", "mean", "single")
_CASE = ("benchmark", "dataset", "domain", "condition", "model", "run", "item_id", "position", "reading")
_TYPES: dict[str, pl.DataType | type[pl.DataType]] = {
    **{name: JUDGEMENT_SCHEMA[name] for name in _CASE},
    "how": pl.String,
    **dict.fromkeys(JUDGE_DIMENSIONS, pl.Float64),
    "n_eligible": pl.Int16,
    "n_judges": pl.Int16,
    "judges": pl.String,
    "status": pl.String,
    "source": pl.String,
}
COMBINED_SCHEMA = pl.Schema(_TYPES)


def combine(judgements: pl.DataFrame, how: How = "median") -> pl.DataFrame:
    """Return one row per model, run, instance and condition in `COMBINED_SCHEMA`, in the order of the judgements.

    Parameters
    ----------
    judgements
        In `JUDGEMENT_SCHEMA`; judges of the model's own family are not among them.
    how
        ``median`` of the judges that graded a dimension (of two their mean), ``mean``, or ``single``: the first of the
        study's judges that may judge the model, and nobody in its place where it gave no grade.

    Notes
    -----
    ``n_eligible`` judges may judge the model; ``n_judges`` graded something and are named in ``judges``. ``status``:
    ``ok``, ``single judge``, ``no judge``. What nobody graded is null. ``source`` is simulated where one of them is.

    Raises
    ------
    StudyError
        For an unknown ``how``.
    """
    if how not in HOWS:
        raise StudyError(f"judges combined by {how!r}: unknown; allowed are: {', '.join(HOWS)}")
    parts = [
        _combined(group, how)
        for group in judgements.partition_by("model", "run", "reading", maintain_order=True)
    ]
    return pl.concat(parts) if parts else pl.DataFrame(schema=COMBINED_SCHEMA)


def grades(combined: pl.DataFrame) -> dict[tuple[str, str], dict[str, float | None]]:
    """Return {(instance, condition): {dimension: 0..1 or None}} of one model and run, as `score_triples` takes them."""
    names = ("item_id", "condition", *JUDGE_DIMENSIONS)
    rows = combined.select(names).iter_rows()
    return {(row[0], row[1]): dict(zip(JUDGE_DIMENSIONS, row[2:], strict=True)) for row in rows}


def _combined(group: pl.DataFrame, how: How) -> pl.DataFrame:
    """Combine the judges of one model and run, who all have the same cases."""
    keys = group.select(*_CASE).unique(maintain_order=True)
    by_judge = group.sort("judge_place", maintain_order=True).partition_by("judge", maintain_order=True)
    told = [_by_case(keys, one) for one in by_judge]
    options = replace(REFERENCE, judges=how, exclude_family=False)
    found = judged.combine(told, [""] * len(told), "", options)
    names = [one["judge"][0] for one in by_judge]
    graders = [
        [names[place] for place in found.judges if _graded(told[place][case])] for case in range(keys.height)
    ]
    source = keys.join(
        group.group_by(*_CASE).agg(
            (pl.col("source") == "simulated").any().alias("_sim"), pl.col("source").first()
        ),
        on=list(_CASE),
        how="left",
        maintain_order="left",
    )
    columns = {
        **keys.to_dict(as_series=False),
        "how": [how] * keys.height,
        **{name: [case.get(name) for case in found.grades] for name in JUDGE_DIMENSIONS},
        "n_eligible": [len(told)] * keys.height,
        "n_judges": found.n_judges,
        "judges": [", ".join(one) for one in graders],
        "status": found.status,
        "source": ["simulated" if sim else word for sim, word in source.select("_sim", "source").iter_rows()],
    }
    return pl.DataFrame(columns, schema=COMBINED_SCHEMA)


def _by_case(keys: pl.DataFrame, judge: pl.DataFrame) -> list[dict[str, float | None]]:
    at = keys.join(judge, on=list(_CASE), how="left", maintain_order="left")
    return at.select(JUDGE_DIMENSIONS).to_dicts()


def _graded(row: dict[str, float | None]) -> bool:
    return any(value is not None for value in row.values())
