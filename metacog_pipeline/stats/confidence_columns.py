"""Columns of a table of trials as somebody else wrote it: which column is what, and what its cells mean.

A cell that says nothing is missing; one that says something else than its column needs makes its row a rejected one; where
too many would be rejected the column is the wrong one and the table is refused (`DataError`).
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
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
_BELOW, _ABOVE, _LARGEST_LEVEL = {-1.0, -9.0, -99.0, -999.0}, {99.0, 999.0, 9999.0}, 10
_BESIDE = {*_BELOW, 0.0, 9.0, *_ABOVE}
#: Parts of names that say what a column is, and those that say that it is something else.
_PARTS = {"confidence": {"confidence", "conf", "certainty"}, "subject": {"subject", "subj", "participant"}}
_OTHER = {"rt", "rts", "time", "onset", "offset", "latency", "duration", "ms", "key", "type", "group", "n"}


class DataError(ValueError):
    """A table that cannot be used: what, the value, where and what to do, in one line."""


# By its distinct cells every decision is taken on a handful of words, however long the table is.
@dataclass(frozen=True, slots=True)
class Column:
    """A column: its distinct cells as text, and which of them each row holds, ``(rows,)``."""

    name: str
    words: tuple[str, ...]
    code: Ints

    @property
    def keys(self) -> tuple[str | None, ...]:
        """Each word as it is compared: without case, numbers without needless places; None where it says nothing."""
        return tuple(map(key, self.words))

    @property
    def numbers(self) -> set[float | None]:
        """The distinct numbers, None for words that are none."""
        return {number_of(each) for each in self.keys if each is not None}

    def marks(self, which: Callable[[str | None], bool]) -> Rows:
        """Return of each word whether ``which`` holds of its key."""
        return np.array([which(each) for each in self.keys], dtype=bool)

    def count(self, marked: Rows) -> int:
        """Return how many rows hold one of the ``marked`` words."""
        return int(np.count_nonzero(marked[self.code]))

    def by_word(self, values: Iterable[float | None]) -> Floats:
        """Return one number for each word, None as NaN, by row."""
        return np.array([math.nan if each is None else each for each in values], dtype=np.float64)[self.code]

    def recoded(self, words: Mapping[str, str]) -> Column:
        """Return the column with words replaced by their meaning."""
        meant = {key(word): value for word, value in words.items()}
        return Column(self.name, tuple(meant.get(key(word), word) for word in self.words), self.code)


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
        self.used: Rows = np.ones(rows, dtype=bool)
        self.counts: Counter[str] = Counter()  # rows left out by reason
        self.rejected: list[tuple[int, str]] = []

    def leave_out(self, rows: Rows, column: Column, why: str, rejected: bool = False) -> None:
        """Note ``rows`` that were used so far under ``why``; ``rejected`` ones say something that cannot be used."""
        new = np.flatnonzero(rows & self.used)
        self.used[new] = False
        if len(new):
            self.counts[f"{column.name} {why}"] += len(new)
        if rejected:
            shown = [f"{column.name} {word[:40]!r} {why}" for word in column.words]
            self.rejected += [(int(self.lines[row]), shown[column.code[row]]) for row in new.tolist()]

    def note(
        self, column: Column, absent: Rows, problems: Mapping[str, Rows], most: float, advice: str
    ) -> None:
        """Note rows whose words are ``absent`` or have a problem, {why: words}; refuse a column with too many of these."""
        there, bad = column.count(~absent), {why: column.count(words) for why, words in problems.items()}
        if not there:
            raise DataError(f"column {column.name!r} holds nothing; name another column")
        if sum(bad.values()) > most * there:
            why = max(bad, key=bad.__getitem__)
            row = int(np.flatnonzero(problems[why][column.code])[0])
            raise DataError(
                f"column {column.name!r} cannot be used in {sum(bad.values()):,} of {there:,} rows: {self._word} "
                f"{int(self.lines[row])} holds {column.words[column.code[row]][:40]!r}, which {why}; {advice}, or name "
                "another column"
            )
        keys = column.keys
        for place in np.flatnonzero(absent).tolist():
            code = "" if keys[place] is None else f" ({column.words[place]})"
            self.leave_out(column.code == place, column, f"missing{code}")
        for why, words in problems.items():
            self.leave_out(words[column.code], column, why, rejected=True)


# --- which column is what ---------------------------------------------------------------------------------------------
def plain(name: str) -> str:
    """Return a column's name as names are compared: ``SubjectID`` and ``subject-id`` are ``subject_id``."""
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name.strip())
    return "_".join(re.findall(r"[^\W_]+", parted.casefold()))


