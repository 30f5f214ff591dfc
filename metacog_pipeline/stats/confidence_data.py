"""Trials with confidence from a table that somebody else made: the one way in for `metacog fit`, scores and own questions.

`read` takes columns of any kind and returns coded trials, cell by cell: stimulus and response where an answer has two
sides, else right or wrong. Scales of confidence are those of each subject. What was taken for what, and every row that is
not used, is said.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from metacog_pipeline.stats import confidence_columns as columns
from metacog_pipeline.stats._arrays import Floats, Ints, Rows
from metacog_pipeline.stats.confidence_columns import Account, Coding, Column, DataError
from metacog_pipeline.stats.confidence_scale import Scale, are_shares, fitting_scales, two_scales
from metacog_pipeline.stats.confidence_words import NO, YES
from metacog_pipeline.stats.type2 import bin_confidence

LARGEST_M = 10  # alternatives that a choice may have
#: Whole numbers up to this are ratings as they are; more levels than `MOST_LEVELS` of anything else are cut into bins.
LARGEST_RATING, MOST_LEVELS, BINS = 20, 10, 4
MOST_CELLS = 10_000
# A subject's ratings show a scale of their own from this many on, where others go far beyond it.
_LEAST_RATINGS, _HIGHEST_RATING = 20, 10
_LEAST_OF_A_SUBJECT = 3  # rows, on average: a column with fewer for each value names no subjects
_AGREEMENT = 0.95  # of right or wrong with stimulus and response; below, it is said


@dataclass(frozen=True, slots=True)
class Given:
    """What a user says about a table; everything else is inferred."""

    #: {role: column}: stimulus, response, correct, confidence, subject.
    roles: Mapping[str, str] = field(default_factory=dict)
    by: tuple[str, ...] = ()  # columns of which each combination of values is a cell
    #: {column: {word: value}}; under "" words for the columns that cannot be read without them.
    words: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    scale: Scale | None = None  # of confidence
    bins: int | None = None  # into how many quantile bins confidence is cut
    alternatives: int | None = None  # among how many an answer was chosen


@dataclass(frozen=True, slots=True)
class ConfidenceData:
    """Trials: arrays of shape ``(rows,)`` with NaN where a row has no value; None where the table has no such thing."""

    cells: tuple[Mapping[str, str | None], ...]  # the names of each: {column: text, None where it is empty}
    cell: Ints  # of each row
    subject: str | None  # the column of subjects
    correct: Floats  # 1 or 0
    stimulus: Floats | None  # 0 (S1) or 1 (S2), as the response; None where answers do not have two sides
    response: Floats | None
    confidence: Floats  # as stated
    share: Floats | None  # confidence from 0 to 1, NaN where its scale is not known
    rating: Floats | None  # 1..K
    ratings: int | None  # K
    unscaled: tuple[str, ...]  # why a cell has no share, '' where it has one
    m: int | None  # alternatives
    account: Account  # of rows that are not used
    notes: tuple[str, ...]  # what was taken for what

    def rows(self) -> list[NDArray[np.intp]]:
        """Return the used rows of each cell."""
        return [rows for _, rows in _each(self.cell, self.account.used, len(self.cells))]

    def dropped(self) -> Ints:
        """Return how many rows of each cell were not used."""
        return np.bincount(self.cell[~self.account.used], minlength=len(self.cells)).astype(np.int64)


def read(
    table: Mapping[str, Column], given: Given | None = None, lines: Ints | None = None
) -> ConfidenceData:
    """Return the trials of a ``table``, {name: column}; ``lines`` ``(rows,)`` are the numbers of rows in their file.

    Raises DataError for a table that cannot be used as ``given``, in one line without the file's name.

    >>> cells = {"stim": [1, 1, 2, 2], "resp": [0, 1, 1, 1], "conf": [3, 1, 2, 3]}
    >>> found = read({name: columns.column(name, values) for name, values in cells.items()})
    >>> found.stimulus.tolist(), found.correct.tolist(), found.ratings
    ([0.0, 0.0, 1.0, 1.0], [1.0, 0.0, 1.0, 1.0], 3)
    """
    return _Reader(table, given or Given(), lines).read()


def _each(group: Ints, used: Rows, n: int) -> Iterator[tuple[int, NDArray[np.intp]]]:
    """Yield each of the ``n`` groups with its used rows."""
    rows = np.flatnonzero(used)
    rows = rows[np.argsort(group[rows], kind="stable")]
    yield from enumerate(np.split(rows, np.cumsum(np.bincount(group[rows], minlength=n))[:-1]))


class _Reader:
    """Reads one table: the parts of `read`, which share its account and its notes."""

    def __init__(self, table: Mapping[str, Column], given: Given, lines: Ints | None) -> None:
        self.table, self.given = table, given
        self.roles = columns.roles(list(table), given.roles)
        self.rows = len(next(iter(table.values())).code)
        self.account = Account(self.rows, lines)
        self.notes: list[str] = []
        self.taken: list[str] = []
        self.column = _recoded(table, given, self.roles, self.notes)

    def read(self) -> ConfidenceData:
        cells, cell, subject = self._cells()
        coded, correct = self._answers()
        two_sided = coded.stimulus is not None and coded.response is not None
        m = self._alternatives(coded, two_sided)
        subjects = cell if subject else np.zeros(self.rows, dtype=np.int64)
        confidence, family = self._confidence(subjects)
        share, rating, ratings, unscaled = None, None, None, [""] * len(cells)
        if two_sided or self.given.bins is not None:
            rating, ratings = self._ratings(confidence, family, cell)
        if not two_sided:
            share, unscaled = self._shares(confidence, family, cell, len(cells))
        return ConfidenceData(
            cells, cell, subject, correct, coded.stimulus, coded.response, confidence, share, rating, ratings,
            tuple(unscaled), m, self.account, ("; ".join(self.taken), *self.notes),
        )  # fmt: skip

    def _cells(self) -> tuple[tuple[Mapping[str, str | None], ...], Ints, str | None]:
        """Return the cells in the order of their first rows, the cell of each row, and the column of subjects."""
        subject, by = self.roles.get("subject"), self.given.by
        if subject is not None and subject not in (*by, *self.given.roles.values()):
            most = self.rows / len(self.table[subject].words)
            subject = subject if most >= _LEAST_OF_A_SUBJECT else None  # the number of the row or of an item
        sides = [self.table[name] for name in dict.fromkeys([*([subject] if subject else []), *by])]
        code = np.zeros(self.rows, dtype=np.int64)
        for side in sides:
            _, code = np.unique(code * len(side.words) + side.code, return_inverse=True)
        found, first = np.unique(code, return_index=True)
        if len(found) > MOST_CELLS:
            raise DataError(
                f"--group {' --group '.join(side.name for side in sides)} makes {len(found):,} groups of {self.rows:,} "
                f"rows; name columns with up to {MOST_CELLS:,} values"
            )
        for side in sides:
            if lacking := side.count(np.array([word == "" for word in side.words])):
                self.notes.append(f"{lacking:,} rows without {side.name}: a group of their own, shown as N/A")
        if subject:
            self.taken.append(f"subject = {subject} ({len(self.table[subject].words):,})")
        cells = [
            {side.name: side.words[side.code[row]][:200] or None for side in sides}
            for row in np.sort(first).tolist()
        ]
        return tuple(cells), np.argsort(np.argsort(first))[code].astype(np.int64), subject

    def _answers(self) -> tuple[Coding, Floats]:
        """Return how answers are coded (one-sided: without stimulus and response), and which are right."""
        sides = [role for role in ("stimulus", "response") if role in self.roles]
        right = self._right(len(sides) == 2) if "correct" in self.roles else None
        coded = Coding()
        if sides:
            coded = columns.coding(
                self.column.get("stimulus"), self.column.get("response"), self.account, right
            )
            self.taken += [f"{role} = {shown}" for role, shown in zip(sides, coded.shown, strict=False)]
            if not coded.labels:
                self.notes.append(
                    f"not used: {' and '.join(self.roles[role] for role in sides)}, no labels of answers"
                )
        one_sided = replace(coded, stimulus=None, response=None)
        if coded.stimulus is not None and coded.response is not None:
            unknown = np.isnan(coded.stimulus) | np.isnan(coded.response)
            same = np.where(unknown, np.nan, coded.stimulus == coded.response)
            if right is not None:
                known = ~(unknown | np.isnan(right))
                off = int((same != right)[known].sum())
                if off > (1 - _AGREEMENT) * known.sum():
                    self.notes.append(
                        f"{self.roles['correct']} disagrees with stimulus and response in {off:,} rows and is not used"
                    )
            return coded if len(coded.labels) <= 2 else one_sided, same
        assert right is not None
        self.taken.append(f"right = {self.roles['correct']}")
        side = coded.response if coded.stimulus is None else coded.stimulus
        if side is None or len(coded.labels) > 2:
            return one_sided, right
        other = np.where(np.isnan(right), np.nan, np.where(right == 1, side, 1 - side))
        shown, said = (other, side) if coded.stimulus is None else (side, other)
        return replace(coded, stimulus=shown, response=said), right

    def _right(self, both: bool) -> Floats | None:
        """Return the column of right and wrong; with stimulus and response it only checks these."""
        try:
            return columns.truths(self.column["correct"], Account(self.rows) if both else self.account)
        except DataError:
            if both:
                return None
            raise

    def _alternatives(self, coded: Coding, two_sided: bool) -> int | None:
        """Return the number of alternatives, None where it is not known."""
        m = self.given.alternatives
        if two_sided:
            if m:
                raise DataError(
                    "--alternatives is for answers known as right or wrong only; these are binary"
                )
            return None
        if m is None and len(coded.labels) > 2:
            m = len(coded.labels)
        if m is None:
            self.notes.append("no M-ratio: say among how many with --alternatives")
        elif not 2 <= m <= LARGEST_M:
            raise DataError(f"--alternatives is {m}; alternatives are whole numbers from 2 to {LARGEST_M}")
        else:
            self.notes.append(f"efficiency of a choice among {m}")
        return m

    def _confidence(self, subjects: Ints) -> tuple[Floats, Ints]:
        """Return confidence, and which scale the subject of each row rates on: 0 of all, or 0 (narrow) and 1 (wide)."""
        side, declared = self.column["confidence"], self.given.scale is not None
        confidence = columns.numbers(side, self.account, self.given.scale)
        self.taken.append(f"confidence = {self.roles['confidence']}")
        n, there = int(subjects.max(initial=0)) + 1, ~np.isnan(confidence)
        for subject, rows in _each(subjects, there & (not self._per_cent), n):
            values, number = np.unique(confidence[rows], return_counts=True)
            if why := two_scales(dict(zip(values.tolist(), number.tolist(), strict=True)), declared):
                names = self.table[self.roles["subject"]] if subjects.any() else None
                row = int(np.flatnonzero(subjects == subject)[0])
                whose = "" if names is None else f" of {names.words[names.code[row]][:40]}"
                raise DataError(f"in column {side.name!r}{whose} {why}")
        there &= self.account.used
        # The narrow scale is shares among numbers above 1, or whole numbers up to ten among numbers above twenty.
        most, wide = float(confidence[there].max(initial=0.0)), np.zeros(n, dtype=bool)
        for subject, rows in _each(subjects, there, n):
            own = confidence[rows]
            rated = most > 2 * _HIGHEST_RATING and len(own) >= _LEAST_RATINGS and own.max() <= _HIGHEST_RATING
            wide[subject] = len(own) > 0 and not (are_shares(own.tolist()) or (rated and _whole(own)))
        found = wide[subjects]
        return confidence, (found & (~found[there]).any()).astype(np.int64)

    @property
    def _per_cent(self) -> bool:
        return any(word.endswith("%") for word in self.column["confidence"].words)

    def _ratings(self, confidence: Floats, families: Ints, cell: Ints) -> tuple[Floats, int]:
        """Return ratings 1..K and K; what was made of each scale is noted."""
        scale, used = self.given.scale, self.account.used
        if self.given.bins is not None:
            return self._binned(confidence, self.given.bins, cell, "")
        if scale is not None and scale.high - scale.low <= LARGEST_RATING:
            there = [*confidence[used], scale.low]
            if _whole(np.array(there)):
                self.notes.append(f"ratings {scale}")
                return confidence - scale.low + 1, round(scale.high - scale.low + 1)
        made, most = np.full(self.rows, np.nan), 1
        for family in np.unique(families[used]).tolist():
            rows = families == family
            levels = np.unique(confidence[rows & used])
            whose = ""
            if families.any():
                whose = f" of {len(np.unique(self.table[self.roles['subject']].code[rows & used]))} subjects"
            largest = LARGEST_RATING if len(levels) > MOST_LEVELS else MOST_LEVELS
            if _whole(levels) and levels[0] >= 1 and levels[-1] <= largest:
                rating, k = confidence, int(levels[-1])
                self.notes.append(f"ratings 1..{k}, the largest one seen{whose}")
            elif len(levels) <= MOST_LEVELS:
                rating, k = np.asarray(np.searchsorted(levels, confidence) + 1, dtype=np.float64), len(levels)
                self.notes.append(f"ratings{whose} are its {k} levels from {levels[0]:g} to {levels[-1]:g}")
            else:
                k = most if families.any() and 2 <= most <= MOST_LEVELS else BINS
                rating, k = self._binned(np.where(rows, confidence, np.nan), k, cell, whose)
            made, most = np.where(rows, rating, made), max(most, k)
        return np.where(np.isnan(confidence), np.nan, made), most

    def _binned(self, confidence: Floats, bins: int, cell: Ints, whose: str) -> tuple[Floats, int]:
        there = ~np.isnan(confidence) & self.account.used
        rating, status = bin_confidence(np.where(there, confidence, np.nan), bins, cell)
        cells = np.unique(cell[there])
        empty = int((status[cells] != "ok").sum())
        left = f", ties leaving bins empty in {empty} of {len(cells)} cells" if empty else ""
        self.notes.append(f"confidence{whose} cut into {bins} quantile bins within each cell{left}")
        return np.where(rating > 0, rating, np.nan).astype(np.float64), bins

    def _shares(self, confidence: Floats, families: Ints, cell: Ints, cells: int) -> tuple[Floats, list[str]]:
        """Return confidence from 0 to 1 where its scale is known, and why it is not by cell."""
        used, share, why = self.account.used, np.full(self.rows, np.nan), ["no items"] * cells
        for family in np.unique(families[used]).tolist():
            rows = (families == family) & used
            scale, reason = self._scale(confidence[rows])
            for each in np.unique(cell[rows]).tolist():
                why[each] = reason
            if scale is not None:
                share[rows] = (confidence[rows] - scale.low) / (scale.high - scale.low)
        return share, why

    def _scale(self, there: Floats) -> tuple[Scale | None, str]:
        """Return the scale of confidences where it was declared or only one is usual, else None and the reason."""
        low, high = float(there.min()), float(there.max())
        usual = fitting_scales(low, high, _whole(there))
        scale, why = self.given.scale, ""
        if scale is None and self._per_cent:
            scale, why = Scale(0, 100), " per cent"
        elif scale is None and len(usual) == 1:
            scale, why = Scale(0, 100), ", the only usual scale it fits"
        if scale is not None:
            self.notes.append(f"confidence on {scale}{why}")
            return scale, ""
        many = f"{', '.join(usual[:-1])} and {usual[-1]} fit" if usual else "no usual one fits"
        self.notes.append(
            f"no calibration: confidence runs from {low:g} to {high:g}; {many}: declare its --scale"
        )
        return None, f"no --scale declared: {many}"


def _whole(numbers: Floats) -> bool:
    return bool((numbers == np.floor(numbers)).all())


def _recoded(
    table: Mapping[str, Column], given: Given, roles: Mapping[str, str], notes: list[str]
) -> dict[str, Column]:
    """Return the column of each role with its words replaced: those without a column only where it cannot be read."""
    found = {role: table[name].recoded(given.words.get(name, {})) for role, name in roles.items()}
    known = {**dict.fromkeys(YES, 1), **dict.fromkeys(NO, 0)}
    words = {
        word: value
        for word, value in given.words.get("", {}).items()
        if known.get(word.casefold(), word) != known.get(value.casefold(), value)  # RIGHT=1 is so already
    }
    if not words:
        return found
    needing = [role for role, side in found.items() if _needs_words(role, side)]
    sides = [role for role in ("stimulus", "response") if role in found]
    one, *other = ({*found[role].keys} for role in sides) if sides else [set()]
    if any(role in needing for role in sides) and all(one <= each or each <= one for each in other):
        needing = [role for role in found if role in needing or role in sides]  # one coding of both
    if not needing:
        raise DataError(
            "--map-values: every column can be read without it and stays as it is; name the column that is meant, as in "
            f"--map-values {next(iter(roles.values()))}:WORD=VALUE"
        )
    notes.append(f"--map-values is for {' and '.join(repr(roles[role]) for role in needing)}")
    return {role: side.recoded(words) if role in needing else side for role, side in found.items()}


def _needs_words(role: str, side: Column) -> bool:
    """Whether a column cannot be read without words: confidence as numbers, two sides as 0/1 or their usual words."""
    if role == "confidence":
        return None in side.numbers
    if role in ("stimulus", "response"):
        return not {*side.keys} <= {None, "0", "1", "true", "false", "s1", "s2"}
    odd = side.marks(lambda each: each is not None and each not in (*YES, *NO))
    there = side.count(side.marks(lambda each: each is not None))
    return role == "correct" and side.count(odd) > columns.MOST_UNKNOWN * there
