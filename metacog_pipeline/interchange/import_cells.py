"""Cells of somebody else's table as other people write them down: numbers, right and wrong, replies, ratings."""

from __future__ import annotations

import json
import math
import re
import unicodedata
from typing import Any

from metacog_pipeline.errors import StudyError, one_line
from metacog_pipeline.interchange import columns

SHOWN = 60
_QUOTES = str.maketrans("‘’‚‛“”„‟«»`´′″", "''''\"\"\"\"\"\"'''\"")
_EXPONENT = re.compile(r"\de[-+]?\d", re.IGNORECASE)
_WHOLE = re.compile(r"-?[0-9]{1,9}(?:\.0+)?")
_ONE_QUOTED = re.compile(r"\s*\[+\s*(?:'([^']*)'|\"([^\"]*)\")\s*\]+\s*")
_RIGHT = {
    **dict.fromkeys(("1", "c", "correct", "right", "pass", "passed", "✓", "✔", "✅"), 1),
    **dict.fromkeys(("0", "i", "incorrect", "wrong", "fail", "failed", "✗", "✘", "❌"), 0),
}


class RowError(Exception):
    """Why one row is not taken."""


def folded(text: str) -> str:
    """Return ``text`` for comparison: one case, one kind of quotes, single spaces, no full stop at its end."""
    plain = unicodedata.normalize("NFKC", text.translate(_QUOTES)).casefold()
    flat = " ".join(unicodedata.normalize("NFKC", plain).split())
    return flat[:-1].rstrip() if flat.endswith(".") else flat


def shown(value: object) -> str:
    """Return a cell as it is shown to people."""
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


def correctness(value: object) -> int | None:
    """Return 1 or 0; None for a cell that says neither."""
    number = columns.number(value)
    text = f"{number:g}" if number is not None else str(value).strip().casefold()
    found = columns.truth(text)
    return _RIGHT.get(text) if found is None else int(found)


def reply_text(value: Any, field: str) -> str:
    """Return a raw reply: text as it is, the only text of a list, an object as JSON; raise `RowError` for what is none."""
    while isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, dict) and isinstance(value.get("content"), str) and "role" in value:
        return str(value["content"])  # a message of a conversation
    if isinstance(value, str):
        only = _ONE_QUOTED.fullmatch(value) if value[:1] in (" ", "[") else None
        return value if only is None else str(only[1] if only[1] is not None else only[2])
    if isinstance(value, list):
        raise RowError(f"{field} is a list of {len(value)}; map one of them, as in --map {field}=COLUMN[0]")
    try:
        return json.dumps(value, ensure_ascii=False, default=str) if isinstance(value, dict) else str(value)
    except (ValueError, RecursionError):
        raise RowError(f"{field} is nested too deeply to be a reply") from None


def rated(value: object, scale: columns.Scale | None, own: columns.Scale, steps: bool) -> str:
    """Return a confidence as a reply would state it, put on the scale that the benchmark asks for.

    ``scale``: the scale it is declared on; without one, what is no number is kept for the parser to refuse. ``own``,
    ``steps``: the scale asked for, and whether only its whole numbers can be stated.
    """
    if scale is None or scale == own:
        number = whole(value)
        if number is None and _EXPONENT.search(str(value)) and (power := columns.number(value)) is not None:
            if own.share(power) is None:
                raise RowError(f"confidence {shown(value)} is outside {own}")
            return _written_out(power)  # a reader takes 1e308 for 1
        return one_line(str(value).strip(), SHOWN) if number is None else str(number)
    stated = columns.number(value)
    if stated is None:
        raise RowError(f"confidence {shown(value)} is no number on {scale}")
    share = scale.share(stated)
    if share is None:
        raise RowError(f"confidence {shown(value)} is outside {scale}")
    put = own.low + (own.high - own.low) * share
    if steps:
        return str(math.floor(put + 0.5))
    return _written_out(put)


def _written_out(number: float) -> str:
    text = f"{number:.6g}"
    return text if "e" not in text else f"{number:.6f}".rstrip("0").rstrip(".")  # a reader takes 1e-05 for 1


def no_comma(value: object, where: str) -> None:
    """Raise `StudyError` for a number with a comma: it can be read in two ways."""
    if columns.has_comma(value):
        raise StudyError(
            f"{where} {shown(value)} is a number with a comma; write it with a decimal point and no separators of "
            "thousands; nothing was kept"
        )


def none_stated(value: Any, scale: columns.Scale) -> bool:
    """Return whether a confidence is the -1 by which programs say that none was read; not on a scale that has a -1."""
    return scale.low >= 0 and columns.number(value) == -1