def roles(
    names: Sequence[str], given: Mapping[str, str] | None = None, *, strict: bool = True
) -> dict[str, str]:
    """Return which column holds what, by their ``names``: {role: column}; ``given`` ones are as they are.

    `DataError` where two columns have one name, and with ``strict`` without right and wrong or confidence.

    >>> roles(["Subj_idx", "Stimulus", "Response", "Confidence", "RT_conf"])["confidence"]
    'Confidence'
    """
    found = dict(given or {})
    enough = "correct" in found or {"stimulus", "response"} <= set(found)
    for role, wanted in NAMES.items():
        if role in found or (role in ("stimulus", "response", "correct") and enough):
            continue
        free = {name: plain(name) for name in names if name not in found.values()}
        alike = (
            [name for name, own in free.items() if each in (own, own.replace("_", ""))] for each in wanted
        )
        same: list[str] = next(filter(None, alike), [])
        if len(same) > 1:
            raise DataError(
                f"columns {same[0]!r} and {same[1]!r} are both a {role} by their names; name one with --{role}"
            )
        split = {name: {*own.split("_")} for name, own in free.items()}
        partly = [name for name, own in split.items() if _PARTS.get(role, set()) & own and not _OTHER & own]
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


# --- what cells mean --------------------------------------------------------------------------------------------------
def truths(column: Column, account: Account) -> Floats:
    """Return a ``column`` of right and wrong as 1 and 0, NaN where it is neither; such rows are noted in ``account``."""
    codes = {**dict.fromkeys(NO, 0.0), **dict.fromkeys(YES, 1.0)}
    if {*column.keys} - {None} == {"-1", "1"}:
        number = column.count(column.marks("-1".__eq__))
        if number <= MOST_UNKNOWN * column.count(column.marks("1".__eq__)):
            raise DataError(
                f"column {column.name!r} holds 1 and {number:,} times -1, which is wrong or no answer; say which with "
                f"--map-values {column.name}:-1=0 or {column.name}:-1=NA"
            )
        codes["-1"] = 0.0
    absent = _absent(column, no_answer(column))
    unknown = column.marks(lambda each: each not in codes) & ~absent
    account.note(
        column, absent, {"is neither 0/wrong/no nor 1/right/yes": unknown}, MOST_UNKNOWN,
        "give the meaning of words, as in --map-values RIGHT=1,WRONG=0",
    )  # fmt: skip
    return column.by_word(codes.get(str(each)) for each in column.keys)


def numbers(column: Column, account: Account, scale: Scale | None = None) -> Floats:
    """Return a ``column`` as finite numbers, NaN where there is none; rows without one are noted in ``account``."""
    absent = _absent(column, no_answer(column) if scale is None else set())
    values = np.array([math.nan if each is None else each for each in map(number_of, column.words)])
    values[absent] = 0.0
    signed = np.array([word.endswith("%") for word in column.words])
    bare = ~signed & ~absent & ~np.isnan(values)
    if signed.any() and bare.any():
        one, other = (column.words[int(each.argmax())] for each in (signed, bare))
        raise DataError(
            f"column {column.name!r} holds per cent and plain numbers, {one!r} and {other!r}; write all of them one way"
        )
    unread, infinite = np.isnan(values), np.abs(values) > LARGEST
    problems = {"is no number": unread, f"is not a number up to {LARGEST:g}": infinite}
    if scale is not None:
        outside = (values < scale.low) | (values > scale.high)
        problems[f"is outside {scale}"] = outside & ~absent & ~infinite
    bad = np.any(list(problems.values()), axis=0)
    advice = "declare the --scale, give the meaning of words with --map-values, write 0.85 and 1000 for 0,85 and 1,000"
    account.note(column, absent, problems, MOST_ODD, advice)
    return np.asarray(np.where(absent | bad, np.nan, values)[column.code])


def no_answer(column: Column, beside: Column | None = None) -> set[float]:
    """Return the numbers that mean "no answer" in a ``column`` of numbers; ``beside`` holds the labels."""
    stated = {each for each in column.numbers if each is not None}
    labels = set() if beside is None else beside.numbers - no_answer(beside)
    if None in column.numbers | labels:
        return set()  # words among them: what is a number there is a word as well
    if 1 < len(labels) < len(stated) and labels <= stated and stated - labels <= _BESIDE:
        return stated - labels
    for codes, most in ((stated & _BELOW - labels, math.inf), (stated & _ABOVE - labels, _LARGEST_LEVEL)):
        rest = stated - codes
        if codes and (len(rest) > 1 or (rest and rest <= labels)) and 0 <= min(rest) <= max(rest) <= most:
            return codes
    return set()


def _absent(column: Column, codes: set[float]) -> Rows:
    gone = {None, *(f"{code:.12g}" for code in codes)}
    return column.marks(lambda each: each in gone)


# --- stimulus and response --------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Coding:
    """Stimulus and response by row, numbers from 0 or NaN; their labels; and each column in words."""

    stimulus: Floats | None = None
    response: Floats | None = None
    labels: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()


