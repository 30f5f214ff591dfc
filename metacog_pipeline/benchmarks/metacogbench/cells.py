"""Observations of one model under one condition as tables: items × runs, tier by tier.

The item is the unit of chance: it is resampled with all its runs. Resamples of a tier depend on the seed, the tier and the
number of items alone, so models that were asked the same items are resampled alike, and their differences are paired.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl
from numpy.typing import NDArray

from metacog_pipeline.benchmarks.metacogbench.items import TIERS
from metacog_pipeline.benchmarks.metacogbench.observe import UNANSWERED, UNPARSED

UNREADABLE = (*UNPARSED, "refused")

Floats = NDArray[np.float64]
KEY = ("dataset", "condition", "model")
N_BOOT = 10_000


@dataclass(frozen=True, slots=True, eq=False)
class Sheet:
    """What one tier was asked: ``n_items`` items in the order of their names, in ``n_runs`` runs.

    ``asked``, ``n_failed`` and ``n_unparsable`` count items × runs.
    """

    tier: str
    item_ids: tuple[str, ...]
    n_runs: int
    asked: int
    n_failed: int
    n_unparsable: int
    frame: pl.DataFrame = field(repr=False)

    @property
    def n_items(self) -> int:
        """How many items the tier has."""
        return len(self.item_ids)

    @property
    def coverage(self) -> float:
        """Readable replies / asked, 0..1."""
        return 1 - (self.n_failed + self.n_unparsable) / self.asked if self.asked else 0.0

    def column(self, name: str) -> Floats:
        """Return a column as numbers, shape ``(items, runs)``; NaN where there was no reply, or no value."""
        table = np.full((self.n_items, self.n_runs), np.nan)
        answered = self.frame.filter("_answered")
        values = answered[name].cast(pl.Float64).to_numpy()
        table[answered["_item"].to_numpy(), answered["_run"].to_numpy()] = values
        return table

    def count(self, condition: pl.Expr) -> int:
        """Return how many replies meet ``condition``."""
        return self.frame.filter("_answered").filter(condition).height

    def fact(self, name: str) -> list[str]:
        """Return what ``name`` says of each item, ``""`` for nothing."""
        by_item = dict(self.frame.select("item_id", pl.col(name).fill_null("")).iter_rows())
        return [by_item[each] for each in self.item_ids]

    def of(self, item_ids: Sequence[str]) -> Sheet:
        """Return the sheet of some of its items."""
        return _sheet(self.tier, self.frame.filter(pl.col("item_id").is_in(list(item_ids))), self.n_runs)


@dataclass(frozen=True, slots=True, eq=False)
class Cell:
    """One model under one condition: one run, or all (``run`` is None)."""

    dataset: str
    condition: str
    model: str
    run: int | None
    source: str
    sheets: dict[str, Sheet]

    @property
    def asked(self) -> int:
        """Items × runs of all tiers."""
        return sum(sheet.asked for sheet in self.sheets.values())

    @property
    def n_failed(self) -> int:
        """Those without a reply."""
        return sum(sheet.n_failed for sheet in self.sheets.values())

    @property
    def n_unparsable(self) -> int:
        """Those whose reply could not be read."""
        return sum(sheet.n_unparsable for sheet in self.sheets.values())

    @property
    def coverage(self) -> float:
        """Readable replies / asked, 0..1."""
        return 1 - (self.n_failed + self.n_unparsable) / self.asked if self.asked else 0.0

    @property
    def n_runs(self) -> int:
        """How many runs it holds."""
        return max((sheet.n_runs for sheet in self.sheets.values()), default=0)

    @property
    def incomplete(self) -> str | None:
        """What is missing; None where every item has a reply."""
        return incomplete(self.n_failed, self.asked)


def incomplete(n_failed: int, asked: int) -> str | None:
    """Return the status of numbers that lack replies; None for those that lack none."""
    return f"incomplete: {n_failed} of {asked} not answered" if n_failed else None


def cells_of(observations: pl.DataFrame, *, by_run: bool) -> list[Cell]:
    """Return the cells of ``observations`` in the order of their key; one per run, or one over all runs.

    ``observations`` are rows of ``observe.OBSERVATION_SCHEMA``: every item of every run, also those not asked.
    """
    keys = [*KEY, "run"] if by_run else list(KEY)
    found = []
    for key, own in observations.sort(*KEY, "run", "item_id").group_by(keys, maintain_order=True):
        named = dict(zip(keys, key, strict=True))
        sheets = {
            str(tier): _sheet(str(tier), part, own["run"].n_unique())
            for (tier,), part in own.group_by("tier", maintain_order=True)
        }
        found.append(
            Cell(
                dataset=str(named["dataset"]),
                condition=str(named["condition"]),
                model=str(named["model"]),
                run=int(str(named["run"])) if by_run else None,
                source="simulated" if (own["source"] == "simulated").any() else "measured",
                sheets={tier: sheets[tier] for tier in TIERS if tier in sheets},
            )
        )
    return found


@functools.lru_cache(maxsize=16)  # models are asked the same items: the same resamples again and again
def resamples(tier: str, n_items: int, n_boot: int, seed: int) -> Floats:
    """Return how often each of ``n_items`` items is drawn in each of ``n_boot`` resamples, ``(n_boot, n_items)``."""
    if not n_items:
        return np.zeros((n_boot, 0))
    rng = np.random.Generator(np.random.PCG64([seed, TIERS.index(tier)]))
    drawn = rng.multinomial(n_items, np.full(n_items, 1 / n_items), size=n_boot).astype(np.float64)
    drawn.flags.writeable = False
    return drawn


def _sheet(tier: str, part: pl.DataFrame, n_runs: int) -> Sheet:
    status = pl.col("status")
    placed = part.with_columns(
        _answered=~status.is_in(UNANSWERED),
        _item=pl.col("item_id").rank("dense").cast(pl.Int64) - 1,
        _run=pl.col("run").rank("dense").cast(pl.Int64) - 1,
    )
    return Sheet(
        tier=tier,
        item_ids=tuple(sorted(part["item_id"].unique().to_list())),
        n_runs=n_runs,
        asked=part.height,
        n_failed=placed.filter(~pl.col("_answered")).height,
        n_unparsable=placed.filter(status.is_in(UNREADABLE)).height,
        frame=placed,
    )
