"""Finding the item a row is about: by id, by place, or by the text of its question; all that are given must agree."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from metacog_pipeline.interchange.cells import absent
from metacog_pipeline.interchange.import_cells import RowError, shown, whole
from metacog_pipeline.interchange.import_rules import ITEM_FIELDS, RowRules

Named = tuple[Any, str, Mapping[str, Any]]  # the item, the field that names it, what each later field names


class ItemNames:
    """Finds the item that the fields of a row name; positions begin at ``first``.

    ``order``: the items by place: sorted by position within the part they belong to. ``place``: the place of each item by
    id.
    """

    def __init__(self, rules: RowRules, columns: Mapping[str, str], first: int = 0) -> None:
        self._rules, self._first = rules, first
        self._fields = [field for field in ITEM_FIELDS if field in columns]
        self.order = sorted(rules.items, key=lambda item: (self._part(item), item.position))
        self.place = {item.item_id: place for place, item in enumerate(self.order)}
        self._by_id = {item.item_id: item for item in self.order}
        self._folded = {item_id.casefold(): item for item_id, item in self._by_id.items()}
        self._by_position: dict[int, list[Any]] = {}
        self._by_question: dict[str, list[Any]] = {}
        for item in self.order:
            self._by_position.setdefault(item.position, []).append(item)
            for text in rules.questions(item) if "question" in columns else ():
                same = self._by_question.setdefault(rules.fold(text), [])
                if not same or same[-1] is not item:
                    same.append(item)

    def find(self, given: Mapping[str, Any]) -> Named:
        """Return the item that ``given`` cells name, by which field, and what the others name."""
        names = {field: given[field] for field in self._fields if not absent(given[field])}
        if not names:
            raise RowError(f"the row names no {self._rules.item_word}")
        found: Any = None
        by, other = "", {}
        for field, value in names.items():
            one = self._named(field, value, given)
            if found is None:
                found, by = one, field
            elif not (one is None and field == "question" and self._shared(value, found)):
                other[field] = one
        if found is None:
            raise RowError(self._unknown(names, given))
        return found, by, other

    def _part(self, item: Any) -> str:
        return "" if self._rules.grouped is None else str(getattr(item, self._rules.grouped))

    def _shared(self, question: Any, item: Any) -> bool:
        """Whether several items have this question, ``item`` among them."""
        return item in self._by_question.get(self._rules.fold(str(question)), ())

    def _named(self, field: str, value: Any, given: Mapping[str, Any]) -> Any:
        if field == "item_id":
            return self._by_its_id(str(value).strip(), value)
        same = self._at(value, given) if field == "position" else self._asking(value, given)
        return same[0] if len(same) == 1 else None

    def _by_its_id(self, text: str, value: Any) -> Any:
        found = self._by_id.get(text) or self._folded.get(text.casefold())
        if found is None and (number := whole(value)) is not None:
            found = self._by_id.get(str(number))  # 12.0 where a data frame had gaps
        return found

    def _at(self, value: Any, given: Mapping[str, Any]) -> list[Any]:
        """Return the items at a position, in the part of them that the row names."""
        place = whole(value)
        return self._in_part([] if place is None else self._by_position.get(place - self._first, []), given)

    def _asking(self, value: Any, given: Mapping[str, Any]) -> list[Any]:
        """Return the items with a question; of several, those in the part the row names and with its key."""
        same = self._in_part(self._by_question.get(self._rules.fold(str(value)), []), given)
        key = given.get("key")
        if len(same) > 1 and not self._rules.options and not absent(key):
            same = [item for item in same if self._rules.agrees(item, str(key).strip())] or same
        return same

    def _in_part(self, same: list[Any], given: Mapping[str, Any]) -> list[Any]:
        part = given.get(self._rules.grouped) if self._rules.grouped is not None else None
        if len(same) < 2 or absent(part):
            return same
        return [item for item in same if self._part(item).casefold() == str(part).strip().casefold()]

    def _unknown(self, names: Mapping[str, Any], given: Mapping[str, Any]) -> str:
        """Say why a row's fields name no item."""
        field, value = next(iter(names.items()))
        if "question" in names:
            same = self._asking(names["question"], given)
            if len(same) > 1:
                return f"question {shown(names['question'])} belongs to {len(same)} items; give item_id or position"
        if "position" in names and len(self._at(names["position"], given)) > 1:
            return (
                f"position {shown(names['position'])} is that of several items; map {self._rules.grouped} too"
            )
        word = self._rules.item_word
        hint = ""
        if field == "item_id" and whole(value) is not None:
            hint = "; if it is a place: --map position=…"
        told, total = f"{field} " if word == "item" else "", self._rules.total or len(self.order)
        return f"unknown {word}: {told}{shown(value)} is none of the {total} {word}s of this study{hint}"
