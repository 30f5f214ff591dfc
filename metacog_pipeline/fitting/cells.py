"""Cells of a table of trials as numbers, and an account of every row that is not used.

A cell that says nothing is missing; one that says something else than what is needed is rejected, with its value. Where
most of a column would be rejected, the column is the wrong one and the file is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from metacog_pipeline.errors import StudyError, one_line
from metacog_pipeline.fitting.reading import Table, lowered, missing, refuse_not_single
from metacog_pipeline.interchange import columns as named

# Numbers no measurement gives; beyond them sums of squares overflow.
LARGEST = 1e140
YES = ("1", "right", "correct", *(word for word, right in named.TRUTHS.items() if right))
NO = ("0", "wrong", "incorrect", *(word for word, right in named.TRUTHS.items() if not right))
WORDS: Mapping[str, int] = {**dict.fromkeys(NO, 0), **dict.fromkeys(YES, 1)}
KEPT: Mapping[str, int] = {
    **WORDS,
    **dict.fromkeys(("keep", "kept"), 1),
    **dict.fromkeys(("withdraw", "withdrawn"), 0),
}
# What words may stand for of an answer that was kept or not: right and wrong are words for another column.
KEPT_WORDS: Mapping[str, int] = {
    word: side for word, side in KEPT.items() if word not in ("right", "wrong", "correct", "incorrect")
}
_SHOWN = 40
_COUNT = "\0n"  # a column no table has
_WHOLE = r"^([-+]?\d+)\.0+$"  # a float column writes 1 as 1.0
_NAMED = 4  # of the words of a column
# Of the cells that are there: more that are no number, or neither of two words, and the column is another one. Of two words
# a few per cent may be slips; more is another coding, and what looks known may stand for something else.
_MOST, _FEW_UNKNOWN = 0.5, 0.1

Floats = NDArray[np.float64]
Rows = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Rejection:
    """A row that is not used although nothing is missing in it: its number in the file, what people call it, and why."""

    row: int
    where: str
    reason: str


class Account:
    """What became of every row: used, left out because something is missing, or rejected."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self._code = np.zeros(table.frame.height, dtype=np.int64)
        self._labels = ["used"]
        self.rejected = [Rejection(each.row, f"line {each.row}", each.reason) for each in table.broken]

    @property
    def used(self) -> Rows:
        """Return which rows nothing was found against."""
        return np.asarray(self._code == 0)

    def leave_out(self, rows: Rows, label: str, reason: Callable[[int], str] | None = None) -> None:
        """Note ``rows`` under ``label`` unless something else was found before; ``reason`` makes them rejected ones."""
        new = np.flatnonzero(rows & (self._code == 0))
        if not len(new):
            return
        self._code[new] = len(self._labels)
        self._labels.append(label)
        if reason is not None:
            self.rejected += [
                Rejection(self.number(place), self.row(place), reason(place)) for place in new.tolist()
            ]

    def number(self, place: int) -> int:
        """Return the number in the file of a row of the frame: the line where it is text."""
        return self.table.number(int(self.table.place[place]))

    def row(self, place: int) -> str:
        """Return what people call a row of the frame: its number below the header, and its line where that differs."""
        line = self.number(place)
        before = sum(each.row < line for each in self.table.broken)
        row = int(self.table.place[place]) + 1 + before
        return f"row {row}" if row == line else f"row {row} (line {line})"

    def told(self) -> str:
        """Return how many rows were read, used and left out, and why."""
        broken = len(self.table.broken)
        number = np.bincount(self._code, minlength=len(self._labels))
        out = [f"{label} {n:,}" for label, n in zip(self._labels[1:], number[1:], strict=True) if n]
        out += [f"not readable {broken:,}"] if broken else []
        total = len(self._code) + broken
        left = total - int(number[0])
        return f"{total:,} rows read, {int(number[0]):,} used, {left:,} left out" + (
            f": {', '.join(out)}" if out else ""
        )


