"""Instances with their three replies → measures, tiers, MMS, dimensions, abilities and outcomes, all at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from metacog_pipeline.benchmarks.medley import aggregate
from metacog_pipeline.benchmarks.medley.abilities import ABILITIES, Abilities, abilities
from metacog_pipeline.benchmarks.medley.aggregate import DIMENSIONS, JUDGED, TIERS, Tiers
from metacog_pipeline.benchmarks.medley.items import Instance
from metacog_pipeline.benchmarks.medley.known_answers import KnownAnswerOutcome, outcome
from metacog_pipeline.benchmarks.medley.measures.batch import HEDGING_BAND, Batch, Triple, read
from metacog_pipeline.benchmarks.medley.measures.extras import change_rate
from metacog_pipeline.benchmarks.medley.measures.options import REFERENCE, Options
from metacog_pipeline.benchmarks.medley.measures.panel import Floats
from metacog_pipeline.benchmarks.medley.measures.table import COMPUTED, Table, computed, joined, judged_table
from metacog_pipeline.benchmarks.medley.measures.tier1 import masked_mean, outcomes
from metacog_pipeline.benchmarks.medley.parsing import JUDGE_DIMENSIONS

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

    variant: str
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
            "instance_id": [instance.instance_id for instance in self.instances],
            "domain": [instance.domain for instance in self.instances],
            "variant": [self.variant] * len(self.instances),
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
        columns |= _of_step_a(self)
        for place, step in enumerate(("step_a", "b_private", "b_social")):
            rated = ~np.isnan((self.batch.a, self.batch.p, self.batch.s)[place])
            columns[f"claims_{step}"] = rated.sum(axis=1)
            columns[f"failed_{step}"] = self.batch.failed[:, place]
        return pl.DataFrame(columns, schema=SCORE_SCHEMA, nan_to_null=True)


_TEXT = ("instance_id", "domain", "variant")
# What the answer to step A says by itself.
STEP_A_ALONE = ("step_a_confidence", "step_a_hedging", "step_a_brier", "step_a_resistance")
SCORE_SCHEMA = pl.Schema(
    {
        **dict.fromkeys(_TEXT, pl.String),
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
        variant=options.variant,
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
