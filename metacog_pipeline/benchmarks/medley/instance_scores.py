"""Scores of single instances: one row per instance, condition, model and run, for heat maps and for everything above them.

Silence would earn 0.5 on most measures, so an instance counts only when all three of its replies could be read. What does
not count keeps its row and its status and has no number.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from metacog_pipeline.benchmarks.medley import aggregate
from metacog_pipeline.benchmarks.medley.items import BENCHMARK, CLAIM_IDS, Instance
from metacog_pipeline.benchmarks.medley.measures.options import PRESETS, Options
from metacog_pipeline.benchmarks.medley.measures.panel import Floats
from metacog_pipeline.benchmarks.medley.observe import triple
from metacog_pipeline.benchmarks.medley.parsing import JUDGE_DIMENSIONS
from metacog_pipeline.benchmarks.medley.presentation import ADVERSARIAL, MASKING, NORMAL, Masking, presented
from metacog_pipeline.benchmarks.medley.triples import SCORE_SCHEMA, STEP_A_ALONE, Scores, score_triples
from metacog_pipeline.errors import SourceError, StudyError

#: (model, run, condition, instance) → judge dimension → grade of 0..1 or None.
Grades = Mapping[tuple[str, int, str, str], Mapping[str, float | None]]

STRIPPED = 50  # instances that are asked with two analysts
_TOLD = {
    **dict.fromkeys(("benchmark", "dataset", "condition", "model"), pl.String),
    "run": pl.Int32,
    "position": pl.Int32,
    "is_known_answer": pl.Boolean,
    "is_error_detection": pl.Boolean,
    "status": pl.String,
    "status_step_a": pl.String,
    "source": pl.String,
}
_TYPES: dict[str, pl.DataType | type[pl.DataType]] = {
    **_TOLD,
    **dict(SCORE_SCHEMA),
    "judge_share_missing": pl.Float64,
    "changed_from_normal": pl.Float64,
}
INSTANCE_SCHEMA = pl.Schema(_TYPES)
_KEPT = (*_TOLD, "instance_id", "domain", "variant", "answered", *STEP_A_ALONE)
#: Columns that hold a number of a scored instance.
NUMBERS = tuple(
    name for name, kind in INSTANCE_SCHEMA.items() if kind == pl.Float64 and name not in STEP_A_ALONE
)


def options_of(variant: str) -> Options:
    """Return the preset of that name; raise `StudyError` when there is none."""
    if variant not in PRESETS:
        raise StudyError(f"medley: unknown variant {variant!r}; there are: {', '.join(PRESETS)}")
    return PRESETS[variant]


def most_divided(scored: pl.DataFrame, count: int = STRIPPED) -> tuple[str, ...]:
    """Return the ``count`` instances on which models differ most under ``normal``, as the paper chooses those to strip.

    Parameters
    ----------
    scored
        In `INSTANCE_SCHEMA`, of one data set and variant. Instances scored for fewer than two models come last.

    Notes
    -----
    Differing is the population variance over models of MMS, a model's runs averaged first; ties go by the instance's name.
    """
    normal = scored.filter(pl.col("condition") == NORMAL)
    by_model = normal.group_by("instance_id", "model").agg(pl.mean("mms")).sort("model")
    spread = by_model.group_by("instance_id").agg(
        pl.when(pl.col("mms").count() > 1).then(pl.col("mms").var(ddof=0)).otherwise(-1.0).alias("variance")
    )
    # Equal but for rounding is equal.
    ordered = spread.with_columns(pl.col("variance").round(12)).sort(
        "variance", "instance_id", descending=[True, False]
    )
    return tuple(ordered["instance_id"].head(count))


def score_instances(
    observations: pl.DataFrame,
    instances: Sequence[Instance],
    judged: Grades | None = None,
    *,
    variant: str = "reference",
    masking: Masking = MASKING,
) -> pl.DataFrame:
    """Return one row per observation in `INSTANCE_SCHEMA`, in their order within each condition.

    Parameters
    ----------
    observations
        Rows of ``observe.OBSERVATION_SCHEMA``, of any models, runs and conditions.
    instances
        Every instance the observations are of, as stored; each is scored as its condition showed it.
    judged
        Grades of the judges, combined. Without them what rests on rules alone is scored and ``judge_share_missing`` says
        how much of the score that leaves out.
    variant
        ``reference`` or ``paper``.
    masking
        As the instances were asked.

    Raises
    ------
    SourceError
        When an observation is of an unknown instance.
    StudyError
        For an unknown variant or condition.

    Notes
    -----
    ``answered`` says whether the row counts; what step A says by itself (``step_a_…``) counts where that could be read.
    ``judge_share_missing``: share of the three tiers, as they weigh in MMS, that
    rests on grades no judge gave. ``changed_from_normal``: share of the claims rated otherwise in B-social than under the
    condition ``normal`` of the same run, null for that condition itself.
    """
    options = options_of(variant)
    known = {instance.instance_id: instance for instance in instances}
    parts = []
    for condition in dict.fromkeys(observations["condition"]):
        frame = observations.filter(pl.col("condition") == condition)
        if strange := set(frame["item_id"]) - known.keys():
            raise SourceError(
                f"medley: {len(strange)} observed instances are not among the study's, {min(strange)!r} for one; "
                "observe the answers again"
            )
        shown = {name: _shown(known[name], condition, masking) for name in frame["item_id"].unique()}
        parts.append(_scored(frame, shown, judged, options, condition))
    whole = pl.concat(parts) if parts else INSTANCE_SCHEMA.to_frame()
    if whole["condition"].is_in([NORMAL]).all():
        return whole
    moved = whole.join(
        _changes(observations), on=["dataset", "condition", "model", "run", "instance_id"], how="left"
    )
    return moved.with_columns(
        pl.when("answered").then("moved").otherwise(None).alias("changed_from_normal")
    ).select(INSTANCE_SCHEMA.names())


@functools.lru_cache(maxsize=2048)  # every run of every model is scored on the same ones
def _shown(instance: Instance, condition: str, masking: Masking) -> Instance:
    return presented(instance, condition, masking)


def _scored(
    frame: pl.DataFrame,
    shown: Mapping[str, Instance],
    judged: Grades | None,
    options: Options,
    condition: str,
) -> pl.DataFrame:
    columns = ["model", "run", "item_id", "reply_step_a", "reply_b_private", "reply_b_social"]
    rows = frame.select(columns).to_dicts()
    instances = [shown[row["item_id"]] for row in rows]
    grades = None if judged is None else [_grades(judged, row, condition) for row in rows]
    scores = score_triples(
        instances,
        [triple(row) for row in rows],
        grades,
        options,
        adversarial=condition == ADVERSARIAL,
    )
    # Columns are put together one by one: a query of its own for each would take longer than the scoring.
    told = [frame[name] for name in ("dataset", "condition", "model", "run", "position", "status", "source")]
    counts = pl.Series("answered", scores.answered) & (frame["status"] == "ok")
    first = frame["status_step_a"].fill_null(frame["status"])
    numbers = scores.frame().drop("answered")
    if not counts.all():
        numbers = _blanked(numbers, counts, [name for name in numbers.columns if name not in _KEPT])
    if not (first == "ok").all():
        numbers = _blanked(numbers, first == "ok", STEP_A_ALONE)
    missing = np.where(counts.to_numpy(), _missing_share(scores, options), np.nan)
    found = numbers.hstack(
        [
            *told,
            counts,
            first,
            pl.Series("benchmark", [BENCHMARK] * len(rows), pl.String),
            pl.Series("judge_share_missing", missing, nan_to_null=True),
            pl.Series("is_known_answer", [instance.is_known_answer for instance in instances]),
            pl.Series("is_error_detection", [instance.is_error_detection for instance in instances]),
            pl.Series("changed_from_normal", [None] * len(rows), pl.Float64),
        ]
    )
    return pl.DataFrame(
        [
            column if (column := found[name]).dtype == kind else column.cast(kind)
            for name, kind in INSTANCE_SCHEMA.items()
        ]
    )


def _blanked(frame: pl.DataFrame, kept: pl.Series, columns: Sequence[str]) -> pl.DataFrame:
    """Return ``frame`` with nulls in ``columns`` of the rows that are not ``kept``."""
    return frame.with_columns(pl.when(kept).then(pl.col(name)).alias(name) for name in columns)


def _grades(judged: Grades, row: Mapping[str, Any], condition: str) -> Mapping[str, float | None] | None:
    return judged.get((row["model"], row["run"], condition, row["item_id"]))


def _missing_share(scores: Scores, options: Options) -> Floats:
    """Return the share of MMS that rests on grades no judge gave, ``(N,)``."""
    wanted = [
        sum(weight for name, weight in tier.items() if name in JUDGE_DIMENSIONS)
        for tier in aggregate.weights(options)
    ]
    whole = [sum(tier.values()) for tier in aggregate.weights(options)]
    gap = (np.array(wanted) - scores.tiers.judged_share) / np.array(whole)
    shares = np.array(options.tier_weights) / sum(options.tier_weights)
    missing: Floats = np.clip(gap, 0.0, 1.0) @ shares
    return missing


def _changes(observations: pl.DataFrame) -> pl.DataFrame:
    """Return for each observation under another condition the share of claims rated otherwise than under ``normal``."""
    key = ["dataset", "model", "run", "item_id"]
    final = [f"s_{claim.lower()}" for claim in CLAIM_IDS]
    normal = observations.filter(pl.col("condition") == NORMAL).select(*key, *final)
    other = observations.filter(pl.col("condition") != NORMAL).select(*key, "condition", *final)
    differs = [(pl.col(name) != pl.col(f"{name}_normal")) for name in final]
    return other.join(normal, on=key, suffix="_normal").select(
        "dataset",
        "condition",
        "model",
        "run",
        pl.col("item_id").alias("instance_id"),
        pl.mean_horizontal([flag.cast(pl.Float64) for flag in differs]).alias("moved"),
    )
