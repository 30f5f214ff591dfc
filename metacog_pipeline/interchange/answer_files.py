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
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from metacog_pipeline.errors import StudyError, one_line
from metacog_pipeline.files import read_within
from metacog_pipeline.interchange import columns as named
from metacog_pipeline.interchange import parquet_bounds

KINDS = (".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".parquet")
#: Of text in memory; of Parquet, which may claim any number in a few bytes.
MOST_BYTES, MOST_ROWS = 4 * 2**30, 50_000_000
_SCHEMES = ("http:", "https:", "hf:", "s3:", "gs:", "ftp:")
_TELLING = 20  # rows by which it is told that they begin with a name
_DELIMITERS = ",;\t|"
_TOLD = re.compile(r'"?sep=([,;\t|])"?\s*$')  # the line by which Excel is told the separator
# A quoted name of a header; whatever separates the names stands before it.
_QUOTED_NAME = re.compile(rf'(?:\A|(?<=[{_DELIMITERS}]))"(?:[^"]++|"")*+"?')
_LONGEST_HEADER = 1_000_000  # bytes by which the separator is told
_SHOWN = 40
_REPAIR = "take it out, or write it twice within a cell in quotes"


#: How files begin that are not what a text ending says, and what to do with them.
_MAGIC = (
    (b"PAR1", "is Parquet; name it .parquet"),
    (b"\x1f\x8b", "is compressed; end its name with .gz"),
    (b"PK\x03\x04", "is a zip archive or a spreadsheet; export it as CSV"),
)
#: The same of text in small letters: what came instead of the file that was meant.
_PAGE = "is a web page, not the file it leads to; download the file itself, signed in where it asks"
_PAGES = (
    (b"<!doctype html", _PAGE),
    (b"<html", _PAGE),
    (b"version https://git-lfs", "is a pointer of Git LFS, not the file; fetch it with git lfs pull"),
)


_PLAIN = named.Shape()


@dataclass(frozen=True, slots=True)
class CsvHead:
    """What the first lines of a CSV file say: separator, names, and where the rows begin (byte, lines before it)."""

    delimiter: str
    names: list[str]
    start: int
    lines: int


class FileRow(NamedTuple):
    """One row: its number in the file (line for CSV and JSON Lines, 1-based place otherwise), and its cells.

    ``broken`` says why there are no cells to use.
    """

    number: int
    cells: Mapping[str, Any]
    broken: str | None = None


class AnswerFile:
    """The rows of a file, gone through as often as needed; a row that cannot be read is there with its reason.

    Raises ``StudyError`` when the file is missing, empty, not UTF-8, of an unknown kind, or not what its name says.
    ``path``: of the file. ``columns``: names in order of first appearance, wide columns under their long names.
    """

    def __init__(self, path: Path, shape: named.Shape = _PLAIN) -> None:
        self.path = path
        self._kind = kind_of(path)
        self.content = b"" if self._kind == ".parquet" else content(path)
        self._wide: dict[str, dict[str, str]] = {}
        there: dict[str, None] = {}
        self._head = csv_head(path, self.content) if self._kind in (".csv", ".tsv") else None
        if self._head is not None:
            there = dict.fromkeys(self._head.names)
        rows = 0
        for row in self._rows():
            rows += 1
            there.update(dict.fromkeys(row.cells))
            if rows == 1 and self._kind in (".csv", ".tsv", ".parquet") and row.broken is None:
                break  # every row has the columns of the first
        if rows and not there:
            raise StudyError(
                f"{path}: no line of it is a JSON object; give one with its names in double quotes a line"
            )
        if not rows:
            raise StudyError(f"{path}: there is no row in it; give a file with at least one")
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
                yield from csv_rows(self.path, self.content, self._head)
            else:
                yield from json_rows(self.path, self._kind, self.content)
        except (OSError, ValueError) as error:
            raise _unreadable(self.path, error) from None


class Table:
    """Rows in memory, gone through as those of a file are."""

    content = b""

    def __init__(self, path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
        self.path, self._rows = path, rows
        self.columns = list(dict.fromkeys(name for row in rows for name in row))

    def __iter__(self) -> Iterator[FileRow]:
        return (FileRow(number, cells) for number, cells in enumerate(self._rows, start=1))

    def has(self, column: str) -> bool:
        """Whether a column is there."""
        return column in self.columns


def chosen(rows: AnswerFile | Table, where: Sequence[tuple[str, str]]) -> Iterator[FileRow]:
    """Yield the rows whose cells are as ``where`` says, (column, value); all of them without it.

    Raises `StudyError` for a column there is not, and a value no row has.
    """
    for column, _ in where:
        if not rows.has(column):
            there = ", ".join(map(repr, rows.columns))
            raise StudyError(f"{rows.path}: --where {column}=…: no such column; the columns are: {there}")
    if not where:
        yield from rows
        return
    found = False
    for row in rows:
        if all(str(named.cell(row.cells, column)).strip() == value for column, value in where):
            found = True
            yield row
    if not found:
        told = " ".join(f"{column}={value}" for column, value in where)
        raise StudyError(f"{rows.path}: --where {told}: no row has it; check the spelling")


def kind_of(path: Path, what: str = "tables") -> str:
    """Return what a file is by its name, ``.gz`` put aside; raise StudyError for an unknown kind.

    A folder with Parquet files in it, such as a data set of Hugging Face on disk, is read as one file.
    """
    if path.is_dir():
        return _kind_of_folder(path)
    if (scheme := next((each for each in path.parts if each in _SCHEMES), None)) is not None:
        address = f"{scheme}//{'/'.join(path.parts[path.parts.index(scheme) + 1 :])}"
        raise StudyError(
            f"{address}: is an address; {what} are read from files: download it and give its path"
        )
    names = [suffix.lower() for suffix in path.suffixes]
    kind = next(iter(names[-2:-1] if names[-1:] == [".gz"] else names[-1:]), "")
    if kind == ".eval":
        raise StudyError(f"{path}: is a log of inspect_ai, no table; `metacog import {path.name}` takes it")
    if kind not in KINDS:
        raise StudyError(f"{path}: {what} are read from {', '.join(KINDS)}; rename or convert the file")
    return kind


def _kind_of_folder(path: Path) -> str:
    """Return the kind of the parts of one table; raise StudyError for a folder of anything else."""
    try:
        different = len({frozenset(parquet_bounds.names_of(part)) for part in parts_of(path)})
    except (OSError, ValueError, pa.ArrowException):
        different = 0
    if different == 1:
        return ".parquet"
    why = "the Parquet files in it are not one table"
    why = why if different else "no readable Parquet or Arrow files lie in it"
    raise StudyError(f"{path}: is a folder; give a file of it: {why}")


def parts_of(path: Path) -> list[Path]:
    """Return the files of a table in Parquet: itself, or those of a folder, also as ``datasets`` saves one to disk."""
    if not path.is_dir():
        return [path]
    found = (each for ending in ("parquet", "arrow") for each in path.rglob(f"*.{ending}"))
    return sorted(each for each in found if not each.name.startswith("cache-"))


def _unreadable(path: Path, error: Exception) -> StudyError:
    if isinstance(error, gzip.BadGzipFile | zlib.error | EOFError):
        return StudyError(f"{path}: not a whole gzip file; pack it again, or take .gz off its name")
    reason = getattr(error, "strerror", None) or error
    return StudyError(f"{path}: cannot be read: {reason}; check the path and the file")


def content(path: Path) -> bytes:
    """Return the bytes of a text file without a byte order mark, after a check that they are text.

    Raises StudyError for a file that is missing, empty, not UTF-8, or of another kind than its name says.
    """
    try:
        found = read_within(path, MOST_BYTES, packed=path.suffix.lower() == ".gz")
        for magic, advice in _MAGIC:
            if found.startswith(magic):
                raise StudyError(f"{path}: the content {advice}")
        if found.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):  # "Unicode text" of spreadsheets
            found = found.decode("utf-16").encode()
        elif found[:2].count(b"\0") == 1 and found[:200].count(b"\0") >= len(found[:200]) // 3:
            raise StudyError(f"{path}: is UTF-16 without a mark that says so; save the file as UTF-8")
        found = found.removeprefix(codecs.BOM_UTF8)
        start = found[:200].lstrip().lower()
        for beginning, advice in _PAGES:
            if start.startswith(beginning):
                raise StudyError(f"{path}: the content {advice}")
        if b"\n" not in found:
            found = found.replace(b"\r", b"\n")  # as spreadsheets end lines in "CSV (Macintosh)"
        blank = not found.decode().strip()
    except UnicodeDecodeError as error:
        raise StudyError(
            f"{path}: not {error.encoding.upper()} at byte {error.start}; save the file as UTF-8"
        ) from None
    except (OSError, ValueError, EOFError, zlib.error) as error:
        raise _unreadable(path, error) from None
    if blank:
        raise StudyError(f"{path}: the file is empty; give one with at least one row")
    return found


def csv_head(path: Path, content: bytes) -> CsvHead:
    """Return the separator and the header of a CSV file; raise StudyError for one that is JSON or names a column twice."""
    csv.field_size_limit(min(sys.maxsize, 2**31 - 1))  # an answer may be long; the default is 128 kB
    beginning = content.lstrip(b"\r\n")[:_LONGEST_HEADER]
    header_line = beginning.split(b"\n", 1)[0]
    first = header_line.decode(errors="ignore")
    if first.lstrip()[:2] in ('{"', "[{") or first.strip() == "[":
        raise StudyError(f"{path}: the content is JSON; name it .json, or .jsonl with one object a line")
    told = _TOLD.match(first)
    delimiter = _delimiter(path, beginning.decode(errors="ignore")) if told is None else told[1]
    start = content.index(header_line) + len(header_line) if told else 0
    before = content.count(b"\n", 0, start)
    reader = _csv_reader(content, start, delimiter)
    try:
        names: list[str] = next((cells for cells in reader if any(cell.strip() for cell in cells)), [])
    except csv.Error as error:
        raise StudyError(f"{path}: line {before + reader.line_num}: {error}; check the quotes") from None
    _refuse_stray_quotes(path, content, delimiter, len(names))
    for _ in range(reader.line_num):
        start = content.find(b"\n", start) + 1 or len(content)
    names = [name.strip() for name in names]
    if all(names) and _names_rows(content, start, delimiter, len(names)):
        names = ["", *names]
    for place, name in enumerate(names):
        if name and name in names[:place]:
            raise StudyError(f"{path}: column {name!r} is there twice; rename one")
    return CsvHead(delimiter, names, start, before + reader.line_num)


def _delimiter(path: Path, beginning: str) -> str:
    """Return what separates the names of a header: a tab where a file of tabs has one, else what is most often there."""
    bare = _QUOTED_NAME.sub("", beginning).split("\n", 1)[0]
    if "\t" in bare and kind_of(path) == ".tsv":
        return "\t"
    return max(_DELIMITERS, key=bare.count)


def _refuse_stray_quotes(path: Path, content: bytes, delimiter: str, width: int) -> None:
    """Refuse a file in which a quote that was not meant as one takes rows into a cell.

    A quote at the start of a cell opens one that ends with the next single quote, however many rows lie between.
    """
    for found in _last_quoted(delimiter).finditer(content):
        text = found["text"]
        if not found["end"]:
            why = "is not closed before the end of the file"
        elif found["behind"].strip():
            why = "is closed {} with text behind it"
        elif b"\n" in text and _holds_rows(content, found.span("text"), delimiter, width):
            why = "is closed {} only, and the lines between look like rows"
        else:
            continue
        first, last = (content.count(b"\n", 0, place) + 1 for place in found.span("text"))
        why = why.format("there" if first == last else f"in line {last}")
        cell = one_line(text.partition(b"\n")[0][: 4 * _SHOWN].decode(errors="ignore"), _SHOWN)
        raise StudyError(f"{path}: line {first}: the quote before {cell!r} {why}; {_REPAIR}")


def _last_quoted(delimiter: str) -> re.Pattern[bytes]:
    """Return a pattern of quoted cells, all from one up to the next that holds a line's end or is the last before
    something odd: only that one needs a look, so that a long table with quotes takes a fraction of a second."""
    edge = rb"\r\n" + re.escape(delimiter.encode())
    opening = rb'"(?<![^%b]")' % edge
    plain = rb'(?:[^"\r\n]++|"")*+"(?=[%b])[^"]*+' % edge
    last = rb'(?P<text>(?:[^"]++|"")*+)(?P<end>"?)(?P<behind>[^%b]*+)' % edge
    return re.compile(rb"%b(?:%b%b)*+%b" % (opening, plain, opening, last))


def _holds_rows(content: bytes, inside: tuple[int, int], delimiter: str, width: int) -> bool:
    """Whether the lines of a quoted cell, without its quotes, look like rows: of one length, with a number in one place.

    Prose has a blank behind a comma, and hardly the same number of commas in each line.
    """
    text = content[slice(*inside)]
    if text.count(delimiter.encode()) < max(1, (text.count(b"\n") - 1) * (width - 1)):
        return False
    start, end = content.rfind(b"\n", 0, inside[0]) + 1, content.find(b"\n", inside[1])
    behind = content[inside[1] + 1 : end if end >= 0 else None]
    lines = content[start : inside[0] - 1] + text + behind
    rows = list(_csv_reader(lines, 0, delimiter))
    if {len(row) for row in rows} != {max(2, width, len(rows[0]))}:
        return False
    if any(cell.startswith(" ") for row in rows for cell in row):
        return False
    return any(all(named.number(cell) is not None for cell in cells) for cells in zip(*rows, strict=True))


def _names_rows(content: bytes, start: int, delimiter: str, width: int) -> bool:
    """Whether the rows begin with a name that has no column, as R writes them."""
    try:
        first = list(islice((row for row in _csv_reader(content, start, delimiter) if row), _TELLING))
    except csv.Error:
        return False
    return len(first) > 1 and all(len(row) == width + 1 and row[-1] for row in first)


def _csv_reader(content: bytes, start: int, delimiter: str) -> Any:
    raw = io.BytesIO(content)
    raw.seek(start)
    return csv.reader(io.TextIOWrapper(raw, encoding="utf-8", newline=""), delimiter=delimiter)


def csv_rows(path: Path, content: bytes, head: CsvHead | None = None) -> Iterator[FileRow]:
    """Yield the rows of a CSV file, whose ``head`` may have been read before."""
    head = head or csv_head(path, content)
    reader = _csv_reader(content, head.start, head.delimiter)
    names, width = head.names, len(head.names)
    while True:
        started = head.lines + reader.line_num + 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise StudyError(
                f"{path}: line {head.lines + reader.line_num}: {error}; check the quotes"
            ) from None
        if not (cells and cells[0]) and not any(cell.strip() for cell in cells):
            continue
        if len(cells) > width and not any(cells[width:]):
            del cells[width:]  # separators at the end of the line
        if len(cells) != width:
            yield FileRow(started, {}, f"the row has {len(cells)} cells, the header {width}")
        else:
            yield FileRow(started, dict(zip(names, cells, strict=True)))


def json_rows(path: Path, kind: str, content: bytes) -> Iterator[FileRow]:
    """Yield the rows of a JSON file (``.json``) or of JSON Lines."""
    return _json_rows(path, content.decode()) if kind == ".json" else _json_line_rows(content.decode())


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
    except RecursionError:
        raise StudyError(f"{path}: not JSON: nested too deeply") from None
    except ValueError as error:
        place = ""
        if isinstance(error, json.JSONDecodeError):
            place = f" at line {error.lineno}, column {error.colno}"
        raise StudyError(f"{path}: not JSON{place}: mend it there; JSON Lines files end in .jsonl") from None
    content = _rows_of(content) if isinstance(content, dict) else content
    if not isinstance(content, list):
        raise StudyError(
            f"{path}: the JSON must be a list of objects, one per row, or an object with one such list; write the rows so, "
            "or one a line as .jsonl"
        )
    for number, value in enumerate(content, start=1):
        yield _object_row(number, value)


def _rows_of(content: dict[str, Any]) -> Any:
    """Return the rows of an object: its only list of objects, else rows by number, columns, or columns by number.

    Data frames write the last three; what is none of them is returned as it is.
    """
    lists = [value for value in content.values() if isinstance(value, list)]
    rows = [each for each in lists if each and all(isinstance(row, dict) for row in each)]
    if len(lists) == 1 or len(rows) == 1:
        return rows[0] if rows else lists[0]
    values = list(content.values())
    if values and all(isinstance(each, dict) and each for each in values):
        if all(name.isdecimal() for name in content):
            return values
        if len(values) > 1 and all(values[0].keys() == each.keys() for each in values):
            by_number = all(name.isdecimal() for name in values[0])
            return (
                [{name: content[name][at] for name in content} for at in values[0]] if by_number else content
            )
    if "columns" in content and all(isinstance(each, list) for each in content.get("data") or [0]):
        return [dict(zip(content["columns"], each, strict=False)) for each in content["data"]]
    if len(lists) == len(values) > 1 and len({*map(len, lists)}) == 1:
        return [dict(zip(content, each, strict=True)) for each in zip(*lists, strict=True)]
    return content


def _object_row(number: int, value: object) -> FileRow:
    if not isinstance(value, dict):
        return FileRow(number, {}, "the row is not a JSON object")
    return FileRow(number, value)


def _plain_numbers(value: Any) -> Any:
    """Return a cell whose decimals are numbers as in other files: whole ones, or floats where they have places."""
    if isinstance(value, Decimal):
        exponent = value.as_tuple().exponent
        return int(value) if isinstance(exponent, int) and exponent >= 0 else float(value)
    if isinstance(value, dict):
        return {name: _plain_numbers(each) for name, each in value.items()}
    return [_plain_numbers(each) for each in value] if isinstance(value, list) else value


def _parquet_rows(path: Path) -> Iterator[FileRow]:
    number = 0
    for part in parts_of(path):
        try:
            claimed = parquet_bounds.rows_of(part)
            if claimed > MOST_ROWS:
                raise StudyError(f"{part}: says it has {claimed:,} rows; import at most {MOST_ROWS:,}")
            for batch in parquet_bounds.batches(part):
                decimals = "decimal" in str(batch.schema)
                for cells in batch.to_pylist():
                    number += 1
                    yield FileRow(number, _plain_numbers(cells) if decimals else cells)
        except pa.ArrowException as error:
            raise StudyError(f"{part}: not a readable Parquet file: {error}") from None
