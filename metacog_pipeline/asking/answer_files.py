"""Rows of a file of answers somebody else collected: CSV, JSON Lines, JSON or Parquet, read as data and nothing else.

Rows are read anew each time they are gone through, so that a file of a million rows needs no memory for them.
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
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from metacog_pipeline import columns as named
from metacog_pipeline.errors import StudyError

KINDS = (".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".parquet")
_DELIMITERS = ",;\t|"
_TOLD = re.compile(r'"?sep=([,;\t|])"?\s*$')  # the line by which Excel is told the separator


@dataclass(frozen=True, slots=True)
class FileRow:
    """One row: its number in the file (line for CSV and JSON Lines, 1-based place otherwise), and its cells.

    ``broken`` says why there are no cells to use.
    """

    number: int
    cells: Mapping[str, Any]
    broken: str | None = None


class AnswerFile:
    """The rows of a file, gone through as often as needed; a row that cannot be read is there with its reason.

    Attributes
    ----------
    path
        Of the file.
    columns
        Names in order of first appearance, wide columns under their long names.
    """

    def __init__(self, path: Path, shape: named.Shape) -> None:
        self.path = path
        self._kind = kind_of(path)
        self._content = b"" if self._kind == ".parquet" else _content(path)
        self._wide: dict[str, dict[str, str]] = {}
        there: dict[str, None] = {}
        rows = 0
        for row in self._rows():
            rows += 1
            there.update(dict.fromkeys(row.cells))
            if rows == 1 and self._kind in (".csv", ".tsv", ".parquet") and row.broken is None:
                break  # every row has the columns of the first
        if not rows:
            raise StudyError(f"{path}: there is a header and no row; it needs one row per answer")
        self._wide = named.wide_columns(shape.wide, list(there))
        used = {column for columns in self._wide.values() for column in columns.values()}
        long = [name for columns in self._wide.values() for name in columns]
        self.columns = list(dict.fromkeys(name for name in there if name not in used))
        self.columns += list(dict.fromkeys([*long, *([named.WIDE_KEY] if self._wide else [])]))

    def __iter__(self) -> Iterator[FileRow]:
        for row in self._rows():
            if not self._wide or row.broken is not None:
                yield row
            else:
                yield from (FileRow(row.number, cells) for cells in named.long_rows(row.cells, self._wide))

    def has(self, column: str) -> bool:
        """Whether a column is there, or a dotted path leads somewhere in some row."""
        if column in self.columns:
            return True
        steps = named.path_of(column)
        if len(steps) < 2 or steps[0] not in self.columns:
            return False
        return any(named.walk(row.cells, steps) is not None for row in self)

    def _rows(self) -> Iterator[FileRow]:
        try:
            if self._kind == ".parquet":
                yield from _parquet_rows(self.path)
            elif self._kind in (".csv", ".tsv"):
                yield from _csv_rows(self.path, self._content)
            elif self._kind == ".json":
                yield from _json_rows(self.path, self._content.decode())
            else:
                yield from _json_line_rows(self._content.decode())
        except (OSError, ValueError) as error:
            raise _unreadable(self.path, error) from None


def kind_of(path: Path) -> str:
    """Return what a file is by its name, ``.gz`` put aside; raise StudyError for an unknown kind."""
    names = [suffix.lower() for suffix in path.suffixes]
    kind = next(iter(names[-2:-1] if names[-1:] == [".gz"] else names[-1:]), "")
    if kind not in KINDS:
        raise StudyError(f"{path}: answers are read from {', '.join(KINDS)}; rename or convert the file")
    return kind


def _unreadable(path: Path, error: Exception) -> StudyError:
    reason = getattr(error, "strerror", None) or error
    return StudyError(f"{path}: cannot be read: {reason}; check the path and the file")


def _content(path: Path) -> bytes:
    """Return the bytes of a text file without a byte order mark, after a check that they are text."""
    try:
        content = path.read_bytes()
        if path.suffix.lower() == ".gz":
            content = gzip.decompress(content)
        content = content.removeprefix(codecs.BOM_UTF8)
        blank = not content.decode().strip()
    except UnicodeDecodeError as error:
        raise StudyError(f"{path}: not UTF-8 at byte {error.start}; save the file as UTF-8") from None
    except (OSError, ValueError, EOFError, zlib.error) as error:
        raise _unreadable(path, error) from None
    if blank:
        raise StudyError(f"{path}: the file is empty; it needs one row per answer")
    return content


def read_rows(path: Path, shape: named.Shape | None = None) -> AnswerFile:
    """Return the rows of ``path``; one that cannot be read is kept with its reason.

    Raises
    ------
    StudyError
        When the file is missing, empty, not UTF-8, of an unknown kind, or not what its name says.
    """
    return AnswerFile(path, shape or named.Shape())


def _csv_rows(path: Path, content: bytes) -> Iterator[FileRow]:
    csv.field_size_limit(min(sys.maxsize, 2**31 - 1))  # an answer may be long; the default is 128 kB
    header_line = content.lstrip(b"\r\n").split(b"\n", 1)[0]
    first = header_line.decode()
    told = _TOLD.match(first)
    delimiter = max(_DELIMITERS, key=first.count) if told is None else told[1]
    before = content.index(header_line) + len(header_line) if told else 0
    skipped = content.count(b"\n", 0, before)
    raw = io.BytesIO(content)
    raw.seek(before)
    reader = csv.reader(io.TextIOWrapper(raw, encoding="utf-8", newline=""), delimiter=delimiter)
    header: list[str] | None = None
    while True:
        started = skipped + reader.line_num + 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise StudyError(f"{path}: line {skipped + reader.line_num}: {error}; check the quotes") from None
        if not any(cell.strip() for cell in cells):
            continue
        if header is None:
            header = [cell.strip() for cell in cells]
            _check_header(path, header)
        elif len(cells) != len(header):
            yield FileRow(started, {}, f"the row has {len(cells)} cells, the header {len(header)}")
        else:
            yield FileRow(started, dict(zip(header, cells, strict=True)))


def _check_header(path: Path, header: list[str]) -> None:
    for place, name in enumerate(header):
        if name and name in header[:place]:
            raise StudyError(f"{path}: column {name!r} is there twice; rename one")


def _json_line_rows(text: str) -> Iterator[FileRow]:
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            try:
                yield _object_row(number, json.loads(line))
            except (ValueError, RecursionError):
                yield FileRow(number, {}, "the line is not JSON")


def _json_rows(path: Path, text: str) -> Iterator[FileRow]:
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise StudyError(f"{path}: not JSON: {error}; JSON Lines files end in .jsonl") from None
    lists = (
        [value for value in content.values() if isinstance(value, list)] if isinstance(content, dict) else []
    )
    if len(lists) == 1:
        content = lists[0]
    if not isinstance(content, list):
        raise StudyError(f"{path}: the JSON must be a list of objects, one per answer")
    for number, value in enumerate(content, start=1):
        yield _object_row(number, value)


def _object_row(number: int, value: object) -> FileRow:
    if not isinstance(value, dict):
        return FileRow(number, {}, "the row is not a JSON object")
    return FileRow(number, value)


def _parquet_rows(path: Path) -> Iterator[FileRow]:
    try:
        with pq.ParquetFile(path) as file:
            number = 0
            for batch in file.iter_batches():
                for cells in batch.to_pylist():
                    number += 1
                    yield FileRow(number, cells)
    except pa.ArrowException as error:
        raise StudyError(f"{path}: not a readable Parquet file: {error}") from None
