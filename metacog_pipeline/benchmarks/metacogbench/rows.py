"""Rows from elsewhere: one of ``metacog read metacogbench``, and one of a table of answers that is imported."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache, cached_property
from typing import Any, ClassVar

from metacog_pipeline.benchmarks.metacogbench import prompts, read, rules
from metacog_pipeline.benchmarks.metacogbench.items import TIERS, Field, Item, Option, shipped_items, turned
from metacog_pipeline.benchmarks.metacogbench.prompts import ANSWER, ONE_TURN, TURN_1, TURN_2, item_steps
from metacog_pipeline.benchmarks.metacogbench.rules import score
from metacog_pipeline.interchange.answer_cells import folded
from metacog_pipeline.interchange.cells import number as number_of
from metacog_pipeline.interchange.import_rules import RowRules
from metacog_pipeline.reading import rows
from metacog_pipeline.reading.calls import Calls, reading_of, said
from metacog_pipeline.reading.fields import Confidence, Letter
from metacog_pipeline.reading.numbers import numbers
from metacog_pipeline.reading.rows import BadRow, Row
from metacog_pipeline.stats.confidence_scale import Scale

STEPS = (ANSWER, TURN_1, *(step for each in prompts.ROUNDS for step in each))
_KINDS = {
    "number": "number",
    "text": "text",
    "choice": "choice",
    "yesno": "yesno",
    "yes_no": "yesno",
    "fields": "none",
}
_TYPES = {bool: "bool", int: "int", float: "float", tuple: "set"}
# characters of what is an answer where none is right, and no prose
_LONGEST = 80


# --- metacog read -----------------------------------------------------------------------------------------------------
def read_row(row: Row) -> dict[str, Any]:
    """Return what the reply of a row says and is worth; raises `BadRow` for a row that names no item or no reply."""
    item = rows.found_item(row, _items()) or _own(row)
    item = turned(item, _seed(row)) if row.get("item_id") else item
    calls = rows.calls_of(row, STEPS, TURN_2 if item.tier == "2b" else ANSWER)
    if item.tier in ("1a", "1b"):
        return _with_numbers(item, calls)
    made = score(item, calls)
    passed = made.values["passed"]
    if item.tier == "3":
        reading = read.story(item, calls)
        # no NaN
        values = json.loads(json.dumps(said(reading["fields"])), parse_constant=lambda name: None)
        return rows.result(reading, correct=passed, passed=passed) | {"answer": values, "fields": values}
    if made.status == read.NOT_READ:
        return rows.unread("not_read", passed=None)
    reading = reading_of(calls, prompts.PROBE, (Letter(prompts.options_of(item)),))
    return rows.result(reading, correct=passed, passed=passed)


def _with_numbers(item: Item, calls: Calls) -> dict[str, Any]:
    """Return a row of tier 1a or 1b: an answer with a stake, or with the confidence before and after it."""
    turns, bets = TURN_2 in calls, item.tier == "1a"
    step, answer_in = TURN_2 if turns else ANSWER, read.answer_field(item)
    if bets:
        reading = reading_of(calls, step, (answer_in, read.Tokens(0, 100), Confidence(0, 100)))
    else:
        # numbers as stated
        reading = read.stated_moments(calls, step, answer_in, read.Moment)
    found, names = dict(reading.fields), ("bet",) if bets else ("pre", "post")
    if TURN_1 in calls:
        found["pre"] = reading_of(calls, TURN_1, (Confidence(0, 100, "pre"),))["pre"]
    answer = said(reading["answer"])
    right = None if item.answer is None or answer is None else rules.is_right(item, answer)
    made = rows.result(replace(reading, fields=found), correct=right, scale=(0, 100))
    if bets and found["bet"].start <= found["confidence"].start <= found["bet"].end:
        # what is staked is no confidence
        made |= {"confidence": None, "confidence01": None}
    if made["status"] == "ok" and any(found[name].status == "ambiguous" for name in names):
        made["status"] = "ambiguous"
    elif item.answer is None and len(str(answer or "")) > _LONGEST:
        made |= {"status": "not_read", "answer": None}
    passed = score(item, calls, prompts.FREE if bets or turns else ONE_TURN).values["passed"]
    scored = item.bet_rule or not bets
    return made | {name: found[name].value for name in names} | {"passed": passed if scored else None}


def _own(row: Row) -> Item:
    """Return the item that a row brings itself."""
    if not any(row.get(name) for name in ("question", "options", "answer", "answers", "kind")):
        raise BadRow("item_id is missing; name a shipped item, or give question, kind, and answer or options")
    tier, keys, options = str(row.get("tier") or "1a"), rows.answers_of(row), rows.options_of(row)
    if tier not in TIERS:
        raise BadRow(f"no tier {tier[:20]!r}; there are: {', '.join(TIERS)}")
    usual = "choice" if options else "number" if keys and [*numbers(keys[0])] else "text"
    usual = "yesno" if keys and {key.casefold() for key in keys} <= {"yes", "no"} else usual
    kind = str(row.get("kind") or usual)
    if kind not in _KINDS:
        raise BadRow(f"no kind {kind[:20]!r}; there are: {', '.join(_KINDS)}")
    pairs = row["answer"].items() if isinstance(row.get("answer"), Mapping) else ()
    named = {name: tuple(value) if isinstance(value, list) else value for name, value in pairs}
    fields = [Field(name, _TYPES.get(type(value), "string"), value) for name, value in named.items()]
    if options and keys:
        keys = (rows.letter_of(keys[0], options) or keys[0],)
    return Item(
        item_id="row", tier=tier, stem=rows.text("question", row.get("question") or ""), unit=str(row.get("unit") or ""),
        answer_type=_KINDS[kind] if keys or kind != "text" else "none",
        answer=keys[0] if keys and not fields else None, accept=keys[1:], fields=tuple(fields),
        options=tuple(Option(letter, text) for letter, text in options.items()), right=keys[:1],
    )  # fmt: skip


def _seed(row: Row) -> int:
    """Return the seed that turns the options of a choice, 0 where the row names none."""
    seed = row.get("seed", 0)
    if not isinstance(seed, int) or isinstance(seed, bool):
        raise BadRow("seed must be a whole number, that of the study")
    return seed


@cache
def _items() -> Mapping[str, Item]:
    return {item.item_id: item for item in shipped_items()}


# --- imported tables --------------------------------------------------------------------------------------------------


class Rows(RowRules):
    """A raw ``response`` is the reply to an item that is asked once; one that takes several calls has a column for
    each. Tiers 1a and 1b may have the ``answer`` with a ``bet``, or with
    ``pre`` and ``post``; they are put in the lines that a model is asked for. An ``answer`` that has these lines
    already, or is next to columns of other steps, is the reply itself."""

    condition = prompts.FREE
    own: ClassVar = {
        "answer": ("answer", "model_answer", "prediction", "predicted", "pred"),
        "bet": ("bet", "stake", "tokens", "wager"),
        "pre": ("pre", "pre_confidence", "confidence_before", "predicted_confidence"),
        "post": ("post", "post_confidence", "confidence_after"),
    }
    labels: ClassVar = {"answer": "ANSWER", "bet": "BET", "pre": "PRE_CONFIDENCE", "post": "POST_CONFIDENCE"}
    rated = ("pre", "post")
    scale = Scale(0, 100)
    usual: ClassVar = {
        TURN_1: ("turn_1", "turn1", "first_reply", "response_1", "reply_1"),
        TURN_2: ("turn_2", "turn2", "second_reply", "response_2", "reply_2"),
    }

    @cached_property
    def all_steps(self) -> tuple[str, ...]:
        """The calls of all items asked, besides those of every set of tasks."""
        asked = (
            (item, name) for name, ids in self._asked.items() for item in self.items if item.item_id in ids
        )
        steps = (step for each in asked for step in item_steps(*each))
        return tuple(dict.fromkeys((ANSWER, TURN_1, TURN_2, *steps)))

    def steps(self, item: Item, condition: str) -> tuple[str, ...]:
        return item_steps(item, condition)

    def questions(self, item: Item) -> Iterable[str]:
        return (item.stem,)

    def replies(self, item: Item, condition: str, said: Mapping[str, Any]) -> dict[str, str]:
        if item.tier == "1b" and TURN_1 in self.steps(item, condition) and {"answer", "pre"} <= {*said}:
            after = {name: value for name, value in said.items() if name != "pre"}
            return {TURN_1: self.lines({"pre": said["pre"]}), TURN_2: self.lines(after)}
        return super().replies(item, condition, said)

    def right(self, response: rules.Response) -> int | None:
        return response.passed if response.correct is None else response.correct

    def agrees(self, item: Item, key: Any) -> bool:
        # nothing is right: any key will do
        if item.answer is None:
            return True
        number, own = number_of(key), number_of(item.answer)
        if number is not None and own is not None:
            return abs(number - own) <= max(item.abs_tol, item.rel_tol * abs(own))
        return folded(str(key)) in {folded(str(form)) for form in (item.answer, *item.accept)}
