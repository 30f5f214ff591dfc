"""Find JSON objects in a reply: inside or outside fences, nested or wrapped, with the few repairs that are safe.

Repairs: trailing commas, ``//`` and ``/* */`` comments, single-quoted or curly-quoted strings, Python's True, False, None,
tuples and numbers (``.25``, ``5.``, ``+12``, ``1_000``). Nothing is guessed: an object that is cut off or lacks a comma is
no object.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import NamedTuple

from metacog_pipeline.benchmark.answers.text import plain_characters

_STRUCTURE = re.compile(r'"(?:[^"\\\n]|\\.)*+"|(?<=[\[{:,(])[ \n]*\'(?:[^\'\\\n]|\\.)*+\'|[{}]')
_TOKENS = re.compile(
    r'(?P<double>"(?:[^"\\]|\\.)*+")|(?P<single>\'(?:[^\'\\\n]|\\.)*+\')|(?P<comment>//[^\n]*|/\*.*?\*/)'
    r"|(?P<word>[A-Za-z_]\w*)|(?P<paren>[()])"
    r"|(?<![\w.+-])(?P<number>[-+]?(?:\d++(?:_\d++)*+(?:\.(?:\d++(?:_\d++)*+)?)?|\.\d++(?:_\d++)*+)(?:[eE][-+]?\d++)?)(?![\w.])",
    re.DOTALL,
)
_TRAILING = re.compile(r",(?=\s*+[}\]])")
_NO_WHOLE, _LONE_POINT = re.compile(r"^-?(?=\.)"), re.compile(r"\.(?!\d)")
_WORDS = {"True": "true", "False": "false", "None": "null"}
_PARENS = {"(": "[", ")": "]"}
_TRIED_AT_MOST = 2_000  # objects parsed per reply
_PARSED_AT_MOST = 8  # times the length of the reply, in characters handed to the JSON decoder


class FoundObject(NamedTuple):
    """A JSON object of the text: its span and its value; keys of equal name keep the last value."""

    start: int
    end: int
    value: dict[str, object]


@lru_cache(maxsize=8)
def objects(text: str) -> tuple[FoundObject, ...]:
    """Return the outermost objects that can be read, by position; `inner` walks what they hold.

    An object that cannot be read is replaced by the readable ones inside it. Total: any string gives a tuple; several
    readers ask for one text in turn, so the last few are kept.
    """
    budget = _PARSED_AT_MOST * len(text) + 100_000
    found: list[FoundObject] = []
    covered = 0
    for tried, (start, end) in enumerate(_spans(text)):
        if start < covered or (text.find(":", start, end) < 0 and text[start + 1 : end - 1].strip()):
            continue  # within one that was read; \boxed{7}, which has no key
        if tried >= _TRIED_AT_MOST or budget < end - start:
            break
        budget -= end - start
        value = _loads(text[start:end])
        if value is not None:
            found.append(FoundObject(start, end, value))
            covered = end
    return tuple(found)


def inner(value: object, depth: int = 60) -> Iterator[dict[str, object]]:
    """Yield every object inside ``value``, itself included, from the outside in and from left to right."""
    if depth == 0 or not isinstance(value, (dict, list)):
        return
    if isinstance(value, dict):
        yield value
    for each in value.values() if isinstance(value, dict) else value:
        yield from inner(each, depth - 1)


def as_lines(text: str, wanted: Callable[[str], bool], render: Callable[[str, object], str]) -> str:
    """Replace every object that has a wanted key by lines ``key: value``; leave the rest of the text."""
    parts: list[str] = []
    end = 0
    for found in objects(text):
        holders = [each for each in inner(found.value) if any(wanted(key) for key in each)]
        if not holders:
            continue
        parts.append(text[end : found.start])
        parts.extend(f"\n{render(key, each)}\n" for holder in holders[:20] for key, each in holder.items())
        end = found.end
    return "".join(parts) + text[end:] if parts else text


def _spans(text: str) -> list[tuple[int, int]]:
    """Return the spans of all balanced braces, outermost first; braces inside strings do not count."""
    opened: list[int] = []
    spans: list[tuple[int, int]] = []
    position = text.find("{")
    for found in _STRUCTURE.finditer(text, position) if position >= 0 else ():
        if found[0] == "{":
            opened.append(found.start())
        elif found[0] == "}" and opened:
            spans.append((opened.pop(), found.end()))
    return sorted(spans, key=lambda span: (span[0], -span[1]))


def _loads(source: str) -> dict[str, object] | None:
    attempts: tuple[Callable[[str], str], ...] = (str, plain_characters, _repaired)
    for attempt in attempts:
        try:
            value = json.loads(attempt(source))
        except (ValueError, RecursionError):
            continue
        return value if isinstance(value, dict) else None
    return None


def _repaired(source: str) -> str:
    return _TRAILING.sub("", _TOKENS.sub(_repair, plain_characters(source)))


def _repair(token: re.Match[str]) -> str:
    text = token[0]
    if token["single"]:
        body = text[1:-1].replace("\\'", "'").replace('"', '\\"').replace('\\\\"', '\\"')
        return f'"{body}"'
    if token["comment"]:
        return " "
    if token["paren"]:
        return _PARENS[text]
    if token["number"]:
        return _LONE_POINT.sub(r"\g<0>0", _NO_WHOLE.sub(r"\g<0>0", text.replace("_", "").removeprefix("+")))
    return _WORDS.get(text, text) if token["word"] else text
