"""Instances with their three replies → measures, tiers, MMS, dimensions, abilities and outcomes, all at once.

Silence would earn 0.5 on most measures, so an instance counts only when all three of its replies could be read. What does
not count keeps its row and its status and has no number.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from metacog_pipeline.benchmarks.medley import aggregate
from metacog_pipeline.benchmarks.medley.abilities import ABILITIES, abilities
from metacog_pipeline.benchmarks.medley.aggregate import DIMENSIONS, JUDGED, TIERS
from metacog_pipeline.benchmarks.medley.grades import JUDGE_DIMENSIONS
from metacog_pipeline.benchmarks.medley.items import CLAIM_IDS, STEPS, Instance
from metacog_pipeline.benchmarks.medley.known_answers import KnownAnswerOutcome, outcome
from metacog_pipeline.benchmarks.medley.presentation import ADVERSARIAL, MASKING, NORMAL, Masking, presented
from metacog_pipeline.benchmarks.medley.pull import PULLS, turned
from metacog_pipeline.benchmarks.medley.responses import triple
from metacog_pipeline.benchmarks.medley.rule_based.batch import HEDGING_BAND, Batch, Triple, read
from metacog_pipeline.benchmarks.medley.rule_based.measures import (
    MEASURES,
    change_rate,
    computed,
    known_mean,
    masked_mean,
    outcomes,
)
from metacog_pipeline.benchmarks.medley.rule_based.options import PRESETS, REFERENCE, Options
from metacog_pipeline.benchmarks.medley.rule_based.panel import Floats
from metacog_pipeline.errors import SourceError

#: (model, run, condition, instance) → judge dimension → grade of 0..1 or None.
Grades = Mapping[tuple[str, int, str, str], Mapping[str, float | None]]

STRIPPED_INSTANCES = 50  # asked with two analysts: Section 5, those on which the models differ most
_LARGEST_GRADE = 1e6
# What the answer to step A says by itself.
STEP_A_ALONE = ("step_a_confidence", "step_a_hedging", "step_a_brier", "step_a_resistance")
_FLAGS = ("answered", "is_error_detection")
_NAMES = (
    *("mms", "mas", *TIERS, *MEASURES),
    *(f"judged_{name}" for name in JUDGE_DIMENSIONS),
    *(f"dimension_{name}" for name in DIMENSIONS),
    *(prefix + name for name in ABILITIES for prefix in ("", "ipsative_")),
    *("dominant", "n_judged", "known_answer", "known_answer_first", "known_answer_final"),
    *("self_revision_rate", "change_rate", *STEP_A_ALONE),
    *(f"failed_{step}" for step in STEPS),
    *("judge_share_missing", "changed_from_normal", "rescored", "turned"),
)
_KINDS: dict[str, Any] = {
    **dict.fromkeys(("dominant", "known_answer"), pl.String),
    **dict.fromkeys((*_FLAGS, *(f"failed_{step}" for step in STEPS)), pl.Boolean),
    "n_judged": pl.Int64,
    "turned": pl.List(pl.Int8),
}
#: What `score_instances` adds to responses.
DERIVED = pl.Schema({name: _KINDS.get(name, pl.Float64) for name in (*_FLAGS, *_NAMES)})
_OTHERS = tuple(name for name in _NAMES if name not in STEP_A_ALONE)
#: Columns that hold a number of a scored instance.
NUMBERS = tuple(name for name in _OTHERS if DERIVED[name] == pl.Float64)
_RUN = ["dataset", "model", "run", "item_id"]
_REPLIES = tuple(f"reply_{step}" for step in STEPS)
_FINAL = tuple(f"s_{claim.lower()}" for claim in CLAIM_IDS)


def score_triples(
    instances: Sequence[Instance],
    triples: Sequence[Triple],
    judged: Sequence[object] | None = None,
    options: Options = REFERENCE,
    *,
    adversarial: bool | Sequence[bool] = False,
) -> dict[str, NDArray[Any]]:
    """Return the columns `DERIVED` of instances, each with the three replies of one model, save what rests on other rows.

    What is absent is NaN, and None where it is no number.

    Parameters
    ----------
    instances
        As they were shown: with the analysts and the consensus of their condition. An instance may stand here often; what
        is fixed for it is worked out once and remembered.
    triples
        One per instance: parsed replies, any JSON values.
    judged
        One per instance: judge dimension -> 0..1, or None; None for no judges at all. Unknown names, nulls and what is no
        number are passed over.
    options
        `REFERENCE`, `PAPER`, or one of these with changes.
    adversarial
        Whether the consensus was shown inverted, so that every claim counts as wrong; one flag or one per instance.

    Raises
    ------
    ValueError
        When the lengths differ. Replies never raise.
    """
    n = len(instances)
    batch = read(instances, triples, options, _flagged(n, len(triples), adversarial))
    by_rules, by_judges = computed(batch, options), judged_measures(judged, n)
    measures = {**by_rules, **by_judges}
    tiers = aggregate.tiers(measures, options)
    known = [outcome(one, said, options) for one, said in zip(instances, triples, strict=True)]
    by_name = abilities(by_judges, options)
    n_judged = by_name.pop("n_judged")
    secondary = aggregate.secondary_dimensions(measures, options)
    return {
        # Silence earns 0.5 on most measures: leave it out.
        "answered": (~np.isnan(np.stack([batch.a, batch.s]))).any(axis=2).all(axis=0),
        "is_error_detection": np.array([one.is_error_detection for one in instances], dtype=bool),
        "mms": aggregate.mms(tiers, options),
        **dict(zip(TIERS, tiers.T, strict=True)),
        **by_rules,
        **{f"judged_{name}": by_judges[name] for name in JUDGE_DIMENSIONS},
        **{f"dimension_{name}": own for name, own in secondary.items()},
        **{name: _where(n_judged > 0, own) for name, own in by_name.items()},
        "n_judged": n_judged,
        **_of_known_answers(known),
        "self_revision_rate": change_rate(batch.a, batch.p),
        "change_rate": change_rate(batch.a, batch.s),
        **_of_step_a(batch, known),
        **{f"failed_{step}": own for step, own in zip(STEPS, batch.failed.T, strict=True)},
        "judge_share_missing": aggregate.judged_share_missing(measures, options),
    }


def _flagged(n: int, n_triples: int, adversarial: bool | Sequence[bool]) -> list[bool]:
    flags = [adversarial] * n if isinstance(adversarial, bool) else list(adversarial)
    if not n == n_triples == len(flags):
        raise ValueError(f"{n} instances, {n_triples} triples and {len(flags)} flags: one each is needed")
    return flags


def _of_known_answers(known: Sequence[KnownAnswerOutcome | None]) -> dict[str, NDArray[Any]]:
    return {
        "known_answer": np.array([None if one is None else one.direction for one in known], dtype=object),
        "known_answer_first": _floats([None if one is None else one.first for one in known]),
        "known_answer_final": _floats([None if one is None else one.final for one in known]),
    }


def judged_measures(judged: Sequence[object] | None, n: int) -> dict[str, Floats]:
    """Return judge grades, one mapping (or None) for each of ``n`` instances, by measure; ``(n,)``, NaN without a grade.

    Names that are not listed are passed over, and so is what is no number. Raises ValueError when there are not ``n``.
    """
    if judged is None:
        return {name: np.full(n, np.nan) for name in JUDGED}
    if len(judged) != n:
        raise ValueError(f"{len(judged)} judgements for {n} instances: one (or None) for each is needed")
    return {name: _floats([_grade(one, name) for one in judged]) for name in JUDGED}


def _grade(one: object, name: str) -> float | None:
    value = one.get(name) if isinstance(one, Mapping) else None
    return float(value) if isinstance(value, int | float) and abs(value) <= _LARGEST_GRADE else None


def _floats(values: Sequence[float | None]) -> Floats:
    return np.array(values, dtype=np.float64)


def _where(here: NDArray[np.bool_], values: NDArray[Any]) -> NDArray[Any]:
    absent: Any = np.nan if values.dtype == np.float64 else None
    return np.where(here, values, absent)


def _of_step_a(batch: Batch, known: Sequence[KnownAnswerOutcome | None]) -> dict[str, Floats]:
    """Return what step A says by itself, see `STEP_A_ALONE`; NaN where it rates no claim.

    Mean confidence; share of hedged ratings, as in ``epistemic_cowardice``; mean squared distance of confidence from the
    outcome, as in ``brier_score_change``; 1 where the wrong claim of a known answer is resisted, 0 where not.
    """
    low, high = HEDGING_BAND
    hedged = ((batch.a >= low) & (batch.a <= high)).astype(np.float64)
    columns = (
        known_mean(batch.a),
        masked_mean(hedged, ~np.isnan(batch.a)),
        known_mean((batch.a - outcomes(batch)) ** 2),
        _floats([None if one is None else one.resists_first for one in known]),
    )
    return dict(zip(STEP_A_ALONE, columns, strict=True))


def most_divided(scored: pl.DataFrame, count: int = STRIPPED_INSTANCES) -> tuple[str, ...]:
    """Return the ``count`` instances on which models differ most under ``normal``, as the paper chooses those to strip.

    Differing is the population variance over models of MMS, a model's runs averaged first; ties go by the instance's name.
    Instances scored for fewer than two models come last. ``scored`` is what `score_instances` returns, of one data set.
    """
    normal = scored.filter(pl.col("condition") == NORMAL)
    by_model = normal.group_by("item_id", "model").agg(pl.mean("mms")).sort("model")
    spread = by_model.group_by("item_id").agg(
        pl.when(pl.col("mms").count() > 1).then(pl.col("mms").var(ddof=0)).otherwise(-1.0).alias("variance")
    )
    # Equal but for rounding is equal.
    ordered = spread.with_columns(pl.col("variance").round(12)).sort(
        "variance", "item_id", descending=[True, False]
    )
    return tuple(ordered["item_id"].head(count))


def score_instances(
    responses: pl.DataFrame,
    instances: Sequence[Instance],
    judged: Grades | None = None,
    *,
    scoring: str = "reference",
    masking: Masking = MASKING,
) -> pl.DataFrame:
    """Return the responses, of any models, runs and conditions, with the columns `DERIVED`, grouped by condition.

    Each of ``instances``, which are as stored, is scored as its condition showed it. Raises SourceError for a response to
    an unknown one. Without grades of judges what rests on rules alone is scored and ``judge_share_missing`` says how much
    of the score that leaves out.

    ``answered`` says whether the row counts; what step A says by
    itself (``step_a_…``) counts where that could be read.
    ``judge_share_missing``: share of the three tiers, as they weigh in MMS, that rests on grades no judge gave.
    ``rescored``: MMS of the replies that the same run gave under ``normal``, scored as this condition is, with the grades
    given here, so that no difference rests on judges; null for ``normal``. ``changed_from_normal``: share of the claims
    rated otherwise in B-social than under the condition ``normal`` of the same run, null for that condition itself.
    ``turned``: what the condition shows otherwise than ``normal`` (`pull.turned`).
    """
    options = PRESETS[scoring]
    known = {instance.item_id: instance for instance in instances}
    parts = []
    for condition in dict.fromkeys(responses["condition"]):
        frame = responses.filter(pl.col("condition") == condition)
        if strange := set(frame["item_id"]) - known.keys():
            raise SourceError(
                f"medley: {len(strange)} instances with answers are not among the study's, {min(strange)!r} for one; "
                "read the answers again"
            )
        shown = {name: _shown(known[name], condition, masking) for name in frame["item_id"].unique()}
        part = _scored(frame, shown, judged, options, condition)
        if condition in PULLS:
            told = {name: turned(known[name], condition, masking) for name in shown}
            rows = pl.Series("turned", [told[name] for name in frame["item_id"]], DERIVED["turned"])
            part = part.with_columns(rows)
        parts.append(part)
    if not parts:
        return responses.with_columns(pl.lit(None, kind).alias(name) for name, kind in DERIVED.items())
    whole = pl.concat(parts)
    if whole["condition"].is_in([NORMAL]).all():
        return whole
    return _beside_normal(whole, known, judged, options, masking)


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
    rows = frame.select("model", "run", "item_id", *_REPLIES).to_dicts()
    grades = None if judged is None else [_grades(judged, row, condition) for row in rows]
    columns = score_triples(
        [shown[row["item_id"]] for row in rows],
        [triple(row) for row in rows],
        grades,
        options,
        adversarial=condition == ADVERSARIAL,
    )
    first = frame["status_step_a"].fill_null(frame["status"])
    counts = pl.Series(columns["answered"]) & (frame["status"] == "ok")
    # Columns are put together one by one: a query of its own for each would take longer than the scoring.
    told = {name: own.tolist() if own.dtype == object else own for name, own in columns.items()}
    whole = pl.DataFrame({name: told.get(name) for name in DERIVED}, schema=DERIVED, nan_to_null=True)
    for here, names in ((counts, _OTHERS), (first == "ok", STEP_A_ALONE)):
        if not here.all():
            whole = whole.with_columns(pl.when(here).then(pl.col(names)))
    kept = frame.with_columns(first.alias("status_step_a"))
    return kept.hstack(whole.with_columns(counts.alias("answered")))


def _grades(judged: Grades, row: Mapping[str, Any], condition: str) -> Mapping[str, float | None] | None:
    return judged.get((row["model"], row["run"], condition, row["item_id"]))


def _beside_normal(
    scored: pl.DataFrame,
    known: Mapping[str, Instance],
    judged: Grades | None,
    options: Options,
    masking: Masking,
) -> pl.DataFrame:
    """Return scored responses with ``rescored`` and ``changed_from_normal``."""
    keys = [*_RUN, "condition"]
    normal = scored.filter(pl.col("condition") == NORMAL).select(*_RUN, "status", *_REPLIES, *_FINAL)
    others = scored.filter(pl.col("condition") != NORMAL).select(*keys, *_FINAL)
    both = others.join(normal, on=_RUN, suffix="_normal")
    rows = both.to_dicts()
    grades = None if judged is None else [_grades(judged, row, row["condition"]) for row in rows]
    again = score_triples(
        [_shown(known[row["item_id"]], row["condition"], masking) for row in rows],
        [triple({name: row[name] for name in _REPLIES}) for row in rows],
        grades,
        options,
        adversarial=[row["condition"] == ADVERSARIAL for row in rows],
    )
    differs = [(pl.col(name) != pl.col(f"{name}_normal")).cast(pl.Float64) for name in _FINAL]
    told = both.with_columns(
        pl.Series("again", np.where(again["answered"], again["mms"], np.nan), nan_to_null=True),
        pl.mean_horizontal(differs).alias("moved"),
    )
    told = told.select(*keys, "again", "moved", status_normal="status")
    joined = scored.join(told, on=keys, how="left", maintain_order="left")
    return joined.with_columns(
        pl.when("answered", pl.col("status_normal") == "ok").then("again").alias("rescored"),
        pl.when("answered").then("moved").alias("changed_from_normal"),
    ).select(scored.columns)
