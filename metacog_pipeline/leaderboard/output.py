"""Rows as text: JSON and CSV for programs, a terminal table for readers."""

# Cells may hold what a model wrote or what a file claimed, so every format keeps them from being anything but text:
# no spreadsheet formula, no terminal markup, no control character.

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, time, timedelta
from decimal import Decimal
from typing import Literal

Format = Literal["table", "csv", "json"]
#: What a cell begins with that a spreadsheet would run; the full-width ones fool spreadsheets too.
_RUN_BY_SPREADSHEETS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
FORMATS: tuple[Format, ...] = ("table", "csv", "json")
NOT_AVAILABLE = "N/A"


@dataclass(frozen=True, slots=True)
class Rows:
    """A query's answer: column names, and rows of plain Python values in the same order."""

    columns: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]


class Stacked(str):
    """A number of our own making with something below it; only its line breaks survive in a terminal table."""


def render(rows: Rows, form: Format) -> str:
    """Return ``rows`` as text ending in a line break."""
    return {"csv": to_csv, "json": to_json, "table": to_table}[form](rows)


def objects(rows: Rows) -> list[dict[str, object]]:
    """Return one object per row, as JSON can hold it; NaN and infinities are None."""
    names = unique(rows.columns)
    return [dict(zip(names, map(plain, row), strict=True)) for row in rows.rows]


def to_json(rows: Rows) -> str:
    """Return a JSON list with one object per row; NaN, infinities and nulls are ``null``."""
    lines = ",\n".join(json.dumps(each, allow_nan=False) for each in objects(rows))
    return f"[\n{lines}\n]\n" if lines else "[]\n"


def to_csv(rows: Rows) -> str:
    """Return CSV with a header line; nulls are empty, text that a spreadsheet could run gets a leading quote mark."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerows([_csv_cell(cell) for cell in row] for row in (rows.columns, *rows.rows))
    return out.getvalue()


def to_table(rows: Rows, title: str | None = None) -> str:
    """Return a table for a terminal, as wide as it needs."""
    # Imported late: rich takes longer to load than a query in another format.
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(title) if title else None, title_justify="left", box=box.SIMPLE_HEAD)
    for position, name in enumerate(rows.columns):
        numeric = any(isinstance(row[position], int | float | Decimal | Stacked) for row in rows.rows)
        table.add_column(Text(printable(name)), justify="right" if numeric else "left", overflow="fold")
    for row in rows.rows:
        table.add_row(*(Text(_lines(value)) for value in row))
    out = io.StringIO()
    Console(file=out, width=10_000, color_system=None, force_terminal=False).print(table)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()).strip("\n") + "\n"


def plain(value: object) -> object:
    """Return ``value`` as something JSON can hold."""
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float | Decimal):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value).hex()
    if isinstance(value, timedelta):
        return value.total_seconds()
    text = value.isoformat() if isinstance(value, date | time) else str(value)
    return text.encode("utf-8", "replace").decode("utf-8")  # half a pair of surrogates cannot be written


def shown(value: object) -> str:
    """Return ``value`` for readers: four decimals at most, N/A where there is none."""
    value = plain(value)
    if value is None:
        return NOT_AVAILABLE
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        rounded = f"{value:.4f}".rstrip("0").rstrip(".") if 1e-4 <= abs(value) < 1e12 else f"{value:.4g}"
        return "0" if rounded in ("-0", "") else rounded
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else str(value)


def fixed(value: float, digits: int) -> str:
    """Return ``value`` with so many digits after the point, and zero without a sign."""
    text = f"{value:.{digits}f}"
    return text if float(text) else text.removeprefix("-")


def printable(value: str) -> str:
    """Return ``value`` with a space for each character that cannot be printed."""
    return value if value.isprintable() else "".join(each if each.isprintable() else " " for each in value)


def unique(names: Iterable[str]) -> list[str]:
    """Return ``names`` with repeats numbered, so that no column of a query vanishes from an object."""
    result: list[str] = []
    for name in names:
        candidate, number = name, 1
        while candidate in result:
            number += 1
            candidate = f"{name}_{number}"
        result.append(candidate)
    return result


def _lines(value: object) -> str:
    if isinstance(value, Stacked):
        return "\n".join(map(printable, value.split("\n")))
    return printable(shown(value))


def _csv_cell(value: object) -> object:
    value = plain(value)
    if isinstance(value, bool | list | dict):
        return json.dumps(value)
    if not isinstance(value, str):
        return value
    # Before Python 3.13 the writer leaves a bare carriage return unquoted, and readers take it for the end of a row.
    unix = value.replace("\r\n", "\n").replace("\r", "\n")
    return f"'{unix}" if unix.lstrip(" ").startswith(_RUN_BY_SPREADSHEETS) else unix
