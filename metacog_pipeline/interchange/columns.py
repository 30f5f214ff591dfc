"""Cells and columns of a table somebody else made: numbers, words, replies, names, scales."""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from metacog_pipeline.errors import StudyError, one_line
from metacog_pipeline.stats.confidence_scale import USUAL_SCALES as USUAL_SCALES
from metacog_pipeline.stats.confidence_scale import Scale as Scale
from metacog_pipeline.stats.confidence_words import MISSING, NO, TRUTHS, YES

SHOWN, MOST_RUNS = 60, 99
#: What ``--trust`` takes though it disagrees with the study.
TRUSTED = ("key", "model", "run", "status")
COMMA = re.compile(r"^\s*[-+]?\d+(?:,\d+)+(?:\.\d+)?\s*%?\s*$")
_SCALE = re.compile(r"\s*(-?\d+(?:\.\d+)?)\s*\.\.\s*(-?\d+(?:\.\d+)?)\s*%?\s*")
_QUOTES = str.maketrans("‘’‚‛“”„‟«»`´′″", "''''\"\"\"\"\"\"'''\"")
_NUMBERED = re.compile(r"[^\W\d]{1,20}[\s_#-]{0,3}(\d{1,3})")
_WHOLE = re.compile(r"-?[0-9]{1,9}(?:\.0+)?")
_IN_BRACKETS = re.compile(r"(?<=\S)\s{0,9}(?:[(\[][^()\[\]]{1,40}[)\]]|[%:?])\s{0,9}\Z")
_RIGHT: Mapping[str, bool] = {
    **dict.fromkeys((*YES, "c", "pass", "passed", "✓", "✔", "✅"), True),
    **dict.fromkeys((*NO, "i", "fail", "failed", "✗", "✘", "❌"), False),
}


class RowError(Exception):
    """Why one row is not taken."""


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


def whole(value: object) -> int | None:
    """Return a whole number given as a number or as text (``3``, ``3.0``), else None."""
    if isinstance(value, bool | int):
        return None if isinstance(value, bool) else value
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    text = str(value).strip()
    return int(float(text)) if _WHOLE.fullmatch(text) else None


def correctness(value: object) -> bool | None:
    """Return whether a cell says right; None for one that says neither right nor wrong."""
    stated = number(value)
    text = (
        f"{stated:g}" if stated is not None else unicodedata.normalize("NFC", str(value).strip().casefold())
    )
    return _RIGHT.get(text)


def run_of(value: Any) -> int | None:
    """Return the number of a run, of "run_3" or "epoch 3" the 3; None where there is none."""
    if absent(value):
        return None
    told = _NUMBERED.fullmatch(str(value).strip())
    run = int(told[1]) if told else whole(value)
    if run is None or not 0 <= run <= MOST_RUNS:
        outside = f"run {run} is outside 0 to {MOST_RUNS}"
        raise RowError(f"run {shown(value)} is no number" if run is None else outside)
    return run


@lru_cache(maxsize=100_000)  # a long table names the same questions again and again
def folded(text: str) -> str:
    """Return ``text`` for comparison: one case, one kind of quotes, single spaces, no full stop at its end."""
    plain = unicodedata.normalize("NFKC", text.translate(_QUOTES)).casefold()
    flat = " ".join(unicodedata.normalize("NFKC", plain).split())
    return flat[:-1].rstrip() if flat.endswith(".") else flat


def shown(value: object) -> str:
    """Return a cell as it is shown in messages."""
    return repr(one_line(str(value), SHOWN))


def line_of(value: Any) -> str:
    """Return a name on one line; "" where there is none."""
    return "" if absent(value) else one_line(str(value).strip(), 200)


def only(value: Any) -> Any:
    """Return the only value of a list, and of lists in it; anything else as it is."""
    while isinstance(value, list) and len(value) == 1:
        value = value[0]
    return value


def reply_text(value: Any, field: str) -> str:
    """Return a raw reply: text as it is, the only text of a list, an object as JSON; raise `RowError` for what is none."""
    value = only(value)
    if isinstance(value, dict) and isinstance(value.get("content"), str) and "role" in value:
        return str(value["content"])  # a message of a conversation
    if isinstance(value, list):
        raise RowError(f"{field} is a list of {len(value)}; give a column with one of them")
    try:
        return json.dumps(value, ensure_ascii=False, default=str) if isinstance(value, dict) else str(value)
    except (ValueError, RecursionError):
        raise RowError(f"{field} is nested too deeply to be a reply") from None


# --- columns ----------------------------------------------------------------------------------------------------------
def compared_name(name: str) -> str:
    """Return the name of a column as names are compared: without case, spaces and hyphens."""
    return "_".join(name.strip().casefold().replace("-", " ").split())


def first_named(names: Sequence[str], there: Sequence[str]) -> str | None:
    """Return the column with the first of ``names``, also "Confidence (%)" with one in brackets; None without one."""
    bare = {compared_name(_IN_BRACKETS.sub("", name)): name for name in reversed(there)}
    plain = {**bare, **{compared_name(name): name for name in reversed(there)}}
    return next((plain[name] for name in names if name in plain), None)


# --- what a command line says of them ---------------------------------------------------------------------------------
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
