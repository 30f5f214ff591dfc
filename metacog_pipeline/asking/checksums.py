"""Columns that prove an answer file: a key, a correctness, a question or a second name must agree with the items.

Any disagreement refuses the file before anything is kept. Where the disagreements vanish once every row is taken to
be about a neighbouring item, the message says by how much the file is shifted. A column can be overridden by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from metacog_pipeline.errors import StudyError

Ints = NDArray[np.int64]
Agreement = NDArray[np.bool_]
NONE = -1  # a cell that says nothing
UNREADABLE = -2  # a cell that is there and cannot be what its column should hold
SHIFTS = (-1, 1, -2, 2, -3, 3)
_SHOWN = 3
_LEAST = 30  # answers from which a shift shows in the accuracy alone
_CLEAR = 6.0  # standard errors of a difference that chance does not give


@dataclass(slots=True)
class Evidence:
    """What the rows taken say, one entry per row.

    Attributes
    ----------
    row, place, choice
        Number in the file, place of its item in the set, option chosen or `NONE`.
    said
        By checking field: what the cell says in the terms of `against`, `NONE` or `UNREADABLE`.
    """

    row: list[int] = field(default_factory=list)
    place: list[int] = field(default_factory=list)
    choice: list[int] = field(default_factory=list)
    said: dict[str, list[int]] = field(default_factory=dict)


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
            f"all {self.compared} rows agree"
            if not self.differ
            else f"{self.differ} of {self.compared} disagree"
        )
        return f"{self.field} (column {self.column!r}): {outcome}{', trusted' if self.trusted else ''}"


def check(
    path: Path,
    evidence: Evidence,
    target: Sequence[int],
    names: Sequence[str],
    columns: Mapping[str, str],
    matched_by: str,
    fields: Mapping[str, str],
    trust: Sequence[str] = (),
) -> list[Checked]:
    """Hold every checking column to the items and return what was found.

    Parameters
    ----------
    evidence
        What the rows say. Field ``correct`` says 0 or 1, ``key`` an option; every other one the place of an item.
    target, names
        The keyed option and the id of each item, by place.
    columns
        The column of each checking field.
    matched_by
        The field the items were found by.
    fields
        The column of every field of the file.
    trust
        Fields or columns whose disagreement is taken.

    Raises
    ------
    StudyError
        For a disagreement that is not trusted: which rows, and the shift that explains it.
    """
    unknown = [name for name in trust if name not in {*fields, *fields.values()}]
    if unknown:
        raise StudyError(f"--trust {unknown[0]}: the file has no such field; it has {', '.join(fields)}")
    row, place, choice, key = (
        np.asarray(values, dtype=np.int64)
        for values in (evidence.row, evidence.place, evidence.choice, target)
    )
    found = []
    for name, said_list in evidence.said.items():
        said = np.asarray(said_list, dtype=np.int64)
        agrees = _agreement(name, said, place, choice, key)
        counted = said != NONE
        if name == "correct":
            counted &= choice != NONE
        wrong = counted & ~agrees(0)
        trusted = name in trust or columns[name] in trust
        found.append(Checked(name, columns[name], int(counted.sum()), int(wrong.sum()), trusted))
        if wrong.any() and not trusted:
            shift = _shift(agrees, counted, place, len(key), int(wrong.sum()), matched_by)
            where = _rows(name, row[wrong], place[wrong], said[wrong], key, choice[wrong], names)
            _refuse(path, found[-1], where, shift)
    proven = any(each.compared and not each.differ for each in found)
    if not proven and matched_by not in trust and fields.get(matched_by, "") not in trust:
        _refuse_better_neighbour(path, place, choice, key, matched_by)
    return found


def _refuse(path: Path, checked: Checked, where: str, shift: str) -> None:
    raise StudyError(
        f"{path}: {checked.field} (column {checked.column!r}) disagrees with the study in {checked.differ} of "
        f"{checked.compared} rows: {where}; {shift or 'no shift explains it'}; nothing was kept; correct the file, "
        f"or take it as it is with --trust {checked.field}"
    )


def _agreement(name: str, said: Ints, place: Ints, choice: Ints, key: Ints) -> Callable[[int], Agreement]:
    """Return a function of a shift: whether each row agrees if it is about the item so many places on."""

    def agrees(shift: int) -> Agreement:
        moved = place + shift
        inside = (moved >= 0) & (moved < len(key))
        right = key[np.clip(moved, 0, len(key) - 1)]
        wanted = {"key": right, "correct": choice == right}.get(name, moved)
        return np.asarray(inside & (said == wanted))

    return agrees


def _shift(
    agrees: Callable[[int], Agreement],
    counted: Agreement,
    place: Ints,
    items: int,
    wrong: int,
    matched_by: str,
) -> str:
    """Name the shift under which nearly every row agrees; nothing where there is none."""
    for shift in SHIFTS:
        inside = counted & (place + shift >= 0) & (place + shift < items)
        left = int((inside & ~agrees(shift)).sum())
        if inside.any() and left * 10 <= wrong and left * 20 <= inside.sum():
            return f"{_shifted(matched_by, shift)}: then {inside.sum() - left} of {inside.sum()} rows agree"
    return ""


def _shifted(matched_by: str, shift: int) -> str:
    by = {1: "one", 2: "two", 3: "three"}[abs(shift)]
    names = {"item_id": "ids", "position": "positions", "question": "questions"}.get(matched_by, matched_by)
    return f"{names} are {by} too {'high' if shift < 0 else 'low'}"


def _rows(
    name: str, row: Ints, place: Ints, said: Ints, key: Ints, choice: Ints, names: Sequence[str]
) -> str:
    """Return the first rows that disagree, for people."""
    shown = []
    for at in range(min(_SHOWN, len(row))):
        item = names[place[at]]
        if said[at] == UNREADABLE:
            told = "cannot be read"
        elif name == "key":
            told = f"says {_letter(said[at])}, the study {_letter(key[place[at]])}"
        elif name == "correct":
            told = f"says {said[at]}, but {_letter(choice[at])} is chosen and {_letter(key[place[at]])} keyed"
        else:
            told = f"is that of {names[said[at]]}"
        shown.append(f"row {row[at]} ({item}) {told}")
    return ", ".join(shown) + (", …" if len(row) > _SHOWN else "")


def _letter(option: int | np.int64) -> str:
    return chr(ord("A") + int(option)) if option >= 0 else "nothing"


def _refuse_better_neighbour(path: Path, place: Ints, choice: Ints, key: Ints, matched_by: str) -> None:
    """Refuse a file without proof whose answers are right far more often for the neighbouring items."""
    there = choice != NONE
    if there.sum() < _LEAST:
        return
    hits = {}
    for shift in (0, *SHIFTS):
        moved = place + shift
        inside = there & (moved >= 0) & (moved < len(key))
        hits[shift] = int((choice[inside] == key[moved[inside]]).sum())
    best = max(SHIFTS, key=lambda shift: hits[shift])
    n = int(there.sum())
    if hits[best] - hits[0] > _CLEAR * np.sqrt(n / 2):
        raise StudyError(
            f"{path}: {hits[0]} of {n} answers are right as matched by {matched_by}, but {hits[best]} if "
            f"{_shifted(matched_by, best)}; nothing was kept; correct the file, or take it as it is with --trust "
            f"{matched_by}"
        )
