"""Tests between models and between formats, and how sure the ranks are.

=================  ==================================================================================================
``models_paired``  two models on the items both were asked: tiers and composites, Holm over the pairs of a measure
``format``         a tier in free text minus the same in JSON, same items and same scorer: 2a by every way of scoring,
                   1b by calibration error and share right, 3; Holm over the models of a format and measure
``mcnemar``        the same contrast in one run: exact test of the items that only one format passes
``protocol``       1b with the prediction asked beforehand minus 1b in one reply, same items
``rank``           rank of a model by a tier or composite, with the central 95 % of its ranks over resampled items
``saturated``      a tier at which every model is at 95 % or above: its grounded measure separates better
=================  ==================================================================================================

The item is the unit of chance, with all its runs. Models that did not finish a tier are left out there, and simulated ones
never meet measured ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
import polars as pl

from metacog_pipeline.benchmarks.common.rows import number, table
from metacog_pipeline.benchmarks.metacogbench.cells import N_BOOT, Cell, Floats, Sheet, cells_of
from metacog_pipeline.benchmarks.metacogbench.composites import COMPOSITES, TIER_MEASURES
from metacog_pipeline.benchmarks.metacogbench.items import BENCHMARK
from metacog_pipeline.benchmarks.metacogbench.measures import Measured, calibration_error, rate
from metacog_pipeline.benchmarks.metacogbench.prompts import FREE, JSON, JSON_NOTES, TWO_TURN
from metacog_pipeline.benchmarks.metacogbench.rows import COMPARISON_SCHEMA, Row
from metacog_pipeline.benchmarks.metacogbench.scoring import headlines
from metacog_pipeline.stats.clusters import percentile_interval
from metacog_pipeline.stats.multiple import holm
from metacog_pipeline.stats.paired import mcnemar_from_data
from metacog_pipeline.stats.robust import rank_distribution

__all__ = ["COMPARISON_SCHEMA", "compare"]

HEADLINES = (*TIER_MEASURES.values(), *COMPOSITES)
#: The shares a format is compared by: their tiers and columns.
MODES: Mapping[str, tuple[str, str]] = {
    "t2a": ("2a", "passed"),
    **{f"t2a_{mode}": ("2a", f"passed_{mode}") for mode in ("lit1", "lit2", "ge1", "grounded")},
    "accuracy_1b": ("1b", "correct"),
    "t3": ("3", "passed"),
}
SATURATED = 0.95
GROUNDED = {"t2a": "t2a_grounded", "t2b": "t2b_grounded", "t3": "t3_core_required"}
LEVEL = 0.05


def compare(observations: pl.DataFrame, *, seed: int, n_boot: int = N_BOOT) -> pl.DataFrame:
    """Return one row per finding in `COMPARISON_SCHEMA`.

    Parameters
    ----------
    observations
        Rows of ``observe.OBSERVATION_SCHEMA`` of all models, runs and conditions.
    seed
        Of the bootstrap: models asked the same items are resampled alike.
    n_boot
        Resamples of items.

    Notes
    -----
    ``value`` is a minus b, a rank, or the least rate of a saturated tier. ``p`` of a paired difference: twice the smaller
    share of resamples on either side of 0, (count + 1) / (B + 1); ``statistic`` is the difference over its standard error.
    ``verdict`` is significant or not_significant at 0.05 after Holm's correction.
    """
    found: list[Row] = []
    groups: dict[tuple[str, str], dict[tuple[str, str], Cell]] = {}
    for cell in cells_of(observations, by_run=False):
        groups.setdefault((cell.dataset, cell.source), {})[cell.condition, cell.model] = cell
    for (dataset, source), cells in groups.items():
        free = [_finished(cell) for (condition, _), cell in cells.items() if condition == FREE]
        scored = {cell.model: headlines(cell, seed, n_boot) for cell in free}
        found += _models(dataset, source, free, scored, seed, n_boot)
        for condition in (JSON, JSON_NOTES):
            found += _formats(dataset, source, condition, cells, seed, n_boot)
        found += _protocols(dataset, source, cells, seed, n_boot)
        found += _ranks(dataset, source, scored)
        found += _saturated(dataset, source, scored)
    return table(BENCHMARK, found, COMPARISON_SCHEMA)


def _finished(cell: Cell) -> Cell:
    """Return the cell without the tiers that lack replies."""
    return replace(cell, sheets={tier: sheet for tier, sheet in cell.sheets.items() if not sheet.n_failed})


def _models(
    dataset: str,
    source: str,
    cells: Sequence[Cell],
    scored: Mapping[str, Mapping[str, Measured]],
    seed: int,
    n_boot: int,
) -> Iterator[Row]:
    by_measure: dict[str, list[Row]] = {name: [] for name in HEADLINES}
    for first, second in combinations(cells, 2):
        a, b = _shared(first, second)
        if a is first and b is second:
            own, other = scored[first.model], scored[second.model]
        else:
            own, other = headlines(a, seed, n_boot), headlines(b, seed, n_boot)
        for name in HEADLINES:
            if name in own and name in other:
                base = Row(dataset, source, FREE, None, "models_paired", name, first.model, second.model)
                by_measure[name].append(_difference(base, own[name], other[name]))
    for rows in by_measure.values():
        yield from _adjusted(rows)


def _shared(first: Cell, second: Cell) -> tuple[Cell, Cell]:
    """Return both cells over the items both were asked; they themselves where those are all."""
    if all(
        first.sheets[tier].item_ids == second.sheets[tier].item_ids
        for tier in first.sheets.keys() & second.sheets.keys()
    ):
        return first, second
    a, b = {}, {}
    for tier in first.sheets:
        if tier in second.sheets:
            a[tier], b[tier] = _common(first.sheets[tier], second.sheets[tier])
    return (
        replace(first, sheets={tier: sheet for tier, sheet in a.items() if sheet.n_items}),
        replace(second, sheets={tier: sheet for tier, sheet in b.items() if sheet.n_items}),
    )


def _common(first: Sheet, second: Sheet) -> tuple[Sheet, Sheet]:
    if first.item_ids == second.item_ids:
        return first, second
    both = sorted(set(first.item_ids) & set(second.item_ids))
    return first.of(both), second.of(both)


def _difference(base: Row, first: Measured, second: Measured) -> Row:
    """Return the row of ``first`` minus ``second``, resampled alike."""
    n = min(first.n, second.n)
    if first.value is None or second.value is None:
        return replace(base, n=n, status="undefined in one of them")
    value = first.value - second.value
    if first.draws is None or second.draws is None or n < 2:
        return replace(base, value=value, n=n, status="single item")
    draws = first.draws - second.draws
    low, high = percentile_interval(draws)
    known = draws[~np.isnan(draws)]
    se = float(known.std()) if len(known) else None
    below, above = int((known <= 1e-12).sum()), int((known >= -1e-12).sum())
    p = min(1.0, 2 * (min(below, above) + 1) / (len(known) + 1))
    return replace(
        base,
        value=value,
        se=number(se),
        low=None if low is None else min(low, value),
        high=None if high is None else max(high, value),
        statistic=number(value / se) if se else None,
        p=p,
        n=n,
    )


def _adjusted(rows: Sequence[Row]) -> Iterator[Row]:
    for row, p in zip(rows, holm([row.p for row in rows]), strict=True):
        verdict = None if p is None else "significant" if p < LEVEL else "not_significant"
        yield replace(row, p_adjusted=p, verdict=verdict)


def _formats(
    dataset: str, source: str, condition: str, cells: Mapping[tuple[str, str], Cell], seed: int, n_boot: int
) -> Iterator[Row]:
    """Yield free minus ``condition``: all runs, by the bootstrap; each run, by McNemar's exact test."""
    errors = [
        _difference(
            Row(dataset, source, None, model, "format", "ece_pre", FREE, condition),
            _error(free, seed, n_boot),
            _error(other, seed, n_boot),
        )
        for model, free, other in _pairs(cells, condition, "1b")
    ]
    yield from _adjusted(errors)
    for name, (tier, column) in MODES.items():
        pairs = list(_pairs(cells, condition, tier))
        rows = []
        for model, free, other in pairs:
            base = Row(dataset, source, None, model, "format", name, FREE, condition)
            rows.append(
                _difference(base, rate(free, column, seed, n_boot), rate(other, column, seed, n_boot))
            )
        yield from _adjusted(rows)
        for model, free, other in pairs:
            first, second = free.column(column), other.column(column)
            for run in range(min(first.shape[1], second.shape[1])):
                base = Row(dataset, source, None, model, "mcnemar", name, FREE, condition)
                yield _mcnemar(replace(base, note=f"run {run + 1}"), first[:, run], second[:, run])


