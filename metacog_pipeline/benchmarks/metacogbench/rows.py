"""One row of ``metacog read metacogbench``: a reply to a shipped item, or to one of its own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

from metacog_pipeline.benchmarks.metacogbench.construction import shuffled
from metacog_pipeline.benchmarks.metacogbench.construction.shipped import items_of
from metacog_pipeline.benchmarks.metacogbench.fields import (
    Moment,
    Tokens,
    answer_field,
    options_of,
    story_fields,
)
from metacog_pipeline.benchmarks.metacogbench.items import SETS, TIERS, Field, Item, Option
from metacog_pipeline.benchmarks.metacogbench.prompts import (
    ANSWER,
    FREE,
    MORE_TURNS,
    PROBE,
    TURN_1,
    TURN_2,
    TWO_TURN,
)
from metacog_pipeline.benchmarks.metacogbench.read import NOT_READ, score
from metacog_pipeline.benchmarks.metacogbench.scoring_rules import is_right
from metacog_pipeline.reading import rows
from metacog_pipeline.reading.calls import Calls, reading_of, said
from metacog_pipeline.reading.fields import Confidence, Letter
from metacog_pipeline.reading.numbers import numbers
from metacog_pipeline.reading.rows import BadRow, Row

STEPS = (ANSWER, TURN_1, TURN_2, *MORE_TURNS, PROBE)
_KINDS = {
    "number": "number",
    "text": "text",
    "choice": "choice",
    "yesno": "yesno",
    "yes_no": "yesno",
    "fields": "none",
}
_TYPES = {bool: "bool", int: "int", float: "float", list: "set"}
_LONGEST = 80  # characters of what is an answer where none is right, and no prose


def read_row(row: Row) -> dict[str, Any]:
    """Return what the reply of a row says and is worth; raises `BadRow` for a row that names no item or no reply."""
    item = rows.found_item(row, _items()) or _own(row)
    item = shuffled(item, _seed(row)) if row.get("item_id") else item
    calls = rows.calls_of(row, STEPS, TURN_2 if item.tier == "2b" else ANSWER)
    if item.tier == "1a":
        return _with_numbers(item, calls, ANSWER, {"bet": Tokens(0, 100)})
    if item.tier == "1b":
        both = {name: Moment(0, 100, name) for name in ("pre", "post")}
        return _with_numbers(item, calls, TURN_2 if TURN_2 in calls else ANSWER, both)
    made = score(item, calls)
    passed = made.values["passed"]
    if item.tier == "3":
        reading = reading_of(calls, ANSWER, (story_fields(item),))
        values = json.loads(json.dumps(said(reading["fields"])), parse_constant=lambda name: None)  # no NaN
        return rows.result(reading, correct=passed, passed=passed) | {"answer": values, "fields": values}
    if made.status == NOT_READ:
        return rows.unread("not_read", passed=None)
    reading = reading_of(calls, PROBE, (Letter(options_of(item)),))
    return rows.result(reading, correct=passed, passed=passed)


def _with_numbers(
    item: Item, calls: Calls, step: str, numbers_of: Mapping[str, Confidence]
) -> dict[str, Any]:
    """Return a row of tier 1a or 1b: an answer with a stake, or with the confidence before and after it."""
    extra = () if "pre" in numbers_of else (Confidence(0, 100),)
    reading = reading_of(calls, step, (answer_field(item), *numbers_of.values(), *extra))
    found = dict(reading.fields)
    if TURN_1 in calls:
        found["pre"] = reading_of(calls, TURN_1, (Confidence(0, 100, "pre"),))["pre"]
    answer = said(reading["answer"])
    right = None if item.answer is None or answer is None else is_right(item, answer)
    made = rows.result(reading, correct=right, scale=(0, 100))
    if "bet" in found and found["bet"].start <= found["confidence"].start <= found["bet"].end:
        made |= {"confidence": None, "confidence01": None}  # what is staked is no confidence
    outside = [name for name in numbers_of if found[name].status == "out_of_range"]
    if outside and made["status"] == "ok":
        made["status"] = "out_of_range"
    elif item.answer is None and len(str(answer or "")) > _LONGEST:
        made |= {"status": "not_read", "answer": None}
    passed = (
        score(item, calls, TWO_TURN if step == TURN_2 else FREE).values["passed"]
        if item.bet_rule or item.tier == "1b"
        else None
    )
    return made | {name: found[name].value for name in numbers_of} | {"passed": passed}


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
    key = row.get("answer")
    fields = (
        [
            Field(name, _TYPES.get(type(value), "string"), tuple(value) if isinstance(value, list) else value)
            for name, value in key.items()
        ]
        if isinstance(key, Mapping)
        else []
    )
    if options and keys:
        keys = (rows.letter_of(keys[0], options) or keys[0],)
    return Item(
        item_id="row", tier=tier, stem=rows.text("question", row.get("question") or ""), unit=str(row.get("unit") or ""),
        answer_type=_KINDS[kind] if keys or kind != "text" else "none",
        answer=keys[0] if keys and not fields else None, accept=keys[1:], fields=tuple(fields),
        options=tuple(Option(letter, text) for letter, text in options.items()), right=keys[:1],
    )  # fmt: skip


def _seed(row: Row) -> int:
    """Return the seed that draws the order of a probe's options, 0 where the row names none."""
    seed = row.get("seed", 0)
    if not isinstance(seed, int) or isinstance(seed, bool):
        raise BadRow("seed must be a whole number, that of the study")
    return seed


@cache
def _items() -> Mapping[str, Item]:
    return {item.item_id: item for name in reversed(SETS) for item in items_of(name)}
