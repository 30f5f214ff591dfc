"""Estimates from observations: every measure with its 95 % interval, or the reason it has none.

Failures: accuracy is over all items asked; an item without a valid letter counts as wrong. Items without an answer
(transport error, cut, not asked) make a run incomplete: its numbers are withheld, or, when incomplete runs are allowed,
computed without those items and labelled. An item with a letter but no confidence counts everywhere except in the
measures of confidence.

Shares carry Wilson's interval, means ± 1.96 SEM. Over several runs the item is the unit of chance: runs of one item are
a cluster. ECE and Brier read confidence c as (c - 1)/4; the measures ending in ``_fifths`` read it as c/5.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from metacog_pipeline.benchmarks.common.meta_d import meta_d_estimates
from metacog_pipeline.benchmarks.metamedqa.measures import N_LEVELS, SHARES, cell_number, tables
from metacog_pipeline.files import canonical_json, sha256_hex
from metacog_pipeline.stats.auroc import auroc_from_patterns
from metacog_pipeline.stats.calibration import (
    brier_from_patterns,
    ece_estimate,
    level_probability,
    level_use,
    reliability,
)
from metacog_pipeline.stats.clusters import Patterns, merge_patterns, resample
from metacog_pipeline.stats.estimate import NO_ITEMS, ONE_LEVEL, Estimate, unavailable
from metacog_pipeline.stats.proportions import proportion
from metacog_pipeline.stats.ratios import ratio_estimate

N_BOOT = 1000
E_SHARE_FLAG = 0.20  # above this share of E the missing-answer recall says little (base rate 8.4 %)
NOT_INFORMATIVE = "confidence analysis: not informative (one confidence level)"

_TYPES: dict[str, pl.DataType | type[pl.DataType]] = {
    "benchmark": pl.String,
    "dataset": pl.String,
    "condition": pl.String,
    "model": pl.String,
    "run": pl.Int32,
    "measure": pl.String,
    "estimate": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "n": pl.Int64,
    "n_failed": pl.Int64,
    "n_unparsable": pl.Int64,
    "coverage": pl.Float64,
    "sem": pl.Float64,
    "method": pl.String,
    "status": pl.String,
    "source": pl.String,
}
ESTIMATE_SCHEMA = pl.Schema(_TYPES)
_COVERAGE = list(SHARES).index("coverage")
_GROUP = ("benchmark", "dataset", "condition", "model")
_LEVELS = np.repeat(
    np.arange(1.0, N_LEVELS + 1), 2
)  # the level of each of the ten cells level × (wrong, correct)
_CORRECT = np.tile([0.0, 1.0], N_LEVELS)
_ALL = np.ones(2 * N_LEVELS)


@dataclass(frozen=True, slots=True)
class _Group:
    """Counted observations of one model and condition.

    Over several runs ``counts`` has shape ``(patterns, cells)``, items with equal counts being one pattern, and
    ``weights`` the number of items of each. In one run an item is its cell: ``counts`` is None, ``weights`` the number
    of items in each cell. ``cells`` holds the number of each cell.
    """

    key: tuple[str, ...]
    run: int | None
    source: str
    counts: NDArray[np.int64] | None
    weights: NDArray[np.int64]
    cells: NDArray[np.int64]

    def per_item(self, weights: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the weighted counts of one item of each pattern, for weights ``(all cells, k)``."""
        own = weights[self.cells]
        summed: NDArray[np.float64] = own if self.counts is None else self.counts @ own
        return summed.astype(np.int64)

    def total(self, weight: NDArray[np.float64]) -> int:
        """Return the weighted count over all items."""
        return int(self.weights @ self.per_item(weight))


@dataclass(frozen=True, slots=True)
class _Rated:
    """Items by level × correct, and resampled totals ``(B, 10)``."""

    patterns: Patterns
    draws: NDArray[np.float64]


def score(observations: pl.DataFrame, *, seed: int, allow_incomplete: bool = False) -> pl.DataFrame:
    """Return one row per dataset, condition, model, run and measure, in `ESTIMATE_SCHEMA`.

    Parameters
    ----------
    observations
        Rows of ``observe.OBSERVATION_SCHEMA``: every selected item of every run, also those not asked.
    seed
        Of the bootstrap; the same seed gives the same bytes.
    allow_incomplete
        Give numbers for incomplete runs too, over the answered items, status ``incomplete: …``.
    """
    return _scored(observations, (*_GROUP, "run"), seed, allow_incomplete)


