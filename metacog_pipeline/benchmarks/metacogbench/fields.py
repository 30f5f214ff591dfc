"""The fields that the tiers ask for: a stake in tokens, a percentage, an answer of the item's type."""

from __future__ import annotations

import re
from dataclasses import replace

from metacog_pipeline.benchmarks.metacogbench.items import Item
from metacog_pipeline.benchmarks.metacogbench.prompts import LETTERS
from metacog_pipeline.reading.fields import (
    NOTHING,
    Bet,
    Confidence,
    Field,
    Fields,
    Found,
    Letter,
    Number,
    YesNo,
)
from metacog_pipeline.reading.names import ShortText
from metacog_pipeline.reading.numbers import asked_unit

_ALL = re.compile(
    r"\W*(?:all[ -]in|everything|all(?:\s+of)?\s+(?:it|my\s+\w+|\d+\s+tokens))\b", re.IGNORECASE
)
_NOTHING = re.compile(r"\W*(?:nothing|none|no\s+tokens)\b", re.IGNORECASE)
_OPTIONS = re.compile(r"\b([A-H])\)\s+(.+?)(?=\s+[A-H]\)|$)")


class Tokens(Bet):
    """A stake in tokens, which may be all of them or none."""

    def read(self, said: str) -> Found:
        """Read the number behind a label, or the word."""
        for word, value in ((_ALL, self.high), (_NOTHING, self.low)):
            if word.match(said):
                return Found("ok", value, 0, len(said))
        found = Bet.read(self, said)
        return Found("out_of_range") if found.status == "ok" and 0 < found.value < 1 else found

    def find(self, text: str) -> Found:
        """Find a number that a text calls its bet, or a number of tokens."""
        counted = re.search(r"\b(\d{1,3})\s+(?:tokens|chips)\b", text)
        found = Bet.find(self, text)
        return self.read(counted[1]) if found.status == "no_answer" and counted else found


class Moment(Confidence):
    """Confidence before or after answering, as stated: only under its name, since a reply has two."""

    def find(self, text: str) -> Found:
        """Find nothing in a turn that gives it no name."""
        return NOTHING


class Percent(Moment):
    """A percentage; a fraction of one with a decimal mark, 0.9, is one as well."""

    def read(self, said: str) -> Found:
        """Read the number behind a label."""
        found = Confidence.read(self, said)
        fraction = (
            found.status == "ok" and found.value <= 1 and re.search(r"[.,]\d", said) and "%" not in said
        )
        return replace(found, value=round(100 * found.value, 10)) if fraction else found


class Prediction(Percent):
    """The percentage that is all a turn is asked for."""

    def find(self, text: str) -> Found:
        """Find a number that a text calls its confidence."""
        return Confidence.find(self, text)


def answer_field(item: Item) -> Field:
    """Return what the answer of tiers 1a and 1b is read as."""
    match item.answer_type:
        case "number":
            return Number(item.unit or asked_unit(item.stem), whole=_is_whole(item))
        case "choice":
            return Letter(options_of(item) or dict(_OPTIONS.findall(item.stem)))
        case "yesno":
            return YesNo()
        case "text":
            return ShortText([str(form) for form in (item.answer, *item.accept) if form is not None])
    return ShortText(())  # nothing is right: whatever stands in place of an answer


def _is_whole(item: Item) -> bool:
    """Whether a whole number of four digits or more is asked for, in which a point groups thousands."""
    return len(str(item.answer)) > 3 and str(item.answer).isdigit() and not item.abs_tol and not item.rel_tol


def options_of(item: Item) -> dict[str, str]:
    """Return the options of an item by letter."""
    return {letter: option.text for letter, option in zip(LETTERS, item.options, strict=False)}


def story_fields(item: Item) -> Fields:
    """Return what a story of tier 3 is answered with: its fields by their names and other names."""
    return Fields({name: field.name for field in item.fields for name in (field.name, *field.aliases)})


def shown(answer: object) -> str | None:
    """Return an answer as a text."""
    return f"{answer:.15g}" if isinstance(answer, float) else None if answer is None else str(answer)
