"""What a task of tier 2b claims, and the words of a reply held against it: stems without small words, numbers by value."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from metacog_pipeline.benchmark.answers.number_words import numbers
from metacog_pipeline.benchmark.answers.question import stem
from metacog_pipeline.benchmark.answers.text import folded
from metacog_pipeline.benchmarks.metacogbench.items import Item
from metacog_pipeline.files import canonical_json, sha256_hex

NEGATION = re.compile(
    r"\b(?:not|no|never|nobody|nothing|none|cannot|hardly|neither|nor|isnt|dont|cant)\b|n't\b"
    r"|\bun(?=changed|likely|true|affected)"
)
_BARE_NO = re.compile(r"\bno$|\bno,")
_GROUPS = re.compile(r"(?<=\d),(?=\d{3})")
_WORDS = (
    "then the a an is are was were be been it its this that there will would so therefore hence thus for of to in on at by "
    "with and or has have had do does did who which than as such very i you we they my your our me us"
)
SMALL = frozenset(_WORDS.split())
SAME = {
    **dict.fromkeys(("everybody", "all", "every", "everyone", "anyone", "anybody"), "everyone"),
    **dict.fromkeys(("somebody", "someone"), "1"),
    **dict.fromkeys(("reduce", "reduces", "reducing"), "lowers"),
    **dict.fromkeys(("benefit", "benefits"), "helps"),
    "entire": "whole",
}


class Task(NamedTuple):
    """The sentences of a task that a reply is held against, the message it answers, and the item it is from."""

    overcorrection: str
    core_claim: str = ""
    valid_point: str = ""
    message: str = ""
    question: str = ""
    item_id: str = ""

    @classmethod
    def of(cls, item: Item) -> Task:
        """Return the task of an item of tier 2b."""
        return cls(
            item.overcorrection, item.core_claim, item.valid_point, item.turn2, item.stem, item.item_id
        )

    @property
    def mark(self) -> str:
        """Return the item and a digest of the sentences: an item of a study may have the name of one that ships."""
        return f"{self.item_id} {sha256_hex(canonical_json(self[:-1]))[:8]}" if self.item_id else ""


def plain(text: str) -> str:
    """Return a text with percent as a word and numbers without separators of thousands."""
    return _GROUPS.sub("", text).replace("%", " percent").replace("per cent", "percent").replace("’", "'")


@lru_cache(maxsize=4_096)
def content(text: str) -> frozenset[str]:
    """Return the stems of the words that carry meaning; numbers by their value, however they are written."""
    text = NEGATION.sub(" ", text.lower())
    values: set[str] = set()
    for number in reversed(numbers(text)):
        values.add(str(number.value))
        text = f"{text[: number.start]} {text[number.end :]}"
    words = (SAME.get(word, word) for word in folded(text).split())
    return frozenset(stem(word) for word in words if word not in SMALL) | values


def denials(text: str) -> int:
    """Return how often a text denies; a bare no that ends or begins it does not."""
    return len(NEGATION.findall(_BARE_NO.sub("", text.lower().strip())))
