"""Typed reading of one JSON object; every error is one line with file, line, id, field and value."""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_uppercase
from typing import Any, NoReturn, TypeVar

from metacog_pipeline.errors import SourceError
from metacog_pipeline.sources import JsonRow, Line

L = TypeVar("L", bound=str)


class Fields:
    """The object on one line, read field by field."""

    def __init__(self, line: Line) -> None:
        self.line = line
        self.row = line.row
        named = self.row.get("item_id")
        self.name = str(named)[:80] if named is not None else ""

    def fail(self, field: str, needed: str) -> NoReturn:
        """Raise a SourceError that says what ``field`` must be and what it is."""
        item = f" ({self.name})" if self.name else ""
        found = f"got {repr(self.row[field])[:80]}" if field in self.row else "it is missing"
        raise SourceError(f"{self.line.where}{item}: field {field!r} must be {needed}, {found}; mend the row")

    def given(self, field: str) -> bool:
        """Whether the field is there and not null."""
        return self.row.get(field) is not None

    def text(self, field: str, *, empty: bool = False) -> str:
        """Return a text field, non-blank unless ``empty``."""
        value = self.row.get(field)
        if not isinstance(value, str) or not (empty or value.strip()):
            self.fail(field, "text" if empty else "non-empty text")
        return self._storable(field, value)

    def optional_text(self, field: str) -> str | None:
        """Return a text field, ``None`` where it is missing, null or blank."""
        if not self.given(field):
            return None
        value = self.row[field]
        if not isinstance(value, str):
            self.fail(field, "text or null")
        return self._storable(field, value) if value.strip() else None

    def integer(self, field: str, *, default: int | None = None, least: int = 0) -> int:
        """Return an integer field of at least ``least``; ``default`` where it is missing or null."""
        if not self.given(field) and default is not None:
            return default
        value = self.row.get(field)
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            self.fail(field, f"an integer of at least {least}")
        return value

    def one_of(self, field: str, allowed: Sequence[L]) -> L:
        """Return the member of ``allowed`` that the field holds."""
        value = self.row.get(field)
        for choice in allowed:
            if value == choice:
                return choice
        self.fail(field, "one of " + ", ".join(allowed))

    def letter(self, field: str, allowed: Sequence[str]) -> str:
        """Return a choice letter."""
        return self.one_of(field, tuple(allowed))

    def optional_letter(self, field: str, allowed: Sequence[str]) -> str | None:
        """Return a choice letter, ``None`` where the field is missing or null."""
        return self.letter(field, allowed) if self.given(field) else None

    def objects(self, field: str) -> list[JsonRow]:
        """Return a list of JSON objects."""
        value = self.row.get(field)
        if not isinstance(value, list) or not all(isinstance(member, dict) for member in value):
            self.fail(field, "a list of objects")
        return value

    def four_options(self) -> tuple[str, str, str, str]:
        """Return the texts of A..D of ``options``, which must hold exactly these."""
        options = self.row.get("options")
        if not isinstance(options, dict) or sorted(options) != list("ABCD"):
            self.fail("options", "an object with exactly the keys A, B, C, D")
        a, b, c, d = (self._option(letter, options[letter]) for letter in "ABCD")
        return a, b, c, d

    def any_options(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return letters and texts of ``options``, an object by letter (order kept) or a list (A, B, C …)."""
        options = self.row.get("options")
        if isinstance(options, list) and 0 < len(options) <= len(ascii_uppercase):
            options = dict(zip(ascii_uppercase, options, strict=False))
        if (
            not isinstance(options, dict)
            or not options
            or any(k not in ascii_uppercase or not k for k in options)
        ):
            self.fail("options", "an object by capital letter or a list of at most 26 texts")
        return tuple(options), tuple(self._option(k, v, blank=True) for k, v in options.items())

    def any_key(self, letters: Sequence[str]) -> str | None:
        """Return the key: ``answer_idx`` as a letter of this row or a 0-based index, ``None`` where missing."""
        if not self.given("answer_idx"):
            return None
        value = self.row["answer_idx"]
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < len(letters):
            return letters[value]
        if isinstance(value, str) and value in letters:
            return value
        self.fail("answer_idx", f"one of {', '.join(letters)} or an index from 0")

    def _option(self, letter: str, value: Any, *, blank: bool = False) -> str:
        if not isinstance(value, str) or not (blank or value.strip()):
            self.fail("options", f"texts: option {letter} is {'blank' if value == '' else 'no usable text'}")
        return self._storable("options", value)

    def _storable(self, field: str, value: str) -> str:
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:
            self.fail(field, "valid Unicode without lone surrogates")
        return value
