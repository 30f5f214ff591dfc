"""Long tables, most rows of which need no look of their own: an item's id, and an answer that is the same reply for any.

Such rows are matched as columns, without an object for an item or a row: a million of them take seconds. A row with
anything else in it, and every row about an item that is named twice, goes through the `Reader` like all rows of a short
table. So both ways take, refuse and say the same; where too many rows need the `Reader`, it reads the whole table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from metacog_pipeline.interchange import answer_files
from metacog_pipeline.interchange.answer_files import FileRow
from metacog_pipeline.interchange.cells import absent
from metacog_pipeline.interchange.import_cells import RowError, whole
from metacog_pipeline.interchange.import_rules import RowRules
from metacog_pipeline.interchange.imported import identified
from metacog_pipeline.transcripts.schema import Record

LEAST_BYTES = 1_000_000  # of a file: a shorter one is read row by row in no time
MOST_OTHER = 1_000  # rows that need a look of their own
MOST_ANSWERS = 2_000  # different answers
_ROW, _LINE, _ID = "_row", "_line", "_id"
_NAMES = [each.name for each in fields(Record)]


class Answer(NamedTuple):
    """What the cells of an answer make: the reply, and the number of the option it chooses."""

    text: str
    option: int


@dataclass(frozen=True)
class Plain:
    """What was matched as columns: ``rows`` (item_id, item_hash, number of the answer), how many are right; and the others,
    with the items they may name."""

    rows: pl.DataFrame
    answers: Sequence[Answer]
    right: int
    items: int
    other: Sequence[FileRow]
    candidates: frozenset[str]

    def records(self, first: Record, identity: Sequence[object]) -> list[Record]:
        """Return the records, which are as ``first`` but for item and text; ``identity`` is that of ``first``."""
        at = identity.index(first.item_id)
        values = [getattr(first, each.name) for each in fields(Record)]
        places = [_NAMES.index(name) for name in ("answer_id", "item_id", "item_hash", "text")]
        made = []
        for item, item_hash, number in self.rows.select("item_id", "item_hash", "_answer").iter_rows():
            text = self.answers[number].text
            after = (text if part == first.text else part for part in identity[at + 1 :])
            own = identified([*identity[:at], item, *after]), item, item_hash, text
            for place, value in zip(places, own, strict=True):
                values[place] = value
            made.append(Record(*values))
        return made


def matched(
    path: Path, content: bytes, rules: RowRules, columns: Mapping[str, str], own: Any
) -> Plain | None:
    """Return the rows of a table that need no look of their own, and the others; None where it is no such table.

    ``own`` makes the fields of an answer of cells: ``own(said, row, count)``, count rows having these cells.
    """
    fields = [field for field in columns if field != "item_id"]
    if set(columns) - {"item_id", *rules.own} or len(content) < LEAST_BYTES or path.suffix.lower() == ".gz":
        return None
    items = rules.item_table()
    lines = _lines(path, content) if items is not None and fields else None
    if items is None or lines is None:
        return None
    head, table = lines
    places = {name: place for place, name in enumerate(head.names)}
    if any(columns[field] not in places for field in columns):
        return None
    cells = pl.col(_LINE).str.split_exact(head.delimiter, len(head.names) - 1)
    regular = pl.col(_LINE).str.count_matches(head.delimiter, literal=True) == len(head.names) - 1
    split = table.with_columns(_cells=pl.when(regular).then(cells))
    of = pl.col("_cells").struct
    found = split.select(
        _ROW, _LINE, of.field(f"field_{places[columns['item_id']]}").alias(_ID),
        *(of.field(f"field_{places[columns[field]]}").alias(field) for field in fields),
    )  # fmt: skip
    del split, table
    told = found.drop_nulls(_ID).group_by(fields).agg(n=pl.len(), first=pl.col(_ROW).min()).sort("first")
    if told.height > MOST_ANSWERS:
        return None
    answers, numbers = _answers(rules, told, fields, own, items)
    found = found.join(told.select(*fields, _answer=pl.Series(numbers)), on=fields, how="left").join(
        items, left_on=_ID, right_on="item_id", how="left"
    )
    twice = found.filter(found[_ID].is_duplicated())[_ID]
    plain = pl.col("_answer").is_not_null() & pl.col("item_hash").is_not_null()
    odd = found.filter(~plain.fill_null(False))
    if odd.height > MOST_OTHER:
        return None
    at = places[columns["item_id"]]
    told_by = [next(islice(line.split(head.delimiter), at, None), None) for line in odd[_LINE]]
    near = _candidates(items, told_by)
    named = pl.concat([twice, pl.Series(_ID, [*told_by, *near], dtype=pl.String)]).drop_nulls().unique()
    needs = ~plain.fill_null(False) | pl.col(_ID).is_in(named.implode())
    other = found.filter(needs)
    if other.height > MOST_OTHER:
        return None
    rest = found.filter(~needs).select(item_id=_ID, item_hash="item_hash", target="target", _answer="_answer")
    options = pl.Series([each.option for each in answers], dtype=pl.Int64)
    right = int((options.gather(rest["_answer"]) == rest["target"]).sum()) if answers else 0
    _count(rest, told, fields, numbers, own)
    return Plain(
        rest.drop("target"), answers, right, items.height,
        list(_rows(path, content, head, other)), frozenset((*near, *other[_ID].drop_nulls())),
    )  # fmt: skip


def _lines(path: Path, content: bytes) -> tuple[answer_files.CsvHead, pl.DataFrame] | None:
    """Return the lines of a table with their numbers, blank ones left out; None where a cell may hold a line's end."""
    if b'"' in content or content.count(b"\r") != content.count(b"\r\n"):
        return None
    head = answer_files.csv_head(path, content)
    text = content[head.start :].decode().replace("\r\n", "\n")
    table = pl.DataFrame({_LINE: text.split("\n")}, schema={_LINE: pl.String}).with_row_index(
        _ROW, head.lines + 1
    )
    blank = pl.col(_LINE).str.replace_all(head.delimiter, "", literal=True).str.strip_chars() == ""
    empty = (pl.col(_LINE) == "") | pl.col(_LINE).str.starts_with(head.delimiter)
    return head, table.filter(~(empty & blank))