def coding(
    stimulus: Column | None, response: Column | None, account: Account, right: Floats | None = None
) -> Coding:
    """Return ``stimulus`` and ``response`` as numbers; ``right``: 1, 0 or NaN by row, where it is known by itself."""
    sides = [each for each in (stimulus, response) if each is not None]
    absent = [_absent(each, no_answer(each, stimulus if each is response else None)) for each in sides]
    own = [_labels(side, gone) for side, gone in zip(sides, absent, strict=True)]
    if max(map(len, own)) > MOST_LABELS:
        if right is not None:
            return Coding()
        most = max(range(len(sides)), key=lambda place: len(own[place]))
        raise DataError(
            f"column {sides[most].name!r} holds {len(own[most]):,} different values, no labels of answers; "
            "name a column of right and wrong with --correct"
        )
    # Each column is coded by itself: 1/2 next to 0/1 are two codings of the same two labels, in their order.
    maps, names = _maps(sides, own, right)
    found, shown = [], []
    for side, gone, labels, meant in zip(sides, absent, own, maps, strict=True):
        odd = np.array([each not in meant for each in side.keys], dtype=bool) & ~gone
        problems = {f"is neither {' nor '.join(names)}": odd}
        account.note(side, gone, problems, MOST_UNKNOWN, "recode it with --map-values")
        values = [None if lost else meant.get(str(each)) for lost, each in zip(gone, side.keys, strict=True)]
        found.append(side.by_word(values))
        called = "S" if len(names) <= 2 else ""
        each = (f"{labels[word]} = {called}{place + 1}" for word, place in meant.items() if word in labels)
        shown.append(f"{side.name} ({', '.join(each)})")
    both = (None if stimulus is None else found[0], None if response is None else found[-1])
    return Coding(*both, names, tuple(shown))


def _labels(side: Column, absent: Rows) -> dict[str, str]:
    """Return the labels of a column as they are compared, in their order, and as they are written."""
    words = [word for word, gone in zip(side.words, absent.tolist(), strict=True) if not gone]
    there = {str(key(word)): word for word in reversed(words)}
    return {each: there[each] for each in _ordered(there)}


def _ordered(labels: Iterable[str]) -> list[str]:
    """Return labels in the order of S1 and S2: of numbers, of pairs known by words, or of the alphabet."""
    there = {*labels}
    if all(number_of(each) is not None for each in there):
        return sorted(there, key=lambda each: number_of(each) or 0.0)
    if len(there) == 2 and {S1_FIRST.get(each) for each in there} == {0, 1}:
        return sorted(there, key=S1_FIRST.__getitem__)
    return sorted(there)


def _maps(
    sides: Sequence[Column], own: Sequence[dict[str, str]], right: Floats | None
) -> tuple[list[dict[str, int]], tuple[str, ...]]:
    """Return the number of each label of each column, and what the labels are called."""
    first, last = own[0], own[-1]
    every = _ordered({*first, *last})
    if {*every} <= {"0", "1"}:
        return [{"0": 0, "1": 1}] * len(sides), ("0", "1")
    if _few_beyond(sides[-1], first, last):
        every = [*first]
    apart = {*first} - {*last} and {*last} - {*first}
    numeric = all(number_of(each) is not None for each in every)
    if apart and numeric and _counted_apart(first, last):
        return _by_right(sides, own, right), tuple(max(first, last, key=len).values())
    if not apart or {*first} & {*last}:
        same = [{each: place for place, each in enumerate(every)}] * len(sides)
        return same, tuple(first.get(each, last.get(each, each)) for each in every)
    # The order of labels decides nothing here (left/right next to 0/1): what is known to be right does.
    if len(first) == len(last) == 2 and (right is not None or {*first, *last} <= DETECTED):
        return _by_right(sides, own, right), tuple(first.values())
    one, other = (
        f"{side.name!r} holds {', '.join([*each.values()][:4])}"
        for side, each in zip(sides, own, strict=True)
    )
    raise DataError(
        f"column {one}, column {other}: which of them are the same cannot be inferred; recode one, as in "
        f"--map-values {sides[-1].name}:{next(iter(last.values()), '')}={next(iter(first.values()), '')},…"
    )


def _few_beyond(response: Column, first: Mapping[str, str], last: Mapping[str, str]) -> bool:
    """Whether all labels of the stimulus are answers, and few answers are others: these are no labels."""
    beyond, there = (
        response.count(response.marks(set(each).__contains__)) for each in ({*last} - {*first}, last)
    )
    return len(first) > 1 and {*first} < {*last} and beyond <= MOST_UNKNOWN * there


def _counted_apart(first: Iterable[str], last: Iterable[str]) -> bool:
    """Whether two columns of numbers code the same labels: two each, or one counted from 0 and the other from 1."""
    sides = [[int(number_of(each) or 0) for each in side] for side in (first, last)]
    zero, one = sorted(sides, key=lambda side: side[0])
    consecutive = all(side == list(range(side[0], side[-1] + 1)) for side in sides)
    return len(zero) == len(one) == 2 or (consecutive and zero[0] == 0 and one[0] == 1 and zero[-1] < one[-1])


def _by_right(
    sides: Sequence[Column], own: Sequence[dict[str, str]], right: Floats | None
) -> list[dict[str, int]]:
    """Return each column's labels by their place, the second turned round where two agree with ``right`` only so."""
    maps = [{each: place for place, each in enumerate(labels)} for labels in own]
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
