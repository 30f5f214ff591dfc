"""Cells of an answer file: a choice, a key, a correctness or a confidence, as other people write them down."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from metacog_pipeline import columns
from metacog_pipeline.asking.importing import RowError
from metacog_pipeline.benchmarks.metamedqa.construction.text import fold, straight_quotes
from metacog_pipeline.benchmarks.metamedqa.items import LETTERS
from metacog_pipeline.errors import one_line

_SHOWN = 60
_LED = re.compile(r"\(?([A-Fa-f])[).:]\s*(\S.*)", re.DOTALL)
_CORRECT = {
    **dict.fromkeys(("1", "true", "yes", "correct", "right"), 1),
    **dict.fromkeys(("0", "false", "no", "incorrect", "wrong"), 0),
}
_LARGEST = len(LETTERS) - 1


def folded(text: str) -> str:
    """Fold a question or an option for comparison; curly and straight quotes are one."""
    return fold(straight_quotes(text))


def shown(value: object) -> str:
    """Return a cell as it is shown to people."""
    return repr(one_line(str(value), _SHOWN))


def whole(value: object) -> int | None:
    """Return a whole number given as a number or as text (``3``, ``3.0``), else None."""
    if isinstance(value, bool):
        return None
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    text = str(value).strip()
    return int(float(text)) if re.fullmatch(r"-?[0-9]{1,9}(?:\.0+)?", text) else None


def letter(value: object, options: Sequence[str]) -> str:
    """Return the letter of a choice: a letter, an index from 0, or the text of one of the item's options."""
    if columns.missing(value):
        raise RowError("there is no choice")
    index, by_text = whole(value), _by_text(str(value), options)
    if index is not None and 0 <= index < len(LETTERS):
        if by_text not in (None, LETTERS[index]):
            raise RowError(f"choice {shown(value)} is an index and the text of option {by_text}; map letters")
        return LETTERS[index]
    plain = str(value).strip().strip("()[].:").upper()
    if plain in LETTERS:
        return plain
    if by_text is not None:
        return by_text
    raise RowError(
        f"choice {shown(value)} is neither a letter A–F nor an index 0–{_LARGEST} nor an option's text"
    )


def _by_text(text: str, options: Sequence[str]) -> str | None:
    """Return the letter of the only option with this text, with or without its letter before it."""
    wanted, led = folded(text), _LED.fullmatch(text.strip())
    same: list[str] = [LETTERS[place] for place, option in enumerate(options) if folded(option) == wanted]
    if not same and led is not None:
        own = LETTERS.index(led[1].upper())
        same = [led[1].upper()] if folded(options[own]) == folded(led[2]) else []
    return same[0] if len(same) == 1 else None


def correctness(value: object) -> int | None:
    """Return 1 or 0; None for a cell that says neither."""
    number = columns.number(value)
    text = f"{number:g}" if number is not None else str(value).strip().casefold()
    return _CORRECT.get(text)


def rating(value: object, scale: columns.Scale | None) -> str:
    """Return the rating as a reply would state it, the nearest of 1 to 5 where a scale is declared.

    Without a scale, what is no whole number is kept for the parser to refuse.
    """
    if scale is None:
        number = whole(value)
        return one_line(str(value), _SHOWN) if number is None else str(number)
    stated = columns.number(value)
    if stated is None:
        raise RowError(f"confidence {shown(value)} is no number on {scale}")
    share = scale.share(stated)
    if share is None:
        raise RowError(f"confidence {shown(value)} is outside {scale}")
    return str(1 + math.floor(4 * share + 0.5))
