"""Columns of a table of trials as somebody else wrote it: which column is what, and what its cells mean.

A column is held as its distinct cells, so that every decision is taken on a handful of words however long the table is.
A cell that says nothing is missing; one that says something else than its column needs makes its row a rejected one; where
too many would be rejected the column is the wrong one and the table is refused (`DataError`).
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from metacog_pipeline.stats._arrays import LARGEST, Floats, Ints, Rows
from metacog_pipeline.stats.confidence_scale import Scale
from metacog_pipeline.stats.confidence_words import DETECTED, MISSING, NAMES, NO, S1_FIRST, YES

MOST_LABELS = 10  # alternatives a stimulus or a response may have; a column with more is something else
# Of the cells that are there: more that are no number, or neither of two words, and the column is another one. Of two
# words a few per cent may be slips; more is another coding, and what looks known may mean something else.
MOST_ODD, MOST_UNKNOWN = 0.5, 0.1
# Codes for "no answer": below 0 in a column that is not, or far above the ten levels that all others stay within.
_BELOW, _ABOVE = {-1.0, -9.0, -99.0, -999.0}, {99.0, 999.0, 9999.0}
_BESIDE = {*_BELOW, 0.0, 9.0, *_ABOVE}
_LARGEST_LEVEL = 10
_COMMA = re.compile(r"[-+]?\d+(,\d+)+(\.\d+)?\s*%?")
_THOUSANDS = re.compile(r"[-+]?[1-9]\d{0,2}(,\d{3})+")
_SHOWN = 40
#: Parts of names that say what a column is, and those that say that it is something else.
_PARTS = {"confidence": {"confidence", "conf", "certainty"}, "subject": {"subject", "subj", "participant"}}
_OTHER = {"rt", "rts", "time", "onset", "offset", "latency", "duration", "ms", "key", "type", "group", "n"}


class DataError(ValueError):
    """A table that cannot be used: what, the value, where and what to do, in one line."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its distinct cells as text, and which of them each row holds, ``(rows,)``."""

    name: str
    words: tuple[str, ...]
    code: Ints

    @property
    def counts(self) -> Ints:
        """How many rows hold each word."""
        return np.bincount(self.code, minlength=len(self.words)).astype(np.int64)

    @property
    def keys(self) -> tuple[str | None, ...]:
        """Each word as it is compared: without case, numbers without needless places; None where it says nothing."""
        return tuple(map(key, self.words))

    def recoded(self, words: Mapping[str, str]) -> Column:
        """Return the column with words replaced by their meaning."""
        meant = {key(word): value for word, value in words.items()}
        return Column(self.name, tuple(meant.get(key(word), word) for word in self.words), self.code)

    def by_word(self, values: Iterable[float | None]) -> Floats:
        """Return one number for each word, None as NaN, by row."""
        return np.array([math.nan if each is None else each for each in values], dtype=np.float64)[self.code]


def column(name: str, cells: Iterable[object]) -> Column:
    """Return the column ``name`` of cells of any kind: text, numbers, booleans, None.

    >>> column("ok", [1, "yes", None, 1.0]).words
    ('1', 'yes', '')
    """
    known: dict[str, int] = {}
    code = [known.setdefault(as_text(cell), len(known)) for cell in cells]
    return Column(name, tuple(known), np.array(code, dtype=np.int64))


def as_text(cell: object) -> str:
    """Return a ``cell`` as the text that a CSV file would hold.

    >>> as_text(1.0), as_text(True), as_text(None)
    ('1', 'true', '')
    """
    if cell is None or isinstance(cell, str):
        return (cell or "").strip()
    if isinstance(cell, bool | np.bool_):
        return str(bool(cell)).lower()
    return f"{cell:.17g}" if isinstance(cell, float) and cell.is_integer() else str(cell)


def key(word: str) -> str | None:
    """Return a ``word`` as words are compared; None where it says nothing."""
    folded = unicodedata.normalize("NFC", word.strip().casefold())
    if folded in MISSING:
        return None
    number = number_of(folded)
    return folded if number is None else f"{number:.12g}"


def number_of(word: str) -> float | None:
    """Return a word as a number, a per cent sign put aside; None where it is none."""
    try:
        return None if "_" in word else float(word.strip().removesuffix("%"))
    except ValueError:
        return None


