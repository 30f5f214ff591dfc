"""Columns that prove an answer file: a key, a correctness, a question or a second name must agree with the items.

Any disagreement refuses the file before anything is kept. Where the disagreements vanish once every row is taken to
be about a neighbouring item, the message says by how much the file is shifted. A column can be overridden by name.
What is right is known by number where answers are options (`Options`), and by reading them again otherwise (`Replies`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from metacog_pipeline.errors import StudyError

Ints = NDArray[np.int64]
Agreement = NDArray[np.bool_]
NONE = -1  # a cell that says nothing
UNREADABLE = -2  # a cell that is there and cannot be what its column should hold
RUN = "run"  # trusted: other answers take the place of those a run has
SHIFTS = (-1, 1, -2, 2, -3, 3)
_SHOWN = 3
_LEAST = 30  # answers from which a shift shows in the accuracy alone
_READ = 1_000  # replies read again for each shift where answers are no options
_CLEAR = 6.0  # standard errors of a difference that chance does not give


@dataclass(slots=True)
class Evidence:
    """What the rows taken say, one entry per row.

    ``row``, ``place``, ``right``: number in the file, place of its item in the set, whether the answer is right: 1, 0 or
    `NONE`. ``said``: by checking field: 0 or 1 for ``correct``, an option or the number of a word for ``key``, a place
    for every other one; `NONE` or `UNREADABLE`.
    """

    row: list[int] = field(default_factory=list)
    place: list[int] = field(default_factory=list)
    right: list[int] = field(default_factory=list)
    said: dict[str, list[int]] = field(default_factory=dict)


class Truth(Protocol):
    """What is right of items by place."""

    def right(self, rows: Ints, places: Ints) -> Ints:
        """Return whether the answers of `rows` would be right for the items at ``places``: 1, 0 or `NONE`."""

    def keyed(self, said: Ints, places: Ints) -> Agreement:
        """Return whether keys are those of the items at ``places``."""

    def shown(self, said: int, place: int) -> str:
        """Say what a key says and what the study says."""


@dataclass(frozen=True, slots=True)
class Options:
    """Answers that are options with a number: the option each row chooses, the one each item keys, their names."""

    choice: Ints
    target: Ints
    names: Sequence[str]

    def right(self, rows: Ints, places: Ints) -> Ints:
        """Return whether the option chosen is the one keyed at a place."""
        chosen = self.choice[rows]
        return np.where(chosen == NONE, NONE, (chosen == self.target[places]).astype(np.int64))

    def keyed(self, said: Ints, places: Ints) -> Agreement:
        """Return whether a key is the option keyed at a place."""
        return np.asarray(said == self.target[places])

    def shown(self, said: int, place: int) -> str:
        """Say both by name."""
        return f"says {self.names[said]}, the study {self.names[self.target[place]]}"


@dataclass(frozen=True, slots=True)
class Replies:
    """Answers in words, read again for another item.

    ``read(row, place)`` returns 1, 0 or `NONE`; ``agrees(word, place)`` whether the key numbered so is that of an item;
    ``tell(word, place)`` says what both are.
    """

    read: Callable[[int, int], int]
    agrees: Callable[[int, int], bool]
    tell: Callable[[int, int], str]

    def right(self, rows: Ints, places: Ints) -> Ints:
        """Read every reply again."""
        pairs = zip(rows.tolist(), places.tolist(), strict=True)
        return np.asarray([self.read(row, place) for row, place in pairs], dtype=np.int64)

    def keyed(self, said: Ints, places: Ints) -> Agreement:
        """Compare every key."""
        pairs = zip(said.tolist(), places.tolist(), strict=True)
        return np.asarray([word >= 0 and self.agrees(word, place) for word, place in pairs], dtype=np.bool_)

    def shown(self, said: int, place: int) -> str:
        """Say both in words."""
        return self.tell(said, place)


@dataclass(frozen=True, slots=True)
class Checked:
    """One checking column: rows compared, rows that disagree, and whether these were overridden."""

    field: str
    column: str
    compared: int
    differ: int
    trusted: bool

    def __str__(self) -> str:
        outcome = (
            f"{self.differ} of {self.compared} disagree" if self.differ else f"all {self.compared} rows agree"
        )
        return f"{self.field} (column {self.column!r}): {outcome}{', trusted' if self.trusted else ''}"


def check(
    path: Path,
    evidence: Evidence,
    truth: Truth,
    names: Sequence[str],
    columns: Mapping[str, str],
    matched_by: str,
    fields: Mapping[str, str],
    trust: Sequence[str] = (),
) -> list[Checked]:
    """Hold every checking column to the items and return what was found.

    ``names`` are the ids of the items by place, ``columns`` the column of each checking field and ``fields`` that of every
    field of the file. Raises ``StudyError`` for a disagreement that is not in ``trust``, which names fields or columns:
    which rows, and the shift that explains it.
    """
    unknown = [name for name in trust if name not in {RUN, *fields, *fields.values()}]
    if unknown:
        raise StudyError(f"--trust {unknown[0]}: the file has no such field; it has {', '.join(fields)}")
    row, place, right = (
        np.asarray(values, dtype=np.int64) for values in (evidence.row, evidence.place, evidence.right)
    )
    found = []
    for name, said_list in evidence.said.items():
        said = np.asarray(said_list, dtype=np.int64)
        agrees = _agreement(name, said, place, right, truth, len(names))
        counted = said != NONE
        if name == "correct":
            counted &= right != NONE
        everything = np.flatnonzero(counted)
        wrong = everything[~agrees(0, everything)]
        trusted = name in trust or columns[name] in trust
        found.append(Checked(name, columns[name], int(counted.sum()), len(wrong), trusted))
        if len(wrong) and not trusted:
            shift = _shift(agrees, everything, place, len(names), len(wrong), matched_by)
            shown = wrong[:_SHOWN]
            where = _rows(name, row[shown], place[shown], said[shown], truth, names)
            _refuse(path, found[-1], where + (", …" if len(wrong) > _SHOWN else ""), shift)
    proven = any(each.compared and not each.differ for each in found)
    if not proven and matched_by not in trust and fields.get(matched_by, "") not in trust:
        _refuse_better_neighbour(path, place, right, truth, len(names), matched_by)
    return found


def _refuse(path: Path, checked: Checked, where: str, shift: str) -> None:
    raise StudyError(
        f"{path}: {checked.field} (column {checked.column!r}) disagrees with the study in {checked.differ} of "
        f"{checked.compared} rows: {where}; {shift or 'no shift explains it'}; nothing was kept; correct the file, "
        f"or take it as it is with --trust {checked.field}"
    )


def _agreement(
    name: str, said: Ints, place: Ints, right: Ints, truth: Truth, items: int
) -> Callable[[int, Ints], Agreement]:
    """Return a function of a shift and rows: whether each agrees if it is about the item so many places on."""

    def agrees(shift: int, rows: Ints) -> Agreement:
        moved = place[rows] + shift
        inside = (moved >= 0) & (moved < items)
        there = np.clip(moved, 0, items - 1)
        if name == "key":
            return inside & truth.keyed(said[rows], there)
        if name == "correct":
            is_right = right[rows] if shift == 0 else truth.right(rows, there)
            return np.asarray(inside & (said[rows] == is_right))
        return np.asarray(inside & (said[rows] == moved))

    return agrees


def _shift(
    agrees: Callable[[int, Ints], Agreement],
    counted: Ints,
    place: Ints,
    items: int,
    wrong: int,
    matched_by: str,
) -> str:
    """Name the shift under which nearly every row agrees; nothing where there is none."""
    for shift in SHIFTS:
        moved = place[counted] + shift
        inside = counted[(moved >= 0) & (moved < items)]
        agree = int(agrees(shift, inside).sum())
        left = len(inside) - agree
        if len(inside) and left * 10 <= wrong and left * 20 <= len(inside):
            return f"{_shifted(matched_by, shift)}: then {agree} of {len(inside)} rows agree"
    return ""


def _shifted(matched_by: str, shift: int) -> str:
    by = {1: "one", 2: "two", 3: "three"}[abs(shift)]
    names = {"item_id": "ids", "position": "positions", "question": "questions"}.get(matched_by, matched_by)
    return f"{names} are {by} too {'high' if shift < 0 else 'low'}"


def _rows(name: str, row: Ints, place: Ints, said: Ints, truth: Truth, names: Sequence[str]) -> str:
    """Return rows that disagree, for people."""
    shown = []
    for number, at, value in zip(row.tolist(), place.tolist(), said.tolist(), strict=True):
        if value == UNREADABLE:
            told = "cannot be read"
        elif name == "key":
            told = truth.shown(value, at)
        elif name == "correct":
            told = f"says {value}, but the answer is {'wrong' if value else 'right'} as the study reads it"
        else:
            told = f"is that of {names[value]}"
        shown.append(f"row {number} ({names[at]}) {told}")
    return ", ".join(shown)


def _refuse_better_neighbour(
    path: Path, place: Ints, right: Ints, truth: Truth, items: int, matched_by: str
) -> None:
    """Refuse a file without proof whose answers are right far more often for the neighbouring items."""
    there = np.flatnonzero(right != NONE)
    if len(there) < _LEAST:
        return
    if isinstance(truth, Replies):
        there = there[:_READ]
    hits = {0: int(right[there].sum())}
    for shift in SHIFTS:
        moved = place[there] + shift
        inside = (moved >= 0) & (moved < items)
        hits[shift] = int((truth.right(there[inside], moved[inside]) == 1).sum())
    best = max(SHIFTS, key=lambda shift: hits[shift])
    n = len(there)
    if hits[best] - hits[0] > _CLEAR * np.sqrt(n / 2):
        raise StudyError(
            f"{path}: {hits[0]} of {n} answers are right as matched by {matched_by}, but {hits[best]} if "
            f"{_shifted(matched_by, best)}; nothing was kept; correct the file, or take it as it is with --trust "
            f"{matched_by}"
        )
