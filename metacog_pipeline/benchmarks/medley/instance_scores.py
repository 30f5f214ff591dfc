"""Instances with their three replies → measures, tiers, MMS, dimensions, abilities and outcomes, all at once.

Silence would earn 0.5 on most measures, so an instance counts only when all three of its replies could be read. What does
not count keeps its row and its status and has no number.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from metacog_pipeline.benchmarks.medley import aggregate
from metacog_pipeline.benchmarks.medley.abilities import ABILITIES, Abilities, abilities
from metacog_pipeline.benchmarks.medley.aggregate import DIMENSIONS, JUDGED, TIERS, Tiers
from metacog_pipeline.benchmarks.medley.items import CLAIM_IDS, Instance
from metacog_pipeline.benchmarks.medley.known_answers import KnownAnswerOutcome, outcome
from metacog_pipeline.benchmarks.medley.parsing import JUDGE_DIMENSIONS
from metacog_pipeline.benchmarks.medley.presentation import ADVERSARIAL, MASKING, NORMAL, Masking, presented
from metacog_pipeline.benchmarks.medley.responses import triple
from metacog_pipeline.benchmarks.medley.rule_based.batch import HEDGING_BAND, Batch, Triple, read
from metacog_pipeline.benchmarks.medley.rule_based.extras import change_rate
from metacog_pipeline.benchmarks.medley.rule_based.options import PRESETS, REFERENCE, Options
from metacog_pipeline.benchmarks.medley.rule_based.panel import Floats
from metacog_pipeline.benchmarks.medley.rule_based.table import (
    COMPUTED,
    Table,
    computed,
    joined,
    judged_table,
)
from metacog_pipeline.benchmarks.medley.rule_based.tier1 import masked_mean, outcomes
from metacog_pipeline.errors import SourceError

Judged = Mapping[str, float | None]


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """Everything about N instances as one model answered them.

    Attributes
    ----------
    instances
        The instances, in the order given; all arrays have this order.
    computed, judged
        The measures, and the judge grades.
    tiers, mms
        Tiers, and ``(N,)`` the score of 0..1 with four decimals.
    dimensions
        Shape ``(N, 6)``: the secondary dimensions.
    abilities
        From the judge grades.
    outcomes
        One per instance, None where its answer is not known.
    batch
        What the measures were computed from; ``batch.failed`` says which replies could not be read.
    """

    instances: tuple[Instance, ...]
    computed: Table
    judged: Table
    tiers: Tiers
    mms: Floats
    dimensions: Floats
    abilities: Abilities
    outcomes: tuple[KnownAnswerOutcome | None, ...]
    batch: Batch

    @property
    def answered(self) -> NDArray[np.bool_]:
        """Whether steps A and B-social each rate a claim, ``(N,)``. Silence earns 0.5 on most measures: leave it out."""
        rated = (~np.isnan(np.stack([self.batch.a, self.batch.s]))).any(axis=2)
        return np.asarray(rated.all(axis=0))

    def frame(self) -> pl.DataFrame:
        """Return one row per instance: see `SCORE_SCHEMA`; what is absent is null."""
        columns: dict[str, Any] = {
            "item_id": [instance.item_id for instance in self.instances],
            "answered": self.answered,
            "mms": self.mms,
            "mas": _masked(self.abilities.mas, self.abilities.n_judged > 0),
        }
        columns |= {name: self.tiers.scores[:, place] for place, name in enumerate(TIERS)}
        columns |= {name: _masked(*self.computed.column(name)) for name in COMPUTED}
        columns |= {f"judged_{name}": _masked(*self.judged.column(name)) for name in JUDGE_DIMENSIONS}
        columns |= {f"dimension_{name}": self.dimensions[:, place] for place, name in enumerate(DIMENSIONS)}
        was_judged = self.abilities.n_judged > 0
        for place, name in enumerate(ABILITIES):
            columns[name] = _masked(self.abilities.scores[:, place], was_judged)
            columns[f"ipsative_{name}"] = _masked(self.abilities.ipsative[:, place], was_judged)
        dominant = [ABILITIES[place] for place in self.abilities.dominant]
        columns["dominant"] = [
            name if judged else None for name, judged in zip(dominant, was_judged, strict=True)
        ]
        columns["n_judged"] = self.abilities.n_judged
        columns["known_answer"] = [None if one is None else one.direction for one in self.outcomes]
        columns["known_answer_first"] = [None if one is None else one.first for one in self.outcomes]
        columns["known_answer_final"] = [None if one is None else one.final for one in self.outcomes]
        for name, end in (("self_revision_rate", self.batch.p), ("change_rate", self.batch.s)):
            rate = change_rate(self.batch.a, end)
            columns[name] = rate
        columns["susceptibility"] = _susceptibility(self.batch)
        columns |= _of_step_a(self)
        for place, step in enumerate(("step_a", "b_private", "b_social")):
            rated = ~np.isnan((self.batch.a, self.batch.p, self.batch.s)[place])
            columns[f"claims_{step}"] = rated.sum(axis=1)
            columns[f"failed_{step}"] = self.batch.failed[:, place]
        return pl.DataFrame(columns, schema=SCORE_SCHEMA, nan_to_null=True)


# What the answer to step A says by itself.
STEP_A_ALONE = ("step_a_confidence", "step_a_hedging", "step_a_brier", "step_a_resistance")
SCORE_SCHEMA = pl.Schema(
    {
        "item_id": pl.String,
        "answered": pl.Boolean,
        **dict.fromkeys(("mms", "mas", *TIERS, *COMPUTED), pl.Float64),
        **{f"judged_{name}": pl.Float64 for name in JUDGE_DIMENSIONS},
        **{f"dimension_{name}": pl.Float64 for name in DIMENSIONS},
        **{prefix + name: pl.Float64 for name in ABILITIES for prefix in ("", "ipsative_")},
        "dominant": pl.String,
        "n_judged": pl.Int64,
        "known_answer": pl.String,
        "known_answer_first": pl.Float64,
        "known_answer_final": pl.Float64,
        "self_revision_rate": pl.Float64,
        "change_rate": pl.Float64,
        "susceptibility": pl.Float64,
        **dict.fromkeys(STEP_A_ALONE, pl.Float64),
        **{
            f"{what}_{step}": kind
            for step in ("step_a", "b_private", "b_social")
            for what, kind in (("claims", pl.Int64), ("failed", pl.Boolean))
        },
    }
)


def score_triples(
    instances: Sequence[Instance],
    triples: Sequence[Triple],
    judged: Sequence[Judged | None] | None = None,
    options: Options = REFERENCE,
    *,
    adversarial: bool | Sequence[bool] = False,
) -> Scores:
    """Score instances, each with the three replies of one model.

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
    flags = [adversarial] * n if isinstance(adversarial, bool) else list(adversarial)
    if not n == len(triples) == len(flags):
        raise ValueError(f"{n} instances, {len(triples)} triples and {len(flags)} flags: one each is needed")
    batch = read(instances, triples, options, flags)
    by_rules = computed(batch, options)
    by_judges = judged_table(judged, JUDGED, n)
    everything = joined(by_rules, by_judges)
    found = aggregate.tiers(everything, options)
    return Scores(
        instances=tuple(instances),
        computed=by_rules,
        judged=by_judges,
        tiers=found,
        mms=aggregate.mms(found.scores, options),
        dimensions=aggregate.secondary_dimensions(everything, options),
        abilities=abilities(by_judges, options),
        outcomes=tuple(
            outcome(instance, triple, options) for instance, triple in zip(instances, triples, strict=True)
        ),
        batch=batch,
    )


