"""Cells of tables that somebody else made: nothing, a number, true or false, the name of a column."""

from __future__ import annotations

import math
import unicodedata

from metacog_pipeline.stats.confidence_words import MISSING as MISSING
from metacog_pipeline.stats.confidence_words import TRUTHS as TRUTHS


def missing(value: object) -> bool:
    """Whether a cell of a short answer says nothing: empty, NaN, or a word for it."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return True
    return isinstance(value, str) and value.strip().casefold() in MISSING


def compared_name(name: str) -> str:
    """Return the name of a column as names are compared: without case, spaces and hyphens."""
    return "_".join(name.strip().casefold().replace("-", " ").split())


def absent(value: object) -> bool:
    """Whether a cell says nothing."""
    if isinstance(value, str):
        return not value or value.isspace()
    return value is None or (isinstance(value, float) and math.isnan(value)) or not str(value).strip()


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