class Account:
    """What became of every row: used, left out because something is missing, or rejected with its reason.

    ``lines``: the number of each row in its file, ``(rows,)``; by default rows count from 1.
    """

    def __init__(self, rows: int, lines: Ints | None = None) -> None:
        self.lines, self._word = (np.arange(1, rows + 1), "row") if lines is None else (lines, "line")
        self._code = np.zeros(rows, dtype=np.int64)
        self._labels: dict[str, int] = {}
        self.rejected: list[tuple[int, str]] = []

    @property
    def used(self) -> Rows:
        """Which rows nothing was found against."""
        return np.asarray(self._code == 0)

    def leave_out(self, rows: Rows, label: str, reason: Callable[[int], str] | None = None) -> None:
        """Note ``rows`` under ``label`` unless something else was found before; ``reason`` makes them rejected ones."""
        new = np.flatnonzero(rows & (self._code == 0))
        if len(new):
            self._code[new] = self._labels.setdefault(label, len(self._labels) + 1)
        if reason is not None:
            self.rejected += [(int(self.lines[row]), reason(row)) for row in new.tolist()]

    def where(self, row: int) -> str:
        """Return the name of a row in messages."""
        return f"{self._word} {int(self.lines[row])}"

    def counts(self) -> dict[str, int]:
        """Return how many rows were left out, by reason."""
        number = np.bincount(self._code, minlength=len(self._labels) + 1).tolist()
        return {label: number[code] for label, code in self._labels.items()}


def plain(name: str) -> str:
    """Return a column's name as names are compared: ``SubjectID`` and ``subject-id`` are ``subject_id``."""
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name.strip())
    return "_".join(re.findall(r"[^\W_]+", parted.casefold()))


def roles(
    names: Sequence[str], given: Mapping[str, str] | None = None, *, strict: bool = True
) -> dict[str, str]:
    """Return which column holds what, by their ``names``: {role: column}; ``given`` ones are as they are.

    Raises `DataError` where two columns have one name, and with ``strict`` where right and wrong or confidence cannot
    be found.

    >>> roles(["Subj_idx", "Stimulus", "Response", "Confidence", "RT_conf"])["confidence"]
    'Confidence'
    """
    found = dict(given or {})
    enough = "correct" in found or {"stimulus", "response"} <= set(found)
    for role, wanted in NAMES.items():
        if role in found or (role in ("stimulus", "response", "correct") and enough):
            continue
        parts = {name: plain(name) for name in names if name not in found.values()}
        joined = {name: {own, own.replace("_", "")} for name, own in parts.items()}
        same: list[str] = []
        for each in wanted:
            same = same or [name for name, own in joined.items() if each in own]
        if len(same) > 1:
            raise DataError(
                f"columns {same[0]!r} and {same[1]!r} are both a {role} by their names; name one with --{role}"
            )
        telling, split = _PARTS.get(role, set()), {name: {*own.split("_")} for name, own in parts.items()}
        partly = [name for name, own in split.items() if telling & own and not _OTHER & own]
        if same or len(partly) == 1:
            found[role] = (same or partly)[0]
    if strict:
        _require(found, names)
    return found


def _require(found: Mapping[str, str], names: Sequence[str]) -> None:
    """Refuse a table without confidence or right and wrong."""
    there = f"; the columns are {', '.join(map(repr, names))[:200]}"
    if "confidence" in found and found["confidence"] in (found.get("correct"), ""):
        raise DataError(f"--confidence {found['confidence']}: is the column of --correct")
    if "correct" not in found and not {"stimulus", "response"} <= set(found):
        one = next((role for role in ("stimulus", "response") if role in found), None)
        beside = f"{found[one]!r} (--{one}) alone does not show" if one else "nothing shows"
        raise DataError(f"{beside} right from wrong: name --correct, or --stimulus and --response{there}")
    if "confidence" not in found:
        raise DataError(f"no column of confidence: name it with --confidence{there}")


