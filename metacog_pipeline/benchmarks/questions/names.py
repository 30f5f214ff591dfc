"""Which answers the reader model decides: short texts that are no accepted answer as they are written."""

from __future__ import annotations

import polars as pl

from metacog_pipeline.benchmarks.questions.items import Item
from metacog_pipeline.judges.names import Asked, names_judging


def _undecided(responses: pl.DataFrame) -> pl.DataFrame:
    kept = pl.col("kept").is_null() | (pl.col("kept") == 1)
    return responses.filter(kept, status="ok", correct=0).select("item_id", "condition", reply="said")


def _asked(item: Item, condition: str) -> Asked | None:
    return Asked(item.question, (item.answer, *item.accept)) if item.kind == "text" else None


JUDGING = names_judging(_undecided, _asked)
