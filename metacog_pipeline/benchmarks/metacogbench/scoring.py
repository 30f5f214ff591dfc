"""Estimates from observations: every measure with its 95 % interval, or the reason it has none.

Failures: a reply that is empty, cut or refused is scored as it stands, which is hardly ever a pass. Items without a reply
(transport error, not asked) make a run incomplete: the numbers of their tier, and the composites that use it, are withheld,
or, when incomplete runs are allowed, computed without those items and labelled.

Composites are formed in each run and averaged. The item is the unit of chance: it is resampled within its tier, with all
its runs. ``*_sd`` is the standard deviation over runs and no interval.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import polars as pl

from metacog_pipeline.benchmarks.metacogbench.cells import N_BOOT, Cell, Sheet, cells_of, incomplete
from metacog_pipeline.benchmarks.metacogbench.composites import COMPOSITES, PARTS, TIER_MEASURES
from metacog_pipeline.benchmarks.metacogbench.control_scores import caution, resistance, transfer
from metacog_pipeline.benchmarks.metacogbench.items import BENCHMARK, TIERS
from metacog_pipeline.benchmarks.metacogbench.measures import MEAN, Measured, joined
from metacog_pipeline.benchmarks.metacogbench.monitoring_scores import Found, betting, counted, predictions
from metacog_pipeline.benchmarks.metacogbench.prompts import FREE
from metacog_pipeline.stats.estimate import Estimate, unavailable

_TYPES: dict[str, pl.DataType | type[pl.DataType]] = {
    **dict.fromkeys(("benchmark", "dataset", "condition", "model"), pl.String),
    "run": pl.Int32,
    "measure": pl.String,
    **dict.fromkeys(("estimate", "low", "high", "sem"), pl.Float64),
    **dict.fromkeys(("n", "n_failed", "n_unparsable"), pl.Int64),
    "coverage": pl.Float64,
    **dict.fromkeys(("method", "status", "source"), pl.String),
}
ESTIMATE_SCHEMA = pl.Schema(_TYPES)
BY_TIER: Mapping[str, Callable[[Sheet, int, int], Found]] = {
    "1a": betting,
    "1b": predictions,
    "2a": caution,
    "2b": resistance,
    "3": transfer,
}
#: Replies of the whole cell counted by what happened to them.
COUNTS: Mapping[str, pl.Expr] = {
    "n_empty": pl.col("empty") == 1,
    "n_truncated": pl.col("truncated") == 1,
    "n_refused": pl.col("status") == "refused",
}


def score(
    observations: pl.DataFrame, *, seed: int, allow_incomplete: bool = False, n_boot: int = N_BOOT
) -> pl.DataFrame:
    """Return one row per dataset, condition, model, run and measure, in `ESTIMATE_SCHEMA`.

    Parameters
    ----------
    observations
        Rows of ``observe.OBSERVATION_SCHEMA``: every item of every run, also those not asked.
    seed
        Of the bootstrap and of the null of the calibration error; the same seed gives the same bytes.
    allow_incomplete
        Give numbers for incomplete runs too, over the answered items, status ``incomplete: …``.
    n_boot
        Resamples of items.
    """
    return _table(cells_of(observations, by_run=True), seed, allow_incomplete, n_boot)


def pool(
    observations: pl.DataFrame, *, seed: int, allow_incomplete: bool = False, n_boot: int = N_BOOT
) -> pl.DataFrame:
    """Return one row per dataset, condition, model and measure over all runs given; ``run`` is null.

    Parameters as in `score`. n counts items.
    """
    return _table(cells_of(observations, by_run=False), seed, allow_incomplete, n_boot)


def headlines(cell: Cell, seed: int, n_boot: int = N_BOOT) -> dict[str, Measured]:
    """Return the tiers of a cell and the composites whose tiers are all there."""
    found: dict[str, Measured] = {}
    for tier, sheet in cell.sheets.items():
        made = BY_TIER[tier](sheet, seed, n_boot)[TIER_MEASURES[tier]]
        assert isinstance(made, Measured)
        found[TIER_MEASURES[tier]] = made
    return found | composed(found)


def composed(tiers: Mapping[str, Measured]) -> dict[str, Measured]:
    """Return the composites, formed run by run, of those tiers that are all there."""
    made = dict(tiers)
    for name, parts in PARTS.items():
        if all(part in made for part in parts):
            own = {part: made[part] for part in parts}
            made[name] = joined(own, lambda *each: sum(each) / len(each), f"mean of tiers, {MEAN} in each")
    return {name: made[name] for name in COMPOSITES if name in made}


def _table(cells: list[Cell], seed: int, allow_incomplete: bool, n_boot: int) -> pl.DataFrame:
    rows = [row for cell in cells for row in _cell_rows(cell, seed, allow_incomplete, n_boot)]
    return pl.DataFrame(rows, schema=ESTIMATE_SCHEMA, orient="row")


def _cell_rows(cell: Cell, seed: int, allow_incomplete: bool, n_boot: int) -> Iterator[tuple[object, ...]]:
    whole = Estimate(cell.coverage, None, None, cell.asked, "readable / asked")
    yield _row(cell, cell, "coverage", whole)
    for name, condition in COUNTS.items():
        several = [counted(sheet, condition) for sheet in cell.sheets.values()]
        total = sum(each.value or 0.0 for each in several)
        n = sum(each.n for each in several)
        yield _row(cell, cell, name, Estimate(total, None, None, n, "count of replies, all runs"))
    tiers: dict[str, Measured] = {}
    for tier, sheet in cell.sheets.items():
        found = BY_TIER[tier](sheet, seed, n_boot)
        shown = allow_incomplete or not sheet.n_failed
        head = found[TIER_MEASURES[tier]]
        assert isinstance(head, Measured)
        tiers[TIER_MEASURES[tier]] = head
        for name, made in found.items():
            yield from _rows(cell, sheet, name, made, shown)
    if cell.condition != FREE:
        return
    joint = composed(tiers)
    for name in COMPOSITES:
        own = [cell.sheets[tier] for tier in _tiers_of(name) if tier in cell.sheets]
        shown = allow_incomplete or not any(sheet.n_failed for sheet in own)
        if name in joint:
            yield from _rows(cell, _Whole.of(own), name, joint[name], shown)
            continue
        lacking = ", ".join(tier for tier in _tiers_of(name) if tier not in cell.sheets)
        yield _row(cell, _Whole.of(own), name, unavailable(0, MEAN, f"undefined: tier {lacking} not asked"))


class _Whole:
    """How complete several tiers are together."""

    def __init__(self, asked: int, n_failed: int, n_unparsable: int) -> None:
        self.asked, self.n_failed, self.n_unparsable = asked, n_failed, n_unparsable
        self.coverage = 1 - (n_failed + n_unparsable) / asked if asked else 0.0

    @classmethod
    def of(cls, sheets: list[Sheet]) -> _Whole:
        return cls(*(sum(getattr(s, name) for s in sheets) for name in ("asked", "n_failed", "n_unparsable")))


def _tiers_of(composite: str) -> tuple[str, ...]:
    """Return the tiers a composite rests on."""
    measures = {part for name in PARTS[composite] for part in PARTS.get(name, (name,))}
    return tuple(tier for tier in TIERS if TIER_MEASURES[tier] in measures)


def _rows(
    cell: Cell, part: Sheet | _Whole, name: str, made: Measured | Estimate, shown: bool
) -> Iterator[tuple[object, ...]]:
    """Yield the row of a measure, and of its spread over runs for headlines of pooled cells."""
    estimate = made.estimate() if isinstance(made, Measured) else made
    yield _row(cell, part, name, estimate, shown)
    if cell.run is None and isinstance(made, Measured) and name in (*TIER_MEASURES.values(), *COMPOSITES):
        yield _row(cell, part, f"{name}_sd", made.spread(), shown)


def _row(
    cell: Cell, part: Cell | Sheet | _Whole, name: str, found: Estimate, shown: bool = True
) -> tuple[object, ...]:
    missing = incomplete(part.n_failed, part.asked)
    if not shown and not name.startswith("n_"):
        found = unavailable(found.n, "withheld", missing or "")
    status = missing if missing and name != "coverage" else found.status
    return (
        BENCHMARK,
        *(cell.dataset, cell.condition, cell.model, cell.run, name),
        *(found.value, found.low, found.high, found.sem),
        *(found.n, part.n_failed, part.n_unparsable, part.coverage),
        *(found.method, status, cell.source),
    )
