"""Labelled values of a reply: ``KEY: value`` in prose, Markdown, LaTeX, tables, YAML or JSON.

JSON objects and tables that hold a wanted key are first written out as lines, so that one reader serves them all.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from itertools import takewhile
from typing import NamedTuple

from metacog_pipeline.benchmark.answers.text import plain_characters, without_markup, without_reasoning
from metacog_pipeline.benchmarks.metacogbench.parsing import json_objects

_SCALE = r"(?: ?[(\[][^()\[\]\n]{0,60}[)\]])"
_SEPARATOR = (
    r"[\"')\]]{0,2} ?(?P<sep>:=|:|=>|=|->|→|\|| - | (?:is|was|will be|would be)(?: now| still)?:?(?= ))"
)
_WORDLIKE = re.compile(r"is|was|will be|would be")
_OTHER_TENSE = re.compile(r"was|will be|would be")
_ROW = re.compile(r"^ ?\|.*\| ?$")
_RULE = re.compile(r"^[ |:+-]*-[ |:+-]*$")
_LONGEST_LINE = 4_000
_MOST_LINES = 40_000
_BEFORE = 80


class Keyed(NamedTuple):
    """One labelled value.

    ``name`` is the key that was asked for, ``value`` the text after the separator up to the next key or the line end
    (or the next line when nothing follows), ``firm`` whether the separator was a sign rather than the word *is*,
    ``stated`` whether it was either of them and not *was*, *will be* or *would be*, ``before`` what stands before the
    key on its line.
    """

    name: str
    value: str
    firm: bool
    stated: bool = True
    before: str = ""


def labelled(reply: str, keys: Mapping[str, str]) -> tuple[list[Keyed], str]:
    """Return the labelled values in order, and the prepared text (T1–T3) they were found in.

    ``keys`` maps names to regexes of the key's wordings, without the separator; case is ignored.
    """
    finder = _finder(tuple(keys.items()))
    text = without_reasoning(reply)
    if "{" in text:
        text = json_objects.as_lines(text, lambda key: finder.alone(key) is not None, _line)
    text = without_markup(plain_characters(text))
    lines = _tables_as_lines(text.split("\n")[-_MOST_LINES:], finder)
    return finder.scan(lines), "\n".join(lines)


class _Finder:
    """The compiled keys."""

    def __init__(self, keys: tuple[tuple[str, str], ...]) -> None:
        any_key = "|".join(f"(?P<{name}>{pattern})" for name, pattern in keys)
        self.names = [name for name, _ in keys]
        self.keyed = re.compile(rf"(?<![\w'-])(?:{any_key}){_SCALE}?{_SEPARATOR}", re.IGNORECASE)
        self.only = re.compile(rf"[\W_]*(?:{any_key}){_SCALE}?[\W_]*", re.IGNORECASE)

    def alone(self, text: str) -> str | None:
        """Return the name of the key that is all of ``text``, or None."""
        found = self.only.fullmatch(text) if len(text) <= 120 else None
        return self._name(found) if found else None

    def _name(self, found: re.Match[str]) -> str:
        return next(name for name in self.names if found[name] is not None)

    def scan(self, lines: list[str]) -> list[Keyed]:
        found: list[Keyed] = []
        for number, line in enumerate(lines):
            if (name := self.alone(line)) is not None:
                found.append(Keyed(name, self._next_line(lines, number), True))
                continue
            matches = self._apart(list(self.keyed.finditer(line[:_LONGEST_LINE])))
            ends = [m.start() for m in matches[1:]] + [len(line)] * bool(matches)
            for match, end in zip(matches, ends, strict=True):
                value = line[match.end() : min(end, match.end() + _LONGEST_LINE)].strip()
                if not value.strip(" \"'|;,."):
                    value = self._next_line(lines, number) if end == len(line) else ""
                elif value.endswith(":") and end == len(line):
                    value = f"{value} {self._following(lines, number)}"
                stated = _OTHER_TENSE.match(match["sep"].strip()) is None
                before = line[max(0, match.start() - _BEFORE) : match.start()]
                found.append(Keyed(self._name(match), value, not _spoken(match), stated, before))
        return found

    def _apart(self, matches: list[re.Match[str]]) -> list[re.Match[str]]:
        """Return the labels of a line without those that only say *is* behind a sign of the same name."""
        kept: list[re.Match[str]] = []
        for each in matches:
            if not (_spoken(each) and kept and self._name(kept[-1]) == self._name(each)):
                kept.append(each)
        return kept

    def _holds_key(self, line: str) -> bool:
        return self.alone(line) is not None or self.keyed.search(line[:_LONGEST_LINE]) is not None

    def _following(self, lines: list[str], number: int) -> str:
        """Return the lines that a value ending in a colon goes on with, up to a blank one or one with a key."""
        own = takewhile(
            lambda line: line.strip() and not self._holds_key(line), lines[number + 1 : number + 13]
        )
        return "\n".join(line.strip() for line in own)

    def _next_line(self, lines: list[str], number: int) -> str:
        """Return the next non-empty line, or "" where it holds a key of its own."""
        line = next((line for line in lines[number + 1 : number + 6] if line.strip()), "")
        return "" if self._holds_key(line) else line.strip()


def _spoken(match: re.Match[str]) -> bool:
    """Return whether a label has the word *is* for a separator."""
    return _WORDLIKE.match(match["sep"].strip()) is not None


@lru_cache(maxsize=32)
def _finder(keys: tuple[tuple[str, str], ...]) -> _Finder:
    return _Finder(keys)


def _line(key: str, value: object) -> str:
    """Write one member of an object as a line; a nested object speaks through its one number."""
    name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", key)
    return f"{name}: {_shown(value)}".replace("\n", " ")


def _shown(value: object) -> str:
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, dict):
        numeric = [each for each in value.values() if _is_number(each)]
        return str(numeric[0]) if len(numeric) == 1 else ""
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False)[:_LONGEST_LINE]


def _is_number(value: object) -> bool:
    if isinstance(value, str):
        return re.fullmatch(r" ?\d{1,4}(?:[.,]\d{1,4})? ?%?", value) is not None
    return isinstance(value, int | float) and not isinstance(value, bool)


def _tables_as_lines(lines: list[str], finder: _Finder) -> list[str]:
    """Write table rows as ``first cell: next cell``, or ``heading: cell`` below a heading row with a wanted key."""
    if not any(_ROW.match(line) or _RULE.match(line) for line in lines if "|" in line):
        return lines
    made: list[str] = []
    heading: list[str] | None = None
    for number, line in enumerate(lines):
        below = lines[number + 1] if number + 1 < len(lines) else ""
        if "|" not in line or not (_ROW.match(line) or heading or _RULE.match(below)):
            heading = None
            made.append(line)
            continue
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if _RULE.match(line):
            continue
        if _RULE.match(below) and "|" in below and _is_heading(cells, finder):
            heading = cells
        elif heading is not None:
            made.extend(f"{key}: {cell}" for key, cell in zip(heading, cells, strict=False) if key)
        else:
            made.append(": ".join(cells[:2]) if len(cells) > 1 else cells[0])
    return made


def _is_heading(cells: list[str], finder: _Finder) -> bool:
    """Return whether a row above a rule names columns, rather than one key and its value."""
    known = [finder.alone(cell) is not None for cell in cells]
    return any(known) and not (len(cells) == 2 and known[0] and re.match(r"[<\[~]?\d", cells[1]) is not None)
