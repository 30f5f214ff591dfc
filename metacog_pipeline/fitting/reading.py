"""A table somebody else made, column by column: CSV, TSV, JSON Lines, JSON or Parquet, text files also as ``.gz``.

The files are those `metacog import` reads, but whole columns at a time: a million rows are read in a second or two. Cells
of text files are text. A column is named by its name or by a path into its objects and lists, such as ``answers[0].p``.
"""

from __future__ import annotations

import csv
import difflib
import functools
import io
import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.csv as pa_csv
from numpy.typing import NDArray

from metacog_pipeline.errors import StudyError
from metacog_pipeline.interchange import answer_files, parquet_bounds
from metacog_pipeline.interchange import columns as named
from metacog_pipeline.interchange.answer_files import CsvHead

_CLOSE = 0.6
_BLOCK = 32 * 2**20  # bytes of CSV parsed together; a row must fit


@dataclass(frozen=True, slots=True)
class Broken:
    """A row that has no cells: its number in the file, and why."""

    row: int
    reason: str


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of a file.

    Attributes
    ----------
    path
        Of the file.
    names
        Its columns, wide ones under their long names.
    frame
        The columns that were asked for, text where the file is text.
    place
        Shape ``(rows,)``: which row of the file, from 0 and without broken ones, each row came from.
    broken
        Rows that could not be read.
    number
        Returns the number of a row in the file (line of CSV and JSON Lines, 1-based place otherwise) from its place.
    """

    path: Path
    names: Sequence[str]
    frame: pl.DataFrame
    place: NDArray[np.int64]
    broken: tuple[Broken, ...]
    number: Callable[[int], int]


@dataclass(slots=True)
class _Source:
    """A file that was opened: its columns, and how to load some of them."""

    names: list[str]
    load: Callable[[Sequence[str]], pl.DataFrame]
    broken: tuple[Broken, ...] = ()
    number: Callable[[int], int] = lambda place: place + 1


def read(path: Path, wanted: Sequence[str] | None = None, wide: Sequence[str] = ()) -> Table:
    """Return the columns ``wanted`` of a file, all of them by default, ``wide`` patterns made long.

    Raises
    ------
    StudyError
        For a file that is missing, empty, without rows, of an unknown kind or not what its name says, a column that is not
        there, or a pattern no column fits.
    """
    kind = answer_files.kind_of(path, "tables")
    if not path.exists():
        raise StudyError(f"{path}: there is no such file; check the path")
    source = _open(path, kind)
    spread = named.wide_columns(wide, source.names)
    used = {column for columns in spread.values() for column in columns.values()}
    long = list(dict.fromkeys(name for columns in spread.values() for name in columns))
    names = [name for name in source.names if name not in used]
    names = list(dict.fromkeys([*names, *long, *([named.WIDE_KEY] if spread else [])]))
    # a column without a name is the index of a data frame, and says nothing
    asked = list(dict.fromkeys([name for name in names if name] if wanted is None else wanted))
    heads = {name: _head(path, name, names) for name in asked}
    plain = [head for head in dict.fromkeys(heads.values()) if head not in (*long, named.WIDE_KEY)]
    frame = source.load([*plain, *used])
    if frame.height == 0 and not source.broken:
        raise StudyError(f"{path}: the table has no rows; it needs one per cell or per trial")
    if frame.height == 0:
        raise _nothing(path, source.broken)
    place = np.arange(frame.height)
    if spread:
        for name, column in ((name, column) for of in spread.values() for name, column in of.items()):
            if heads.get(name) == name:
                refuse_not_single(path, column, frame[column])
        try:
            frame, place = _long(frame, spread, long, plain)
        except pl.exceptions.PolarsError as error:  # kinds that do not go into one column
            raise _unreadable(path, kind, error) from None
    made = [_column(path, frame, name, head) for name, head in heads.items()]
    return Table(path, names, pl.DataFrame(made), place, source.broken, source.number)


def _head(path: Path, name: str, names: Sequence[str]) -> str:
    """Return the column that ``name`` is, or that its path begins in."""
    steps = named.path_of(name)
    if name in names:
        return name
    if len(steps) > 1 and steps[0] in names:
        return str(steps[0])
    by_case = [each for each in names if each.casefold() == name.casefold()]
    close = by_case or difflib.get_close_matches(name, names, n=1, cutoff=_CLOSE)
    meant = f"; did you mean {close[0]!r}? The columns are" if close else "; the columns are"
    there = ", ".join(map(repr, names))
    raise StudyError(f"{path}: no column {name!r}{meant}: {there[:300]}")


def _column(path: Path, frame: pl.DataFrame, name: str, head: str) -> pl.Series:
    if name == head:
        return frame[head]
    steps = named.path_of(name)[1:]
    found = [named.walk(value, steps) for value in frame[head].to_list()]
    if all(value is None for value in found):
        first = next((value for value in frame[head].to_list() if value is not None), None)
        raise StudyError(f"{path}: {name} leads nowhere in any row; {head} holds {str(first)[:100]!r}")
    return _series(name, found)


def _long(
    frame: pl.DataFrame, spread: Mapping[str, Mapping[str, str]], long: Sequence[str], plain: Sequence[str]
) -> tuple[pl.DataFrame, NDArray[np.int64]]:
    """Return one row per row and key, without those that are empty, and the row each came from."""
    parts, places = [], []
    rest = [frame[name] for name in plain]
    # lists, objects and what else stands beside them have no common kind
    objects = {name for of in spread.values() for name, column in of.items() if not_single(frame[column])}
    for key, columns in spread.items():
        own = [
            frame[columns[name]].alias(name)
            if name in columns
            else pl.Series(name, [None] * frame.height, pl.String)
            for name in long
        ]
        empty = np.ones(frame.height, dtype=bool)
        for each in own:
            empty &= missing(each)
        same = (
            pl.Series(each.name, each.to_list(), pl.Object) if each.name in objects else each for each in own
        )
        part = pl.DataFrame([*rest, *same]).with_columns(pl.lit(key).alias(named.WIDE_KEY))
        parts.append(part.filter(pl.Series(~empty)))
        places.append(np.flatnonzero(~empty))
    return pl.concat(parts, how="vertical_relaxed"), np.concatenate(places)


def not_single(cells: pl.Series) -> str:
    """Return what cells hold that is no single number or label; '' where they hold one each."""
    if cells.dtype.is_nested() or cells.dtype == pl.Object:
        return "objects or lists"
    return f"{cells.dtype} values" if cells.dtype.is_temporal() or cells.dtype == pl.Binary else ""


def refuse_not_single(path: Path, column: str, cells: pl.Series) -> None:
    """Refuse a column whose cells hold something else than one number or label each."""
    if kind := not_single(cells):
        raise StudyError(
            f"{path}: column {column!r} holds {kind}; one number or label a row is needed, of objects name a path such as "
            "answer.confidence or answers[0]"
        )


def lowered(cells: pl.Series) -> pl.Series:
    """Return cells as text in lower case without blanks around it."""
    return cells.cast(pl.String, strict=False).str.strip_chars().str.to_lowercase()


def missing(cells: pl.Series) -> NDArray[np.bool_]:
    """Return which cells say nothing: empty, NaN, or a word for it."""
    if not_single(cells):
        return np.asarray([value is None for value in cells.to_list()], dtype=bool)
    text = lowered(cells)
    return np.asarray((text.is_null() | text.is_in(list(named.MISSING))).to_numpy(), dtype=bool)


def _open(path: Path, kind: str) -> _Source:
    try:
        if kind == ".parquet":
            return _open_parquet(path)
        content = answer_files.content(path)
        return _open_csv(path, content) if kind in (".csv", ".tsv") else _open_json(path, kind, content)
    except (OSError, ValueError, RecursionError, pa.ArrowException, pl.exceptions.PolarsError) as error:
        raise _unreadable(path, kind, error) from None


def _unreadable(path: Path, kind: str, error: BaseException) -> StudyError:
    reason = str(getattr(error, "strerror", None) or error).split("\n")[0][:200] or type(error).__name__
    return StudyError(f"{path}: cannot be read as {kind[1:]}: {reason}; check the file")


def _nothing(path: Path, broken: Sequence[Broken]) -> StudyError:
    first = broken[0]
    return StudyError(f"{path}: cannot be read: line {first.row}: {first.reason}; check the file")


def _open_parquet(path: Path) -> _Source:
    parts = answer_files.parts_of(path)
    names = parquet_bounds.names_of(parts[0])

    def load(wanted: Sequence[str]) -> pl.DataFrame:
        try:
            read = [
                pl.read_ipc_stream(part, columns=list(wanted))
                if part.suffix == ".arrow"
                else pl.read_parquet(part, columns=list(wanted), glob=False, hive_partitioning=False)
                for part in parts
            ]
            return pl.concat(read, how="vertical_relaxed")
        except (OSError, ValueError, pl.exceptions.PolarsError) as error:
            raise _unreadable(path, ".parquet", error) from None

    return _Source(names, load)


def _open_csv(path: Path, content: bytes) -> _Source:
    head = answer_files.csv_head(path, content)
    body = content[head.start :]
    first = list(itertools.islice((row for row in _rows_of(body, head.delimiter) if row), 2))
    if first and all(len(row) > len(head.names) and not any(row[len(head.names) :]) for row in first):
        # Spreadsheets write separators for columns that are empty.
        head = replace(head, names=[*head.names, *[""] * (len(first[0]) - len(head.names))])
    # A column without a name is the index a data frame is written with; only the first can be asked for.
    names = [
        name or ("" if place == head.names.index("") else f"_{place}")
        for place, name in enumerate(head.names)
    ]
    source = _Source(names, lambda wanted: pl.DataFrame())

    def load(wanted: Sequence[str]) -> pl.DataFrame:
        odd = 0

        def skip(row: Any) -> str:
            nonlocal odd
            odd += 1
            return "skip"

        table = _parsed(path, body, names, wanted, head.delimiter, skip)
        lines = functools.cache(lambda: _lines(path, body, head))
        source.broken = tuple(lines()[1]) if odd else ()
        ends = body.count(b"\n") + (not body.endswith(b"\n"))
        if odd or ends > table.num_rows:  # rows that are more or less than a line
            source.number = lambda place: lines()[0][place]
        else:
            source.number = lambda place: place + head.lines + 1
        return pl.DataFrame(pl.from_arrow(table))

    source.load = load
    return source


def _parsed(
    path: Path,
    body: bytes,
    names: list[str],
    wanted: Sequence[str],
    delimiter: str,
    skip: Callable[[Any], str],
) -> pa.Table:
    # One column at least: of none Arrow does not count the rows.
    kept = list(wanted) or names[:1]
    if not body.strip():
        return pa.table({name: pa.array([], pa.string()) for name in kept})
    try:
        return pa_csv.read_csv(
            pa.BufferReader(body),
            read_options=pa_csv.ReadOptions(use_threads=False, column_names=names, block_size=max(_BLOCK, 1)),
            parse_options=pa_csv.ParseOptions(
                delimiter=delimiter, newlines_in_values=True, invalid_row_handler=skip
            ),
            convert_options=pa_csv.ConvertOptions(
                include_columns=kept,
                column_types=dict.fromkeys(names, pa.string()),
                strings_can_be_null=True,
                quoted_strings_can_be_null=True,
                null_values=[""],
            ),
        )
    except pa.ArrowException as error:
        raise _unreadable(path, ".csv", error) from None


def _rows_of(body: bytes, delimiter: str) -> Any:
    return csv.reader(io.TextIOWrapper(io.BytesIO(body), encoding="utf-8", newline=""), delimiter=delimiter)


def _lines(path: Path, body: bytes, head: CsvHead) -> tuple[list[int], list[Broken]]:
    """Return the line of each row of a CSV file, and the rows that have another number of cells than the header."""
    good: list[int] = []
    broken: list[Broken] = []
    reader = _rows_of(body, head.delimiter)
    while True:
        line = head.lines + reader.line_num + 1
        try:
            cells = next(reader)
        except StopIteration:
            return good, broken
        except csv.Error as error:
            raise StudyError(f"{path}: line {line}: {error}; check the quotes") from None
        if cells and len(cells) == len(head.names):
            good.append(line)
        elif cells:
            broken.append(Broken(line, f"the row has {len(cells)} cells, the header {len(head.names)}"))


def _open_json(path: Path, kind: str, content: bytes) -> _Source:
    numbers: list[int] = []
    rows: list[Mapping[str, Any]] = []
    broken = []
    for row in answer_files.json_rows(path, kind, content):
        if row.broken is None:
            numbers.append(row.number)
            rows.append(row.cells)
        else:
            broken.append(Broken(row.number, row.broken))
    if broken and not rows:
        raise _nothing(path, broken)
    names = list(dict.fromkeys(name for row in rows for name in row))

    def load(wanted: Sequence[str]) -> pl.DataFrame:
        kept = list(wanted) or names[:1]
        return pl.DataFrame([_series(name, [row.get(name) for row in rows], nested=True) for name in kept])

    return _Source(names, load, tuple(broken), numbers.__getitem__)


def _series(name: str, values: list[Any], nested: bool = False) -> pl.Series:
    """Return values of one kind as they are, mixed ones as the text a CSV would have."""
    kinds = set(map(type, values)) - {type(None)}
    if kinds <= {bool}:
        return pl.Series(name, values, pl.Boolean)
    if kinds <= {int} and all(value is None or abs(value) < 2**62 for value in values):
        return pl.Series(name, values, pl.Int64)
    if kinds == {float}:
        return pl.Series(name, values, pl.Float64)
    if nested and kinds & {dict, list}:
        return pl.Series(name, values, pl.Object)
    return pl.Series(name, [_text(value) for value in values], pl.String)


def _text(value: Any) -> str | None:
    """Return a JSON value as the text a CSV would have."""
    if value is None or isinstance(value, str):
        return value if value is None else value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, dict | list):
        return json.dumps(value)
    return str(value).lower() if isinstance(value, bool) else str(value)
