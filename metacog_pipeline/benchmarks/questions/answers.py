"""The answer to a question: as which field it is read, whether it is right, and whether two answers are one."""

from __future__ import annotations

import math
from typing import Any

from metacog_pipeline.benchmarks.questions.items import LETTERS, Item
from metacog_pipeline.reading.calls import Calls, read_step, words_of
from metacog_pipeline.reading.envelope import plain
from metacog_pipeline.reading.fields import Letter, Number, unboxed
from metacog_pipeline.reading.names import ShortText
from metacog_pipeline.reading.numbers import asked_unit, in_percent
from metacog_pipeline.reading.reader import Reading

Answer = Letter | Number | ShortText


def field_of(item: Item) -> Answer:
    """Return what a question asks for."""
    if item.options:
        return Letter(dict(zip(LETTERS, item.options, strict=False)))
    if item.kind == "number":
        return Number(item.unit or asked_unit(item.question))
    return ShortText(tuple(unboxed(plain(form)).strip() for form in (item.answer, *item.accept)))


def right(item: Item, value: Any, words: str) -> bool:
    """Return whether an answer of this ``value``, stated in these ``words``, is that of the key."""
    field = field_of(item)
    if isinstance(field, Letter):
        return bool(value == item.answer)
    if isinstance(field, ShortText):
        return field.right(value) and not ShortText(item.reject).right(value)
    return any(_near(item, field, each) for each in _ways(field, value, words))


def as_keyed(item: Item, value: Any, words: str) -> Any:
    """Return the value of an answer, of 25 % the 0.25 where that is what the key counts in."""
    field = field_of(item)
    if not isinstance(field, Number):
        return value
    return next((each for each in _ways(field, value, words) if _near(item, field, each)), value)


def _ways(field: Number, value: float, words: str) -> tuple[float, ...]:
    """Return a number, and it as a share where a percentage is asked for, or the other way."""
    asked, stated = field.unit in ("%", "percent"), in_percent(words)
    if asked == stated:
        return (value,)
    return (value, value / 100) if stated else (value, value * 100) if 0 < value < 1 else (value,)


def _near(item: Item, field: Number, value: float) -> bool:
    keys = [found.value for found in map(field.read, (item.answer, *item.accept)) if found.status == "ok"]
    within = item.tolerance * (1 + 1e-9)  # 14.3 is within 0.01 of 14.29
    return any(math.isclose(value, key, rel_tol=1e-9, abs_tol=within) for key in keys)


def said(item: Item, calls: Calls, step: str, reading: Reading | None = None) -> str | None:
    """Return the answer as a reply words it, of a choice its letter; None where none can be read."""
    reading = reading or read_step(calls, step, [field_of(item)])
    if reading["answer"].status != "ok":
        return None
    return words_of(calls, step, reading, "answer") if item.kind == "number" else str(reading["answer"].value)


def one(field: Answer, mine: Any, other: Any) -> bool:
    """Return whether two answers are the same one."""
    if isinstance(field, ShortText):
        both = field.right(mine) and field.right(other)
        return both or ShortText((mine,)).right(other) or ShortText((other,)).right(mine)
    return math.isclose(mine, other, rel_tol=1e-9) if isinstance(field, Number) else bool(mine == other)
