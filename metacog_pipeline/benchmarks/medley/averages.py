"""The scored instances of one group, each averaged over its runs: what estimates and comparisons are computed from."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import dataclass

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
        frames = [group.frame.with_columns(_group=pl.lit(number)) for number, group in enumerate(new)]
        derived = _with_derived(pl.concat(frames, how="diagonal_relaxed"))
        frame = derived.sort("_group", "item_id", maintain_order=True)
        parts = [
            frame.filter(kept).partition_by("_group", as_dict=True)
            for kept in (pl.col("answered"), pl.col("status_step_a") == "ok")
        ]
        for number, group in enumerate(new):
            counted, read = (part.get((number,), frame.clear()) for part in parts)
            _KEPT[group] = _averages(group, counted, read)
    return [_KEPT[group] for group in groups]


def _averages(group: Group, counted: pl.DataFrame, read: pl.DataFrame) -> Averages:
    """Return the averages of a group of which ``counted`` was answered and of ``read`` the first step can be read."""
    alone = (group.frame["status"] == ALONE).any()
    return Averages(
        _averaged(counted, ("domain",), (*NUMBERS, *KNOWN, *DOMINANT)),
        _averaged(read, (), STEP_A_ALONE),
        tuple(counted["dominant"].drop_nulls()),
        counted.height,
        read.height if alone else counted.height,
        ONLY_STEP_A if alone else group.incomplete,
    )


def _averaged(rows: pl.DataFrame, fixed: Sequence[str], values: Sequence[str]) -> pl.DataFrame:
    """Return one row per instance: ``fixed`` columns as they are, ``values`` averaged over the instance's rows."""
    if rows["item_id"].n_unique() == rows.height:  # one run: nothing to average
        return rows.select("item_id", *fixed, *values)
    return rows.group_by("item_id", maintain_order=True).agg(
        *(pl.first(name) for name in fixed), *(pl.mean(name) for name in values)
    )


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