@dataclass(frozen=True, slots=True)
class Column:
    """A column with what its words stand for."""

    table: Table
    name: str
    words: Mapping[str, str]

    @property
    def cells(self) -> pl.Series:
        """Return the cells, of a kind that holds one value each."""
        found = self.table.frame[self.name]
        refuse_not_single(self.table.path, self.name, found)
        return found

    def text(self) -> pl.Series:
        """Return the cells as lower-case text, words replaced by what they stand for."""
        found = lowered(self.cells)
        if not self.words:
            return found
        found = found.str.replace(_WHOLE, "$1")
        return found.replace(list(self.words), [value.lower() for value in self.words.values()])

    def absent(self) -> Rows:
        """Return which cells say nothing; a word that was given a value says something."""
        if self.plain:
            found = self.cells.cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy()
            return np.asarray(np.isnan(found), dtype=bool)
        text = self.text()
        return np.asarray((text.is_null() | text.is_in(list(named.MISSING))).to_numpy(), dtype=bool)

    @property
    def plain(self) -> bool:
        """Whether the cells are numbers already, of which no one stands for something else."""
        return self.cells.dtype.is_numeric() and not self.words

    def shown(self, place: int) -> str:
        """Return a cell as it is shown to people."""
        return repr(one_line(str(self.cells[place]), _SHOWN))


class Role(NamedTuple):
    """What a column is wanted for: the option that names it, and the codes of two sides or the scale of numbers."""

    option: str
    name: str
    codes: Mapping[str, int] | None = None
    scale: named.Scale | None = None


class _Effect(NamedTuple):
    """What words do to what can be read: how many cells more, whether any is read otherwise, whether those say nothing
    then, and whether some that can be read are changed and others are not."""

    more: int
    changed: bool
    dropped: bool
    partly: bool


def words_by_option(
    table: Table, roles: Sequence[Role], words: Mapping[str, str]
) -> tuple[dict[str, Mapping[str, str]], str]:
    """Return the words of each option's column, and a remark where a column that they would change is left as it is.

    Words are for the columns that cannot be read without them, and then a column of 1 and 0 that can be is not changed by
    what 1 stands for elsewhere. Where no column needs them they are for the one that they change as a whole.

    Raises StudyError where it cannot be told which column is meant.
    """
    # a stimulus and the response to it are named alike
    sides = {role.option: "stimulus" if role.option == "response" else role.option for role in roles}
    each = {role.option: _effect(table, role, words) for role in roles}
    found = {
        side: _together([effect for option, effect in each.items() if sides[option] == side])
        for side in sides.values()
    }
    needing = [side for side, effect in found.items() if effect.more > 0]
    changed = [side for side, effect in found.items() if effect.more == 0 and effect.changed]
    if needing:
        chosen = [*needing, *(side for side in changed if found[side].dropped)]
        unclear = [side for side in needing if found[side].partly] if len(needing) > 1 else []
    else:
        chosen = [side for side in changed if not found[side].partly] if len(changed) > 1 else changed
        unclear = changed if len(changed) > 1 and len(chosen) != 1 else []
    if unclear:
        raise StudyError(
            f"{table.path}: --map-values: {_listed(roles, sides, unclear)} can be read without it and would be changed by "
            "it; recode in the file what is not meant, or give words of one option only, as in 0=keep,1=withdraw"
        )
    left = [side for side in changed if side not in chosen]
    remark = (
        f"--map-values is for {_listed(roles, sides, chosen)}, not for {_listed(roles, sides, left)}"
        if left
        else ""
    )
    chosen = chosen or list(found)
    return {option: words if side in chosen else {} for option, side in sides.items()}, remark


def _listed(roles: Sequence[Role], sides: Mapping[str, str], wanted: Sequence[str]) -> str:
    return " and ".join(f"{role.name!r} (--{role.option})" for role in roles if sides[role.option] in wanted)


