"""The comment that opens a SQL file: what one row is, its key, its source, its tests.

::

    -- One row: one measure of one model.
    -- Key: model, measure.
    -- Source: estimates/metamedqa/models.
    -- materialized: table
    -- #UNIQUE(model, measure)
    -- #NOT_NULL(model)
    -- #SET{source: measured|published|simulated}
    -- columns:
    --   estimate: point estimate, 0 to 1 for shares

``materialized`` is ``table`` (the default) or ``view``. ``#UNIQUE`` treats nulls as equal; ``#SET`` lets nulls pass,
``#NOT_NULL`` does not. Everything else is the description, which becomes the table's comment in the database.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from typing import Literal

from metacog_pipeline.errors import StoreError

Materialized = Literal["table", "view"]
_LIST = re.compile(r"^#(UNIQUE|NOT_NULL)\(([^()]*)\)$")
_SET = re.compile(r"^#SET\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*:([^{}]*)\}$")
_IDENTIFIER = re.compile(r"^[A-Za-z_][A-Za-z0-9_]*$")
_COLUMN = re.compile(r"^ {2,3}([A-Za-z_][A-Za-z0-9_]*): (.+)$")
_KEYWORDS = ("#UNIQUE(a, b)", "#NOT_NULL(a, b)", "#SET{column: x|y}")


@dataclass(frozen=True, slots=True)
class Assertion:
    """One comment assertion: ``kind``, the columns it is about, and for ``SET`` the values allowed."""

    kind: Literal["UNIQUE", "NOT_NULL", "SET"]
    columns: tuple[str, ...]
    values: tuple[str, ...] = ()

    def __str__(self) -> str:
        if self.kind == "SET":
            return f"#SET{{{self.columns[0]}: {'|'.join(self.values)}}}"
        return f"#{self.kind}({', '.join(self.columns)})"


@dataclass(frozen=True, slots=True)
class Header:
    """A parsed header; ``columns`` are (name, text) pairs in the order written."""

    description: str
    materialized: Materialized
    assertions: tuple[Assertion, ...]
    columns: tuple[tuple[str, str], ...]


def parse_header(sql: str, where: str) -> Header:
    """Read the comment lines that open ``sql``; ``where`` names the file in errors.

    Raises
    ------
    StoreError
        If an assertion or ``materialized`` cannot be read, or an assertion stands below the header.
    """
    lines = sql.splitlines()
    end = next((i for i, line in enumerate(lines) if not line.startswith("--")), len(lines))
    for number, line in enumerate(lines[end:], start=end + 1):
        if re.match(r"^\s*--\s*#(UNIQUE|NOT_NULL|SET)\b", line):
            raise StoreError(
                f"{where}:{number}: {line.strip()}: assertions belong in the comment that opens the file"
            )
    description: list[str] = []
    columns: list[tuple[str, str]] = []
    assertions: list[Assertion] = []
    materialized: Materialized = "table"
    in_columns = False
    for number, line in enumerate(lines[:end], start=1):
        text = line[2:].rstrip()
        bare = text.strip()
        if bare.startswith("#"):
            assertions.append(_assertion(bare, f"{where}:{number}"))
        elif bare.lower().startswith("materialized:"):
            materialized = _materialized(bare.partition(":")[2].strip(), f"{where}:{number}")
        elif bare.lower() == "columns:":
            in_columns = True
        elif in_columns and (match := _COLUMN.match(text)):
            columns.append((match[1], match[2].strip()))
        elif in_columns and columns and bare:
            columns[-1] = (columns[-1][0], f"{columns[-1][1]} {bare}")
        elif bare:
            description.append(bare)
    return Header(" ".join(description), materialized, tuple(assertions), tuple(columns))


def _materialized(value: str, where: str) -> Materialized:
    if value == "view":
        return "view"
    if value == "table":
        return "table"
    raise StoreError(f'{where}: materialized: "{value}" is not known; write table or view')


def _assertion(text: str, where: str) -> Assertion:
    if match := _LIST.match(text):
        names = tuple(part.strip() for part in match[2].split(","))
        if all(_IDENTIFIER.match(name) for name in names):
            return Assertion("UNIQUE" if match[1] == "UNIQUE" else "NOT_NULL", names)
    elif match := _SET.match(text):
        values = tuple(part.strip() for part in match[2].split("|"))
        if all(values):
            return Assertion("SET", (match[1],), values)
    close = difflib.get_close_matches(text, _KEYWORDS, n=1, cutoff=0.3)
    hint = f"; did you mean {close[0]}" if close else ""
    raise StoreError(f"{where}: {text} is not an assertion{hint}? Allowed: {', '.join(_KEYWORDS)}")
