"""Which answers the reader model decides: replies in which no accepted answer is found as it is written."""

from __future__ import annotations

import polars as pl

from metacog_pipeline.benchmarks.selfknowledge.items import LANGUAGE_OF, Item
from metacog_pipeline.judges.names import Asked, names_judging


def _undecided(responses: pl.DataFrame) -> pl.DataFrame:
    held = pl.col("abstained").is_null() | (pl.col("abstained") == 0)
    # The published rules stay what they are: only the reading of entities leaves names open.
    wrong = responses.filter(held, status="ok", correct=0, matching="entities")
    return wrong.select("item_id", "condition", reply="output")


def _asked(item: Item, condition: str) -> Asked | None:
    question, accepted = item.question(LANGUAGE_OF[condition]), item.accepted(LANGUAGE_OF[condition])
    return Asked(question, accepted) if question and accepted else None


JUDGING = names_judging(_undecided, _asked)