def _answers(
    rules: RowRules, told: pl.DataFrame, fields: Sequence[str], own: Any, items: pl.DataFrame
) -> tuple[list[Answer], list[int | None]]:
    """Return the answers that are the same reply for any item, and which of them each row of ``told`` is, if any."""
    answers: list[Answer] = []
    numbers: list[int | None] = []
    for *values, _, first in told.iter_rows():
        try:
            made = rules.plain(own(dict(zip(fields, values, strict=True)), first, 0))
        except RowError:
            made = None
        numbers.append(None if made is None else len(answers))
        answers += [] if made is None else [Answer(*made)]
    return answers, numbers


def _count(
    rest: pl.DataFrame, told: pl.DataFrame, fields: Sequence[str], numbers: Sequence[int | None], own: Any
) -> None:
    """Have ``own`` count the cells of the rows that were matched."""
    counted = dict(rest.group_by("_answer").agg(n=pl.len()).iter_rows())
    for (*values, _, first), number in zip(told.iter_rows(), numbers, strict=True):
        if number is not None and counted.get(number):
            own(dict(zip(fields, values, strict=True)), first, counted[number])


def _rows(path: Path, content: bytes, head: answer_files.CsvHead, other: pl.DataFrame) -> Iterator[FileRow]:
    header = content[: head.start].splitlines()[-1:] or [head.delimiter.join(head.names).encode()]
    for number, line in other.sort(_ROW).select(_ROW, _LINE).iter_rows():
        (row,) = answer_files.csv_rows(path, b"\n".join([*header, line.encode()]))
        yield row._replace(number=number)


def _candidates(items: pl.DataFrame, ids: Sequence[str | None]) -> frozenset[str]:
    """Return the items that the given cells may name: by any spelling that `ItemNames` takes."""
    given = [each for each in ids if not absent(each) and each is not None]
    texts = {each.strip() for each in given} | {str(n) for each in given if (n := whole(each)) is not None}
    folded = {each.casefold() for each in texts}
    near = items.filter(pl.col("item_id").is_in(texts) | pl.col("item_id").str.to_lowercase().is_in(folded))
    return frozenset(near["item_id"])
