"""A question with its right answer, as an item: what its answer is read as, and whether an answer is right."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any, Literal

from metacog_pipeline.benchmark.item import Item
from metacog_pipeline.reading.envelope import Envelope, plain, unboxed
from metacog_pipeline.reading.fields import Confidence, Letter, Number
from metacog_pipeline.reading.names import ShortText
from metacog_pipeline.reading.numbers import asked_unit, in_percent
from metacog_pipeline.reading.reader import read

LETTERS = "ABCDEFGHIJ"
Answer = Letter | Number | ShortText
#: Mode of an answer whose options had another order: after it the item's letters in the order they were shown.
ORDER = "order: "


class Question(Item):
    """A question. ``answer`` is right (the letter where there are ``options``), and so is what ``accept`` lists; what is
    ``graded`` is right or wrong as its log says. Questions of one ``task`` have a board together; those of one ``group``
    are drawn together."""

    task: str
    question: str
    kind: Literal["choice", "number", "text", "graded"]
    answer: str = ""
    accept: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    reject: tuple[str, ...] = ()
    tolerance: float = 0.0
    unit: str = ""
    group: str = ""
    own: tuple[tuple[str, str], ...] = ()  # further columns of its file: never asked, no part of what it is

    def asked_and_scored_by(self) -> Any:
        """Return what decides how the question is asked and scored: not the further columns of its file."""
        return {name: value for name, value in super().asked_and_scored_by().items() if name != "own"}

    @property
    def cluster(self) -> str:
        """The group, else the question itself."""
        return self.group or self.item_id

    @cached_property
    def stem(self) -> str:
        """The question as it is asked, options below it."""
        listed = (f"{letter}) {text}" for letter, text in zip(LETTERS, self.options, strict=False))
        return "\n".join([self.question.strip(), *listed])

    @cached_property
    def field(self) -> Answer:
        """What a reply is read as. Right answers are in the same plain form as replies."""
        if self.options:
            return Letter(dict(zip(LETTERS, self.options, strict=False)))
        if self.kind == "number":
            whole = len(self.answer) > 3 and self.answer.isdigit()
            return Number(self.unit or asked_unit(self.question), whole=whole)
        return ShortText(tuple(unboxed(plain(form)).strip() for form in (self.answer, *self.accept)))

    def shown_in(self, mode: str) -> Answer:
        """Return what a reply is read as whose answer mode may say in which order its options were shown."""
        if not self.options or not mode.startswith(ORDER):
            return self.field
        own = dict(zip(LETTERS, self.options, strict=False))
        return Letter(dict(zip(LETTERS, (own[each] for each in mode.removeprefix(ORDER)), strict=False)))

    def own_letter(self, value: Any, mode: str) -> Any:
        """Return the item's letter of an option that was chosen by its letter in the order it was shown in."""
        if not self.options or not mode.startswith(ORDER) or not isinstance(value, str):
            return value
        return mode.removeprefix(ORDER)[LETTERS.index(value)]

    def right(self, value: Any, words: str) -> bool:
        """Return whether an answer of this ``value``, stated in these ``words``, is that of the key."""
        if isinstance(self.field, ShortText):
            return self.field.right(value) and not ShortText(self.reject).right(value)
        if isinstance(self.field, Letter):
            return bool(value == self.answer)
        return any(map(self._is_near, self._ways(self.field, value, words)))

    def as_keyed(self, value: Any, words: str) -> Any:
        """Return the value of an answer, of 25 % the 0.25 where that is what the key counts in."""
        if not isinstance(self.field, Number):
            return value
        return next(filter(self._is_near, self._ways(self.field, value, words)), value)

    @staticmethod
    def _ways(field: Number, value: float, words: str) -> tuple[float, ...]:
        # a percentage is answered as a share, and the other way
        asked, stated = field.unit in ("%", "percent"), in_percent(words)
        if asked == stated:
            return (value,)
        return (value, value / 100) if stated else (value, value * 100) if 0 < value < 1 else (value,)

    def _is_near(self, value: float) -> bool:
        keys = [
            found.value for found in map(self.field.read, (self.answer, *self.accept)) if found.status == "ok"
        ]
        within = self.tolerance * (1 + 1e-9)  # 14.3 is within 0.01 of 14.29
        return any(math.isclose(value, key, rel_tol=1e-9, abs_tol=within) for key in keys)


def same_answer(field: Answer, mine: Any, other: Any) -> bool:
    """Return whether two answers to one question are the same."""
    if isinstance(field, ShortText):
        both = field.right(mine) and field.right(other)
        return both or ShortText((mine,)).right(other) or ShortText((other,)).right(mine)
    return math.isclose(mine, other, rel_tol=1e-9) if isinstance(field, Number) else bool(mine == other)


def states_confidence(reply: str) -> bool:
    """Return whether a reply states a number as its confidence."""
    stated = read(Envelope.of(reply), [ShortText(()), Confidence(0, 100)])["confidence"]
    return stated.status in ("ok", "out_of_range")
