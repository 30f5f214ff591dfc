"""A choice as other people write it down: a letter, an index, the text of an option."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from metacog_pipeline.benchmarks.metamedqa.construction.text import fold, straight_quotes
from metacog_pipeline.benchmarks.metamedqa.items import LETTERS
from metacog_pipeline.benchmarks.metamedqa.read import read_reply
from metacog_pipeline.interchange import columns
from metacog_pipeline.interchange.import_cells import RowError, shown, whole

_LED = re.compile(r"\(?([A-Fa-f])[).:]\s*(\S.*)", re.DOTALL)
_NAMED = re.compile(
    r"[$*]*(?:(?:option|choice|answer)[\s:]*\(?|\\boxed\{(?:\\text\{)?)([A-F])[).:}$*]*", re.IGNORECASE
)
_LARGEST = len(LETTERS) - 1
_LONGEST = 200  # characters of a declaration in the place of a choice, as in "Answer: B"
NONE_CHOSEN = -1  # how other programs write that no choice was read


@dataclass(slots=True)
class Kind:
    """How often a column held an index, an index 0, and an option's text."""

    indices: int = 0
    zeros: int = 0
    texts: int = 0

    def holds_indices(self) -> bool:
        """Whether it holds indices and no texts."""
        return self.indices > 0 and self.texts == 0

    def holds_texts(self) -> bool:
        """Whether it holds texts and no indices."""
        return self.texts > 0 and self.indices == 0


def folded(text: str) -> str:
    """Fold a question or an option for comparison; curly and straight quotes are one."""
    return fold(straight_quotes(text))


def letter(value: object, options: Sequence[str], kind: Kind | None = None) -> str:
    """Return the letter of a choice: a letter, an index from 0, or the text of one of the item's options.

    ``kind`` is what the column holds so far: it decides where a number is an index and the text of another option.
    """
    while isinstance(value, list) and len(value) == 1:
        value = value[0]
    plain = str(value).strip().strip("()[].:*'\"").upper()
    if len(plain) == 1 and plain in LETTERS:
        return plain
    if columns.missing(value):
        raise RowError("there is no choice")
    kind = kind or Kind()
    index, by_text = whole(value), _by_text(str(value), options)
    if index is not None and 0 <= index < len(LETTERS):
        if by_text in (None, LETTERS[index]) or kind.holds_indices():
            kind.indices += 1
            kind.zeros += index == 0
            return LETTERS[index]
        if not kind.holds_texts():
            raise RowError(f"choice {shown(value)} is an index and the text of option {by_text}; map letters")
    if by_text is not None:
        kind.texts += 1
        return by_text
    if index == NONE_CHOSEN:
        raise RowError("there is no choice")
    if named := _NAMED.fullmatch(str(value).strip()):
        return named[1].upper()
    if isinstance(value, str) and len(value) <= _LONGEST:
        declared = read_reply(value, options)["answer"]
        if declared.status == "ok":
            return str(declared.value)
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
