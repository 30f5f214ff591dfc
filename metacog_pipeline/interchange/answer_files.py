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
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from metacog_pipeline.errors import StudyError
from metacog_pipeline.files import read_within
from metacog_pipeline.interchange import columns as named
from metacog_pipeline.interchange import parquet_bounds

KINDS = (".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".parquet")
#: Of text in memory; of Parquet, which may claim any number in a few bytes.
MOST_BYTES, MOST_ROWS = 4 * 2**30, 50_000_000
_DELIMITERS = ",;\t|"
_QUOTED = re.compile(r'"(?:[^"]|"")*"')
_SEP = re.compile(rb'"?sep=([,;\t|])"?\s*')  # the line that tells Excel the separator
#: How files begin that are not what a text ending says, in small letters, and what to do with them.
_MAGIC = (
    (b"par1", "is Parquet; name it .parquet"),
    (b"\x1f\x8b", "is compressed; end its name with .gz"),
    (b"pk\x03\x04", "is a zip archive or a spreadsheet; export it as CSV"),
    (b"<!doctype html", "is a web page, not the file it leads to; download the file itself"),
    (b"<html", "is a web page, not the file it leads to; download the file itself"),
    (b"version https://git-lfs", "is a pointer of Git LFS, not the file; fetch it with git lfs pull"),
)


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
        there, empty = dict[str, None](), True
        for row in self:
            empty = False
            there.update(dict.fromkeys(row.cells))
            if self._kind in (".csv", ".tsv", ".parquet"):
                break  # every row has the columns of the first
        if empty:
            raise StudyError(f"{path}: there is no row in it; give a file with at least one")
        if not there:
            advice = "give one with its names in double quotes a line"
            raise StudyError(f"{path}: no line of it is a JSON object; {advice}")
        self.columns = list(there)  # in order of first appearance

    def __iter__(self) -> Iterator[FileRow]:
        try:
            if self._kind == ".parquet":
                yield from _parquet_rows(self.path)
            elif self._kind in (".csv", ".tsv"):
                yield from _csv_rows(self.path, self._content, self._kind)
            elif self._kind == ".json":
                yield from _json_rows(self.path, self._content)
            else:
                yield from _json_lines(self._content)
        except (OSError, ValueError) as error:
            raise _unreadable(self.path, error) from None

    def has(self, column: str) -> bool:
        """Whether a column is there, or a dotted path leads somewhere in some row."""
        if column in self.columns:
            return True
        steps = named.path_of(column)
        if len(steps) < 2 or steps[0] not in self.columns:
            return False
        return any(named.walk(row.cells, steps) is not None for row in self)


def kind_of(path: Path) -> str:
    """Return what a file is by its name, ``.gz`` put aside."""
    kind = Path(path.name.lower().removesuffix(".gz")).suffix
    if kind == ".eval":
        raise StudyError(f"{path}: is a log of inspect_ai, no table; `metacog import {path.name}` takes it")
    if path.is_dir():
        raise StudyError(f"{path}: is a folder; give a file of it")
    if kind not in KINDS:
        raise StudyError(f"{path}: tables are read from {', '.join(KINDS)}; rename or convert it")
    return kind


def _unreadable(path: Path, error: Exception) -> StudyError:
    if isinstance(error, gzip.BadGzipFile | zlib.error | EOFError):
        return StudyError(f"{path}: not a whole gzip file; pack it again, or take .gz off its name")
    why = getattr(error, "strerror", None) or error
    return StudyError(f"{path}: cannot be read: {why}; check the path and the file")


def content(path: Path) -> bytes:
    """Return the bytes of a text file without a byte order mark; StudyError for what is none."""
    try:
        found = read_within(path, MOST_BYTES, packed=path.suffix.lower() == ".gz")
        start = found[:200].lstrip().lower()
        if advice := next((advice for magic, advice in _MAGIC if start.startswith(magic)), None):
            raise StudyError(f"{path}: the content {advice}")
        if found.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):  # "Unicode text" of spreadsheets
            found = found.decode("utf-16").encode()
        found = found.removeprefix(codecs.BOM_UTF8)
        if b"\n" not in found:
            found = found.replace(b"\r", b"\n")  # as spreadsheets end lines in "CSV (Macintosh)"
        if not found.decode().strip():
            raise StudyError(f"{path}: the file is empty; give one with at least one row")
    except UnicodeDecodeError as error:
        where = f"not {error.encoding.upper()} at byte {error.start}"
        raise StudyError(f"{path}: {where}; save the file as UTF-8") from None
    except (OSError, ValueError, EOFError, zlib.error) as error:
        raise _unreadable(path, error) from None
    return found