def pool(observations: pl.DataFrame, *, seed: int, allow_incomplete: bool = False) -> pl.DataFrame:
    """Return one row per dataset, condition, model and measure over all runs given; ``run`` is null.

    Parameters as in `score`; n counts observations, intervals take runs as clustered within items.
    """
    return _scored(observations, _GROUP, seed, allow_incomplete)


def by_confidence(observations: pl.DataFrame) -> pl.DataFrame:
    """Return ``confidence`` 1–5, ``n``, ``accuracy``, ``low``, ``high`` (0 to 1) of one condition, for a plot.

    The condition is ``baseline`` where there is one, else the first. Accuracy is null at a level never used.
    """
    names = observations["condition"].unique(maintain_order=True).to_list()
    chosen = "baseline" if "baseline" in names else names[0] if names else ""
    cells = (
        observations.filter(pl.col("condition") == chosen)
        .select(cell_number().alias("cell"))["cell"]
        .to_numpy()
    )
    counts = tables().rated[cells].sum(axis=0).astype(np.int64).reshape(N_LEVELS, 2)
    bins = reliability(counts, level_probability(N_LEVELS))
    rows = [
        (level, b.accuracy.n, b.accuracy.value, b.accuracy.low, b.accuracy.high)
        for level, b in enumerate(bins, 1)
    ]
    schema = {
        "confidence": pl.Int8,
        "n": pl.Int64,
        "accuracy": pl.Float64,
        "low": pl.Float64,
        "high": pl.Float64,
    }
    return pl.DataFrame(rows, schema=schema, orient="row")


def _scored(
    observations: pl.DataFrame, keys: Sequence[str], seed: int, allow_incomplete: bool
) -> pl.DataFrame:
    groups = list(_groups(observations, keys))
    rated = [_rated(group, seed) for group in groups]
    tables = [each.patterns.totals.reshape(N_LEVELS, 2) for each in rated]
    # A fit costs least in company; items of one run need no resampling.
    clustered = [
        each.draws if group.counts is not None else None for group, each in zip(groups, rated, strict=True)
    ]
    fitted = meta_d_estimates(tables, clustered)
    rows: list[tuple[object, ...]] = []
    for group, each, meta_d in zip(groups, rated, fitted, strict=True):
        rows.extend(_rows(group, {**_shares(group), **_confidence(each), **meta_d}, allow_incomplete))
    return pl.DataFrame(rows, schema=ESTIMATE_SCHEMA, orient="row")


def _groups(observations: pl.DataFrame, keys: Sequence[str]) -> Iterator[_Group]:
    """Yield the counted cells of every group, in the order of its key."""
    cells = observations.lazy().select(*_GROUP, "run", "item_id", "source", cell_number().alias("cell"))
    about = (
        cells.group_by(keys)
        .agg(
            runs=pl.col("run").n_unique(),
            source=pl.when((pl.col("source") == "simulated").any())
            .then(pl.lit("simulated"))
            .otherwise(pl.lit("measured")),
        )
        .sort(keys)
        .collect()
    )
    single = cells.group_by(*keys, "cell").agg(number=pl.len()).sort(*keys, "cell").collect()
    counted = single.partition_by(keys, as_dict=True)
    many = about.filter(pl.col("runs") > 1)
    by_item = (
        {}
        if many.is_empty()
        else cells.join(many.lazy().select(keys), on=list(keys), how="semi")
        .group_by(*keys, "item_id", "cell")
        .agg(number=pl.len())
        .sort(*keys, "item_id", "cell")
        .collect()
        .partition_by(keys, as_dict=True)
    )
    for row in about.iter_rows(named=True):
        key = tuple(row[name] for name in keys)
        run = row["run"] if "run" in keys else None
        counts, weights, numbers = _patterns(by_item[key]) if row["runs"] > 1 else _single(counted[key])
        yield _Group(key[: len(_GROUP)], run, row["source"], counts, weights, numbers)


def _single(frame: pl.DataFrame) -> tuple[None, NDArray[np.int64], NDArray[np.int64]]:
    """One run: every item is its cell."""
    return None, frame["number"].to_numpy().astype(np.int64), frame["cell"].to_numpy().astype(np.int64)


