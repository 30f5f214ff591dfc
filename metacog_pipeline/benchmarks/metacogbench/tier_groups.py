"""A group of responses tier by tier, as arrays: items × runs.

The item is the unit of chance: it is resampled with all its runs. Resamples of a tier depend on the seed, the tier and the
number of items alone, so models that were asked the same items get the same resamples, and their differences are paired.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
import polars as pl
from numpy.typing import NDArray

from metacog_pipeline.benchmark.contract import Group
from metacog_pipeline.benchmarks.metacogbench.items import TIERS
from metacog_pipeline.benchmarks.metacogbench.read import NOT_READ
from metacog_pipeline.benchmarks.metacogbench.response import UNANSWERED
from metacog_pipeline.stats import resampling

T = TypeVar("T")
Floats = NDArray[np.float64]
N_BOOT = 10_000
#: Of the rows of a tier: its items in order, and how many replies are lacking.
_FACTS = (pl.col("item_id").unique().sort().implode(), pl.len() - pl.col("_answered").sum())
_TIERS: WeakKeyDictionary[Group, dict[str, TierGroup]] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True, eq=False)
class TierGroup:
    """What one tier of a group was asked: ``n_items`` items in the order of their names, in ``n_runs`` runs.

    ``asked`` and ``n_failed`` count items × runs; ``seed`` is that of the study.
    """

    tier: str
    seed: int
    item_ids: tuple[str, ...]
    n_runs: int
    asked: int
    n_failed: int
    frame: pl.DataFrame = field(repr=False)
    _known: dict[str, Any] = field(default_factory=dict, init=False, repr=False)

    @property
    def n_items(self) -> int:
        """How many items the tier has."""
        return len(self.item_ids)

    def column(self, name: str) -> Floats:
        """Return a column as numbers, shape ``(items, runs)``; NaN where there was no reply, or no value. Not to be written
        to: it is made once for all pairs of models."""
        table: Floats | None = self._known.get(name)
        if table is None:
            answered, items, runs = self._answered()
            table = self._known[name] = np.full((self.n_items, self.n_runs), np.nan)
            table[items, runs] = answered[name].cast(pl.Float64).to_numpy()
            table.flags.writeable = False
        return table

    def once(self, name: str, compute: Callable[[TierGroup], T]) -> T:
        """Return what ``compute`` makes of the tier, once for all pairs of models; ``name`` tells apart what."""
        if name not in self._known:
            self._known[name] = compute(self)
        found: T = self._known[name]
        return found

    def _answered(self) -> tuple[pl.DataFrame, NDArray[np.int64], NDArray[np.int64]]:
        """Return the rows with a reply, and the item and run of each."""
        if "" not in self._known:
            rows = self.frame.filter("_answered") if self.n_failed else self.frame
            self._known[""] = rows, rows["_item"].to_numpy(), rows["_run"].to_numpy()
        found: tuple[pl.DataFrame, NDArray[np.int64], NDArray[np.int64]] = self._known[""]
        return found

    def count(self, condition: pl.Expr) -> int:
        """Return how many replies meet ``condition``."""
        return self._answered()[0].filter(condition).height

    def fact(self, name: str) -> list[str]:
        """Return what ``name`` says of each item, ``""`` for nothing."""
        by_item = dict(self.frame.select("item_id", pl.col(name).fill_null("")).iter_rows())
        return [by_item[each] for each in self.item_ids]

    def of(self, item_ids: Sequence[str]) -> TierGroup:
        """Return the tier with some of its items."""
        kept = self.frame.filter(pl.col("item_id").is_in(list(item_ids)))
        ids, failed = kept.select(_FACTS).row(0)
        return replace(self, item_ids=tuple(ids), asked=kept.height, n_failed=failed, frame=_placed(kept))

    def weights(self, n: int | None = None) -> Floats:
        """Return how often each of ``n`` items (None: all) is drawn in each resample, ``(N_BOOT, n)``."""
        return item_weights(self.tier, self.n_items if n is None else n, self.seed)


def item_weights(tier: str, n: int, seed: int) -> Floats:
    """Return how often each of ``n`` items of a tier is drawn in each resample, ``(N_BOOT, n)``."""
    return resampling.weights(n, N_BOOT, resampling.stream("metacogbench", seed, "items", tier))


def tier_groups(group: Group) -> dict[str, TierGroup]:
    """Return the tiers a group was asked, in their order."""
    return all_tier_groups([group])[0]


def all_tier_groups(groups: Sequence[Group]) -> list[dict[str, TierGroup]]:
    """Return the same of many groups; those not placed before are placed together, in a fraction of the time."""
    if new := list(dict.fromkeys(group for group in groups if group not in _TIERS)):
        rows = pl.concat([group.frame for group in new], how="diagonal_relaxed")
        number = np.repeat(np.arange(len(new)), [group.frame.height for group in new])
        placed = _placed(rows.with_columns(_group=pl.Series(number)), "_group")
        facts = placed.group_by("_group", "tier", maintain_order=True).agg(*_FACTS).iter_rows()
        parts = placed.partition_by("_group", "tier", maintain_order=True)
        found: list[dict[str, TierGroup]] = [{} for _ in new]
        runs = [group.frame["run"].n_unique() for group in new]
        for (place, tier, ids, failed), part in zip(facts, parts, strict=True):
            seed = new[place].benchmark.context.seed
            found[place][tier] = TierGroup(tier, seed, tuple(ids), runs[place], part.height, failed, part)
        for group, own in zip(new, found, strict=True):
            _TIERS[group] = {tier: own[tier] for tier in TIERS if tier in own}
    return [_TIERS[group] for group in groups]


def _placed(rows: pl.DataFrame, *within: str) -> pl.DataFrame:
    """Return the rows with whether they were answered and read, and the number of their item and run within their tier."""
    keys = [*within, "tier"]
    item, run = (pl.col(name).rank("dense").over(keys).cast(pl.Int64) - 1 for name in ("item_id", "run"))
    status = pl.col("status")
    read = status != NOT_READ
    return rows.with_columns(_answered=~status.is_in(UNANSWERED), _read=read, _item=item, _run=run)
