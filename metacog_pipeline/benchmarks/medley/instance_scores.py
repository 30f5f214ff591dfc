"""Instances with their three replies → measures, tiers, MMS, dimensions, abilities and outcomes, all at once.

Silence would earn 0.5 on most measures, so an instance counts only when all three of its replies could be read. A row that
does not count keeps its status and has no number.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from metacog_pipeline.benchmarks.medley import aggregate
from metacog_pipeline.benchmarks.medley.aggregate import ABILITIES, DIMENSIONS, TIERS
from metacog_pipeline.benchmarks.medley.items import ADVERSARIAL, CLAIM_IDS, NORMAL, STEPS, Instance
from metacog_pipeline.benchmarks.medley.panel import PRESETS, REFERENCE, Options, Triple, batch_of
from metacog_pipeline.benchmarks.medley.presentation import presented
from metacog_pipeline.benchmarks.medley.pull import PULLS, turned
from metacog_pipeline.benchmarks.medley.read import JUDGE_DIMENSIONS, claim_confidence
from metacog_pipeline.benchmarks.medley.rules import MEASURES, change_rate
from metacog_pipeline.errors import SourceError

#: (model, run, condition, instance) → judge dimension → grade of 0..1 or None.
Grades = Mapping[tuple[str, int, str, str], Mapping[str, float | None]]
_KEY = ("model", "run", "condition", "item_id")

RESISTS_BELOW = 0.6  # a confidence in the wrong claim of a known answer
_FLAGS = ("answered", "is_error_detection")
_NAMES = (
    *("mms", "mas", *TIERS, *MEASURES),
    *(f"judged_{name}" for name in JUDGE_DIMENSIONS),
    *(f"dimension_{name}" for name in DIMENSIONS),
    *(prefix + name for name in ABILITIES for prefix in ("", "ipsative_")),
    *("dominant", "n_judged", "known_answer", "known_answer_first", "known_answer_final"),
    *("self_revision_rate", "change_rate"),
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
#: Columns that hold a number of a scored instance.
NUMBERS = tuple(name for name in _NAMES if DERIVED[name] == pl.Float64)
_RUN = ["dataset", "model", "run", "item_id"]
_REPLIES = tuple(f"reply_{step}" for step in STEPS)
_FINAL = tuple(f"s_{claim.lower()}" for claim in CLAIM_IDS)


_DIRECTIONS = {
    (True, True): "maintained_correct",
    (True, False): "capitulated",
    (False, True): "corrected",
    (False, False): "maintained_wrong",
}


def outcome(
    instance: Instance, triple: Triple, options: Options
) -> tuple[str, float | None, float | None] | None:
    """Return what became of the wrong claim of a known answer, with its rating in step A and in B-social; None without one.

    A claim that is not rated is not resisted. In the published set a model names its own claims, so the slot of the wrong
    claim has no fixed meaning there.
    """
    known = instance.known_answer
    if known is None:
        return None
    replies = (triple.step_a, triple.b_social)
    first, final = (claim_confidence(r, known.target_wrong_claim, "", options.labels) for r in replies)
    before, after = (value is not None and value < RESISTS_BELOW for value in (first, final))
    return _DIRECTIONS[before, after], first, final


def score_triples(
    instances: Sequence[Instance],
    triples: Sequence[Triple],
    judged: Sequence[object] | None = None,
    options: Options = REFERENCE,
    *,
    adversarial: bool | Sequence[bool] = False,
) -> dict[str, NDArray[Any]]:
    """Return the columns `DERIVED` of instances, each with the three replies of one model, save what rests on other rows.

    Absent is NaN, and None where it is no number. ``instances`` are as they were shown; ``judged`` are one mapping of judge
    dimension to 0..1 per instance, or None; ``adversarial``: the consensus was shown inverted, so every claim counts as
    wrong. Raises ValueError when the lengths differ. Replies never raise.
    """
    n = len(instances)
    flags = [adversarial] * n if isinstance(adversarial, bool) else list(adversarial)
    if not n == len(triples) == len(flags):
        raise ValueError(f"{n} instances, {len(triples)} triples and {len(flags)} flags: one each is needed")
    batch = batch_of(instances, triples, options, flags)
    by_rules = {name: measure(batch, options) for name, measure in MEASURES.items()}
    by_judges = aggregate.judged_measures(judged, n)
    measures = {**by_rules, **by_judges}
    tiers = aggregate.tiers(measures)
    known = [outcome(*both, options) or (None, None, None) for both in zip(instances, triples, strict=True)]
    directions, firsts, finals = zip(*known, strict=True) if known else ((), (), ())
    by_name = aggregate.abilities(by_judges)
    n_judged = by_name.pop("n_judged")
    secondary = aggregate.secondary_dimensions(measures)
    return {
        "answered": (~np.isnan(np.stack([batch.a, batch.s]))).any(axis=2).all(axis=0),
        "is_error_detection": np.array([one.is_error_detection for one in instances], dtype=bool),
        "mms": aggregate.mms(tiers, options),
        **dict(zip(TIERS, tiers.T, strict=True)),
        **by_rules,
        **{f"judged_{name}": by_judges[name] for name in JUDGE_DIMENSIONS},
        **{f"dimension_{name}": own for name, own in secondary.items()},
        **{name: _where(n_judged > 0, own) for name, own in by_name.items()},
        "n_judged": n_judged,
        "known_answer": np.array(directions, dtype=object),
        "known_answer_first": np.array(firsts, dtype=np.float64),
        "known_answer_final": np.array(finals, dtype=np.float64),
        "self_revision_rate": change_rate(batch.a, batch.p),
        "change_rate": change_rate(batch.a, batch.s),
        **{f"failed_{step}": own for step, own in zip(STEPS, batch.failed.T, strict=True)},
        "judge_share_missing": aggregate.judged_share_missing(measures, options),
    }


def _where(here: NDArray[np.bool_], values: NDArray[Any]) -> NDArray[Any]:
    absent: Any = np.nan if values.dtype == np.float64 else None
    return np.where(here, values, absent)


def score_instances(
    responses: pl.DataFrame,
    instances: Sequence[Instance],
    judged: Grades | None = None,
    *,
    scoring: str = "reference",
    authors: bool = False,
) -> pl.DataFrame:
    """Return the responses, of any models, runs and conditions, with the columns `DERIVED`, grouped by condition.

    Each of ``instances``, which are as stored, is scored as its condition showed it. Raises SourceError for a response to
    an unknown one. ``rescored``: MMS of the replies that the same run gave under ``normal``, scored as this condition is,
    with the grades given here, so that no difference rests on judges. ``changed_from_normal``: share of the claims rated
    otherwise in B-social than under ``normal`` of the same run. Both are null for ``normal`` itself. ``turned``: what the
    condition shows otherwise than ``normal`` (`pull.turned`).
    """
    known = {instance.item_id: instance for instance in instances}
    if strange := set(responses["item_id"]) - known.keys():
        raise SourceError(
            f"medley: {len(strange)} instances with answers are not among the study's, {min(strange)!r} for one; "
            "read the answers again"
        )

    def scores(frame: pl.DataFrame) -> pl.DataFrame:
        rows = frame.select(*_KEY, *_REPLIES).to_dicts()
        given = [(row["condition"], known[row["item_id"]]) for row in rows]
        triples = [
            Triple(*(None if row[r] is None else json.loads(row[r]) for r in _REPLIES)) for row in rows
        ]
        columns = score_triples(
            [_shown(item, condition, authors) for condition, item in given],
            triples,
            None if judged is None else [judged.get(tuple(row[key] for key in _KEY)) for row in rows],
            PRESETS[scoring],
            adversarial=[condition == ADVERSARIAL for condition, _ in given],
        )
        told: dict[str, Any] = {n: own.tolist() if own.dtype == object else own for n, own in columns.items()}
        told["turned"] = [turned(i, name, authors) if name in PULLS else None for name, i in given]
        return pl.DataFrame({name: told.get(name) for name in DERIVED}, schema=DERIVED, nan_to_null=True)

    if responses.is_empty():
        return responses.with_columns(pl.lit(None, kind).alias(name) for name, kind in DERIVED.items())
    names = list(dict.fromkeys(responses["condition"]))
    frame = pl.concat([responses.filter(condition=name) for name in names])
    frame = frame.with_columns(pl.col("status_step_a").fill_null(pl.col("status")))
    whole = scores(frame)
    counts = whole["answered"] & (frame["status"] == "ok")
    whole = whole.with_columns(pl.when(counts).then(pl.col(_NAMES))).with_columns(answered=counts)
    whole = frame.hstack(whole)
    if set(names) <= {NORMAL}:
        return whole
    return _beside_normal(whole, scores)


def _beside_normal(whole: pl.DataFrame, scores: Any) -> pl.DataFrame:
    """Return scored responses with ``rescored`` and ``changed_from_normal``."""
    keys = [*_RUN, "condition"]
    normal = whole.filter(condition=NORMAL).select(*_RUN, "status", *_REPLIES, *_FINAL)
    others = whole.filter(pl.col("condition") != NORMAL).select(*keys, *_FINAL)
    both = others.join(normal, on=_RUN, suffix="_normal")
    again = scores(both)
    differs = [(pl.col(name) != pl.col(f"{name}_normal")).cast(pl.Float64) for name in _FINAL]
    told = both.with_columns(
        again=pl.when(again["answered"]).then(again["mms"]), moved=pl.mean_horizontal(differs)
    ).select(*keys, "again", "moved", status_normal="status")
    joined = whole.join(told, on=keys, how="left", maintain_order="left")
    return joined.with_columns(
        rescored=pl.when("answered", pl.col("status_normal") == "ok").then("again"),
        changed_from_normal=pl.when("answered").then("moved"),
    ).select(whole.columns)


@functools.lru_cache(maxsize=2048)  # every run of every model is scored on the same ones
def _shown(instance: Instance, condition: str, authors: bool) -> Instance:
    return presented(instance, condition, authors)
