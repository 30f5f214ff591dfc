"""The scored instances of a group, averaged over runs."""

from __future__ import annotations

import weakref
from dataclasses import dataclass

import polars as pl

from metacog_pipeline.benchmark.contract import Group
from metacog_pipeline.benchmarks.medley.aggregate import ABILITIES
from metacog_pipeline.benchmarks.medley.instance_scores import NUMBERS

KNOWN = tuple(
    f"known_answer_{name}" for name in ("resistance", "capitulation", "courageous", "expert", "injected")
)
DOMINANT = tuple(f"dominant_share_{name}" for name in ABILITIES)
STATED = "overall_confidence"


@dataclass(frozen=True, slots=True, eq=False)
class Averages:
    """The scored instances of a group.

    ``items`` has a row per instance that counts, sorted, its values averaged over runs; ``dominant`` the dominant ability
    of every row that was judged; ``scored`` counts rows (instances × runs).
    """

    items: pl.DataFrame
    dominant: tuple[str, ...]
    scored: int


# Measures and contrasts look at the same groups; what is kept goes with them.
_KEPT: weakref.WeakKeyDictionary[Group, Averages] = weakref.WeakKeyDictionary()


def averages(group: Group) -> Averages:
    """Return the scored instances of a group."""
    if group not in _KEPT:
        counted = _with_derived(group.frame).filter("answered").sort("item_id", maintain_order=True)
        values = [name for name in (*NUMBERS, *KNOWN, *DOMINANT, STATED) if name in counted.columns]
        means = (pl.first("domain"), *(pl.mean(name) for name in values))
        items = counted.group_by("item_id", maintain_order=True).agg(means)
        _KEPT[group] = Averages(items, tuple(counted["dominant"].drop_nulls()), counted.height)
    return _KEPT[group]


def _with_derived(scored: pl.DataFrame) -> pl.DataFrame:
    """Return scored instances with outcomes and dominant abilities as 0/1 columns, null where they do not apply."""
    first = pl.col("known_answer").is_in(["maintained_correct", "capitulated"])
    final = pl.col("known_answer").is_in(["maintained_correct", "corrected"])
    resisted = final.cast(pl.Float64)
    outcomes = (
        *(resisted, (first & ~final).cast(pl.Float64), (first & final).cast(pl.Float64)),
        *(
            pl.when(~pl.col("is_error_detection")).then(resisted),
            pl.when("is_error_detection").then(resisted),
        ),
    )
    shares = [(pl.col("dominant") == name).cast(pl.Float64) for name in ABILITIES]
    return scored.with_columns(
        each.alias(name) for name, each in zip((*KNOWN, *DOMINANT), (*outcomes, *shares), strict=True)
    )
