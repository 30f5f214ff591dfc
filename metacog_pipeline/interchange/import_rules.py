"""How rows of a table become replies to a benchmark's items: what one benchmark adds to the path that all take."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from metacog_pipeline.asking import tasks
from metacog_pipeline.benchmark.contract import Importer
from metacog_pipeline.interchange.columns import Scale
from metacog_pipeline.interchange.import_cells import RowError, shown

ITEM_FIELDS = ("item_id", "question")
CHECKS = ("key", "correct")
RESPONSE = "response"


class RowRules:
    """What a row of a table says about one benchmark. A benchmark overrides what is its own."""

    #: Of rows that name none.
    condition: ClassVar[str]
    #: Fields from which a reply is put together, and their usual column names; those of other fields.
    own: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    usual: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    #: Fields of `own` that are a confidence, the scale the benchmark asks for, whether it takes whole numbers only.
    rated: ClassVar[tuple[str, ...]] = ()
    scale: Scale = Scale(0, 1)
    whole_ratings: ClassVar[bool] = False
    #: The step that a field of `own` is a reply to, where there are several.
    made_by: ClassVar[Mapping[str, str]] = {}
    #: Other names of fields in ``--map``; what an item is called in messages.
    also: ClassVar[Mapping[str, str]] = {}
    item_word: ClassVar[str] = "item"
    checks: ClassVar[tuple[str, ...]] = CHECKS

    def __init__(self, benchmark: Any) -> None:
        self.benchmark = benchmark
        self.given: frozenset[str] = frozenset()  # fields that have a column in the table that is read

    @property
    def items(self) -> Sequence[Any]:
        """The items answers can be about."""
        found: Sequence[Any] = self.benchmark.items
        return found

    @cached_property
    def _asked(self) -> Mapping[str, frozenset[str]]:
        asked = tasks.asked(self.benchmark)
        return {name: frozenset(item.item_id for item in items) for name, items in asked}

    def condition_named(self, text: str) -> str:
        """Return the condition ``text`` names; raise `RowError` for none of the study's."""
        for name in self._asked:
            if name.casefold() == text.strip().casefold():
                return name
        raise RowError(f"unknown condition {shown(text)}; the study has {', '.join(self._asked)}")

    def check_asked(self, item: Any, condition: str) -> None:
        """Raise `RowError` where an item is not asked under a condition."""
        if item.item_id not in self._asked[self.condition_named(condition)]:
            raise RowError(f"{self.item_word} {item.item_id} is not asked under {condition}")

    @cached_property
    def all_steps(self) -> tuple[str, ...]:
        """The steps of all conditions."""
        return tuple(dict.fromkeys(step for name in self._asked for step in self.benchmark.steps(name)))

    def steps(self, item: Any, condition: str) -> tuple[str, ...]:
        """Return the calls an item takes."""
        return tuple(self.benchmark.steps(condition))

    def questions(self, item: Any) -> Iterable[str]:
        """Return the texts that name an item."""
        return ()

    def bare(self, value: Any) -> str | None:
        """Return the field of `own` that a cell of raw replies holds, where it is no reply but a bare answer."""
        return None

    def replies(self, item: Any, condition: str, said: Mapping[str, Any]) -> dict[str, str]:
        """Return {step: reply} put together from fields of `own` that say something; raise `RowError` without one."""
        raise RowError(f"there is no reply to {self.item_word} {item.item_id}")

    def right(self, response: Any) -> int | None:
        """Return whether a response is right, None where it cannot be."""
        right = getattr(response, "correct", None)
        return None if right is None else int(right)

    def agrees(self, item: Any, key: Any) -> bool:
        """Return whether a key of the table is that of the item; raise `RowError` for what is none."""
        return True

    def keyed(self, item: Any) -> str:
        """Return the key of an item as it is shown in messages."""
        return "nothing"

    def check_choices(self, path: Path) -> None:
        """Raise `StudyError` where the choices of the whole file cannot be what they are taken for."""


def importer_of(rules: type[RowRules]) -> Importer:
    """Return what a benchmark declares: the shared path with its own rules of a row."""

    def read(benchmark: Any, *given: Any) -> Any:
        from metacog_pipeline.interchange.importing import import_table  # knows every format

        return import_table(rules, benchmark, *given)

    fields = (*ITEM_FIELDS, *rules.own, RESPONSE, "condition", *CHECKS)
    return Importer(fields, rules.condition, read, rules)
