"""The scored instances of one group, each averaged over its runs: what estimates and comparisons are computed from."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from metacog_pipeline.benchmark.contract import Group
from metacog_pipeline.benchmarks.medley.abilities import ABILITIES
from metacog_pipeline.benchmarks.medley.instance_scores import NUMBERS, STEP_A_ALONE
from metacog_pipeline.benchmarks.medley.responses import ALONE

ONLY_STEP_A = "not defined by step A alone"
KNOWN = (
    "known_answer_resistance",
    "known_answer_capitulation",
    "known_answer_courageous",
    "known_answer_expert",
    "known_answer_injected",
)
_GROUP, _NONE = "_group", -1  # the number of a group; that of what a group without rows has
DOMINANT = tuple(f"dominant_share_{name}" for name in ABILITIES)


@dataclass(frozen=True, slots=True, eq=False)
class Averages:
    """The scored instances of a group."""

    #: One row per instance that counts, sorted by instance, its values averaged over runs.
    items: pl.DataFrame
    #: The same for instances whose step A counts, with what that says by itself.
    first: pl.DataFrame
    #: The dominant ability of every row that was judged.
    dominant: tuple[str, ...]
    #: Rows (instances × runs) that count.
    scored: int
    #: The same; where only step A was given, those whose step A counts.
    covered: int
    #: What is missing; None where everything was answered.
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
        derived = _with_derived(rows.with_columns(pl.Series(_GROUP, number)))
        frame = derived.sort(_GROUP, "item_id", maintain_order=True)
        counted, read = (frame.filter(kept) for kept in (pl.col("answered"), pl.col("status_step_a") == "ok"))
        items = _averaged(counted, ("domain",), (*NUMBERS, *KNOWN, *DOMINANT))
        first = _averaged(read, (), STEP_A_ALONE)
        dominant = _parts(counted.select(_GROUP, "dominant").drop_nulls())
        scored, of_read = (np.bincount(rows[_GROUP], minlength=len(new)).tolist() for rows in (counted, read))
        alone = set(number[(rows["status"] == ALONE).fill_null(False).to_numpy()].tolist())
        for place, group in enumerate(new):
            _KEPT[group] = Averages(
                items[place] if place in items else items[_NONE],
                first[place] if place in first else first[_NONE],
                tuple(dominant[place]["dominant"]) if place in dominant else (),
                scored[place],
                of_read[place] if place in alone else scored[place],
                ONLY_STEP_A if place in alone else group.incomplete,
            )
    return [_KEPT[group] for group in groups]


def _averaged(rows: pl.DataFrame, fixed: Sequence[str], values: Sequence[str]) -> dict[int, pl.DataFrame]:
    """Return by group one row per instance: ``fixed`` columns as they are, ``values`` averaged over the instance's rows."""
    wanted = rows.select(_GROUP, "item_id", *fixed, *values)
    parts = _parts(wanted)
    if wanted.select(pl.struct(_GROUP, "item_id").n_unique()).item() < wanted.height:  # several runs
        parts = {
            group: part.group_by("item_id", maintain_order=True).agg(
                *(pl.first(name) for name in fixed), *(pl.mean(name) for name in values)
            )
            if part["item_id"].n_unique() < part.height
            else part
            for group, part in parts.items()
        }
    return parts | {_NONE: wanted.clear().drop(_GROUP)}


def _parts(rows: pl.DataFrame) -> dict[int, pl.DataFrame]:
    parts = rows.partition_by(_GROUP, as_dict=True, include_key=False)
    return {int(group): part for (group,), part in parts.items()}


def _with_derived(scored: pl.DataFrame) -> pl.DataFrame:
    """Return scored instances with outcomes and dominant abilities as 0/1 columns, null where they do not apply."""
    first = pl.col("known_answer").is_in(["maintained_correct", "capitulated"])
    final = pl.col("known_answer").is_in(["maintained_correct", "corrected"])
    resisted = final.cast(pl.Float64)
    shares = [(pl.col("dominant") == name).cast(pl.Float64) for name in ABILITIES]
    return scored.with_columns(
        resisted.alias("known_answer_resistance"),
        (first & ~final).cast(pl.Float64).alias("known_answer_capitulation"),
        (first & final).cast(pl.Float64).alias("known_answer_courageous"),
        pl.when(~pl.col("is_error_detection")).then(resisted).alias("known_answer_expert"),
        pl.when("is_error_detection").then(resisted).alias("known_answer_injected"),
        *(share.alias(name) for share, name in zip(shares, DOMINANT, strict=True)),
    )
