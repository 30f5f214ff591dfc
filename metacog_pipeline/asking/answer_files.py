"""Rows of a file of answers somebody else collected: CSV, JSON Lines, JSON or Parquet, read as data and nothing else."""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

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


def read_rows(path: Path) -> list[FileRow]:
    """Return every row of ``path``; a row that cannot be read is kept with its reason.

    Raises
    ------
    StudyError
        When the file is missing, empty, not UTF-8, of an unknown kind, or not what its name says.
    """
    kind = path.suffix.lower()
    if kind not in KINDS:
        raise StudyError(f"{path}: answers are read from {', '.join(KINDS)}; rename or convert the file")
    try:
        if kind == ".parquet":
            return list(_parquet_rows(path))
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise StudyError(f"{path}: not UTF-8 at byte {error.start}; save the file as UTF-8") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise StudyError(f"{path}: cannot be read: {reason}; check the path and the file") from None
    if not text.strip():
        raise StudyError(f"{path}: the file is empty; it needs one row per answer")
    if kind in (".csv", ".tsv"):
        rows = list(_csv_rows(path, text))
    elif kind == ".json":
        rows = list(_json_rows(path, text))
    else:
        rows = list(_json_line_rows(text))
    if not rows:
        raise StudyError(f"{path}: there is a header and no row; it needs one row per answer")
    return rows


def _csv_rows(path: Path, text: str) -> Iterator[FileRow]:
    csv.field_size_limit(min(sys.maxsize, 2**31 - 1))  # an answer may be long; the default is 128 kB
    header_line = text.lstrip("\r\n").split("\n", 1)[0]
    told = _TOLD.match(header_line)
    delimiter = max(_DELIMITERS, key=header_line.count) if told is None else told[1]
    stream = io.StringIO(text, newline="")
    before = text.index(header_line) + len(header_line) if told else 0
    stream.seek(before)
    skipped = text.count("\n", 0, before)
    reader = csv.reader(stream, delimiter=delimiter)
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