def _effect(table: Table, role: Role, words: Mapping[str, str]) -> _Effect:
    distinct = Column(table, role.name, {}).cells.value_counts(name=_COUNT)
    number, table = distinct[_COUNT].to_numpy(), replace(table, frame=distinct)
    plain, mapped = (Column(table, role.name, each) for each in ({}, words))
    (before, odd), (after, still) = (_readable(column, role) for column in (plain, mapped))
    known = ~np.isnan(before)
    changed = (odd != still) | (known != ~np.isnan(after)) | (known & (before != after))
    word = lowered(plain.cells).str.replace(_WHOLE, "$1").is_in(list(words)).fill_null(False).to_numpy()
    return _Effect(
        int(number[odd].sum()) - int(number[still].sum()),
        bool(changed.any()),
        bool((np.isnan(after) & ~still)[changed].all()),
        bool((changed & known).any() and not word[known].all()),
    )


def _together(effects: Sequence[_Effect]) -> _Effect:
    more, changed, dropped, partly = zip(*effects, strict=True)
    return _Effect(sum(more), any(changed), all(dropped), any(partly))


def _readable(column: Column, role: Role) -> tuple[Floats, Rows]:
    """Return the numbers of a column, and which cells say something that is none."""
    if role.codes is not None:
        found, _, odd = coded(column, role.codes)
        return found, odd
    absent = column.absent()
    found = _floats(column, absent)
    if role.scale is not None:
        found = np.where((found < role.scale.low) | (found > role.scale.high), np.nan, found)
    return found, ~absent & np.isnan(found)


def numbers(
    column: Column, account: Account, scale: named.Scale | None = None, declared: bool = False
) -> Floats:
    """Return a column as finite numbers, NaN where there is none; rows without one are noted in ``account``.

    ``declared``: what scale they are on is known though it has no name. Raises StudyError where most of what is there is no
    number, lies outside ``scale``, or some are per cent and some not.
    """
    absent = column.absent()
    found = _floats(column, absent)
    if per_cent := percent(column):
        _refuse_percent_and_plain(column, found)
    unreadable = ~absent & np.isnan(found)
    comma = np.zeros(len(found), dtype=bool)
    if unreadable.any():
        odd = lowered(column.cells.filter(pl.Series(unreadable)))
        comma[unreadable] = odd.str.contains(named.COMMA_NUMBER).fill_null(False).to_numpy()
    infinite = ~absent & ~unreadable & ~(np.abs(found) <= LARGEST)
    if not per_cent and (two := named.two_scales(_counted(found[~infinite]), declared or scale is not None)):
        raise StudyError(f"{column.table.path}: in column {column.name!r} {two}")
    outside = np.zeros(len(found), dtype=bool)
    if scale is not None:
        outside = ~absent & ~unreadable & ~infinite & ((found < scale.low) | (found > scale.high))
    problems = (
        (comma, "has a comma", "has a comma: write 0.85 and 1000, not 0,85 nor 1,000"),
        (unreadable & ~comma, "is no number", "is no number; say what words stand for with --map-values"),
        (infinite, "is not finite", f"is not a number up to {LARGEST:g}"),
        (outside, f"is outside {scale}", f"is outside {scale}; declare another --scale"),
    )
    _refuse_most(column, account, absent, problems)
    account.leave_out(absent, f"{column.name} missing")
    for rows, label, reason in problems:
        account.leave_out(rows, f"{column.name} {label}", _told(column, reason))
        found = np.where(rows, np.nan, found)
    return found


def _counted(found: Floats) -> dict[float, int]:
    """Return how often each value is there; {} where none lies between 0 and 1, or none above."""
    there = found[np.isfinite(found)]
    if not ((there > 0) & (there < 1)).any() or not (there > 1).any():
        return {}
    return dict(zip(*(each.tolist() for each in np.unique(there, return_counts=True)), strict=True))


def _floats(column: Column, absent: Rows) -> Floats:
    """Return a column as numbers, NaN where a cell is none; two words such as yes and no are 1 and 0."""
    if column.plain:
        made = column.cells.cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy().astype(np.float64)
        return np.where(absent, np.nan, made)
    text = column.text()
    if bool(text.filter(pl.Series(~absent)).is_in([*YES, *NO]).all()):
        found = text.replace_strict(dict(WORDS), default=None, return_dtype=pl.Float64)
    else:
        found = text.str.strip_suffix("%").str.strip_chars().cast(pl.Float64, strict=False)
    return np.where(absent, np.nan, found.fill_null(np.nan).to_numpy().astype(np.float64))


