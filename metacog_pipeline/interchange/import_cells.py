"""Cells of somebody else's table: whole numbers, right and wrong, replies."""

from __future__ import annotations

import json
import re
import unicodedata
from functools import lru_cache
from typing import Any

from metacog_pipeline.errors import one_line
from metacog_pipeline.interchange import columns

SHOWN = 60
_QUOTES = str.maketrans("‘’‚‛“”„‟«»`´′″", "''''\"\"\"\"\"\"'''\"")
MOST_RUNS = 99
_NUMBERED = re.compile(r"[^\W\d]{1,20}[\s_#-]{0,3}(\d{1,3})")
_WHOLE = re.compile(r"-?[0-9]{1,9}(?:\.0+)?")
_ONE_QUOTED = re.compile(r"\s*\[+\s*(?:'([^']*)'|\"([^\"]*)\")\s*\]+\s*")
_RIGHT = {
    **dict.fromkeys(("1", "c", "correct", "right", "pass", "passed", "✓", "✔", "✅"), 1),
    **dict.fromkeys(("0", "i", "incorrect", "wrong", "fail", "failed", "✗", "✘", "❌"), 0),
}


class RowError(Exception):
    """Why one row is not taken."""


@lru_cache(maxsize=100_000)  # a long table names the same questions again and again
def folded(text: str) -> str:
    """Return ``text`` for comparison: one case, one kind of quotes, single spaces, no full stop at its end."""
    plain = unicodedata.normalize("NFKC", text.translate(_QUOTES)).casefold()
    flat = " ".join(unicodedata.normalize("NFKC", plain).split())
    return flat[:-1].rstrip() if flat.endswith(".") else flat


def shown(value: object) -> str:
    """Return a cell as it is shown in messages."""
    return repr(one_line(str(value), SHOWN))


def whole(value: object) -> int | None:
    """Return a whole number given as a number or as text (``3``, ``3.0``), else None."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    text = str(value).strip()
    return int(float(text)) if _WHOLE.fullmatch(text) else None


def only(value: Any) -> Any:
    """Return the only value of a list, and of lists in it; anything else as it is."""
    while isinstance(value, list) and len(value) == 1:
        value = value[0]
    return value


def correctness(value: object) -> int | None:
    """Return 1 or 0; None for a cell that says neither."""
    number = columns.number(value)
    text = f"{number:g}" if number is not None else str(value).strip().casefold()
    found = columns.truth(text)
    return _RIGHT.get(text) if found is None else int(found)


def reply_text(value: Any, field: str) -> str:
    """Return a raw reply: text as it is, the only text of a list, an object as JSON; raise `RowError` for what is none."""
    value = only(value)
    if isinstance(value, dict) and isinstance(value.get("content"), str) and "role" in value:
        return str(value["content"])  # a message of a conversation
    if isinstance(value, str):
        quoted = _ONE_QUOTED.fullmatch(value) if value[:1] in (" ", "[") else None
        return value if quoted is None else str(quoted[1] if quoted[1] is not None else quoted[2])
    if isinstance(value, list):
        raise RowError(f"{field} is a list of {len(value)}; map one of them, as in --map {field}=COLUMN[0]")
    try:
        return json.dumps(value, ensure_ascii=False, default=str) if isinstance(value, dict) else str(value)
    except (ValueError, RecursionError):
        raise RowError(f"{field} is nested too deeply to be a reply") from None


def run_of(value: Any) -> int | None:
    """Return the number of a run, of "run_3" or "epoch 3" the 3; None where there is none."""
    if columns.absent(value):
        return None
    told = _NUMBERED.fullmatch(str(value).strip())
    run = int(told[1]) if told else whole(value)
    if run is None:
        raise RowError(f"run {shown(value)} is no number")
    if not 0 <= run <= MOST_RUNS:
        raise RowError(f"run {run} is outside 0 to {MOST_RUNS}")
    return run
