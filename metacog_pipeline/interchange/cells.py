"""Cells of tables that somebody else made, and what a command line says of them: numbers, words, names, scales."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Mapping, Sequence

from metacog_pipeline.errors import StudyError
from metacog_pipeline.files import read_toml, shipped
from metacog_pipeline.stats.confidence_scale import USUAL_SCALES, Scale
from metacog_pipeline.stats.confidence_words import MISSING, TRUTHS

#: Usual names of the columns of a field: in any table, in one with questions of its own, in a file of questions.
NAMES: Mapping[str, Mapping[str, list[str]]] = read_toml(shipped("data", "interchange", "columns.toml"))
COMMA = re.compile(r"^\s*[-+]?\d+(?:,\d+)+(?:\.\d+)?\s*%?\s*$")
_SCALE = re.compile(r"\s*(-?\d+(?:\.\d+)?)\s*\.\.\s*(-?\d+(?:\.\d+)?)\s*%?\s*")


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
    """Return what a word for true or false says, in any language of `TRUTHS`; None for any other text."""
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


def compared_name(name: str) -> str:
    """Return the name of a column as names are compared: without case, spaces and hyphens."""
    return "_".join(name.strip().casefold().replace("-", " ").split())


# --- what a command line says -----------------------------------------------------------------------------------------
def parse_scale(text: str | None) -> Scale | None:
    """Return a scale from a text like ``0..100``; raise `StudyError` for anything else."""
    if text is None:
        return None
    match = _SCALE.fullmatch(text)
    if match is None or float(match[1]) >= float(match[2]):
        usual = ", ".join(map(str, USUAL_SCALES))
        raise StudyError(f"--scale {text}: give the lowest and the highest value, as in {usual}")
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