def _susceptibility(batch: Batch) -> Floats:
    """Return the slope of the change from A to B-social on the distance of the analysts' mean from A, ``(N,)``.

    NaN where nobody is shown, or they all but agree with step A.
    """
    away, moved = batch.mean - batch.a, batch.s - batch.a
    known = ~np.isnan(away) & ~np.isnan(moved)
    away, moved = np.where(known, away, 0.0), np.where(known, moved, 0.0)
    room = (away**2).sum(axis=1)
    slope = np.full(len(room), np.nan)
    np.divide((away * moved).sum(axis=1), room, out=slope, where=room > _LEAST_ROOM)
    return slope


def _of_step_a(scores: Scores) -> dict[str, Floats]:
    """Return what step A says by itself, see `STEP_A_ALONE`; null where it rates no claim.

    Mean confidence; share of hedged ratings, as in ``epistemic_cowardice``; mean squared distance of confidence from the
    outcome, as in ``brier_score_change``; 1 where the wrong claim of a known answer is resisted, 0 where not.
    """
    a, batch = scores.batch.a, scores.batch
    rated = ~np.isnan(a)
    low, high = HEDGING_BAND
    error = (a - outcomes(batch)) ** 2
    return {
        "step_a_confidence": masked_mean(a, rated),
        "step_a_hedging": masked_mean(((a >= low) & (a <= high)).astype(np.float64), rated),
        "step_a_brier": masked_mean(error, ~np.isnan(error)),
        "step_a_resistance": np.array(
            [np.nan if one is None else float(one.resists_first) for one in scores.outcomes], dtype=np.float64
        ),
    }


