"""Rows of a table somebody else wrote: CSV, TSV, JSON Lines, JSON or Parquet, read as data and nothing else.

Rows are read again each time they are gone through, so that a file of a million rows needs no memory for them. A row that
cannot be read is there with its reason.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import json
import re
import sys
import zlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from metacog_pipeline.errors import StudyError
from metacog_pipeline.files import read_within
from metacog_pipeline.interchange import parquet_bounds

KINDS = (".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".parquet")
#: Of text in memory; of Parquet, which may claim any number in a few bytes.
MOST_BYTES, MOST_ROWS = 4 * 2**30, 50_000_000
_QUOTED = re.compile(r'"(?:[^"]|"")*"')
#: How files begin that are not what a text ending says, in small letters, and what to do with them.
_MAGIC = {
    b"par1": "is Parquet; name it .parquet",
    b"\x1f\x8b": "is compressed; end its name with .gz",
    b"pk\x03\x04": "is a zip archive or a spreadsheet; export it as CSV",
    b"<!doctype html": "is a web page, not the file it leads to; download the file itself",
    b"version https://git-lfs": "is a pointer of Git LFS, not the file; fetch it with git lfs pull",
}


class FileRow(NamedTuple):
    """One row: its line (CSV, JSON Lines) or place from 1, and its cells; ``broken`` says why there are none."""

    number: int
    cells: Mapping[str, Any]
    broken: str | None = None


class AnswerFile:
    """The rows of a file, gone through as often as needed; StudyError for one that cannot be read as what it is named."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._kind = kind_of(path)
        self._content = b"" if self._kind == ".parquet" else content(path)
        self._refuse_empty(next(iter(self), None))

    @cached_property
    def columns(self) -> list[str]:
        """The names of all columns in order of first appearance; StudyError where no row has any."""
        there = dict[str, None]()
        for row in self:
            there.update(dict.fromkeys(row.cells))
            if self._kind in (".csv", ".tsv", ".parquet"):
                break  # every row has the columns of the first
        self._refuse_empty(there)
        return list(there)

    def _refuse_empty(self, found: object) -> None:
        if not found:
            raise StudyError(
                f"{self.path}: there is no row in it; give one, in JSON with names in double quotes"
            )

    def __iter__(self) -> Iterator[FileRow]:
        if self._kind == ".parquet":
            return _parquet_rows(self.path)
        if self._kind in (".csv", ".tsv"):
            return _csv_rows(self.path, self._content)
        return _json_rows(self.path, self._content) if self._kind == ".json" else _json_lines(self._content)


def kind_of(path: Path) -> str:
    """Return what a file is by its name, ``.gz`` put aside."""
    kind = Path(path.name.lower().removesuffix(".gz")).suffix
    if path.is_dir():
        raise StudyError(f"{path}: is a folder; give a file of it")
    if kind not in KINDS:
        raise StudyError(f"{path}: tables are read from {', '.join(KINDS)}; rename or convert it")
    return kind


def content(path: Path) -> bytes:
    """Return the bytes of a text file without a byte order mark; StudyError for what is none."""
    try:
        found = read_within(path, MOST_BYTES, packed=path.suffix.lower() == ".gz")
        start = found[:200].lstrip().lower()
        if advice := next((advice for magic, advice in _MAGIC.items() if start.startswith(magic)), None):
            raise StudyError(f"{path}: the content {advice}")
        found = found.removeprefix(codecs.BOM_UTF8)
        if not found.decode().strip():
            raise StudyError(f"{path}: the file is empty; give one with at least one row")
    except UnicodeDecodeError as error:
        raise StudyError(f"{path}: not UTF-8 at byte {error.start}; save the file as UTF-8") from None
    except (gzip.BadGzipFile, zlib.error, EOFError):
        raise StudyError(f"{path}: not a whole gzip file; pack it again, or take .gz off its name") from None
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise StudyError(f"{path}: cannot be read: {why}; check the path and the file") from None
    return found


# --- kinds ------------------------------------------------------------------------------------------------------------
def _csv_rows(path: Path, text: bytes) -> Iterator[FileRow]:
    csv.field_size_limit(min(sys.maxsize, 2**31 - 1))  # an answer may be long; the default is 128 kB
    header = _QUOTED.sub("", text.lstrip(b"\r\n")[:1_000_000].decode(errors="ignore")).split("\n", 1)[0]
    # tabs separate wherever there are any: names of columns have commas, but no tabs
    separator = "\t" if "\t" in header else max(",;|", key=header.count)
    lines = io.TextIOWrapper(io.BytesIO(text), encoding="utf-8", newline="")
    # strict refuses a quote that is not closed, or ends within its cell
    reader, started = csv.reader(lines, delimiter=separator, strict=True), 1
    try:
        names = [name.strip() for name in next((row for row in reader if any(map(str.strip, row))), [])]
        if twice := next((name for at, name in enumerate(names) if name and name in names[:at]), None):
            raise StudyError(f"{path}: column {twice!r} is there twice; rename one")
        started = reader.line_num + 1
        for cells in reader:
            line, started = started, reader.line_num + 1
            if not any(map(str.strip, cells)):
                continue
            while len(cells) > len(names) and not cells[-1]:
                cells.pop()  # separators at the end of the line
            if len(cells) == len(names):
                yield FileRow(line, dict(zip(names, cells, strict=True)))
            else:
                why = f"the row has {len(cells)} cells, the header {len(names)}"
                yield FileRow(line, dict.fromkeys(names), why)
    except csv.Error as error:
        raise StudyError(
            f"{path}: line {started}: {error}: a quote in it is not closed, or text follows its end; take it out, or "
            "write it twice within a cell in quotes"
        ) from None


def _json_lines(text: bytes) -> Iterator[FileRow]:
    for number, line in enumerate(text.split(b"\n"), start=1):
        if line.strip():
            found = None
            with suppress(ValueError, RecursionError):
                found = json.loads(line)
            yield _object_row(number, found)


def _json_rows(path: Path, text: bytes) -> Iterator[FileRow]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        place = f" at line {error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        raise StudyError(f"{path}: not JSON{place}: repair it there; JSON Lines end in .jsonl") from None
    if isinstance(found, dict):
        lists = [each for each in found.values() if isinstance(each, list)]
        found = lists[0] if len(lists) == 1 else found
    if not isinstance(found, list):
        raise StudyError(f"{path}: the rows must be a list of objects, alone or in an object; write them so")
    yield from map(_object_row, range(1, len(found) + 1), found)


def _object_row(number: int, value: Any) -> FileRow:
    known = isinstance(value, dict)
    return FileRow(number, value if known else {}, None if known else "the row is no JSON object")


def _parquet_rows(path: Path) -> Iterator[FileRow]:
    try:
        if (claimed := pq.read_metadata(path).num_rows) > MOST_ROWS:
            raise StudyError(f"{path}: says it has {claimed:,} rows; import at most {MOST_ROWS:,}")
        rows = (row for batch in parquet_bounds.batches(path) for row in batch.to_pylist())
        for number, cells in enumerate(rows, start=1):
            # readers of cells know the numbers of JSON and CSV, not decimals
            decimals = {name: float(each) for name, each in cells.items() if isinstance(each, Decimal)}
            yield FileRow(number, {**cells, **decimals})
    except (OSError, ValueError, pa.ArrowException) as error:
        raise StudyError(f"{path}: not a readable Parquet file: {error}; write it again") from None
