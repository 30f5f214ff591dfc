"""Tables of trials somebody else made, read into cells: one row per trial, columns named by option.

Where trials say ``correct`` instead of the stimulus, the stimulus is derived: the response if correct, the other one if
not. Where responses are not binary (letters, several options) or not given at all, trials are answers known as right or
wrong: what is read from them is in `fitting.answers`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from metacog_pipeline.errors import StudyError
from metacog_pipeline.fitting import cells
from metacog_pipeline.fitting.cells import Account, Column, Floats
from metacog_pipeline.fitting.counting import CountTable, names_of
from metacog_pipeline.fitting.reading import Table, read
from metacog_pipeline.interchange import columns as named
from metacog_pipeline.stats.auroc import auroc
from metacog_pipeline.stats.counts import Counts, counts_from_trials
from metacog_pipeline.stats.estimate import Estimate
from metacog_pipeline.stats.mafc.table import LARGEST_M
from metacog_pipeline.stats.resampling import Patterns, patterns_of
from metacog_pipeline.stats.type2 import bin_confidence

CODES: Mapping[str, int] = {
    **dict.fromkeys(("0", "false", "s1"), 0),
    **dict.fromkeys(("1", "true", "s2"), 1),
}
# A scale is inferred from whole numbers only where it is a plausible rating scale.
LARGEST_SCALE = 20
MOST_GROUPS = 10_000
_LABELS = "say which is S1 with --labels S1,S2, or use another column"

Ints = NDArray[np.int64]
Names = tuple[Mapping[str, str | None], ...]


@dataclass(frozen=True, slots=True)
class Columns:
    """Which columns of a trial table hold what, and how confidence becomes K ratings."""

    confidence: str | None = None
    stimulus: str | None = None
    correct: str | None = None
    response: str | None = None
    keep: str | None = None
    groups: tuple[str, ...] = ()
    item: str | None = None
    run: str | None = None
    ratings: int | None = None
    bins: int | None = None
    labels: tuple[str, str] | None = None
    alternatives: str | None = None  # a number, or the column that holds one
    scale: named.Scale | None = None
    shape: named.Shape = field(default_factory=named.Shape)

    def wanted(self) -> list[str]:
        """Return every column that is read."""
        single = (self.confidence, self.stimulus, self.correct, self.response, self.keep, self.item, self.run)
        found = [name for name in (*single, *self.grouping()) if name is not None]
        if self.alternatives is not None and not self.alternatives.isdecimal():
            found.append(self.alternatives)
        return list(dict.fromkeys(found))

    def grouping(self) -> tuple[str, ...]:
        """Return the columns that name a group; of a wide table each name that * stood for is one."""
        wide = (named.WIDE_KEY,) if self.shape.wide else ()
        return tuple(dict.fromkeys((*self.groups, *wide)))

    def codes(self) -> Mapping[str, int]:
        """Return what S1 and S2 are called."""
        if self.labels is None:
            return CODES
        return {label.strip().lower(): side for side, label in enumerate(self.labels)}

    def roles(self) -> list[cells.Role]:
        """Return what each column is wanted for in which words may stand for something."""
        scale = named.Scale(1, self.ratings) if self.ratings is not None and self.ratings > 1 else self.scale
        kinds = {
            "stimulus": (self.codes(), None),
            "response": (self.codes(), None),
            "correct": (cells.WORDS, None),
            "keep": (cells.KEPT_WORDS, None),
            "confidence": (None, scale),
            "alternatives": (None, named.Scale(2, LARGEST_M)),
        }
        wanted = {option: getattr(self, option) for option in kinds}
        return [
            cells.Role(option, name, *kinds[option])
            for option, name in wanted.items()
            if name is not None and not (option == "alternatives" and name.isdecimal())
        ]


@dataclass(frozen=True, slots=True)
class Answers:
    """Trials of one cell known as right or wrong; arrays have one entry per trial.

    ``share`` is confidence from 0 to 1, None where its scale is not known, which ``unscaled`` tells; ``stated`` is
    confidence as it was cut into ratings, ``items`` is None where no item has several trials, ``m`` is NaN where the
    number of alternatives is not known.
    """

    correct: Ints
    confidence: Floats | None
    share: Floats | None
    unscaled: str
    stated: Floats | None
    m: Floats | None
    keep: Ints | None
    items: Ints | None


@dataclass(frozen=True, slots=True)
class Trials:
    """Cells of a table of trials: counts where responses are binary, else answers.

    ``dropped`` are the rows of each cell that were not used, ``notes`` say how the file was understood.
    """

    names: Names
    dropped: Ints
    account: Account
    notes: tuple[str, ...]
    counts: CountTable | None = None
    answers: tuple[Answers, ...] = ()


class _Rows:
    """The rows of a table with the cell each belongs to."""

    def __init__(self, table: Table, columns: Columns) -> None:
        self.table, self.columns = table, columns
        self.account = Account(table)
        self.names, self.group = _groups(table, columns.grouping())
        self.notes: list[str] = []
        lacking = [
            f"{int(n):,} rows without {name}"
            for name in columns.grouping()
            if (n := table.frame[name].is_null().sum())
        ]
        if lacking:
            self.notes.append(f"{', '.join(lacking)}: a group of their own, shown as N/A")
        self._words: Mapping[str, Mapping[str, str]] = {}
        if words := columns.shape.words:
            self._words, remark = cells.words_by_option(table, columns.roles(), words)
            self.notes += [remark] if remark else []
        self.items: Ints | None = None

    def column(self, option: str) -> Column:
        """Return the column that an option names, with the words that are for it."""
        return Column(self.table, getattr(self.columns, option), self._words.get(option, {}))

    def read_items(self) -> None:
        """Read which item each row is of, and reject rows whose run of an item is there already."""
        columns = self.columns
        if columns.item is None:
            return
        items = cells.clusters(self.column("item"), self.account)
        if columns.run is not None:
            runs = cells.clusters(self.column("run"), self.account)
            key = pl.DataFrame({"group": self.group, "item": items, "run": runs})
            again = ~key.to_struct().is_first_distinct().to_numpy() & self.account.used
            item, run = self.column("item"), self.column("run")
            self.account.leave_out(
                again,
                "item and run there already",
                lambda place: f"item {item.shown(place)} run {run.shown(place)} is there already",
            )
        self.items = items

    def clusters(self) -> Ints | None:
        """Return the items where some have several rows in a cell; None where no one has."""
        if self.items is None:
            return None
        used = self.account.used
        each = pl.DataFrame({"group": self.group[used], "item": self.items[used]})
        most = each.group_by("group", "item").len()["len"].max()
        if not isinstance(most, int) or most < 2:
            return None
        self.notes.append(f"up to {most:,} rows of an item: intervals are over items")
        return self.items

    def dropped(self) -> Ints:
        return np.bincount(self.group[~self.account.used], minlength=len(self.names)).astype(np.int64)

    def parts(self) -> list[NDArray[np.intp]]:
        """Return the used rows of each cell."""
        used = np.flatnonzero(self.account.used)
        order = used[np.argsort(self.group[used], kind="stable")]
        ends = np.cumsum(np.bincount(self.group[used], minlength=len(self.names)))
        return np.split(order, ends[:-1])


def trials(path: Path, columns: Columns) -> Trials:
    """Return the cells of a table of trials, one per combination of the group columns.

    Raises StudyError for a column that is not there or holds nothing usable, or confidence whose scale cannot be told.
    """
    rows = _Rows(read(path, columns.wanted(), columns.shape.wide), columns)
    correct, response, stimulus = _answered(rows)
    rows.read_items()
    if response is not None and stimulus is not None:
        return _binary(rows, response, stimulus)
    assert correct is not None
    return _answers(rows, correct)


def _answered(rows: _Rows) -> tuple[Floats | None, Floats | None, Floats | None]:
    """Return (correct, response, stimulus); the last two are None where answers are not binary."""
    columns, account = rows.columns, rows.account
    labels, codes = columns.labels, columns.codes()
    correct = stimulus = None
    if columns.stimulus is not None:
        stimulus = cells.binary(rows.column("stimulus"), account, codes, _LABELS)
    if columns.correct is not None and (stimulus is None or columns.response is None):
        correct = cells.binary(rows.column("correct"), account)
    if columns.response is None:
        if stimulus is None or correct is None:
            if stimulus is not None:
                raise StudyError(
                    f"{rows.table.path}: --stimulus needs --response or --correct beside it, to tell right from wrong"
                )
            return correct, None, None
        return correct, np.where(correct == 1, stimulus, 1 - stimulus), stimulus
    column = rows.column("response")
    if stimulus is not None:
        return None, cells.binary(column, account, codes, _LABELS), stimulus
    if correct is None:
        raise StudyError(f"{rows.table.path}: --response needs --stimulus or --correct beside it")
    _, _, odd = cells.coded(column, codes)
    if odd.any() and labels is None:
        _refuse_two_labels(rows.table.path, column)
        return correct, None, None
    response = cells.binary(column, account, codes, _LABELS)
    return correct, response, np.where(correct == 1, response, 1 - response)


def _refuse_two_labels(path: Path, column: Column) -> None:
    found = column.cells.cast(pl.String, strict=False).drop_nulls().str.strip_chars()
    labels = found.filter(found != "").unique().sort().head(3).to_list()
    if len(labels) == 2:
        shown = f"{labels[0][:20]!r} and {labels[1][:20]!r}"
        raise StudyError(f"{path}: column {column.name!r} holds {shown}; say which is S1 with --labels S1,S2")


def _groups(table: Table, wanted: Sequence[str]) -> tuple[Names, Ints]:
    """Return the names of the cells, in order of first appearance, and the cell of each row."""
    frame = table.frame
    if not wanted:
        return ({},), np.zeros(frame.height, dtype=np.int64)
    keys = frame.select(Column(table, name, {}).cells.cast(pl.String, strict=False) for name in wanted)
    distinct = keys.unique(maintain_order=True)
    if distinct.height > MOST_GROUPS:
        raise StudyError(
            f"{table.path}: --group {' --group '.join(wanted)} makes {distinct.height:,} groups of {frame.height:,} rows; "
            f"name columns with up to {MOST_GROUPS:,} values"
        )
    numbered = distinct.with_row_index("\0cell")
    cell = keys.join(numbered, on=list(wanted), how="left", nulls_equal=True, maintain_order="left")
    return tuple(names_of(distinct, wanted)), cell["\0cell"].to_numpy().astype(np.int64)


def _binary(rows: _Rows, response: Floats, stimulus: Floats) -> Trials:
    """Return counts of binary responses by stimulus and confidence."""
    columns, account = rows.columns, rows.account
    if columns.alternatives is not None:
        raise StudyError(
            f"{rows.table.path}: --alternatives is for answers known as right or wrong only; these are binary"
        )
    if columns.keep is not None:
        raise StudyError(
            f"{rows.table.path}: --keep is for answers known as right or wrong; leave --stimulus out"
        )
    assert columns.confidence is not None
    confidence = cells.numbers(rows.column("confidence"), account, columns.scale, columns.ratings is not None)
    rating, ratings, note = _ratings(rows, confidence)
    items = rows.clusters()
    parts = rows.parts()
    of = [(stimulus[part], response[part], rating[part], group) for group, part in enumerate(parts)]
    number = len(rows.names)
    group = np.concatenate([np.full(len(part), place) for place, part in enumerate(parts)]).astype(np.int64)
    joined = [np.concatenate([each[side] for each in of]) for side in range(3)]
    table = counts_from_trials(joined[0], joined[1], joined[2], ratings, group, number)
    table = Counts(table.n_s1, table.n_s2, rows.dropped())
    areas, patterns = None, None
    if items is not None or columns.bins is not None:
        right = stimulus == response
        areas = tuple(_area(confidence, right, part, items) for part in parts)
    if items is not None:
        patterns = tuple(
            _patterns(items[part], *each[:3], ratings) for part, each in zip(parts, of, strict=True)
        )
    notes = (*rows.notes, note)
    made = CountTable(rows.names, table, areas, patterns)
    return Trials(rows.names, rows.dropped(), account, notes, made)


def _area(
    confidence: Floats, right: NDArray[np.bool_], part: NDArray[np.intp], items: Ints | None
) -> Estimate:
    return auroc(confidence[part], right[part].astype(np.int64), None if items is None else items[part])


def _patterns(items: Ints, stimulus: Floats, response: Floats, rating: Floats, ratings: int) -> Patterns:
    """Return the items of a cell over its 4 K counts: S1, then S2, each from the surest S1 to the surest S2."""
    place = np.where(response == 1, ratings + rating - 1, ratings - rating)
    return patterns_of(items, (stimulus * 2 * ratings + place).astype(np.int64), 4 * ratings)


def _answers(rows: _Rows, correct: Floats) -> Trials:
    """Return answers known as right or wrong, confidence on any scale unless it was to be cut."""
    columns, account = rows.columns, rows.account
    confidence = stated = m = keep = None
    if columns.confidence is not None:
        confidence = cells.numbers(
            rows.column("confidence"), account, columns.scale, columns.ratings is not None
        )
        stated = confidence
        if columns.bins is not None or columns.ratings is not None:
            stated, _, note = _ratings(rows, confidence)
            rows.notes.append(note)
    if columns.keep is not None:
        keep = cells.binary(rows.column("keep"), account, cells.KEPT)
    if confidence is not None:
        m, told = _alternatives(rows)
        rows.notes.append(told)
    scale, unscaled = (None, "") if confidence is None else _scale(rows, confidence)
    share = (
        None if scale is None or confidence is None else (confidence - scale.low) / (scale.high - scale.low)
    )
    items = rows.clusters()
    made = tuple(
        Answers(
            correct[part].astype(np.int64),
            None if confidence is None else confidence[part],
            None if share is None else share[part],
            unscaled,
            None if stated is None else stated[part],
            None if m is None else m[part],
            None if keep is None else keep[part].astype(np.int64),
            None if items is None else items[part],
        )
        for part in rows.parts()
    )
    return Trials(rows.names, rows.dropped(), account, tuple(rows.notes), None, made)


def _scale(rows: _Rows, confidence: Floats) -> tuple[named.Scale | None, str]:
    """Return the scale of confidence where it was declared or only one is usual, else None and the reason."""
    columns, there = rows.columns, confidence[rows.account.used]
    assert columns.confidence is not None
    if not len(there):
        return None, "no items"
    low, high = float(there.min()), float(there.max())
    usual = named.fitting_scales(low, high, bool((there == np.floor(there)).all()))
    scale: named.Scale | None
    if columns.scale is not None:
        scale, why = columns.scale, ""
    elif columns.ratings is not None and columns.ratings > 1:
        scale, why = named.Scale(1, columns.ratings), ""
    elif cells.percent(rows.column("confidence")):
        scale, why = named.Scale(0, 100), " per cent"
    elif len(usual) == 1:
        scale, why = named.parse_scale(usual[0]), ", the only usual scale it fits"
    else:
        many = f"{', '.join(usual[:-1])} and {usual[-1]} fit" if usual else "no usual one fits"
        rows.notes.append(
            f"no calibration: confidence runs from {low:g} to {high:g}; {many}: declare its --scale"
        )
        return None, f"no --scale declared: {many}"
    rows.notes.append(f"confidence on {scale}{why}")
    return scale, ""


def _alternatives(rows: _Rows) -> tuple[Floats, str]:
    """Return the number of alternatives of each row, NaN where it is not known, and a word about it."""
    asked, table = rows.columns.alternatives, rows.table
    if asked is None:
        return np.full(table.frame.height, np.nan), "no M-ratio: say among how many with --alternatives"
    told = asked if asked.isdecimal() else f"column {asked!r}"
    if asked.isdecimal():
        m = np.full(table.frame.height, float(asked))
    else:
        m = cells.numbers(rows.column("alternatives"), Account(table), declared=True)
    column_wrong = ~np.isnan(m) & ((m < 2) | (m > LARGEST_M) | (m != np.floor(m)))
    if column_wrong.any():
        place = int(np.flatnonzero(column_wrong)[0])
        where = "--alternatives" if asked.isdecimal() else f"{told} {rows.account.row(place)}"
        raise StudyError(
            f"{table.path}: {where} is {m[place]:g}; alternatives are whole numbers from 2 to {LARGEST_M}"
        )
    lacking = int((np.isnan(m) & rows.account.used).sum())
    without = f", {lacking:,} rows without a number take no part in it" if lacking else ""
    return m, f"efficiency of a choice among {told}{without}"


def _ratings(rows: _Rows, confidence: Floats) -> tuple[Floats, int, str]:
    """Return ratings, their number K, and how they came about; rows without one are noted."""
    columns, account = rows.columns, rows.account
    if columns.bins is not None:
        usable = np.where(account.used, confidence, np.nan)
        binned = bin_confidence(usable, columns.bins, rows.group)
        empty = int((binned.status != "ok").sum())
        note = f"confidence cut into {columns.bins} quantile bins within each cell"
        note += f", ties leaving bins empty in {empty} of {len(binned.status)} cells" if empty else ""
        return np.where(binned.rating > 0, binned.rating, np.nan).astype(np.float64), columns.bins, note
    there = confidence[account.used]
    whole = bool((there == np.floor(there)).all())
    scale = columns.scale
    if columns.ratings is not None:
        rating, ratings, note = confidence, columns.ratings, f"ratings 1..{columns.ratings}"
    elif (
        scale is not None
        and whole
        and float(scale.low).is_integer()
        and scale.high - scale.low <= LARGEST_SCALE
    ):
        rating, note = confidence - scale.low + 1, f"ratings {scale}"
        ratings = round(scale.high - scale.low + 1)
    elif not len(there):
        return confidence, 1, "no confidence to be used"
    elif scale is not None or not whole or there.min() < 1 or there.max() > LARGEST_SCALE:
        raise StudyError(
            f"{rows.table.path}: confidence runs from {there.min():g} to {there.max():g}, no rating scale 1..K by itself; "
            "give --ratings K for ratings 1..K or --bins N to cut it into N bins"
        )
    else:
        ratings = int(there.max())
        rating, note = confidence, f"ratings 1..{ratings}, the largest one seen"
    assert columns.confidence is not None
    column = rows.column("confidence")
    odd = ~np.isnan(rating) & ((rating < 1) | (rating > ratings) | (rating != np.floor(rating)))
    label = f"is no rating 1..{ratings}"
    account.leave_out(
        odd, f"{column.name} {label}", lambda place: f"{column.name} {column.shown(place)} {label}"
    )
    return rating, ratings, note
