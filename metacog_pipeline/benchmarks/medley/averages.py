"""The scored instances of a group, averaged over runs."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from metacog_pipeline.benchmark.contract import Group
from metacog_pipeline.benchmarks.medley.aggregate import ABILITIES
from metacog_pipeline.benchmarks.medley.instance_scores import NUMBERS

KNOWN = tuple(
    f"known_answer_{name}" for name in ("resistance", "capitulation", "courageous", "expert", "injected")
)
DOMINANT = tuple(f"dominant_share_{name}" for name in ABILITIES)
STATED = "overall_confidence"
_GROUP = "_group"  # the number of a group


@dataclass(frozen=True, slots=True, eq=False)
class Averages:
    """The scored instances of a group.

    ``items`` has a row per instance that counts, sorted, its values averaged over runs; ``dominant`` the dominant ability
    of every row that was judged; ``scored`` counts rows (instances × runs); ``incomplete`` says what is missing.
    """

    items: pl.DataFrame
    dominant: tuple[str, ...]
    scored: int
    incomplete: str | None


# Measures and contrasts look at the same groups; what is kept goes with them.
_KEPT: weakref.WeakKeyDictionary[Group, Averages] = weakref.WeakKeyDictionary()


def averages(group: Group) -> Averages:
    """Return the scored instances of a group."""
    return all_averages([group])[0]


def all_averages(groups: Sequence[Group]) -> list[Averages]:
    """Return the same of many groups; those not looked at before are derived and sorted together, in less time."""
    if new := list(dict.fromkeys(group for group in groups if group not in _KEPT)):
        rows = pl.concat([group.frame for group in new], how="diagonal_relaxed")
        number = np.repeat(np.arange(len(new)), [group.frame.height for group in new])
        counted = _with_derived(rows.with_columns(pl.Series(_GROUP, number))).filter("answered")
        counted = counted.sort(_GROUP, "item_id", maintain_order=True)
        values = [name for name in (*NUMBERS, *KNOWN, *DOMINANT, STATED) if name in counted.columns]
        items = counted.group_by(_GROUP, "item_id", maintain_order=True).agg(
            pl.first("domain"), *(pl.mean(name) for name in values)
        )
        parts = {int(key[0]): part for key, part in items.partition_by(_GROUP, as_dict=True).items()}
        judged = counted.select(_GROUP, "dominant").drop_nulls()
        dominant = {int(key[0]): part for key, part in judged.partition_by(_GROUP, as_dict=True).items()}
        scored = np.bincount(counted[_GROUP], minlength=len(new)).tolist()
        for place, group in enumerate(new):
            _KEPT[group] = Averages(
                parts.get(place, items.clear()).drop(_GROUP),
                tuple(dominant[place]["dominant"]) if place in dominant else (),
                scored[place],
                group.incomplete,
            )
    return [_KEPT[group] for group in groups]


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
