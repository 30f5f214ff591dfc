"""How far the judges of a study agree: Krippendorff's alpha, Fleiss' kappa, and kappa of every two judges.

All are computed per dimension, over the answers that two judges or more have graded; a judge that may not grade a model is
missing there, which alpha and the kappas allow for. Kappas put the grades into four bins, closed at their left: below 0.25,
0.5 and 0.75, and the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import polars as pl
from numpy.typing import NDArray

from metacog_pipeline.benchmark.contract import schema_of
from metacog_pipeline.benchmarks.medley.grades import JUDGE_DIMENSIONS
from metacog_pipeline.benchmarks.medley.items import BENCHMARK
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
# An interval over many answers is narrow, and needs to be known less exactly.
FEWEST_RESAMPLES, MOST_RESAMPLES, DRAWS = 100, 1000, 1_000_000
MEASURES = ("krippendorff_alpha", "fleiss_kappa", "cohen_kappa")


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far judges agree on a dimension: all of them, or ``a`` and ``b``. At most 1; 0 as by chance."""

    benchmark: str
    dataset: str
    source: str
    reading: Annotated[str, "strict (a grade outside the offered set is none) or reference (it counts as 1)"]
    measure: Annotated[
        str, "an agreement, or bias_ and a form of fixed answers: what it adds to a grade of 0 to 1"
    ]
    dimension: Annotated[str, "one of ten, or all: their mean"]
    a: str | None
    b: str | None
    estimate: float | None
    low: float | None
    high: float | None
    n: Annotated[int, "answers that two judges graded; of a bias: fixed answers"]
    method: str
    status: str


AGREEMENT_SCHEMA = schema_of(Agreement)
_ANSWER = ("model", "run", "condition", "item_id")
Ratings = NDArray[np.float64]
Found = list[tuple[str, str | None, str | None, Estimate]]


def agreement(judgements: pl.DataFrame, *, seed: int = 0, n_boot: int | None = None) -> pl.DataFrame:
    """Return the agreement of all judges and of every two, per dimension and over all, in `AGREEMENT_SCHEMA`.

    ``judgements`` are those of all models and runs; of simulated respondents, or by simulated judges, they are a group of
    their own. ``n_boot`` is how often answers are resampled for the intervals; None: see `resamples`.

    Values are at most 1 (full agreement; 0: as by chance); alpha weighs how far apart two grades are. ``n`` counts
    answers graded by two judges or more, for ``cohen_kappa`` by judges ``a`` and ``b``. The dimension ``all`` is the plain
    mean over the dimensions that have a value, without an interval. Below five answers there is no value.
    """
    tables = [
        pl.DataFrame(rows, schema=AGREEMENT_SCHEMA, orient="row")
        for (dataset, source, reading), group in _groups(judgements)
        if (rows := _rows((BENCHMARK, dataset, source, reading), group, seed, n_boot))
    ]
    return pl.concat(tables) if tables else pl.DataFrame(schema=AGREEMENT_SCHEMA)


def resamples(n: int) -> int:
    """Return how many resamples the interval of an agreement over ``n`` answers takes."""
    return max(FEWEST_RESAMPLES, min(MOST_RESAMPLES, DRAWS // max(n, 1)))


def _groups(judgements: pl.DataFrame) -> list[tuple[tuple[object, ...], pl.DataFrame]]:
    simulated = (
        pl.when(pl.col("source") == "simulated").then(pl.lit("simulated")).otherwise(pl.lit("measured"))
    )
    parts = judgements.with_columns(source=simulated).partition_by(
        "dataset", "source", "reading", as_dict=True, maintain_order=True
    )
    return sorted(parts.items(), key=lambda part: tuple(map(str, part[0])))


def _rows(
    head: tuple[object, ...], group: pl.DataFrame, seed: int, n_boot: int | None
) -> list[tuple[object, ...]]:
    judges = group.sort("judge_place", "judge").get_column("judge").unique(maintain_order=True).to_list()
    by_dimension = {
        name: _measured(_ratings(group, judges, name), judges, seed, n_boot) for name in JUDGE_DIMENSIONS
    }
    by_dimension[ALL_DIMENSIONS] = _means(list(by_dimension.values()))
    return [
        (*head, measure, name, a, b, e.value, e.low, e.high, e.n, e.method, e.status)
        for name, found in by_dimension.items()
        for measure, a, b, e in found
    ]


def _ratings(group: pl.DataFrame, judges: Sequence[str], dimension: str) -> Ratings:
    """Return the grades, shape ``(judges, answers)``, NaN where a judge gave none."""
    wide = group.pivot("judge", index=list(_ANSWER), values=dimension, aggregate_function="first")
    values = wide.select(judges).cast(pl.Float64).to_numpy().T
    return np.asarray(values, dtype=np.float64)


def _measured(ratings: Ratings, judges: Sequence[str], seed: int, n_boot: int | None) -> Found:
    n = int(((~np.isnan(ratings)).sum(axis=0) >= 2).sum())
    if len(judges) < 2 or n < FEWEST_ANSWERS:
        why = TOO_FEW_RATERS if len(judges) < 2 else TOO_FEW_ANSWERS
        alpha, fleiss = (unavailable(n, measure, why) for measure in MEASURES[:2])
    else:
        count = n_boot or resamples(n)
        alpha = krippendorff_alpha(ratings, "interval", n_boot=count, seed=seed)
        fleiss = fleiss_kappa(category_counts(ratings.T, BIN_EDGES), n_boot=count, seed=seed)
    found: Found = [("krippendorff_alpha", None, None, alpha), ("fleiss_kappa", None, None, fleiss)]
    binned = np.where(np.isnan(ratings), np.nan, np.digitize(ratings, BIN_EDGES))
    for pair in pairwise_kappa(binned):
        kappa = pair.kappa
        if kappa.n < FEWEST_ANSWERS:
            kappa = unavailable(kappa.n, kappa.method, TOO_FEW_ANSWERS)
        found.append(("cohen_kappa", judges[pair.first], judges[pair.second], kappa))
    return found


def _means(dimensions: Sequence[Found]) -> Found:
    means: Found = []
    for same in zip(*dimensions, strict=True):
        measure, a, b, _ = same[0]
        known = [e for _, _, _, e in same if e.value is not None]
        method = "mean over dimensions"
        if not known:
            means.append((measure, a, b, unavailable(same[0][3].n, method, same[0][3].status)))
            continue
        value = sum(e.value or 0.0 for e in known) / len(known)
        status = OK if len(known) == len(same) else f"{len(known)} of {len(same)} dimensions"
        means.append((measure, a, b, Estimate(value, None, None, max(e.n for e in known), method, status)))
    return means
