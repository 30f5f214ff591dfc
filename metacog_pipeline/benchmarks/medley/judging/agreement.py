"""How far the judges of a study agree: Krippendorff's alpha, Fleiss' kappa, and kappa of every two judges.

All are computed per dimension, over the answers that two judges or more have graded; a judge that may not grade a model is
missing there, which alpha and the kappas allow for. Kappas put the grades into four bins, closed at their left: below 0.25,
0.5 and 0.75, and the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import polars as pl

from metacog_pipeline.benchmark.contract import Scored, schema_of
from metacog_pipeline.benchmarks.medley.items import BENCHMARK
from metacog_pipeline.benchmarks.medley.panel import Floats
from metacog_pipeline.benchmarks.medley.read import JUDGE_DIMENSIONS
from metacog_pipeline.stats.agreement_many import (
    TOO_FEW_RATERS,
    category_counts,
    fleiss_kappa,
    krippendorff_alpha,
    pairwise_kappa,
)
from metacog_pipeline.stats.estimate import OK, Estimate, unavailable

BIN_EDGES = (0.25, 0.5, 0.75)
FEWEST_ANSWERS = 5
TOO_FEW_ANSWERS = f"fewer than {FEWEST_ANSWERS} answers graded by two judges"
ALL_DIMENSIONS = "all"


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far judges agree on a dimension: all of them, or ``a`` and ``b``. At most 1; 0 as by chance."""

    benchmark: str
    dataset: str
    source: str
    reading: Annotated[str, "strict: a grade outside the offered set is none"]
    measure: str
    dimension: Annotated[str, "one of ten, or all: their mean"]
    a: str | None
    b: str | None
    estimate: float | None
    low: float | None
    high: float | None
    n: Annotated[int, "answers that two judges graded"]
    method: str
    status: str


AGREEMENT_SCHEMA = schema_of(Agreement)
#: Agreements by measure and, of two judges, their names.
Found = dict[tuple[str, str | None, str | None], Estimate]


def agreements(benchmark: Any, scored: Scored) -> pl.DataFrame:
    """Return how far the judges of a study agree; nothing where nothing was judged."""
    if scored.judgements is None or scored.judgements.is_empty():
        return pl.DataFrame(schema=AGREEMENT_SCHEMA)
    # The order of answers is part of the resamples.
    ordered = scored.judgements.sort("model", "run", maintain_order=True)
    return agreement(ordered, seed=benchmark.stream("items"))


def agreement(judgements: pl.DataFrame, *, seed: int = 0, n_boot: int | None = None) -> pl.DataFrame:
    """Return the agreement of all judges and of every two, per dimension and over all, in `AGREEMENT_SCHEMA`.

    ``judgements`` are those of all models and runs; of simulated respondents, or by simulated judges, they are a group of
    their own. Below five answers there is no value. The dimension ``all`` is the plain mean over dimensions.
    """
    simulated = pl.col("source") == "simulated"
    world = pl.when(simulated).then(pl.lit("simulated")).otherwise(pl.lit("measured"))
    rows = []
    parts = judgements.with_columns(source=world).partition_by("dataset", "source", as_dict=True)
    for (dataset, source), group in sorted(parts.items(), key=lambda part: tuple(map(str, part[0]))):
        judges = group.sort("judge_place", "judge")["judge"].unique(maintain_order=True).to_list()
        found = {}
        for name in JUDGE_DIMENSIONS:
            index = ["model", "run", "condition", "item_id"]
            wide = group.pivot("judge", index=index, values=name, aggregate_function="first")
            ratings = np.asarray(wide.select(judges).cast(pl.Float64).to_numpy().T, dtype=np.float64)
            found[name] = _measured(ratings, judges, seed, n_boot)
        found[ALL_DIMENSIONS] = {
            key: _mean([own[key] for own in found.values()]) for key in found[JUDGE_DIMENSIONS[0]]
        }
        rows += [
            (BENCHMARK, dataset, source, "strict", measure, name, a, b, e.value, e.low, e.high, e.n, e.method, e.status)
            for name, own in found.items()
            for (measure, a, b), e in own.items()
        ]  # fmt: skip
    return pl.DataFrame(rows, schema=AGREEMENT_SCHEMA, orient="row")


def resamples(n: int) -> int:
    """Return how many resamples the interval of an agreement over ``n`` answers takes.

    An interval over many answers is narrow, and needs to be known less exactly.
    """
    return max(100, min(1000, 1_000_000 // max(n, 1)))


def _measured(ratings: Floats, judges: Sequence[str], seed: int, n_boot: int | None) -> Found:
    n = int(((~np.isnan(ratings)).sum(axis=0) >= 2).sum())
    if len(judges) < 2 or n < FEWEST_ANSWERS:
        why = TOO_FEW_RATERS if len(judges) < 2 else TOO_FEW_ANSWERS
        alpha, fleiss = (unavailable(n, measure, why) for measure in ("krippendorff_alpha", "fleiss_kappa"))
    else:
        count = n_boot or resamples(n)
        alpha = krippendorff_alpha(ratings, n_boot=count, seed=seed)
        fleiss = fleiss_kappa(category_counts(ratings.T, BIN_EDGES), n_boot=count, seed=seed)
    found: Found = {("krippendorff_alpha", None, None): alpha, ("fleiss_kappa", None, None): fleiss}
    binned = np.where(np.isnan(ratings), np.nan, np.digitize(ratings, BIN_EDGES))
    for pair in pairwise_kappa(binned):
        few = pair.kappa.n < FEWEST_ANSWERS
        kappa = unavailable(pair.kappa.n, pair.kappa.method, TOO_FEW_ANSWERS) if few else pair.kappa
        found["cohen_kappa", judges[pair.first], judges[pair.second]] = kappa
    return found


def _mean(dimensions: Sequence[Estimate]) -> Estimate:
    """Return the plain mean over the dimensions that have a value."""
    known, method = [e for e in dimensions if e.value is not None], "mean over dimensions"
    if not known:
        return unavailable(dimensions[0].n, method, dimensions[0].status)
    status = OK if len(known) == len(dimensions) else f"{len(known)} of {len(dimensions)} dimensions"
    value = sum(e.value or 0.0 for e in known) / len(known)
    return Estimate(value, None, None, max(e.n for e in known), method, status)
