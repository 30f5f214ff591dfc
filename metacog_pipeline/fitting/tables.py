"""Tables somebody else made, read into counts: one row per cell, or one row per trial.

A table of counts has the columns ``nR_S1`` and ``nR_S2``, each a list of 2 K numbers (joined by ``;``, commas or blanks),
or the wide columns ``nR_S1_1`` … ``nR_S1_2K`` and ``nR_S2_1`` …; every other column is kept to name the cell. A table
of trials names its columns by option; a trial that cannot be used is dropped and counted in its cell.

Where trials say ``correct`` instead of the stimulus, the stimulus is derived: the response if correct, the other one if
not. Where responses are not binary (letters, several options) or not given at all, what is fitted is the efficiency of a
choice among as many alternatives as ``--alternatives`` says, see :mod:`metacog_pipeline.stats.mafc`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from metacog_pipeline.errors import StudyError
from metacog_pipeline.scoring.efficiency import Choices, choices
from metacog_pipeline.stats.auroc import auroc
from metacog_pipeline.stats.counts import Counts, counts, counts_from_trials
from metacog_pipeline.stats.estimate import Estimate
from metacog_pipeline.stats.mafc.fit import groups
from metacog_pipeline.stats.mafc.table import LARGEST_M
from metacog_pipeline.stats.type2 import bin_confidence

KINDS = (".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".parquet")
CODES: Mapping[str, int] = {
    **dict.fromkeys(("0", "false", "s1"), 0),
    **dict.fromkeys(("1", "true", "s2"), 1),
}
# A scale is inferred from whole numbers only where it is a plausible rating scale.
LARGEST_SCALE = 20
# Numbers no measurement gives; beyond them sums of squares overflow.
LARGEST = 1e140
LARGEST_COUNT = 1e15
_WIDE = re.compile(r"nr_s([12])_(\d{1,4})")
_AGAIN = re.compile(r"_duplicated_\d+$")
_NUMBER = re.compile(r"[^\s;,\[\]()]+")

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class CountTable:
    """Cells of one K to be fitted.

    Attributes
    ----------
    names
        One mapping of id column to text per cell.
    table
        Their counts, raw.
    choices
        Of answers known as right or wrong only: those of each cell by alternatives and confidence; else None.
    areas
        AUROC2 from confidence that was never binned, one per cell, or None where the ratings are all there is.
    note
        How trials became counts, for people.
    """

    names: tuple[Mapping[str, str], ...]
    table: Counts
    choices: tuple[Choices, ...] | None = None
    areas: tuple[Estimate, ...] | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Columns:
    """Which columns of a trial table hold what, and how confidence becomes K ratings."""

    confidence: str
    stimulus: str | None = None
    correct: str | None = None
    response: str | None = None
    groups: tuple[str, ...] = ()
    ratings: int | None = None
    bins: int | None = None
    labels: tuple[str, str] | None = None
    alternatives: str | None = None  # a number, or the column that holds one


def read_table(path: Path) -> pl.DataFrame:
    """Return a CSV, TSV, JSON Lines, JSON or Parquet file as a frame; text files give text.

    Raises StudyError when the file is missing, of another kind, unreadable, or has no rows.
    """
    kind = path.suffix.lower()
    if kind not in KINDS:
        raise StudyError(f"{path}: tables are read from {', '.join(KINDS)}; rename or convert the file")
    if not path.is_file():
        raise StudyError(f"{path}: there is no such file; check the path")
    try:
        if kind == ".parquet":
            frame = pl.read_parquet(path, glob=False, hive_partitioning=False)
        elif kind in (".csv", ".tsv"):
            frame = _read_text(path, kind)
        else:
            frame = _read_json(path, kind)
    except UnicodeDecodeError as error:
        raise StudyError(f"{path}: not UTF-8 at byte {error.start}; save the file as UTF-8") from None
    except (OSError, ValueError, RecursionError, pl.exceptions.PolarsError) as error:
        reason = str(getattr(error, "strerror", None) or error).split("\n")[0][:200] or type(error).__name__
        raise StudyError(f"{path}: cannot be read as {kind[1:]}: {reason}; check the file") from None
    if frame.height == 0:
        raise StudyError(f"{path}: the table has no rows; it needs one per cell or per trial")
    names = [name.strip().strip("\ufeff") for name in frame.columns]
    for place, name in enumerate(names):
        # Polars numbers columns of one name apart.
        name = _AGAIN.sub("", name) if kind in (".csv", ".tsv") else name
        if name in names[:place]:
            raise StudyError(f"{path}: column {name[:40]!r} is there twice; rename one")
    return frame.rename(dict(zip(frame.columns, names, strict=True)))


def has_counts(frame: pl.DataFrame) -> bool:
    """Whether the frame is one of counts, by its columns."""
    plain = [name.lower() for name in frame.columns]
    return {"nr_s1", "nr_s2"} <= set(plain) or any(_WIDE.fullmatch(name) for name in plain)


def cells_from_counts(path: Path, frame: pl.DataFrame) -> list[CountTable]:
    """Return the cells of a table of counts, those with equal K together, in the order of their first row.

    Raises StudyError naming the row and column that holds no counts.
    """
    sides, used = _count_columns(path, frame)
    ids = [name for name in frame.columns if name not in used]
    names = _names(frame, ids)
    by_length: dict[int, list[int]] = {}
    for row, (first, second) in enumerate(zip(*sides, strict=True)):
        try:
            counts(first, second)
        except ValueError as error:
            raise StudyError(f"{path} row {row + 1}: {error}; correct the counts") from None
        if max(*first, *second) > LARGEST_COUNT:
            raise StudyError(f"{path} row {row + 1}: a count is above {LARGEST_COUNT:g}; correct the counts")
        by_length.setdefault(len(first), []).append(row)
    return [
        CountTable(
            tuple(names[row] for row in rows),
            counts([sides[0][row] for row in rows], [sides[1][row] for row in rows]),
        )
        for rows in by_length.values()
    ]


def cells_from_trials(path: Path, frame: pl.DataFrame, columns: Columns) -> CountTable:
    """Return the cells of a table of trials, one per combination of the group columns.

    Raises StudyError for a column that is not there or holds nothing usable, or confidence whose scale cannot be told.
    """
    wanted = [columns.confidence, columns.stimulus, columns.correct, columns.response, *columns.groups]
    if columns.alternatives is not None and not columns.alternatives.isdecimal():
        wanted.append(columns.alternatives)
    for name in wanted:
        if name is not None and name not in frame.columns:
            there = ", ".join(map(repr, frame.columns))[:300]
            raise StudyError(f"{path}: no column {name!r}; the columns are: {there}")
    names, group = _groups(frame, columns.groups)
    confidence = _numbers(path, frame, columns.confidence)
    correct, response, stimulus = _answers(path, frame, columns)
    if response is None or stimulus is None:
        assert correct is not None
        return _choices(path, frame, columns, names, group, confidence, correct)
    if columns.alternatives is not None:
        raise StudyError(
            f"{path}: --alternatives is for answers known as right or wrong only; these are binary"
        )
    rating, ratings, note = _ratings(path, columns, confidence, group)
    table = counts_from_trials(stimulus, response, rating, ratings, group, len(names))
    answer = np.where(np.isnan(stimulus + response), np.nan, stimulus == response)
    areas = _areas(confidence, rating, answer, group, len(names)) if columns.bins is not None else None
    return CountTable(names, table, None, areas, note)


def _choices(
    path: Path,
    frame: pl.DataFrame,
    columns: Columns,
    names: tuple[Mapping[str, str], ...],
    group: NDArray[np.int64],
    confidence: Floats,
    correct: Floats,
) -> CountTable:
    """Return the cells of answers known as right or wrong, confidence on any scale unless it was to be cut."""
    if columns.bins is not None or columns.ratings is not None:
        rating, ratings, note = _ratings(path, columns, confidence, group)
        stated = np.where((rating >= 1) & (rating <= ratings), rating, np.nan)
    else:
        stated, note = confidence, "confidence as it is, on any scale"
    m, told = _alternatives(path, frame, columns.alternatives)
    usable = ~np.isnan(stated) & np.isin(correct, (0, 1))
    made, areas = [], []
    for cell in range(len(names)):
        rows = usable & (group == cell)
        right = correct[rows].astype(np.int64)
        made.append(_chosen(stated[rows], right, m[rows]))
        areas.append(auroc(confidence[rows], right))
    dropped = np.bincount(group[~usable], minlength=len(names))
    table = _plain_counts(group[usable], correct[usable], len(names), dropped)
    return CountTable(names, table, tuple(made), tuple(areas), f"{note}; {told}")


def _chosen(stated: Floats, correct: NDArray[np.int64], m: Floats) -> Choices:
    """Return the answers of one cell; those whose alternatives are not known have no stratum, but count in the area."""
    known = ~np.isnan(m)
    levels, place = np.unique(stated[known], return_inverse=True)
    right = np.bincount(place, correct[known], len(levels)).astype(float)
    wrong = np.bincount(place, 1 - correct[known], len(levels)).astype(float)
    rating = groups(right, wrong)
    return choices(
        rating[place] if len(levels) else place.astype(np.int64),
        correct[known],
        m[known].astype(np.int64),
        place,
        None,
        int(rating.max(initial=0)) + 1,
    )


def _alternatives(path: Path, frame: pl.DataFrame, told: str | None) -> tuple[Floats, str]:
    """Return the number of alternatives of each row, NaN where it is not known, and a word about it."""
    if told is None:
        return np.full(frame.height, np.nan), "no M-ratio: say among how many with --alternatives"
    m = np.full(frame.height, float(told)) if told.isdecimal() else _numbers(path, frame, told)
    wrong = ~np.isnan(m) & ((m < 2) | (m > LARGEST_M) | (m != np.floor(m)))
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        where = "--alternatives" if told.isdecimal() else f"column {told!r} row {row + 1}"
        raise StudyError(
            f"{path}: {where} is {m[row]:g}; alternatives are whole numbers from 2 to {LARGEST_M}"
        )
    missing = int(np.isnan(m).sum())
    lacking = f", {missing} rows without a number take no part in it" if missing else ""
    return m, f"efficiency of a choice among {told if told.isdecimal() else 'column ' + told}{lacking}"


def _plain_counts(
    group: NDArray[np.int64], correct: Floats, cells: int, dropped: NDArray[np.int64]
) -> Counts:
    """Return right and wrong answers as the hits and misses of one stimulus: what the accuracy is read from."""
    right = np.bincount(group, correct, cells)
    wrong = np.bincount(group, 1 - correct, cells)
    return Counts(np.zeros((cells, 2)), np.stack([wrong, right], axis=1), dropped.astype(np.int64))


def _read_text(path: Path, kind: str) -> pl.DataFrame:
    with path.open("rb") as file:
        head = file.readline(1_000_000).decode("utf-8-sig")
    separator = "\t" if kind == ".tsv" else max(",;\t", key=head.count)
    return pl.read_csv(path, infer_schema=False, separator=separator, null_values=[""])


def _read_json(path: Path, kind: str) -> pl.DataFrame:
    text = path.read_bytes().decode("utf-8-sig")
    parts = [text] if kind == ".json" else [line for line in text.split("\n") if line.strip()]
    values = [json.loads(part) for part in parts]
    rows = values[0] if kind == ".json" else values
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise ValueError("one object per row is needed")
    names = list(dict.fromkeys(name for row in rows for name in row))
    return pl.DataFrame({name: [_text(row.get(name)) for row in rows] for name in names})


def _text(value: Any) -> str | None:
    """A JSON value as the text a CSV would have; lists as their numbers joined by blanks."""
    if value is None or isinstance(value, str):
        return value if value is None else value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, list):
        return " ".join(str(part) for part in value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _count_columns(
    path: Path, frame: pl.DataFrame
) -> tuple[tuple[list[list[float]], list[list[float]]], set[str]]:
    """Return the count vectors of either stimulus by row, and the columns they came from."""
    lower = {name.lower(): name for name in frame.columns}
    joined = [lower[name] for name in ("nr_s1", "nr_s2") if name in lower]
    if len(joined) == 2:
        first, second = (
            [_vector(path, row, name, value) for row, value in enumerate(frame[name].to_list())]
            for name in joined
        )
        return (first, second), set(joined)
    wide: dict[str, dict[int, str]] = {"1": {}, "2": {}}
    for name in frame.columns:
        match = _WIDE.fullmatch(name.lower())
        if match:
            wide[match[1]][int(match[2])] = name
    if sorted(wide["1"]) != sorted(wide["2"]) or len(wide["1"]) != max(wide["1"]) - min(wide["1"]) + 1:
        raise StudyError(
            f"{path}: nR_S1_… and nR_S2_… must be numbered alike and without gaps; rename the columns"
        )
    sides = []
    for side in ("1", "2"):
        ordered = [wide[side][place] for place in sorted(wide[side])]
        sides.append(
            [
                [
                    number
                    for name, value in zip(ordered, row, strict=True)
                    for number in _vector(path, place, name, value)
                ]
                for place, row in enumerate(frame.select(ordered).iter_rows())
            ]
        )
    return (sides[0], sides[1]), {name for side in wide.values() for name in side.values()}


def _vector(path: Path, row: int, column: str, value: Any) -> list[float]:
    parts = (
        value if isinstance(value, list) else _NUMBER.findall("" if value is None else str(value)[:100_000])
    )
    try:
        return [float(part) for part in parts]
    except (TypeError, ValueError):
        shown = str(value)[:40]
        raise StudyError(
            f"{path} row {row + 1}: {column} is {shown!r}: 2 K numbers joined by ; are needed"
        ) from None


def _names(frame: pl.DataFrame, columns: Sequence[str]) -> list[dict[str, str]]:
    return [
        {name: "" if value is None else str(value)[:200] for name, value in zip(columns, row, strict=True)}
        for row in frame.select(columns).iter_rows()
    ] or [{} for _ in range(frame.height)]


def _groups(
    frame: pl.DataFrame, columns: Sequence[str]
) -> tuple[tuple[dict[str, str], ...], NDArray[np.int64]]:
    """Return the names of the cells, in order of first appearance, and the cell of each row."""
    if not columns:
        return ({},), np.zeros(frame.height, dtype=np.int64)
    wanted = list(dict.fromkeys(columns))
    keys = frame.select(pl.col(name).cast(pl.String, strict=False).fill_null("") for name in wanted)
    distinct = keys.unique(maintain_order=True).with_row_index("_cell")
    cell = keys.join(distinct, on=wanted, how="left", maintain_order="left")["_cell"].to_numpy()
    return tuple(_names(distinct.select(wanted), wanted)), cell.astype(np.int64)


def _numbers(path: Path, frame: pl.DataFrame, name: str) -> Floats:
    """Return a column as numbers, NaN for what is none; a column without a single number is an error."""
    column = _plain(path, frame, name)
    if not column.dtype.is_numeric() and column.dtype != pl.Boolean:
        column = column.cast(pl.String, strict=False).str.strip_chars()
    numbers = column.cast(pl.Float64, strict=False).to_numpy().astype(np.float64)
    numbers = np.where(np.abs(numbers) <= LARGEST, numbers, np.nan)
    if bool(np.isnan(numbers).all()):
        raise StudyError(
            f"{path}: column {name!r} holds no number, but {_example(column)}; name another column"
        )
    return numbers


def _codes(path: Path, frame: pl.DataFrame, name: str, codes: Mapping[str, int]) -> tuple[Floats, bool]:
    """Return 0, 1 or NaN by row, and whether some value that is there is neither."""
    text = _plain(path, frame, name).cast(pl.String, strict=False).str.strip_chars().str.to_lowercase()
    text = text.str.replace(r"^(\d+)\.0+$", "$1").replace("", None)  # a float column writes 1 as 1.0
    coded = text.replace_strict(dict(codes), default=None, return_dtype=pl.Float64)
    return coded.fill_null(np.nan).to_numpy().astype(np.float64), bool(
        (coded.is_null() & text.is_not_null()).any()
    )


def _plain(path: Path, frame: pl.DataFrame, name: str) -> pl.Series:
    column = frame[name]
    if column.dtype.is_nested() or column.dtype.is_temporal() or column.dtype == pl.Binary:
        raise StudyError(
            f"{path}: column {name!r} holds {column.dtype} values; one number or label a row is needed"
        )
    return column


def _example(column: pl.Series) -> str:
    there = column.drop_nulls()
    return repr(str(there[0])[:40]) if len(there) else "nothing"


def _answers(
    path: Path, frame: pl.DataFrame, columns: Columns
) -> tuple[Floats | None, Floats | None, Floats | None]:
    """Return (correct, response, stimulus); the last two are None where answers are not binary."""
    codes = (
        CODES
        if columns.labels is None
        else {label.strip().lower(): i for i, label in enumerate(columns.labels)}
    )
    response = stimulus = correct = None
    others = False
    if columns.response is not None:
        response, others = _codes(path, frame, columns.response, codes)
    if columns.stimulus is not None:
        stimulus = _usable(path, frame, columns.stimulus, codes)
    if columns.correct is not None:
        correct = _usable(path, frame, columns.correct, CODES)
    if stimulus is not None and response is not None:
        assert columns.response is not None
        return None, _usable(path, frame, columns.response, codes), stimulus
    if correct is None:
        raise StudyError(
            f"{path}: --stimulus needs --response or --correct beside it, to tell right from wrong"
        )
    if stimulus is not None:
        return (
            correct,
            np.where(correct == 1, stimulus, np.where(correct == 0, 1 - stimulus, np.nan)),
            stimulus,
        )
    if response is None or (others and columns.labels is None):
        if columns.response is not None:
            _refuse_two_labels(path, frame, columns.response)
        return correct, None, None
    return correct, response, np.where(correct == 1, response, np.where(correct == 0, 1 - response, np.nan))


def _usable(path: Path, frame: pl.DataFrame, name: str, codes: Mapping[str, int]) -> Floats:
    """Return 0, 1 or NaN by row, refusing a column most of whose values are something else."""
    coded, others = _codes(path, frame, name, codes)
    there = frame[name].is_not_null().to_numpy()
    if (others and 2 * int(np.isnan(coded[there]).sum()) > int(there.sum())) or not there.any():
        text = frame[name].cast(pl.String, strict=False).drop_nulls().unique().sort().head(4).to_list()
        shown = ", ".join(repr(value[:20]) for value in text) or "nothing"
        known = ", ".join(codes)
        raise StudyError(
            f"{path}: column {name!r} holds {shown}, not {known}; use --labels S1,S2 or another column"
        )
    return coded


def _refuse_two_labels(path: Path, frame: pl.DataFrame, name: str) -> None:
    text = frame[name].cast(pl.String, strict=False).drop_nulls().str.strip_chars()
    labels = text.filter(text != "").unique().sort().head(3).to_list()
    if len(labels) == 2:
        shown = f"{labels[0][:20]!r} and {labels[1][:20]!r}"
        raise StudyError(f"{path}: column {name!r} holds {shown}; say which is S1 with --labels S1,S2")


def _ratings(
    path: Path, columns: Columns, confidence: Floats, group: NDArray[np.int64]
) -> tuple[Floats, int, str]:
    """Return ratings (NaN where unusable), their number K, and how they came about."""
    if columns.bins is not None:
        binned = bin_confidence(confidence, columns.bins, group)
        empty = int((binned.status != "ok").sum())
        note = f"confidence cut into {columns.bins} quantile bins within each cell"
        note += f", ties leaving bins empty in {empty} of {len(binned.status)} cells" if empty else ""
        return np.where(binned.rating > 0, binned.rating, np.nan).astype(np.float64), columns.bins, note
    if columns.ratings is not None:
        return confidence, columns.ratings, f"ratings 1..{columns.ratings}"
    there = confidence[~np.isnan(confidence)]
    low, high = float(there.min()), float(there.max())
    if low < 1 or high > LARGEST_SCALE or bool((there != np.floor(there)).any()):
        raise StudyError(
            f"{path}: confidence runs from {low:g} to {high:g}, no rating scale 1..K by itself; "
            "give --ratings K for ratings 1..K or --bins N to cut it into N bins"
        )
    return confidence, int(high), f"ratings 1..{int(high)}, the largest one seen"


def _areas(
    confidence: Floats, rating: Floats, answer: Floats, group: NDArray[np.int64], cells: int
) -> tuple[Estimate, ...]:
    usable = ~np.isnan(rating) & np.isin(answer, (0, 1))
    found = []
    for cell in range(cells):
        rows = usable & (group == cell)
        found.append(auroc(confidence[rows], answer[rows].astype(np.int64)))
    return tuple(found)