def _masked(values: Floats, here: NDArray[np.bool_]) -> Floats:
    return np.where(here, values, np.nan)


#: (model, run, condition, instance) → judge dimension → grade of 0..1 or None.
Grades = Mapping[tuple[str, int, str, str], Mapping[str, float | None]]

STRIPPED_INSTANCES = 50  # asked with two analysts: Section 5, those on which the models differ most
#: What `score_instances` adds to responses.
_DERIVED: dict[str, Any] = {
    "answered": pl.Boolean,
    "is_error_detection": pl.Boolean,
    **{
        name: kind
        for name, kind in SCORE_SCHEMA.items()
        if not name.startswith(("item_id", "answered", "claims_"))
    },
    "judge_share_missing": pl.Float64,
    "changed_from_normal": pl.Float64,
    "rescored": pl.Float64,
}
DERIVED = pl.Schema(_DERIVED)
_LEAST_ROOM = 0.01  # squared distance over the claims, below which a slope says nothing
_RUN = ["dataset", "model", "run", "item_id"]
_REPLIES = ("reply_step_a", "reply_b_private", "reply_b_social")
_KEPT = ("item_id", "answered", *STEP_A_ALONE)
#: Columns that hold a number of a scored instance.
NUMBERS = tuple(name for name, kind in DERIVED.items() if kind == pl.Float64 and name not in STEP_A_ALONE)


def most_divided(scored: pl.DataFrame, count: int = STRIPPED_INSTANCES) -> tuple[str, ...]:
    """Return the ``count`` instances on which models differ most under ``normal``, as the paper chooses those to strip.

    Parameters
    ----------
    scored
        What `score_instances` returns, of one data set. Instances scored for fewer than two models come last.

    Notes
    -----
    Differing is the population variance over models of MMS, a model's runs averaged first; ties go by the instance's name.
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
    """Return the responses with the columns `DERIVED`, grouped by condition.

    Parameters
    ----------
    responses
        Of any models, runs and conditions.
    instances
        Every instance the responses are of, as stored; each is scored as its condition showed it.
    judged
        Grades of the judges, combined. Without them what rests on rules alone is scored and ``judge_share_missing`` says
        how much of the score that leaves out.
    scoring
        ``reference`` or ``paper``.
    masking
        As the instances were asked.

    Notes
    -----
    Raises SourceError for a response to an unknown instance. ``answered`` says whether the row counts; what step A says by
    itself (``step_a_…``) counts where that could be read.
    ``judge_share_missing``: share of the three tiers, as they weigh in MMS, that rests on grades no judge gave.
    ``rescored``: MMS of the replies that the same run gave under ``normal``, scored as this condition is; null for
    ``normal``. Judges are not asked again: replies that are the same here have the grades of here, others those of
    ``normal``. ``changed_from_normal``: share of the claims rated otherwise in B-social than under the
    condition ``normal`` of the same run, null for that condition itself.
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
        parts.append(_scored(frame, shown, judged, options, condition))
    if not parts:
        return responses.with_columns(pl.lit(None, kind).alias(name) for name, kind in DERIVED.items())
    whole = pl.concat(parts)
    if whole["condition"].is_in([NORMAL]).all():
        return whole
    whole = _with_rescored(whole, responses, known, judged, options, masking)
    moved = whole.join(_changes(responses), on=[*_RUN, "condition"], how="left", maintain_order="left")
    return moved.with_columns(
        pl.when("answered").then("moved").otherwise(None).alias("changed_from_normal")
    ).select(whole.columns)


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
        instances, [triple(row) for row in rows], grades, options, adversarial=condition == ADVERSARIAL
    )
    counts = pl.Series("answered", scores.answered) & (frame["status"] == "ok")
    first = frame["status_step_a"].fill_null(frame["status"])
    numbers = scores.frame().drop("answered")
    if not counts.all():
        numbers = _blanked(numbers, counts, [name for name in numbers.columns if name not in _KEPT])
    if not (first == "ok").all():
        numbers = _blanked(numbers, first == "ok", STEP_A_ALONE)
    missing = np.where(counts.to_numpy(), _missing_share(scores, options), np.nan)
    # Columns are put together one by one: a query of its own for each would take longer than the scoring.
    found = {
        "answered": counts,
        "is_error_detection": pl.Series(
            [instance.is_error_detection for instance in instances], dtype=pl.Boolean
        ),
        "judge_share_missing": pl.Series(missing, nan_to_null=True),
        **dict.fromkeys(("changed_from_normal", "rescored"), pl.Series([None] * len(rows), dtype=pl.Float64)),
        **numbers.to_dict(),
    }
    told = frame.with_columns(first.alias("status_step_a"))
    return told.hstack([found[name].cast(kind).alias(name) for name, kind in DERIVED.items()])


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


