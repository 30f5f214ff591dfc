"""The way in: whether a stated answer, or a whole reply, is right by a key. Total: any text gives a `Reading`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from metacog_pipeline.benchmark.answers.text import (
    both_ends,
    plain_characters,
    without_markup,
    without_reasoning,
)

Scalar = str | int | float | bool | Fraction
LONGEST = 4_000  # characters of an answer that are read; of a longer one the middle is not

_BOLD = re.compile(r"\*\*([^*\n]{1,300})\*\*|(?<!\w)__([^_\n]{1,300})__(?!\w)")
_BOXED = re.compile(r"\\(?:boxed|fbox)[ ]?\{((?:[^{}]|\{[^{}]{0,40}\}){0,200})\}")
_LEADING_NUMBER = re.compile(r"\A[\s`\"']{0,9}(\d{1,2})[`\"']?[.)]([ ]+(?=\D))")
_SECOND_ITEM = re.compile(r"\n[ ]{0,9}\d{1,2}[.)] ")
_OPEN, _CLOSE = "\ue000", "\ue001"


@dataclass(frozen=True, slots=True)
class AnswerKey:
    """What is right.

    ``type`` is number, text, choice or none; ``forms`` are the accepted forms (the first is the key itself);
    ``reject`` forms prove a wrong answer when they are what is said; ``exact`` takes a text letter by letter, and a choice
    by its letter or its own words only. ``question`` and ``unit`` tell what is asked for.
    """

    type: str
    forms: tuple[Scalar, ...]
    reject: tuple[str, ...] = ()
    abs_tol: float = 0.0
    rel_tol: float = 0.0
    exact: bool = False
    unit: str = ""
    question: str = ""

    @classmethod
    def of(cls, item: Any) -> AnswerKey:
        """Return the key of an item with the fields of a short answer, such as one of MetaCog-Bench."""
        forms = () if item.answer is None else (item.answer, *item.accept)
        how = (item.reject, item.abs_tol, item.rel_tol, item.exact, item.unit, item.stem)
        return cls(item.answer_type, forms, *how)


@dataclass(frozen=True, slots=True)
class Reading:
    """What was read: ``correct`` is None where two answers of equal standing are given; ``said`` is the answer read,
    None where there is none; ``why`` is one phrase."""

    said: str | None
    correct: bool | None
    why: str

    @property
    def ambiguous(self) -> bool:
        """Whether several different answers have the same standing."""
        return self.correct is None


@dataclass(frozen=True, slots=True)
class Prepared:
    """A text without thinking and markup, and the spans that were bold or boxed."""

    text: str
    emphasised: tuple[tuple[int, int], ...]


def nothing(why: str = "no answer is stated") -> Reading:
    """Return the reading of a text that answers nothing."""
    return Reading(None, False, why)


def prepared(text: str) -> Prepared:
    """Return a text ready to be read; of a long one the middle is left out."""
    text = both_ends(text, LONGEST).replace(_OPEN, " ").replace(_CLOSE, " ")
    if _LEADING_NUMBER.match(text) and not _SECOND_ITEM.search(text):
        text = _LEADING_NUMBER.sub(
            r"\1;\2", text, count=1
        )  # "7. Because ..." is an answer, not the item of a list
    marked = _BOXED.sub(rf"{_OPEN}\1{_CLOSE}", _BOLD.sub(lambda m: f"{_OPEN}{m[1] or m[2]}{_CLOSE}", text))
    plain = without_markup(plain_characters(marked)).strip()
    kept: list[str] = []
    spans: list[tuple[int, int]] = []
    length, begun = 0, -1
    for piece in re.split(f"([{_OPEN}{_CLOSE}])", plain):
        if piece == _OPEN:
            begun = length
        elif piece == _CLOSE:
            if begun >= 0:
                spans.append((begun, length))
            begun = -1
        else:
            kept.append(piece)
            length += len(piece)
    return Prepared("".join(kept), tuple(spans))


def read_stated(answer: str | None, key: AnswerKey, *, labelled: bool = True) -> Reading:
    """Read an answer: the text behind a label (``labelled``), or a whole reply that has none; None where there is no text.

    Without an accepted form in ``key`` nothing is right.
    """
    from metacog_pipeline.benchmark.answers import choices, codes, number_answers, word_answers

    if answer is None:
        return nothing()
    found = prepared(answer if labelled else without_reasoning(answer))
    if not key.forms or not found.text:
        return nothing("no answer is stated" if not found.text else "no answer is right")
    if key.type == "number":
        return number_answers.read(found, key, labelled=labelled)
    if key.type == "choice":
        return choices.read(found, key, labelled=labelled)
    if key.type != "text":
        return nothing("no answer is right")
    if key.exact:
        return codes.read(found, key)
    return word_answers.read(found, key, labelled=labelled)
