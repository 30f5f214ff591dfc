"""What columns and measures mean: `glossary.toml`, `formulas.toml`, and the comment of a SQL file for its own table."""

from __future__ import annotations

import fnmatch
import functools
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

_FOLDER = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Term:
    """One column as it is meant wherever it stands: definition, unit, least and largest value, where it is defined."""

    definition: str
    unit: str = ""
    range: str = ""
    reference: str = ""

    @property
    def text(self) -> str:
        """The definition with its unit, range and reference."""
        also = [part for part in (self.unit, self.range, self.reference) if part]
        return f"{self.definition} ({'; '.join(also)})" if also else self.definition


@functools.lru_cache(maxsize=1)
def terms() -> Mapping[str, Term]:
    """Return the terms by column."""
    return {
        name: Term(**entry)
        for name, entry in tomllib.loads((_FOLDER / "glossary.toml").read_text("utf-8")).items()
    }


@functools.lru_cache(maxsize=1)
def formulas() -> Mapping[str, Mapping[str, str]]:
    """Return formula and reference of measures that several benchmarks share, by measure."""
    return tomllib.loads((_FOLDER / "formulas.toml").read_text("utf-8"))


def meaning(own: Mapping[str, str], column: str) -> str | None:
    """Return what a column means by its table's ``own`` words, else in every table; None where nobody has said it."""
    if said := own.get(column):
        return said
    if term := terms().get(column):
        return term.text
    patterns = sorted((name for name in own if "*" in name), key=len, reverse=True)
    return next((own[name] for name in patterns if fnmatch.fnmatchcase(column, name)), None)