def _mcnemar(base: Row, first: Floats, second: Floats) -> Row:
    both = ~np.isnan(first) & ~np.isnan(second)
    a, b = first[both].astype(np.int64), second[both].astype(np.int64)
    found = mcnemar_from_data(a, b)
    value = float(a.mean() - b.mean()) if len(a) else None
    p = found.p_exact
    verdict = None if p is None else "significant" if p < LEVEL else "not_significant"
    return replace(base, value=value, p=p, verdict=verdict, n=found.n, status=found.status)


def _protocols(
    dataset: str, source: str, cells: Mapping[tuple[str, str], Cell], seed: int, n_boot: int
) -> Iterator[Row]:
    """Yield two turns minus one on 1b."""
    measures: dict[str, Callable[[Sheet], Measured]] = {
        "ece_pre": lambda sheet: _error(sheet, seed, n_boot),
        "accuracy_1b": lambda sheet: rate(sheet, "correct", seed, n_boot),
    }
    for name, measure in measures.items():
        rows = [
            _difference(
                Row(dataset, source, None, model, "protocol", name, TWO_TURN, FREE),
                measure(other),
                measure(free),
            )
            for model, free, other in _pairs(cells, TWO_TURN, "1b")
        ]
        yield from _adjusted(rows)


def _error(sheet: Sheet, seed: int, n_boot: int) -> Measured:
    return calibration_error(sheet, sheet.column("pre"), sheet.column("correct"), seed, n_boot)


