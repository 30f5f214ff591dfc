"""One row of ``metacog read``: a reply and the item it answers, as one JSON object, and what comes back for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from metacog_pipeline.errors import suggestion
from metacog_pipeline.reading.calls import AGAIN, Call, said
from metacog_pipeline.reading.fields import NOTHING, Status
from metacog_pipeline.reading.names import same
from metacog_pipeline.reading.reader import Reading

Row = Mapping[str, Any]
ItemT = TypeVar("ItemT")
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


class BadRow(Exception):
    """A row that cannot be read; the message is one line for its author."""


def found_item(row: Row, items: Mapping[str, ItemT]) -> ItemT | None:
    """Return the shipped item that a row names; None where it names none and brings its own fields."""
    name = row.get("item_id")
    if name is None or name == "":
        return None
    if not isinstance(name, str):
        raise BadRow(f"item_id is {type(name).__name__}, not a text")
    if name not in items:
        raise BadRow(f"no item {name[:80]!r}{suggestion(name[:80], items)}")
    return items[name]


def calls_of(row: Row, steps: Sequence[str], only: str) -> dict[str, Call]:
    """Return the replies of a row by step; ``response`` is the reply to the step ``only``."""
    given = row.get("responses")
    if given is None:
        given = {} if row.get("response") is None else {only: row["response"]}
    elif not isinstance(given, Mapping):
        raise BadRow('responses must be an object of texts by step, such as {"direct": "…", "meta": "…"}')
    cut = row.get("truncated") is True or row.get("finish_reason") in ("length", "max_tokens", "MAX_TOKENS")
    made: dict[str, Call] = {}
    for step, reply in given.items():
        if str(step).removesuffix(AGAIN) not in steps:
            raise BadRow(f"no step {str(step)[:40]!r}; there are: {', '.join(steps)}")
        if reply is not None:
            whole = text(f"responses.{step}" if step != only else "response", reply)
            made[step] = Call("truncated" if cut else "ok", whole)
    if not made:
        raise BadRow("there is no reply; give response, or responses by step")
    return made


def text(name: str, value: Any) -> str:
    """Return a value of a row that has to be a text."""
    if not isinstance(value, str):
        raise BadRow(f"{name} is {type(value).__name__}, not a text")
    return value


def options_of(row: Row) -> dict[str, str]:
    """Return the options of a row by letter: given as a list, or as an object by letter; none where it has none."""
    given: Any = [] if row.get("options") is None else row["options"]
    if isinstance(given, Mapping):
        pairs = {str(letter).strip().upper(): option for letter, option in given.items()}
    elif isinstance(given, list) and len(given) <= len(LETTERS):
        pairs = dict(zip(LETTERS, given, strict=False))
    else:
        raise BadRow("options must be a list of texts, or an object of texts by letter")
    return {letter: str(option) for letter, option in pairs.items()}


def answers_of(row: Row) -> tuple[str, ...]:
    """Return the right answers of a row, as texts: ``answers``, else ``answer``; none where there is no key."""
    given: Any = next((row[name] for name in ("answers", "answer") if row.get(name) is not None), [])
    several = given if isinstance(given, list) else [given]
    return tuple(str(int(each)) if isinstance(each, bool) else str(each) for each in several)


def letter_of(key: str, options: Mapping[str, str]) -> str | None:
    """Return the letter of a key that is a letter or the text of an option."""
    if key.strip().upper() in options:
        return key.strip().upper()
    return next((letter for letter, option in options.items() if same(option, key)), None)


def result(
    reading: Reading, *, correct: bool | None, scale: tuple[float, float] = (0.0, 1.0), **more: Any
) -> dict[str, Any]:
    """Return what comes back for a row: status, answer, confidence as stated and from 0 to 1, whether it is right."""
    found = [*reading.fields.values()]
    stated = said(reading.fields.get("confidence", NOTHING))
    outside = reading.status == "ok" and any(each.status == "out_of_range" for each in found)
    low, high = scale
    return {
        "status": "out_of_range" if outside else reading.status,
        "answer": said(found[0]),
        "confidence": stated,
        "confidence01": None if stated is None else (stated - low) / (high - low),
        "correct": correct if reading.status == "ok" else None,
        **more,
    }


def unread(status: Status, **more: Any) -> dict[str, Any]:
    """Return what comes back for a row whose reply gives no answer."""
    return {"status": status, **dict.fromkeys(("answer", "confidence", "confidence01", "correct")), **more}
