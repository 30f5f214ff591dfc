"""Right or wrong, confidence 0..1 and number of alternatives, of every benchmark that has them (`Benchmark.harmonise`).

What is measured of them alike for all benchmarks is declared in ``harmonised_measures.toml``.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import polars as pl

from metacog_pipeline.benchmark.contract import Benchmark
from metacog_pipeline.benchmark.measures import Measure, Unit, Where
from metacog_pipeline.scoring.schemas import ANSWER, HARMONISED, table_of
from metacog_pipeline.stats.coverage import SHARED_PREFIX
from metacog_pipeline.stats.mafc.table import LARGEST_M
from metacog_pipeline.study.frames import read_frame

_FILE = Path(__file__).with_name("harmonised_measures.toml")
PREFIX = SHARED_PREFIX  # a benchmark may have an ECE of its own: what is not the same has another name
_STATED: Where = (("confidence", None),)
#: Of the harmonised answers with a confidence, those that were chosen among a known number of alternatives.
CHOSEN: Where = (*_STATED, ("n_alternatives", tuple(range(2, LARGEST_M + 1))))
#: What is measured of these (`stats.mafc.efficiency`).
OF_CHOICES = ("d_mafc", "meta_d_mafc", "m_ratio_mafc", "eta_mafc", "auroc2_ideal")
_BEST = {"lowest": False, "neither": None}
#: By the name without the prefix, in the order of the table.
DECLARED = tuple(
    Measure(
        name,
        said["label"],
        unit=Unit(said.get("unit", Unit.SHARE)),
        range=tuple(said.get("range", (0.0, 1.0))) or (None, None),
        higher_is_better=_BEST.get(said.get("best"), True),
        words=said["words"],
        rests_on=CHOSEN if name in OF_CHOICES else _STATED,
        shared=True,
    )
    for name, said in tomllib.loads(_FILE.read_text("utf-8")).items()
)

#: One row per cell that lacks answers: how many of those asked, and whether its numbers are shown all the same.
LACKING = table_of("String benchmark dataset condition model", "Int64 lacking asked", "Boolean shown")
LONGEST = 280  # characters of a response that are kept with its reading


def board_condition_expr(condition: str | pl.Expr = "condition") -> pl.Expr:
    """Return the condition of a row as boards show it, as `display.board_condition`."""
    return pl.concat_str("task", condition, separator=" ", ignore_nulls=True)


#: The condition and the source as boards have them.
_LABELLED = {
    "condition": board_condition_expr(),
    "source": pl.when(source="simulated").then(pl.lit("simulated")).otherwise(pl.lit("measured")),
}
_KEY = ("dataset", "condition", "model", "run", "item_id")


def harmonised(benchmark: Benchmark[Any, Any, Any], scored: pl.DataFrame) -> pl.DataFrame:
    """Return the harmonised responses of scored ones in `HARMONISED`; those without right or wrong are left out."""
    made = benchmark.harmonise(scored)
    text = pl.col("response").str.slice(0, LONGEST) if "response" in made.columns else pl.lit(None, pl.String)
    whole = made.with_columns(response=text, **_LABELLED)
    columns = [pl.col(name).cast(kind) for name, kind in HARMONISED.items()]
    return whole.select(columns).filter(pl.col("correct").is_not_null())


def every_answer(benchmark: Benchmark[Any, Any, Any], scored: pl.DataFrame) -> pl.DataFrame:
    """Return a row per scored response in `ANSWER`: harmonised where it can be, else with the reason why not."""
    own = ("correct", "confidence", "n_alternatives", "response")
    found = harmonised(benchmark, scored).select(*_KEY, *own)
    whole = scored.with_columns(reading="status", **_LABELLED)
    joined = whole.drop(own, strict=False).join(found, on=_KEY, how="left", maintain_order="left")
    return joined.select(pl.col(name).cast(kind) for name, kind in ANSWER.items())


def with_verdict(paths: Iterable[Path]) -> pl.DataFrame:
    """Return the kept answers that are right or wrong, in `HARMONISED`."""
    frames = [read_frame(path).filter(pl.col("correct").is_not_null()) for path in paths]
    return pl.concat([HARMONISED.to_frame(), *(each.select(list(HARMONISED)) for each in frames)])


def lacking(benchmark: Benchmark[Any, Any, Any], scored: pl.DataFrame) -> pl.DataFrame:
    """Return what scored responses lack, in `LACKING`, of all that the table would have had it been answered."""
    # An unanswered response belongs to the condition it would be harmonised to if it could be read.
    unanswered = pl.col("status").is_in(benchmark.unanswered)
    if scored.filter(unanswered).is_empty():
        return LACKING.to_frame()
    whole = scored.with_columns(_lacks=unanswered, status=pl.lit("ok"))
    counted = benchmark.harmonise(whole).with_columns(**_LABELLED).group_by("dataset", "condition", "model")
    found = counted.agg(lacking=pl.col("_lacks").sum(), asked=pl.len()).filter(pl.col("lacking") > 0)
    shown = pl.lit(benchmark.settings.allow_incomplete)
    named = found.with_columns(benchmark=pl.lit(benchmark.name), shown=shown)
    return named.select(pl.col(name).cast(kind) for name, kind in LACKING.items())
