"""What is judged: a reply to one item under one condition, with everything that was said before it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import polars as pl

from metacog_pipeline.benchmarks.metacogbench.items import Item
from metacog_pipeline.benchmarks.metacogbench.prompts import (
    TURN_2,
    TWO_TURN,
    Wording,
    applicable,
    item_steps,
    user_message,
)
from metacog_pipeline.benchmarks.metacogbench.response import UNANSWERED
from metacog_pipeline.reading.calls import TOO_LONG

SELF = "self"  # in a study's list of judges: the model that is judged
#: One turn says ``task`` and ``reply``; two turns say all four.
PLACES = ("task", "first", "next", "reply")


class Case(NamedTuple):
    """One reply to judge.

    ``said`` maps `PLACES` to texts, ``passed`` is the verdict of the rules on that reply: of 2a and 2b that of keywords,
    since a judge does not see the probe (None where nothing decides).
    """

    item_id: str
    tier: str
    condition: str
    said: Mapping[str, str]
    dataset: str = ""
    passed: int | None = None
    source: str = ""

    @property
    def kind(self) -> str:
        """Which text of the judge's wording is about it: the tier, and whether a prediction took two turns."""
        return f"{self.tier}_{TWO_TURN}" if self.condition == TWO_TURN else self.tier


def cases(items: Sequence[Item], responses: pl.DataFrame, wording: Wording) -> list[Case]:
    """Return the replies of one model and run that can be judged: answered and not empty."""
    by_id = {item.item_id: item for item in items}
    kept = responses.filter(~pl.col("status").is_in((*UNANSWERED, TOO_LONG)))
    by_words = (
        pl.when(pl.col("tier").is_in(["2a", "2b"]))
        .then("passed_keywords")
        .otherwise("passed")
        .alias("passed")
    )
    columns = ("item_id", "condition", "reply_turn_1", "reply", "dataset", by_words, "source")
    found = []
    for name, condition, first, reply, dataset, passed, source in kept.select(columns).iter_rows():
        if (item := by_id.get(name)) is not None and (reply or "").strip():
            said = _said(item, condition, wording, first or "", reply)
            found.append(Case(name, item.tier, condition, said, dataset, passed, source))
    return found


def longest(
    items: Sequence[Item], conditions: Sequence[str], wording: Wording, length: int
) -> Iterator[Case]:
    """Yield for every item and condition the case with replies of ``length`` characters, unlike for each."""
    for condition in conditions:
        for item in applicable(items, condition):
            reply = f"{item.item_id} {condition} ".ljust(length, "x")
            yield Case(item.item_id, item.tier, condition, _said(item, condition, wording, reply, reply))


def _said(item: Item, condition: str, wording: Wording, first: str, reply: str) -> dict[str, str]:
    steps = item_steps(item, condition)
    task = user_message(item, condition, steps[0], wording)
    if TURN_2 not in steps:
        return {"task": task, "reply": reply}
    following = user_message(item, condition, TURN_2, wording)
    return {"task": task, "first": first, "next": following, "reply": reply}