# --- kinds ------------------------------------------------------------------------------------------------------------
def _csv_rows(path: Path, text: bytes, kind: str) -> Iterator[FileRow]:
    csv.field_size_limit(min(sys.maxsize, 2**31 - 1))  # an answer may be long; the default is 128 kB
    beginning = text.lstrip(b"\r\n")[:1_000_000]
    first = beginning.split(b"\n", 1)[0].strip()
    if first[:2] in (b'{"', b"[{") or first == b"[":
        raise StudyError(f"{path}: the content is JSON; name it .json, or .jsonl with one object a line")
    told = _SEP.fullmatch(first)
    bare = _QUOTED.sub("", beginning.decode(errors="ignore")).split("\n", 1)[0]
    tabs = kind == ".tsv" and "\t" in bare
    delimiter = told[1].decode() if told else "\t" if tabs else max(_DELIMITERS, key=bare.count)
    lines = io.TextIOWrapper(io.BytesIO(text), encoding="utf-8", newline="")
    skipped = len(next(lines)) > 0 if told else 0
    # strict refuses a quote that is not closed, or ends within its cell
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    started = 1
    try:
        names = [name.strip() for name in next((row for row in reader if any(map(str.strip, row))), [])]
        if twice := next((name for at, name in enumerate(names) if name and name in names[:at]), None):
            raise StudyError(f"{path}: column {twice!r} is there twice; rename one")
        width, started = len(names), reader.line_num + skipped + 1
        for cells in reader:
            line, started = started, reader.line_num + skipped + 1
            if not (cells and cells[0]) and not any(map(str.strip, cells)):
                continue
            if len(cells) > width and not any(cells[width:]):
                del cells[width:]  # separators at the end of the line
            if len(cells) == width:
                yield FileRow(line, dict(zip(names, cells, strict=True)))
            else:
                why = f"the row has {len(cells)} cells, the header {width}"
                yield FileRow(line, dict.fromkeys(names), why)
    except csv.Error as error:
        raise StudyError(
            f"{path}: line {started}: {error}: a quote in it is not closed, or text follows its end; take it out, or "
            "write it twice within a cell in quotes"
        ) from None


def _json_lines(text: bytes) -> Iterator[FileRow]:
    for number, line in enumerate(text.split(b"\n"), start=1):
        if line.strip():
            try:
                yield _object_row(number, json.loads(line))
            except (ValueError, RecursionError):
                yield FileRow(number, {}, "the line is not JSON")


def _json_rows(path: Path, text: bytes) -> Iterator[FileRow]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        place = f" at line {error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        advice = "repair it there; JSON Lines files end in .jsonl"
        raise StudyError(f"{path}: not JSON{place}: {advice}") from None
    if isinstance(found, dict):  # its only list of objects
        lists = [value for value in found.values() if isinstance(value, list)]
        rows = [each for each in lists if each and all(isinstance(row, dict) for row in each)]
        found = rows[0] if len(rows) == 1 else lists[0] if len(lists) == 1 else found
    if not isinstance(found, list):
        raise StudyError(
            f"{path}: the JSON must be a list of objects, one per row, or an object with one such list; write the rows so, "
            "or one a line as .jsonl"
        )
    yield from map(_object_row, range(1, len(found) + 1), found)


def _object_row(number: int, value: Any) -> FileRow:
    known = isinstance(value, dict)
    return FileRow(number, value if known else {}, None if known else "the row is no JSON object")


def _parquet_rows(path: Path) -> Iterator[FileRow]:
    number = 0
    try:
        if (claimed := pq.read_metadata(path).num_rows) > MOST_ROWS:
            raise StudyError(f"{path}: says it has {claimed:,} rows; import at most {MOST_ROWS:,}")
        for batch in parquet_bounds.batches(path):
            decimals = "decimal" in str(batch.schema)
            for cells in batch.to_pylist():
                number += 1
                yield FileRow(number, _without_decimals(cells) if decimals else cells)
    except pa.ArrowException as error:
        raise StudyError(f"{path}: not a readable Parquet file: {error}") from None


def _without_decimals(value: Any) -> Any:
    # readers of cells know the numbers of JSON and CSV, not decimals
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, dict):
        return {name: _without_decimals(each) for name, each in value.items()}
    return [_without_decimals(each) for each in value] if isinstance(value, list) else value