def truths(column: Column, account: Account) -> Floats:
    """Return a ``column`` of right and wrong as 1 and 0, NaN where it is neither; such rows are noted in ``account``."""
    codes = {**dict.fromkeys(NO, 0.0), **dict.fromkeys(YES, 1.0)}
    count = {each: n for each, n in zip(column.keys, column.counts.tolist(), strict=True) if each is not None}
    if {*count} == {"-1", "1"}:
        if count["-1"] <= MOST_UNKNOWN * count["1"]:
            raise DataError(
                f"column {column.name!r} holds 1 and {count['-1']:,} times -1, which is wrong or no answer; say which with "
                f"--map-values {column.name}:-1=0 or {column.name}:-1=NA"
            )
        codes["-1"] = 0.0
    values = [codes.get(str(each)) for each in column.keys]
    absent = _absent(column, no_answer(column))
    shown = ", ".join(repr(word.casefold()) for word in sorted(_words(column, ~absent))[:4])
    reason = (
        f"is neither 0/wrong/no nor 1/right/yes (it has {shown}); give the meaning of words, as in --map-values "
        "RIGHT=1,WRONG=0"
    )
    unknown = np.array([each is None for each in values], dtype=bool) & ~absent
    _note(column, account, absent, [(unknown, "unknown", reason)], MOST_UNKNOWN)
    return column.by_word(values)


def numbers(column: Column, account: Account, scale: Scale | None = None) -> Floats:
    """Return a ``column`` as finite numbers, NaN where there is none; rows without one are noted in ``account``.

    Raises `DataError` where most of what is there is no number or outside ``scale``, or some are per cent and some not.
    """
    absent = _absent(column, no_answer(column) if scale is None else ())
    there = _words(column, ~absent)
    signed = [word for word in there if word.endswith("%")]
    bare = [word for word in there if not word.endswith("%") and number_of(word) is not None]
    if signed and bare:
        raise DataError(
            f"column {column.name!r} holds per cent and plain numbers, {signed[0]!r} and {bare[0]!r}; "
            "write all of them one way"
        )
    values = np.where(absent, 0.0, _values(column, there))
    unread, infinite = np.isnan(values), np.abs(values) > LARGEST
    comma = unread & np.array([_COMMA.fullmatch(word) is not None for word in column.words], dtype=bool)
    outside = np.zeros_like(absent)
    if scale is not None:
        outside = ~absent & ~infinite & ((values < scale.low) | (values > scale.high))
    problems = [
        (comma, "has a comma", "has a comma: write 0.85 and 1000, not 0,85 nor 1,000"),
        (unread & ~comma, "is no number", "is no number; give the meaning of words with --map-values"),
        (infinite, "is not finite", f"is not a number up to {LARGEST:g}"),
        (outside, f"is outside {scale}", f"is outside {scale}; declare another --scale"),
    ]
    _note(column, account, absent, problems, MOST_ODD)
    return np.asarray(np.where(absent | infinite | outside, np.nan, values)[column.code])


def _values(column: Column, there: Sequence[str]) -> Floats:
    """Return each word as a number, NaN where it is none; two words such as yes and no are 1 and 0."""
    if there and all(key(word) in YES or key(word) in NO for word in there):
        return np.array([np.nan if each is None else float(each in YES) for each in column.keys])
    commas = [word for word in there if _COMMA.fullmatch(word)]
    # Decimal commas are those of the whole column: no number of it has a point, and not all look like thousands.
    decimal = commas and not any("." in word for word in there) and not all(map(_THOUSANDS.fullmatch, commas))
    words = [word.replace(",", ".") if decimal and word.count(",") == 1 else word for word in column.words]
    found = [number_of(word) for word in words]
    return np.array([np.nan if each is None else each for each in found], dtype=np.float64)


def no_answer(column: Column, beside: Column | None = None) -> set[float]:
    """Return the numbers that mean "no answer" in a ``column`` of numbers; ``beside`` holds the labels."""
    stated, shown = _numbers(column), set[float]() if beside is None else _numbers(beside)
    if stated is None or shown is None:
        return set()  # words among them: what is a number there is a word as well
    labels = shown - no_answer(beside) if beside is not None else shown
    extra = stated - labels
    if len(labels) > 1 and extra and extra <= _BESIDE and (labels <= stated or min(labels) > 0):
        codes = extra if labels <= stated else extra & _BELOW
        if codes and codes < stated:
            return codes
    for codes, most in ((stated & _BELOW, math.inf), (stated & _ABOVE, _LARGEST_LEVEL)):
        rest = stated - codes
        if codes and len(rest) > 1 and 0 <= min(rest) <= max(rest) <= most:
            return codes
    return set()