def _with_rescored(
    whole: pl.DataFrame,
    responses: pl.DataFrame,
    known: Mapping[str, Instance],
    judged: Grades | None,
    options: Options,
    masking: Masking,
) -> pl.DataFrame:
    """Return scored responses with ``rescored``: what the replies under ``normal`` are worth in another condition."""
    here = whole.select(*_RUN, "condition", *_REPLIES).filter(pl.col("condition") != NORMAL)
    normal = responses.filter(pl.col("condition") == NORMAL, pl.col("status") == "ok")
    rows = here.join(normal.select(*_RUN, *_REPLIES), on=_RUN, suffix="_normal").to_dicts()
    same = [all(row[name] == row[f"{name}_normal"] for name in _REPLIES) for row in rows]
    asked = [{**row, **{name: row[f"{name}_normal"] for name in _REPLIES}} for row in rows]
    grades = None
    if judged is not None:
        graded_as = [row["condition"] if kept else NORMAL for row, kept in zip(rows, same, strict=True)]
        grades = [_grades(judged, row, name) for row, name in zip(rows, graded_as, strict=True)]
    again = score_triples(
        [_shown(known[row["item_id"]], row["condition"], masking) for row in rows],
        [triple(row) for row in asked],
        grades,
        options,
        adversarial=[row["condition"] == ADVERSARIAL for row in rows],
    )
    values = np.where(again.answered, again.mms, np.nan)
    told = pl.DataFrame(
        [{name: row[name] for name in (*_RUN, "condition")} for row in rows],
        schema={name: whole.schema[name] for name in (*_RUN, "condition")},
    ).with_columns(pl.Series("again", values, nan_to_null=True, dtype=pl.Float64))
    joined = whole.join(told, on=[*_RUN, "condition"], how="left", maintain_order="left")
    return joined.with_columns(pl.when("answered").then("again").alias("rescored")).select(whole.columns)


def _changes(observations: pl.DataFrame) -> pl.DataFrame:
    """Return for each observation under another condition the share of claims rated otherwise than under ``normal``."""
    key = _RUN
    final = [f"s_{claim.lower()}" for claim in CLAIM_IDS]
    normal = observations.filter(pl.col("condition") == NORMAL).select(*key, *final)
    other = observations.filter(pl.col("condition") != NORMAL).select(*key, "condition", *final)
    differs = [(pl.col(name) != pl.col(f"{name}_normal")) for name in final]
    return other.join(normal, on=key, suffix="_normal").select(
        "dataset",
        "condition",
        "model",
        "run",
        "item_id",
        pl.mean_horizontal([flag.cast(pl.Float64) for flag in differs]).alias("moved"),
    )
