"""Rows of replies that come without a study: what every benchmark that reads them needs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from metacog_pipeline.benchmark.thinking import without_thinking
from metacog_pipeline.errors import suggestion
from metacog_pipeline.reading.rows import BadRow

ItemT = TypeVar("ItemT")
LONGEST_RAW, LONGEST = 200_000, 30_000  # characters of a reply with its thinking, and without
# Of a reply in prose, which is read clause by clause. A page of prose has some 60 clauses and 3,000 characters.
MOST_CLAUSES, MOST_NUMBERS, LONGEST_SENTENCE = 1_000, 1_000, 4_000
_CLAUSE_ENDS = re.compile(r"\w[^\w\s]*(?:[.!?;:](?=\s|\Z)|[。！？；：\n])")
_NUMBER = re.compile(r"\d[\d.,]*")
_UNBROKEN = re.compile(r"[^.,;:!?|\n。，、；：！？،؛؟۔।]+")


def too_long(text: str) -> str | None:
    """Return why a reply is not read: what is this long answers nothing; None where it is read."""
    if len(text) <= LONGEST:
        return None
    if len(text) > LONGEST_RAW:
        return f"unparsable: {len(text)} characters, at most {LONGEST_RAW} are read"
    said = len(without_thinking(text))
    return (
        f"unparsable: {said} characters beside its thinking, at most {LONGEST} are read"
        if said > LONGEST
        else None
    )


def no_prose(text: str) -> str | None:
    """Return why a reply is no prose that anybody writes, and is not read clause by clause; None where it is read."""
    said = without_thinking(text)
    if len(said) <= LONGEST_SENTENCE:  # whatever it is, it is read soon
        return None
    for name, count, most in (
        ("clauses", len(_CLAUSE_ENDS.findall(said)), MOST_CLAUSES),
        ("numbers", len(_NUMBER.findall(said)), MOST_NUMBERS),
        ("characters in one sentence", max(map(len, _UNBROKEN.findall(said)), default=0), LONGEST_SENTENCE),
    ):
        if count > most:
            return f"unparsable: {count} {name}, at most {most} are read"
    return None


def unparsable(why: str) -> dict[str, Any]:
    """Return the answer to a row whose reply is not read."""
    return {
        "status": "unparsable", "read": {}, "correct": False, "passed": False, "ambiguous": False, "basis": "words",
        "why": why,
    }  # fmt: skip


def found_item(row: Mapping[str, Any], items: Mapping[str, ItemT]) -> ItemT:
    """Return the item a row names; raises `BadRow` where there is none."""
    name = row.get("item_id")
    if name is None or name == "":
        raise BadRow("item_id is missing; name the item the reply is to")
    if not isinstance(name, str):
        raise BadRow(f"item_id is {type(name).__name__}, not a text")
    if name not in items:
        raise BadRow(f"no item {name[:80]!r}{suggestion(name[:80], items)}")
    return items[name]


def texts_of(row: Mapping[str, Any], steps: Sequence[str]) -> dict[str, str]:
    """Return the replies of a row by step; that of ``response`` under this name. Raises `BadRow` for what is no text."""
    made: dict[str, str] = {}
    if row.get("response") is not None:
        made["response"] = _text("response", row["response"])
    given = row.get("responses")
    if given is not None:
        if not isinstance(given, Mapping):
            raise BadRow(
                'responses must be an object of texts by step, such as {"turn_1": "…", "turn_2": "…"}'
            )
        for step, text in given.items():
            if step not in steps:
                raise BadRow(f"no step {str(step)[:40]!r}; there are: {', '.join(steps)}")
            if text is not None:
                made[step] = _text(f"responses.{step}", text)
    if not made:
        raise BadRow("there is no reply; give response, or responses by step")
    return made


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise BadRow(f"{name} is {type(value).__name__}, not a text")
    return value
