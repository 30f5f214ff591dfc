"""Which measure of which benchmark stands for what: monitoring (does it know) or control (does it act on it).

The distinction is that of Nelson & Narens (1990). Every value is turned so that more is better, taken under one
condition of its benchmark (the mean over tasks where there are several), with its standard error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

MONITORING, CONTROL = "monitoring", "control"


@dataclass(frozen=True, slots=True)
class Trait:
    """One measure. ``conditions``: those averaged, all of the benchmark's where empty; ``sign`` -1: less is better."""

    benchmark: str
    measure: str
    trait: str
    conditions: tuple[str, ...] = ()
    sign: int = 1

    @property
    def name(self) -> str:
        """Benchmark and measure: ``metacogbench saf``."""
        return f"{self.benchmark} {self.measure}"


#: Of `alike`: the same four measures of every benchmark with confidence.
ALIKE: Mapping[str, int] = {"ece": -1, "auroc2": 1, "meta_d": 1, "m_ratio": 1}
WITH_CONFIDENCE: Mapping[str, tuple[str, ...]] = {
    "metamedqa": ("baseline",),
    "signaldetection": (),
    "metacogbench": ("1b free",),
    "selfknowledge": ("dual",),
}
#: Of the benchmarks' own estimates.
OWN: Sequence[Trait] = (
    Trait("metacogbench", "t1a", MONITORING, ("free",)),
    Trait("selfknowledge", "d_type2", MONITORING, ("dual",)),
    Trait("medley", "t1", MONITORING, ("normal",)),
    Trait("metamedqa", "unknown_recall", CONTROL, ("baseline",)),
    Trait("metamedqa", "missing_answer_recall", CONTROL, ("baseline",)),
    Trait("signaldetection", "criterion_shift", CONTROL),
    Trait("metacogbench", "t2a", CONTROL, ("free",)),
    Trait("metacogbench", "t2b", CONTROL, ("free",)),
    Trait("metacogbench", "saf", CONTROL, ("free",)),
    Trait("medley", "t2", CONTROL, ("normal",)),
    Trait("selfknowledge", "idk_alignment", CONTROL, ("idk",)),
)
TRAITS: tuple[Trait, ...] = (
    *(
        Trait(benchmark, measure, MONITORING, conditions, sign)
        for benchmark, conditions in WITH_CONFIDENCE.items()
        for measure, sign in ALIKE.items()
    ),
    *OWN,
)

VALUE_SCHEMA = pl.Schema(
    {
        **dict.fromkeys(("name", "benchmark", "measure", "trait", "model", "source"), pl.String),
        **dict.fromkeys(("value", "sem"), pl.Float64),
    }
)


def values(alike: pl.DataFrame, estimates: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """Return one row per trait and model in `VALUE_SCHEMA`.

    Parameters
    ----------
    alike
        Rows of ``alike.ALIKE_SCHEMA``.
    estimates
        Benchmark → its pooled estimates (columns condition, model, measure, estimate, sem, source).
    """
    frames = [VALUE_SCHEMA.to_frame()]
    for trait in TRAITS:
        table = (
            alike.filter(benchmark=trait.benchmark)
            if trait.measure in ALIKE
            else estimates.get(trait.benchmark)
        )
        if trait.measure == "criterion_shift" and table is not None:
            table = criterion_shifts(table)
        if table is not None and table.height:
            frames.append(_of(trait, table))
    return pl.concat(frames)


def criterion_shifts(estimates: pl.DataFrame) -> pl.DataFrame:
    """Return how far c moves away from what is punished, per task: c under ``risk_s2`` minus c under ``risk_s1``."""
    both = estimates.filter(pl.col("measure") == "c", pl.col("condition").is_in(["risk_s1", "risk_s2"]))
    sign = pl.when(pl.col("condition") == "risk_s2").then(1).otherwise(-1)
    return (
        both.group_by("task", "model", "source")
        .agg(
            estimate=(sign * pl.col("estimate")).sum(),
            sem=(pl.col("sem") ** 2).sum().sqrt(),
            n=pl.col("estimate").count(),
        )
        .filter(pl.col("n") == 2)
        .with_columns(condition=pl.col("task"), measure=pl.lit("criterion_shift"))
        .select("condition", "model", "source", "measure", "estimate", "sem")
    )


def _of(trait: Trait, table: pl.DataFrame) -> pl.DataFrame:
    chosen = table.filter(pl.col("measure") == trait.measure, pl.col("estimate").is_not_null())
    if trait.conditions:
        chosen = chosen.filter(pl.col("condition").is_in(trait.conditions))
    world = pl.when(pl.col("source") == "simulated").then(pl.lit("simulated")).otherwise(pl.lit("measured"))
    averaged = chosen.group_by("model", world.alias("source")).agg(
        value=trait.sign * pl.col("estimate").mean(),
        sem=(pl.col("sem").fill_null(0.0) ** 2).sum().sqrt() / pl.len(),
    )
    named = {"name": trait.name, "benchmark": trait.benchmark, "measure": trait.measure, "trait": trait.trait}
    return (
        averaged.with_columns(pl.lit(text).alias(column) for column, text in named.items())
        .select(pl.col(column).cast(kind) for column, kind in VALUE_SCHEMA.items())
        .sort("model")
    )