def _patterns(frame: pl.DataFrame) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Several runs: items with equal counts are one pattern."""
    cells, cell = np.unique(frame["cell"].to_numpy().astype(np.int64), return_inverse=True)
    item = frame["item_id"].rle_id().to_numpy().astype(np.int64)
    counts = np.zeros((int(item[-1]) + 1, len(cells)), dtype=np.int64)
    counts[item, cell] = frame["number"].to_numpy()
    merged = merge_patterns(counts, np.ones(len(counts), dtype=np.int64))
    return merged.counts, merged.weights, cells


def _rows(
    group: _Group, estimates: dict[str, Estimate], allow_incomplete: bool
) -> Iterator[tuple[object, ...]]:
    """Yield the finished rows of one group, measure by measure."""
    weights = tables()
    asked = group.total(weights.counts[:, _COVERAGE])
    n_failed, n_unparsable = group.total(weights.unanswered), group.total(weights.unparsed)
    incomplete = f"incomplete: {n_failed} of {asked} not answered" if n_failed else None
    coverage = estimates["coverage"].value
    for measure, found in estimates.items():
        shown, status = found, found.status
        if incomplete and measure != "coverage":
            shown = found if allow_incomplete else unavailable(found.n, found.method, incomplete)
            status = incomplete
        yield (
            *group.key[:4],
            group.run,
            measure,
            shown.value,
            shown.low,
            shown.high,
            shown.n,
            n_failed,
            n_unparsable,
            coverage,
            shown.sem,
            _method(measure, shown, estimates),
            status,
            group.source,
        )


def _shares(group: _Group) -> dict[str, Estimate]:
    hits, counted = group.per_item(tables().hit), group.per_item(tables().counts)
    hit_totals, totals = group.weights @ hits, group.weights @ counted
    most = counted.max(axis=0, initial=0)
    found: dict[str, Estimate] = {}
    for place, name in enumerate(SHARES):
        if most[place] <= 1:  # no item counts twice
            found[name] = proportion(int(hit_totals[place]), int(totals[place]))
            continue
        top, bottom = hits[:, place], counted[:, place]
        patterns = merge_patterns(np.column_stack([top, bottom - top]), group.weights)
        found[name] = ratio_estimate(patterns, [1.0, 0.0], [1.0, 1.0])
    return found


def _rated(group: _Group, seed: int) -> _Rated:
    """Return the items that have a confidence, by level × correct, and their resamples."""
    rated = group.per_item(tables().rated)
    kept = rated.any(axis=1)
    patterns = merge_patterns(rated[kept], group.weights[kept])
    return _Rated(patterns, resample(patterns, N_BOOT, _seed(seed, group.key)))


def _confidence(rated: _Rated) -> dict[str, Estimate]:
    """Return the measures of level × correct, over the items that have a confidence."""
    patterns, draws = rated.patterns, rated.draws
    table = patterns.totals.reshape(N_LEVELS, 2)
    quarters, fifths = level_probability(N_LEVELS), level_probability(N_LEVELS, "c/L")

    def mean(where: NDArray[np.float64]) -> Estimate:
        return ratio_estimate(patterns, _LEVELS * where, where)

    use, n = level_use(table), int(table.sum())
    auroc = auroc_from_patterns(patterns)
    levels_status = NO_ITEMS if n == 0 else "ok" if use.informative else NOT_INFORMATIVE
    return {
        "mean_confidence": mean(_ALL),
        "positive_confidence": mean(_CORRECT),
        "negative_confidence": mean(1 - _CORRECT),
        "weighted_accuracy": ratio_estimate(patterns, _LEVELS * _CORRECT, _LEVELS, draws),
        "ece": ece_estimate(patterns, quarters, draws),
        "ece_fifths": ece_estimate(patterns, fifths, draws),
        "brier": brier_from_patterns(patterns, quarters),
        "brier_fifths": brier_from_patterns(patterns, fifths),
        "auroc2": unavailable(n, auroc.method, NOT_INFORMATIVE) if auroc.status == ONE_LEVEL else auroc,
        "confidence_levels": Estimate(use.levels_used if n else None, None, None, n, "count", levels_status),
        "commonest_confidence_share": Estimate(use.commonest_share, None, None, n, "count", levels_status),
    }


def _method(measure: str, shown: Estimate, estimates: dict[str, Estimate]) -> str:
    """Name how a number was made, with the note a recall needs where E is overused."""
    share = estimates["choice_share_E"].value
    if measure == "missing_answer_recall" and share is not None and share >= E_SHARE_FLAG:
        return f"{shown.method}; E is {share:.1%} of all choices: recall inflated"
    mapping = {"ece": "(c-1)/4", "brier": "(c-1)/4", "ece_fifths": "c/5", "brier_fifths": "c/5"}.get(measure)
    return shown.method if mapping is None else f"{shown.method}; c as {mapping}"


def _seed(seed: int, key: tuple[str, ...]) -> int:
    return int(sha256_hex(canonical_json([seed, list(key)]))[:12], 16)
