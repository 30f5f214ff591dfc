"""Which measure of which benchmark represents which trait: monitoring (does it know) or control (does it act on it).

The distinction is that of Nelson & Narens (1990). Every value is turned so that more is better, taken under one
condition of its benchmark (the mean over tasks where there are several), with its standard error.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import polars as pl

from metacog_pipeline.benchmark.bound import Bound
from metacog_pipeline.scoring.estimates import measures_of
from metacog_pipeline.scoring.schemas import table_of

MONITORING = "monitoring"
#: Of `calibration`: the same four measures of every benchmark with a confidence; -1: less is better.
HARMONISED_TRAITS: Mapping[str, int] = {
    f"harmonised_{name}": sign
    for name, sign in (("ece", -1), ("auroc2", 1), ("meta_d_mafc", 1), ("m_ratio_mafc", 1))
}
VALUE_SCHEMA = table_of("String name benchmark measure trait model source", "Float64 value sem")


class Trait(NamedTuple):
    """One measure. ``conditions``: those averaged, all of the benchmark's where empty; ``sign`` -1: less is better."""

    benchmark: str
    measure: str
    trait: str
    conditions: tuple[str, ...] = ()
    sign: int = 1
    harmonised: bool = False


def traits(benchmarks: Iterable[Bound]) -> list[Trait]:
    """Return the measures of a trait: of harmonised responses first, then what each benchmark names itself."""
    every = sorted(benchmarks, key=lambda each: each.name)
    shared = [
        Trait(each.name, name, MONITORING, each.monitored_under, sign, harmonised=True)
        for each in every
        for name, sign in HARMONISED_TRAITS.items()
    ]
    own = [
        Trait(each.name, m.name, m.trait, m.trait_under, -1 if m.higher_is_better is False else 1)
        for each in every
        for m in measures_of(each)
        if m.trait is not None
    ]
    return shared + own


def values(
    found: Sequence[Trait], calibration: pl.DataFrame, estimates: Mapping[str, pl.DataFrame]
) -> pl.DataFrame:
    """Return one row per trait and model in `VALUE_SCHEMA`, of rows of `CALIBRATION` and pooled estimates by benchmark."""
    frames = [VALUE_SCHEMA.to_frame()]
    for trait in found:
        shared = calibration.filter(benchmark=trait.benchmark)
        own = shared if trait.harmonised else estimates.get(trait.benchmark, pl.DataFrame())
        frames += [_of(trait, own)] if own.height else []
    return pl.concat(frames)


def _of(trait: Trait, table: pl.DataFrame) -> pl.DataFrame:
    chosen = table.filter(pl.col("measure") == trait.measure, pl.col("estimate").is_not_null())
    if trait.conditions:
        chosen = chosen.filter(pl.col("condition").is_in(trait.conditions))
    world = pl.when(pl.col("source") == "simulated").then(pl.lit("simulated")).otherwise(pl.lit("measured"))
    averaged = chosen.group_by("model", world.alias("source")).agg(
        value=trait.sign * pl.col("estimate").mean(),
        sem=(pl.col("sem").fill_null(0.0) ** 2).sum().sqrt() / pl.len(),
        name=pl.lit(f"{trait.benchmark} {trait.measure}"),
        benchmark=pl.lit(trait.benchmark),
        measure=pl.lit(trait.measure),
        trait=pl.lit(trait.trait),
    )
    return averaged.select(pl.col(name).cast(kind) for name, kind in VALUE_SCHEMA.items()).sort("model")
