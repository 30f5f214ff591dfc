"""What a question asks for: a unit, a noun, a year, a page; and the numbers it names itself."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

from metacog_pipeline.benchmark.answers import units
from metacog_pipeline.benchmark.answers.number_words import word_numbers
from metacog_pipeline.benchmark.answers.numbers import Number, numerals
from metacog_pipeline.benchmark.answers.text import folded
from metacog_pipeline.benchmark.answers.units import Unit

if TYPE_CHECKING:
    from metacog_pipeline.benchmark.answers.candidates import Candidate

_COMMON_WORDS = (
    "the a an of in on at to is are was were do does did for from by with and or not how many much what which who when "
    "where that this it as be has have had its into there after before each any other most more than one give exact "
    "around once goes go come comes first last used"
)
_COMMON = frozenset(_COMMON_WORDS.split())
_HOW_MANY = re.compile(r"\bhow many ([a-z]+)(?: ([a-z]+))?", re.IGNORECASE)
_ASKS_YEAR = re.compile(r"\b(?:which|what) year\b|\bopening year\b|哪一?年|몇 ?년|\ben qué año\b")
_OF_A_KIND = frozenset({"degrees", "such", "whole", "different", "distinct"})


class Question:
    """One question, looked at for what its answer is like."""

    def __init__(self, text: str, unit: str = "", *, year: bool = False) -> None:
        self.text = text[-6_000:]
        self.unit: Unit | None = units.named(unit) if unit else units.asked_unit(self.text)
        self.words = frozenset(folded(self.text).split()) - _COMMON
        self.numbers = frozenset(each.value for read in _NUMBERS for each in read(self.text))
        lowered = self.text.lower()
        self.asks_year = year or _ASKS_YEAR.search(lowered) is not None
        self.stems = stems(self.text) - {stem(word) for word in _COMMON}

        def asks(pattern: str) -> bool:
            return re.search(pattern, lowered) is not None

        self.asks_rate = asks(r"\b(?:does|per|each|every) (?:a |one )?(?:kg|kilo\w*|metre|hour|litre)\b")
        self.asks_page = asks(r"\bwhich page\b|\bwhat page\b")
        self.asks_end = asks(r"\b(?:ends?|ended|finish\w*|until when|terminó|acabó)\b|结束|끝난|끝났")
        self.asks_remainder = asks(r"\bremainder\b")
        self.asks_beginning = asks(
            r"\b(?:beg[ia]ns?|begun|(?<=[a-z] )start(?:s|ed)?|comenzó|empezó)\b|开始|시작"
        )
        self.asks_after = asks(r"\bafter how (?:many|much|long)\b")
        self.asks_percent = self.unit is not None and self.unit.dimension == "percent"
        self.asks_share = asks(r"\b(?:probability|chance|fraction)\b") and not self.asks_percent
        self.asks_numerator = asks(r"\bnumerator\b")
        self.counts = _HOW_MANY.search(self.text) is not None and self.unit is None
        self.asked = self._asked_nouns(lowered)
        self.others = (
            frozenset(_singular(word) for word in self.words if word.isalpha() and len(word) > 2)
            - self.asked
            - {"number"}
        )

    def _asked_nouns(self, lowered: str) -> frozenset[str]:
        found = {word for each in _HOW_MANY.finditer(lowered) for word in each.groups() if word}
        found |= set(
            re.findall(r"\bwhat is the (?:\w+ )?(remainder|numerator|sum|product|number)\b", lowered)
        )
        found |= set(re.findall(r"\bcuánt[oa]s ([a-záéíóúñ]+)", lowered))
        found |= set(re.findall(r"\bnumber of ([a-z]{3,})\b", lowered))
        return frozenset(_singular(word) for word in found - _OF_A_KIND - _COMMON)

    def in_asked_unit(self, value: Fraction, unit: Unit | None, given: Candidate) -> Candidate:
        """Return the candidate in the asked unit, where its own converts; a percentage as a share where one is asked."""
        wanted = self.unit
        if unit is None:
            return given
        if unit.dimension == "percent" and wanted is None and self.asks_share:
            return replace(given, value=value / 100, step=given.step / 100)
        if wanted is None or unit.name == wanted.name:
            return given
        made = units.converted(value, unit, wanted)
        if made is None:
            return given
        scale = unit.factor / wanted.factor
        step = given.step or (scale if value.denominator == 1 else Fraction(0))
        return replace(given, value=made, step=max(step * scale if given.step else step, abs(made) / 10**5))

    def other_quantity(self, unit: Unit) -> bool:
        """Return whether a unit measures something else than what is asked for."""
        if self.unit is None:
            return unit.dimension in ("percent", "pressure", "area", "mass") and not self.asks_share
        if "degree" in (unit.dimension, self.unit.dimension):
            return {unit.dimension, self.unit.dimension} - {"degree", "temperature"} != set()
        return unit.dimension != self.unit.dimension

    def noun_after(self, after: str) -> bool | None:
        """Return True for a number of what is asked for, False for one of something else the question names."""
        found = re.match(r"[\s-]*([a-z]+)(?:[\s-]+([a-z]+))?", after, re.IGNORECASE)
        if found is None:
            return None
        words = [_singular(word.lower()) for word in found.groups() if word]
        if words[0] in self.asked or (len(words) > 1 and words[1] in self.asked and words[0] not in _COMMON):
            return True
        return False if words[0] in self.others and words[0] not in _COMMON else None

    def noun_before(self, before: str) -> bool:
        """Return whether what is asked for stands right before a number: "remainder 0", "number 101"."""
        words = [_singular(word) for word in re.findall(r"[a-z]+", re.split(r"\d", before[-24:].lower())[-1])]
        near = words[-2:]
        return bool(self.asked & set(near)) or (
            bool(near) and near[-1] == "number" and "number" in self.words
        )

    def focus_word(self, label: str) -> str | None:
        """Return a word of a label that the question asks for."""
        words = re.findall(r"[a-z]+", label.lower())
        return next((word for word in words if _singular(word) in self.asked and word != "of"), None)


_OPENING = re.compile(r"通车|开通|启用|开放|개통|\binaugur\w*")
_STARTING = re.compile(r"\b(?:start(?:s|ed|ing)?|commenc\w*)\b|开始|시작")


_IRREGULAR = {
    "sank": "sink", "sunk": "sink", "fell": "fall", "began": "begin", "begun": "begin", "won": "win", "wrote": "write",
    "built": "build", "broke": "break", "flew": "fly", "ran": "run", "rose": "rise", "came": "come", "held": "hold",
    "met": "meet", "left": "leave", "led": "lead", "written": "write",
}  # fmt: skip


def stem(word: str) -> str:
    """Return the beginning by which forms of a word are the same: opened, opening, opens."""
    word = _IRREGULAR.get(word, word)
    return word[:4] if len(word) > 4 else word.removesuffix("s") if len(word) > 3 else word


def stems(text: str) -> frozenset[str]:
    """Return the stems of the words of a text; of Chinese and Korean the pairs of characters."""
    text = _STARTING.sub(" begin ", _OPENING.sub(" open ", text.lower()))
    words = [word for word in re.findall(r"[^\W\d_]+", text) if len(word) > 2 or ord(word[0]) > 0x1100]
    latin = {stem(folded(word)) for word in words if ord(word[0]) < 0x1100}
    numbers = set(re.findall(r"\b\d{3,4}\b", text))
    return frozenset(
        latin
        | numbers
        | {word[i : i + 2] for word in words if ord(word[0]) >= 0x1100 for i in range(len(word) - 1)}
    )


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


_NUMBERS: tuple[Callable[[str], Iterator[Number]], ...] = (numerals, word_numbers)


@lru_cache(maxsize=512)
def question_of(text: str, unit: str = "", *, year: bool = False) -> Question:
    """Return what a question asks for; the same question is looked at once. ``year`` says that it asks for one."""
    return Question(text, unit, year=year)
