"""Cells of a row of answers: whole numbers, right and wrong, runs, replies, and the reason why a row is not taken."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from metacog_pipeline.errors import one_line
from metacog_pipeline.interchange.cells import absent, number
from metacog_pipeline.stats.confidence_words import NO, YES

SHOWN, MOST_RUNS = 60, 99
_QUOTES = str.maketrans("‘’‚‛“”„‟«»`´′″", "''''\"\"\"\"\"\"'''\"")
_NUMBERED = re.compile(r"[^\W\d]{1,20}[\s_#-]{0,3}(\d{1,3})")
_WHOLE = re.compile(r"-?[0-9]{1,9}(?:\.0+)?")
_RIGHT: Mapping[str, bool] = {
    **dict.fromkeys((*YES, "c", "pass", "passed", "✓", "✔", "✅"), True),
    **dict.fromkeys((*NO, "i", "fail", "failed", "✗", "✘", "❌"), False),
}


class RowError(Exception):
    """Why one row is not taken."""


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
