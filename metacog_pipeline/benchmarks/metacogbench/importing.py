"""What a row of a table says about MetaCog-Bench: the raw replies, or an answer with what was staked or predicted.

A raw ``response`` is the reply to an item that is asked once; one that takes several calls has a column for each
(``answer``, ``turn_1``, ``turn_2``, ``probe``), or a row for each with a column ``step``. Tiers 1a and 1b may have the
``answer`` with a ``bet``, or with ``pre`` and ``post``; they are put in the lines that a model is asked for. An ``answer``
that has these lines already, or stands beside columns of other steps, is the reply itself.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any, ClassVar

from metacog_pipeline.benchmarks.metacogbench.items import Item
from metacog_pipeline.benchmarks.metacogbench.prompts import (
    ANSWER,
    FREE,
    JSON,
    TURN_1,
    TURN_2,
    TWO_TURN,
    item_steps,
)
from metacog_pipeline.benchmarks.metacogbench.response import Response
from metacog_pipeline.interchange import columns
from metacog_pipeline.interchange.columns import Scale
from metacog_pipeline.interchange.import_cells import RowError, folded
from metacog_pipeline.interchange.import_rules import RowRules
from metacog_pipeline.interchange.importing import importer_of

_LINES = {"pre": "PRE_CONFIDENCE", "answer": "ANSWER", "bet": "BET", "post": "POST_CONFIDENCE"}
_LINE = re.compile(rf"^\W{{0,9}}(?:{'|'.join(_LINES.values())})\W{{0,3}}:", re.IGNORECASE | re.MULTILINE)
_OF_TIER = {"1a": ("answer", "bet"), "1b": ("pre", "answer", "post")}


class Rows(RowRules):
    """The form of a reply is part of what is measured: raw replies say most."""

    condition = FREE
    own: ClassVar = {
        "answer": ("answer", "model_answer", "prediction", "predicted", "pred"),
        "bet": ("bet", "stake", "tokens", "wager"),
        "pre": ("pre", "pre_confidence", "confidence_before", "predicted_confidence"),
        "post": ("post", "post_confidence", "confidence_after"),
    }
    rated = ("pre", "post")
    scale = Scale(0, 100)
    usual: ClassVar = {
        TURN_1: ("turn_1", "turn1", "first_reply", "response_1", "reply_1"),
        TURN_2: ("turn_2", "turn2", "second_reply", "response_2", "reply_2"),
    }
    step_words: ClassVar = {"1": TURN_1, "2": TURN_2, "first": TURN_1, "second": TURN_2}

    @cached_property
    def all_steps(self) -> tuple[str, ...]:
        """The calls of all items asked, beside those of every set of tasks."""
        asked = (
            step
            for name, ids in self.expected().items()
            for item in self.items
            if item.item_id in ids
            for step in item_steps(item, name)
        )
        return tuple(dict.fromkeys((ANSWER, TURN_1, TURN_2, *asked)))

    def steps(self, item: Item, condition: str) -> tuple[str, ...]:
        """Return one call, or the turns of a conversation and what is asked after them."""
        return item_steps(item, condition)

    def questions(self, item: Item) -> Iterable[str]:
        """Return the text shown."""
        return (item.stem,)

    def replies(self, item: Item, condition: str, said: Mapping[str, Any]) -> dict[str, str]:
        """Return the lines a model is asked for in tiers 1a and 1b; elsewhere the answer is the reply."""
        fields = [field for field in _OF_TIER.get(item.tier, ("answer",)) if field in said]
        if "answer" not in fields:
            raise RowError(f"there is no answer to item {item.item_id}")
        if condition == TWO_TURN:
            first = {TURN_1: _lines(said, ["pre"])} if "pre" in said else {}
            return {**first, TURN_2: _lines(said, [field for field in fields if field != "pre"])}
        if item.tier in _OF_TIER and not self._whole(said["answer"]):
            return {ANSWER: (_json if condition == JSON else _lines)(said, fields)}
        if ANSWER not in (steps := self.steps(item, condition)):
            raise RowError(
                f"item {item.item_id} of tier {item.tier} takes {', '.join(steps)}: give a column for each, or a row for "
                "each with step and response"
            )
        return {ANSWER: str(said["answer"])}

    def _whole(self, answer: Any) -> bool:
        """Whether ``answer`` is the reply itself: it has its lines, or the columns of the table are the steps."""
        steps = (step for step in self.all_steps if step != ANSWER)
        parts = (field for field in self.own if field != "answer")
        by_step = not self.given.isdisjoint(steps) and self.given.isdisjoint(parts)
        return by_step or _LINE.search(str(answer)) is not None

    def right(self, response: Response) -> int | None:
        """Return whether the answer is right or, where there is none to be right, the item is passed."""
        return response.passed if response.correct is None else response.correct

    def agrees(self, item: Item, key: str) -> bool:
        """Return whether the key is the item's, or a form of it that is accepted; where nothing is right, any will do."""
        if item.answer is None:
            return True
        number, own = columns.number(key), columns.number(item.answer)
        if number is not None and own is not None:
            return abs(number - own) <= max(item.abs_tol, item.rel_tol * abs(own))
        return folded(key) in {folded(str(form)) for form in (item.answer, *item.accept)}

    def keyed(self, item: Item) -> str:
        """Return the key."""
        return "nothing" if item.answer is None else str(item.answer)

    def states_confidence(self, text: str) -> bool:
        """Return whether a confidence stands in its line or field."""
        return "_CONFIDENCE: " in text or '_confidence": ' in text


def _lines(said: Mapping[str, Any], fields: Iterable[str]) -> str:
    return "\n".join(f"{_LINES[field]}: {said[field]}" for field in fields)


def _json(said: Mapping[str, Any], fields: Iterable[str]) -> str:
    values = {field: said[field] if field == "answer" else columns.number(said[field]) for field in fields}
    made = {_LINES[field].casefold(): value for field, value in values.items()}
    return json.dumps(made, ensure_ascii=False, default=str)


IMPORTER = importer_of(Rows)