def _numbers(column: Column) -> set[float] | None:
    """Return the distinct numbers of a column; None where it holds words."""
    found = [number_of(each) for each in column.keys if each is not None]
    return None if None in found else {each for each in found if each is not None}


def _absent(column: Column, codes: Iterable[float] = ()) -> Rows:
    gone = {None, *(f"{code:.12g}" for code in codes)}
    return np.array([each in gone for each in column.keys], dtype=bool)


def _words(column: Column, which: Rows) -> list[str]:
    return [word for word, wanted in zip(column.words, which.tolist(), strict=True) if wanted]


def _note(
    column: Column, account: Account, absent: Rows, problems: Sequence[tuple[Rows, str, str]], most: float
) -> None:
    """Note rows that say nothing or have a problem (words, label, reason); refuse a column with too many."""
    number, name = column.counts, column.name
    there = int(number[~absent].sum())
    if not there:
        raise DataError(f"column {name!r} holds nothing; name another column")
    shown = [repr(word[:_SHOWN]) for word in column.words]
    words, _, reason = max(problems, key=lambda each: int(number[each[0]].sum()))
    bad = int(sum(number[each].sum() for each, _, _ in problems))
    if bad > most * there:
        row = int(np.flatnonzero(words[column.code])[0])
        raise DataError(
            f"column {name!r} cannot be used in {bad:,} of {there:,} rows: {account.where(row)} holds "
            f"{shown[column.code[row]]}, which {reason}; or name another column"
        )
    for place in np.flatnonzero(absent).tolist():
        code = "" if column.keys[place] is None else f" ({column.words[place]})"
        account.leave_out(column.code == place, f"{name} missing{code}")
    for words, label, why in problems:
        said = lambda row, why=why: f"{name} {shown[column.code[row]]} {why}"  # noqa: E731
        account.leave_out(words[column.code], f"{name} {label}", said)


@dataclass(frozen=True, slots=True)
class Coding:
    """Stimulus and response by row, numbers from 0 or NaN; their labels; and each column in words."""

    stimulus: Floats | None = None
    response: Floats | None = None
    labels: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()


def coding(
    stimulus: Column | None,
    response: Column | None,
    account: Account,
    labels: tuple[str, str] | None = None,
    right: Floats | None = None,
) -> Coding:
    """Return ``stimulus`` and ``response`` as numbers; ``right``: 1, 0 or NaN by row, where correctness is known by itself.

    Each column is coded by itself: 1/2 next to 0/1 are two codings of the same two labels, in their order. Where the order
    decides nothing (left/right next to 0/1) ``right`` decides, or the table is refused. ``labels`` name S1 and S2.
    """
    sides = [each for each in (stimulus, response) if each is not None]
    codes = [no_answer(each, stimulus if each is response else None) for each in sides]
    absent = [_absent(side, own) for side, own in zip(sides, codes, strict=True)]
    keys = [_labels(_words(side, ~gone)) for side, gone in zip(sides, absent, strict=True)]
    most = max(range(len(sides)), key=lambda place: len(keys[place]))
    if labels is not None:
        names: tuple[str, ...] = labels
        maps = [{str(key(label)): place for place, label in enumerate(labels)}] * len(sides)
    elif len(keys[most]) <= MOST_LABELS:
        maps, names = _maps(sides, keys, right)
    elif right is not None:
        return Coding()
    else:
        raise DataError(
            f"column {sides[most].name!r} holds {len(keys[most]):,} different values, no labels of answers; "
            "name a column of right and wrong with --correct"
        )
    found, shown = [], []
    for side, gone, own, meant in zip(sides, absent, keys, maps, strict=True):
        odd = ~gone & np.array([each not in meant for each in side.keys], dtype=bool)
        reason = (
            f"is neither {' nor '.join(names)}; say which is S1 with --labels S1,S2, or use another column"
        )
        _note(side, account, gone, [(odd, "unknown", reason)], MOST_UNKNOWN)
        values = [None if lost else meant.get(str(each)) for lost, each in zip(gone, side.keys, strict=True)]
        found.append(side.by_word(values))
        called = "S" if len(names) <= 2 else ""
        each = (f"{own[word]} = {called}{place + 1}" for word, place in meant.items() if word in own)
        shown.append(f"{side.name} ({', '.join(each)})")
    both = (None if stimulus is None else found[0], None if response is None else found[-1])
    return Coding(*both, names, tuple(shown))


