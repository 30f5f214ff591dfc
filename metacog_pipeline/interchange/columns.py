"""Cells and columns of a table somebody else made: numbers, words, paths into objects, scales."""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from metacog_pipeline.errors import StudyError
from metacog_pipeline.stats.confidence_scale import USUAL_SCALES as USUAL_SCALES
from metacog_pipeline.stats.confidence_scale import Scale as Scale
from metacog_pipeline.stats.confidence_words import MISSING, TRUTHS

#: What a cell begins with that a spreadsheet would run; the full-width ones fool spreadsheets too.
RUN_BY_SPREADSHEETS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
_COMMA = re.compile(r"^\s*[-+]?\d+(?:,\d+)+(?:\.\d+)?\s*%?\s*$")
_PART = re.compile(r"\.?([^.\[\]]+)|\[(\d{1,6})\]")
_SCALE = re.compile(r"\s*(-?\d+(?:\.\d+)?)\s*\.\.\s*(-?\d+(?:\.\d+)?)\s*%?\s*")


# --- cells ------------------------------------------------------------------------------------------------------------
def absent(value: object) -> bool:
    """Whether a cell says nothing."""
    if isinstance(value, str):
        return not value or value.isspace()
    return value is None or (isinstance(value, float) and math.isnan(value)) or not str(value).strip()


def missing(value: object) -> bool:
    """Whether a cell of a short answer says nothing: empty, NaN, or a word for it."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return True
    return isinstance(value, str) and value.strip().casefold() in MISSING


def truth(text: str) -> bool | None:
    """Return what a word for true or false says, in any of the languages of the table; None for any other text."""
    return TRUTHS.get(unicodedata.normalize("NFC", text.strip().casefold()))


def number(value: object) -> float | None:
    """Return a finite number given as a number or as text, a percent sign ignored; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        found = float(value.strip().removesuffix("%") if isinstance(value, str) else value)
    except (ValueError, OverflowError):
        return None
    return found if math.isfinite(found) else None


def has_comma(value: object) -> bool:
    """Whether a cell is a number with a comma, decimal or between thousands."""
    return isinstance(value, str) and _COMMA.match(value) is not None


# --- columns ----------------------------------------------------------------------------------------------------------
def compared_name(name: str) -> str:
    """Return the name of a column as names are compared: without case, spaces and hyphens."""
    return "_".join(name.strip().casefold().replace("-", " ").split())


def path_of(name: str) -> tuple[str | int, ...]:
    """Return the steps of a dotted path like ``answers[0].text``; () where it is none."""
    steps: list[str | int] = []
    place = 0
    while place < len(name):
        match = _PART.match(name, place)
        if match is None:
            return ()
        steps.append(match[1] if match[1] is not None else int(match[2]))
        place = match.end()
    return tuple(steps) if steps and isinstance(steps[0], str) else ()


def cell(cells: Mapping[str, Any], name: str) -> Any:
    """Return the cell of a column, or what a dotted path leads to; None where there is nothing."""
    return cells[name] if name in cells else walk(cells, path_of(name))


def walk(value: Any, steps: Iterable[str | int]) -> Any:
    """Follow ``steps`` into objects and lists; text on the way that holds JSON is read."""
    for step in steps:
        if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
            try:
                value = json.loads(value)
            except (ValueError, RecursionError):
                return None
        if isinstance(step, int) and isinstance(value, list | tuple):
            value = value[step] if step < len(value) else None
        else:
            value = value.get(str(step)) if isinstance(value, Mapping) else None
    return value


# --- what a command line says of them ---------------------------------------------------------------------------------
def parse_scale(text: str | None) -> Scale | None:
    """Return a scale from a text like ``0..100``; raise `StudyError` for anything else."""
    if text is None:
        return None
    match = _SCALE.fullmatch(text)
    if match is None or float(match[1]) >= float(match[2]):
        raise StudyError(
            f"--scale {text}: give the lowest and the highest value, as in {', '.join(map(str, USUAL_SCALES))}"
        )
    return Scale(float(match[1]), float(match[2]))


def parse_words(texts: Sequence[str]) -> dict[str, str]:
    """Return {word: value} from texts like ``KEEP=1,WITHDRAW=0``; words are compared without case."""
    words: dict[str, str] = {}
    for pair in (part for text in texts for part in text.split(",")):
        word, equals, value = pair.rpartition("=")
        key = word.strip().casefold()
        if not equals or not key or not value.strip():
            raise StudyError(f"--map-values {pair}: give word=value, as in --map-values KEEP=1,WITHDRAW=0")
        if words.setdefault(key, value.strip()) != value.strip():
            raise StudyError(f"--map-values {pair}: {word.strip()!r} has two values; give it once")
    return words
