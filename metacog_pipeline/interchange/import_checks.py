"""Columns that prove a table: a key, a correctness, a question or a second name must agree with the items.

Any disagreement refuses the file before anything is kept. Where the disagreements vanish once every row is taken to be
about a neighbouring item, the message says by how much the file is shifted. A column can be overridden by name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from metacog_pipeline.errors import StudyError
from metacog_pipeline.interchange.import_cells import RowError, correctness, shown
from metacog_pipeline.interchange.import_rules import CHECKS, RowRules, Seen

RUN = "run"  # trusted: other answers take the place of those a run has
SHIFTS = (-1, 1, -2, 2, -3, 3)
_SHOWN = 3
_TRIED = 2_000  # rows by which a shift is found
_NAMES = {"item_id": "ids", "position": "positions", "question": "questions"}


class Answered:
    """What the rows say of one item under one condition: the replies by step, and the row of each."""

    __slots__ = ("condition", "item", "row", "rows", "seen", "texts")

    def __init__(self, item: Any, condition: str, row: int) -> None:
        self.item, self.condition, self.row = item, condition, row
        self.texts: dict[str, str] = {}
        self.rows: dict[str, int] = {}
        self.seen = Seen(None)


class Claim(NamedTuple):
    """What the checking columns of a row say: cells of ``key`` and ``correct``; of other names the item, None of none."""

    row: int
    one: Answered
    said: Mapping[str, Any]


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


class Checks:
    """Holds the claims of a table to the items, which are in the ``order`` of their places."""

    def __init__(self, path: Path, rules: RowRules, order: Sequence[Any], trust: Sequence[str]) -> None:
        self._path, self._rules, self._order, self._trust = path, rules, order, trust
        self._place = {item.item_id: place for place, item in enumerate(order)}

    def check(
        self,
        claims: Sequence[Claim],
        columns: dict[str, str],
        fields: Sequence[str],
        mapped: frozenset[str],
        by: str,
    ) -> list[Checked]:
        """Return what was found of each checking field.

        A column found by its name alone must be what it is called: else it is taken out of ``columns`` and proves nothing.
        Raises ``StudyError`` for a disagreement that is not trusted.
        """
        unknown = [name for name in self._trust if name not in {RUN, *columns, *columns.values()}]
        if unknown:
            raise StudyError(f"--trust {unknown[0]}: the file has no such field; it has {', '.join(columns)}")
        found = []
        for field in fields:
            said = [each for each in claims if field in each.said]
            agrees = [self._agrees(field, each, each.one.item) for each in said]
            if not said or (field not in mapped and 2 * agrees.count(None) > len(said)):
                if field in CHECKS and field not in mapped:
                    del columns[field]
                continue
            counted = [
                (each, right)
                for each, right in zip(said, agrees, strict=True)
                if field != "correct" or each.one.seen.right is not None
            ]
            wrong = [each for each, right in counted if not right]
            trusted = field in self._trust or columns[field] in self._trust
            found.append(Checked(field, columns[field], len(counted), len(wrong), trusted))
            if wrong and not trusted:
                where = ", ".join(self._words(field, each) for each in wrong[:_SHOWN])
                shift = self._shift(field, [each for each, _ in counted[:_TRIED]], by)
                raise StudyError(
                    f"{self._path}: {field} (column {columns[field]!r}) disagrees with the study in {len(wrong)} of "
                    f"{len(counted)} rows: {where}{', …' if len(wrong) > _SHOWN else ''}; "
                    f"{shift or 'no shift explains it'}; nothing was kept; correct the file, or take it as it is with "
                    f"--trust {field}"
                )
        return found

    def _agrees(self, field: str, claim: Claim, item: Any) -> bool | None:
        """Return whether a claim agrees if its row is about ``item``; None where the cell cannot be read."""
        value, rules, one = claim.said[field], self._rules, claim.one
        try:
            if field == "key" and rules.options:
                return rules.option(item, value) == rules.target(item)
            if field == "key":
                return rules.agrees(item, str(value).strip())
            if field == "correct":
                stated = correctness(value)
                if stated is None or item is one.item:
                    return None if stated is None else stated == one.seen.right
                rules.check_asked(item, one.condition)
                return stated == rules.seen(item, one.condition, one.texts).right
        except RowError:
            return None
        return None if value is None else bool(value is item)

    def _shift(self, field: str, said: Sequence[Claim], by: str) -> str:
        """Name the shift under which nearly every row agrees; nothing where there is none."""
        wrong = sum(not self._agrees(field, each, each.one.item) for each in said)
        for shift in SHIFTS:
            moved = [(each, self._place[each.one.item.item_id] + shift) for each in said]
            inside = [(each, place) for each, place in moved if 0 <= place < len(self._order)]
            agree = sum(self._agrees(field, each, self._order[place]) is True for each, place in inside)
            left = len(inside) - agree
            if inside and left * 10 <= wrong and left * 20 <= len(inside):
                far = {1: "one", 2: "two", 3: "three"}[abs(shift)]
                way = "high" if shift < 0 else "low"
                return f"{_NAMES.get(by, by)} are {far} too {way}: then {agree} of {len(inside)} rows agree"
        return ""

    def _words(self, field: str, claim: Claim) -> str:
        """Return a row that disagrees, for people."""
        value, item, rules = claim.said[field], claim.one.item, self._rules
        if self._agrees(field, claim, item) is None:
            said = "cannot be read"
        elif field == "key" and rules.options:
            own, other = rules.options[rules.option(item, value)], rules.options[rules.target(item)]
            said = f"says {own}, the study {other}"
        elif field == "key":
            said = f"says {shown(str(value).strip())}, the study {shown(rules.keyed(item))}"
        elif field == "correct":
            stated = correctness(value)
            said = f"says {stated}, but the answer is {'wrong' if stated else 'right'} as the study reads it"
        else:
            said = f"is that of {value.item_id}"
        return f"row {claim.row} ({item.item_id}) {said}"
