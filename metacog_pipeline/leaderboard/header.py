"""The comment that opens a SQL file: what one row is, its key, its source, its tests.

::

    -- One row: one measure of one model.
    -- Key: benchmark, model, measure.
    -- Source: estimates/*/models.
    -- Reads: stg_gates = estimates/medley/gates/*.parquet (dataset varchar, name varchar)
    -- Part of: curves.
    -- #NOT_NULL(model)
    -- #SET{source: measured|published|simulated}
    -- columns:
    --   estimate: point estimate, 0 to 1 for shares

``Key`` is tested: no two rows share it, nulls taken as equal. ``Reads`` declares a dataset only this benchmark has, its
patterns separated by ``|`` and its columns with their DuckDB types. ``Part of`` makes rows of a shared table, no table of
its own. ``#SET`` lets nulls pass, ``#NOT_NULL`` does not. The rest is the table's comment in the database.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from metacog_pipeline.errors import StoreError
from metacog_pipeline.leaderboard.datasets import Dataset

_LIST = re.compile(r"^#(UNIQUE|NOT_NULL)\(([^()]*)\)$")
_SET = re.compile(r"^#SET\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*:([^{}]*)\}$")
_IDENTIFIER = re.compile(r"^[A-Za-z_][A-Za-z0-9_]*$")
_COLUMN = re.compile(r"^ {2,3}([A-Za-z_*][A-Za-z0-9_*]*): (.+)$")
_READS = re.compile(r"^(stg_\w+) = ([^()]+?) ?\((.*)\)$")
_KEYWORDS = ("#NOT_NULL(a, b)", "#SET{column: x|y}")


@dataclass(frozen=True, slots=True)
class Assertion:
    """One promise about a table: ``kind``, the columns it is about, and for ``SET`` the values allowed."""

    kind: Literal["UNIQUE", "NOT_NULL", "SET"]
    columns: tuple[str, ...]
    values: tuple[str, ...] = ()

    def __str__(self) -> str:
        if self.kind == "SET":
            return f"#SET{{{self.columns[0]}: {'|'.join(self.values)}}}"
        return f"#{self.kind}({', '.join(self.columns)})"


@dataclass(frozen=True, slots=True)
class Header:
    """A parsed header; ``columns`` are name to text in the order written."""

    description: str
    key: tuple[str, ...]
    part_of: str | None
    reads: tuple[Dataset, ...]
    assertions: tuple[Assertion, ...]
    columns: Mapping[str, str] = field(default_factory=dict)


def parse_header(sql: str, where: str) -> Header:
    """Read the comment lines that open ``sql``; ``where`` names the file in errors.

    Raises
    ------
    StoreError
        If a line with a meaning cannot be read, or an assertion stands below the header.
    """
    lines = sql.splitlines()
    end = next((i for i, line in enumerate(lines) if not line.startswith("--")), len(lines))
    for number, line in enumerate(lines[end:], start=end + 1):
        if re.match(r"^\s*--\s*#(UNIQUE|NOT_NULL|SET)\b", line):
            raise StoreError(
                f"{where}:{number}: {line.strip()}: assertions belong in the comment that opens the file"
            )
    text = [line[2:].rstrip() for line in lines[:end]]
    entries = _entries(text)
    named = dict(entries)
    key = _key(named.get("Key", ""))
    assertions = [Assertion("UNIQUE", key)] if key else []
    assertions += [_assertion(said, where) for name, said in entries if name == "#"]
    described = (f"{name}: {named[name]}" for name in ("One row", "Key", "Source") if name in named)
    return Header(
        description=" ".join(described),
        key=key,
        part_of=named["Part of"].rstrip(".") if "Part of" in named else None,
        reads=tuple(_dataset(said, where) for name, said in entries if name == "Reads"),
        assertions=tuple(assertions),
        columns=_columns(text),
    )


def _entries(lines: list[str]) -> list[tuple[str, str]]:
    """Return name and text of the lines above ``columns:``, each with what goes on below it; assertions are named #."""
    found: list[tuple[str, str]] = []
    for line in lines:
        bare = line.strip()
        if bare == "columns:":
            break
        if match := re.match(r"^(One row|Key|Source|Part of|Reads): (.+)$", bare):
            found.append((match[1], match[2]))
        elif bare.startswith("#"):
            found.append(("#", bare))
        elif bare:
            name, said = found.pop() if found else ("One row", "")
            found.append((name, f"{said} {bare}".strip()))
    return found


def _key(text: str) -> tuple[str, ...]:
    names = tuple(part.strip() for part in text.split(";")[0].rstrip(".").split(","))
    return names if names != ("none",) and all(_IDENTIFIER.match(name) for name in names) else ()


def _dataset(said: str, where: str) -> Dataset:
    match = _READS.match(said)
    if not match:
        raise StoreError(f"{where}: Reads: {said[:80]}: write Reads: stg_name = pattern (column type, …)")
    columns = dict(each.strip().split(" ", 1) for each in match[3].split(","))
    patterns = tuple(part.strip() for part in match[2].split("|"))
    return Dataset(match[1].removeprefix("stg_"), patterns, columns)


def _columns(lines: list[str]) -> dict[str, str]:
    columns: dict[str, str] = {}
    last = ""
    inside = False
    for line in lines:
        if line.strip().lower() == "columns:":
            inside = True
        elif inside and (match := _COLUMN.match(line)):
            last = match[1]
            columns[last] = match[2].strip()
        elif inside and last and line.strip():
            columns[last] += f" {line.strip()}"
    return columns


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