def _refuse_percent_and_plain(column: Column, found: Floats) -> None:
    percent = np.asarray(column.text().str.ends_with("%").fill_null(False).to_numpy(), dtype=bool)
    bare = ~percent & ~np.isnan(found)
    if percent.any() and bare.any():
        one, other = (column.shown(int(np.flatnonzero(rows)[0])) for rows in (percent, bare))
        raise StudyError(
            f"{column.table.path}: column {column.name!r} holds per cent and plain numbers, {one} and {other}; "
            "write all of them one way"
        )


def percent(column: Column) -> bool:
    """Whether the numbers of a column have a per cent sign."""
    return not column.plain and bool(column.text().str.ends_with("%").any())


def binary(column: Column, account: Account, codes: Mapping[str, int] = WORDS, hint: str = "") -> Floats:
    """Return a column of two words as 0 and 1, NaN where there is neither; rows without are noted in ``account``.

    Raises StudyError where most of what is there is neither.
    """
    found, absent, odd = coded(column, codes)
    known = " nor ".join(
        "/".join([word for word, code in codes.items() if code == side][:_NAMED]) for side in (0, 1)
    )
    advice = hint or "say what words stand for, as in --map-values KEEP=1,WITHDRAW=0"
    words = lowered(column.cells.filter(pl.Series(~absent))).unique().sort().head(_NAMED).to_list()
    problems = ((odd, "is unknown", f"is neither {known} (it has {', '.join(map(repr, words))}); {advice}"),)
    _refuse_most(column, account, absent, problems, _FEW_UNKNOWN)
    problems = ((odd, "is unknown", f"is neither {known}; {advice}"),)
    account.leave_out(absent, f"{column.name} missing")
    account.leave_out(odd, f"{column.name} unknown", _told(column, problems[0][2]))
    return found


def coded(column: Column, codes: Mapping[str, int]) -> tuple[Floats, Rows, Rows]:
    """Return 0, 1 or NaN by row, which rows say nothing, and which say something else."""
    text = column.text().str.replace(_WHOLE, "$1")
    found = text.replace_strict(dict(codes), default=None, return_dtype=pl.Float64).fill_null(np.nan)
    values = found.to_numpy().astype(np.float64)
    absent = column.absent() & np.isnan(values)
    return values, absent, np.isnan(values) & ~absent


def clusters(column: Column, account: Account) -> NDArray[np.int64]:
    """Return a number for each distinct cell; rows without one are noted in ``account``."""
    absent = missing(column.cells)
    account.leave_out(absent, f"{column.name} missing")
    return np.asarray(
        column.cells.cast(pl.String, strict=False).fill_null("").rank("dense").to_numpy()
    ).astype(np.int64)


def _told(column: Column, reason: str) -> Callable[[int], str]:
    return lambda place: f"{column.name} {column.shown(place)} {reason}"


def _refuse_most(
    column: Column,
    account: Account,
    absent: Rows,
    problems: Sequence[tuple[Rows, str, str]],
    most: float = _MOST,
) -> None:
    """Refuse a column most of which is unusable, or that says nothing at all."""
    path, there = column.table.path, int((~absent).sum())
    if not there:
        raise StudyError(f"{path}: column {column.name!r} holds nothing; name another column")
    rows, _, reason = max(problems, key=lambda each: int(each[0].sum()))
    bad = int(sum(each[0].sum() for each in problems))
    if bad > most * there:
        place = int(np.flatnonzero(rows)[0])
        raise StudyError(
            f"{path}: column {column.name!r} cannot be used in {bad:,} of {there:,} rows: {account.row(place)} holds "
            f"{column.shown(place)}, which {reason}; or name another column"
        )