def _pairs(
    cells: Mapping[tuple[str, str], Cell], condition: str, tier: str
) -> Iterator[tuple[str, Sheet, Sheet]]:
    """Yield each model's finished sheets of a tier, free and under ``condition``, over the items of both."""
    for (given, model), cell in cells.items():
        free = cells.get((FREE, model))
        if given != condition or free is None:
            continue
        if tier in cell.sheets and tier in free.sheets:
            first, second = _common(free.sheets[tier], cell.sheets[tier])
            if first.n_items and not first.n_failed and not second.n_failed:
                yield model, first, second


def _ranks(dataset: str, source: str, scored: Mapping[str, Mapping[str, Measured]]) -> Iterator[Row]:
    for name in HEADLINES:
        values, draws, models = [], [], []
        for model, found in scored.items():
            made = found.get(name)
            if made is not None and made.value is not None and made.draws is not None:
                values.append(made.value)
                draws.append(made.draws)
                models.append((model, made.n))
        if len(models) < 2:
            continue
        # Equal rates may differ in the last digits: they are one rank.
        ranks = rank_distribution(np.array(values).round(12), np.column_stack(draws).round(12))
        for place, (model, n) in enumerate(models):
            yield Row(
                dataset, source, FREE, model, "rank", name, value=float(ranks.observed[place]),
                low=float(ranks.low[place]), high=float(ranks.high[place]), n=n,
                note=f"of {len(models)}",
            )  # fmt: skip


def _saturated(dataset: str, source: str, scored: Mapping[str, Mapping[str, Measured]]) -> Iterator[Row]:
    for name in TIER_MEASURES.values():
        values = [
            made.value for found in scored.values() if (made := found.get(name)) and made.value is not None
        ]
        if name != "t1b" and values and min(values) >= SATURATED:
            instead = GROUNDED.get(name)
            yield Row(
                dataset, source, FREE, None, "saturated", name, value=min(values), n=len(values),
                verdict="saturated", note=f"read {instead} first" if instead else None,
            )  # fmt: skip
