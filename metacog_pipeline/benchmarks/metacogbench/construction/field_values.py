"""The values of tier 3's fields: which is right, and whether it stands in the story."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from metacog_pipeline.benchmarks.metacogbench.items import Field
from metacog_pipeline.reading.numbers import ONES

SLACK = 1e-9
_WORDS = (*ONES, "twenty")


def right(field: Field, value: Any) -> bool:
    """Whether a plain value, of the field's type already, is the one asked for."""
    if value is None or isinstance(value, bool) != (field.type == "bool"):
        return False
    if field.type in ("int", "float"):
        low, high = bounds(field)
        return low - SLACK <= float(value) <= high + SLACK
    if field.type == "set":
        wanted = {_end(field, each) for each in field.value or ()}  # type: ignore[union-attr]
        return {_end(field, each) for each in value} == wanted
    return bool((tuple(value) if isinstance(value, (list, set, frozenset)) else value) == field.value)


def bounds(field: Field) -> tuple[float, float]:
    """Return the interval of a numeric field, both ends inside."""
    if field.range is not None:
        return field.range
    key = float(field.value)  # type: ignore[arg-type]
    room = max(field.abs_tol, field.rel_tol * abs(key))
    return key - room, key + room


def _end(field: Field, member: Any) -> Any:
    return "-".join(sorted(str(member).split("-"))) if field.edges else member


def printed(field: Field, stem: str) -> bool:
    """Whether a numeric value stands in the stem, in digits or as a word up to twenty."""
    if field.type not in ("int", "float"):
        return False
    plain = replace(field, range=None)
    if any(right(plain, float(token)) for token in re.findall(r"\d+(?:\.\d+)?", stem)):
        return True
    words = set(re.findall(r"[a-z]+", stem.lower()))
    return any(right(plain, float(number)) for number, word in enumerate(_WORDS) if word in words)