def _labels(words: Iterable[str]) -> dict[str, str]:
    """Return labels as they are compared, in their order, and as they are written."""
    there = {str(key(word)): word for word in reversed([*words])}
    values = {each: number_of(each) for each in there}
    order: Callable[[str], object] = str
    if None not in values.values():
        order = values.__getitem__
    elif len(there) == 2 and {S1_FIRST.get(each) for each in there} == {0, 1}:
        order = S1_FIRST.__getitem__
    return {each: there[each] for each in sorted(there, key=order)}  # type: ignore[arg-type]


def _maps(
    sides: Sequence[Column], keys: Sequence[dict[str, str]], right: Floats | None
) -> tuple[list[dict[str, int]], tuple[str, ...]]:
    """Return the number of each label of each column, and what the labels are called."""
    first, last = keys[0], keys[-1]
    every = _labels([*first, *last])
    if {*every} <= {"0", "1"}:
        return [{"0": 0, "1": 1}] * len(sides), ("0", "1")
    if _few_beyond(sides, keys):
        every = first
    same = [{each: place for place, each in enumerate(every)}] * len(sides)
    called = tuple(first.get(each, last.get(each, each)) for each in every)
    if len(sides) == 1 or {*first} <= {*last} or {*last} <= {*first}:
        return same, called
    numeric = all(number_of(each) is not None for each in every)
    ordered = [{each: place for place, each in enumerate(own)} for own in keys]
    if numeric and _counted_apart(first, last):
        return _by_right(sides, ordered, right), tuple(max(first, last, key=len).values())
    matched = {
        each: [other for other in first if other.startswith(each) or each.startswith(other)] for each in last
    }
    if not numeric and all(len(found) == 1 for found in matched.values()):  # L next to left
        meant = {each: ordered[0][found[0]] for each, found in matched.items()}
        return [ordered[0], meant], tuple(first.values())
    if {*first} & {*last}:
        return same, called
    if len(first) == len(last) == 2 and (right is not None or {*first, *last} <= DETECTED):
        return _by_right(sides, ordered, right), tuple(first.values())
    one, other = (
        f"{side.name!r} holds {', '.join([*own.values()][:4])}" for side, own in zip(sides, keys, strict=True)
    )
    raise DataError(
        f"column {one}, column {other}: which of them are the same cannot be inferred; recode one, as in "
        f"--map-values {sides[-1].name}:{next(iter(last.values()), '')}={next(iter(first.values()), '')},…"
    )


def _few_beyond(sides: Sequence[Column], keys: Sequence[dict[str, str]]) -> bool:
    """Whether all labels of the stimulus are answers, and few answers are others: these are no labels."""
    if len(keys[0]) < 2 or not {*keys[0]} < {*keys[-1]}:
        return False
    counted = [(word, n) for word, n in zip(sides[-1].keys, sides[-1].counts.tolist(), strict=True) if word]
    beyond = sum(n for word, n in counted if word not in keys[0])
    return bool(beyond <= MOST_UNKNOWN * sum(n for _, n in counted))


def _counted_apart(first: Iterable[str], last: Iterable[str]) -> bool:
    """Whether two columns of numbers code the same labels: two each, or one counted from 0 and the other from 1."""
    sides = [[int(number_of(each) or 0) for each in side] for side in (first, last)]
    zero, one = sorted(sides, key=lambda side: side[0])
    consecutive = all(side == list(range(side[0], side[-1] + 1)) for side in sides)
    return len(zero) == len(one) == 2 or (consecutive and zero[0] == 0 and one[0] == 1 and zero[-1] < one[-1])


def _by_right(
    sides: Sequence[Column], ordered: Sequence[dict[str, int]], right: Floats | None
) -> list[dict[str, int]]:
    """Return the maps, the second turned round where two labels agree with what is known to be right only so."""
    maps = [dict(each) for each in ordered]
    if right is None or len(maps[0]) != 2:
        return maps
    one, other = (
        side.by_word(meant.get(str(each)) for each in side.keys)
        for side, meant in zip(sides, maps, strict=True)
    )
    known = ~(np.isnan(one) | np.isnan(other) | np.isnan(right))
    if known.any() and float(((one == other) == (right == 1))[known].mean()) < 0.5:
        maps[1] = {each: 1 - place for each, place in maps[1].items()}
    return maps
