"""How rows of a table become replies to a benchmark's items: what one benchmark adds to the path that all take."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from metacog_pipeline.asking import tasks
from metacog_pipeline.benchmark.contract import Call
from metacog_pipeline.interchange.columns import Scale
from metacog_pipeline.interchange.import_cells import RowError, folded, shown

ITEM_FIELDS = ("item_id", "question")
CHECKS = ("key", "correct")
RESPONSE, STEP = "response", "step"
NONE = -1  # an answer that is no option with a number
Texts = Mapping[str, str]  # a reply by step


class Seen(NamedTuple):
    """What the benchmark's own reader makes of the replies to an item."""

    right: int | None  # 1, 0, or neither
    answer: int = NONE  # the number of the option chosen
    problems: tuple[str, ...] = ()  # what cannot be read


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
    #: Other words for a step in a column of steps; the step that a field of `own` is a reply to, where there are several.
    step_words: ClassVar[Mapping[str, str]] = {}
    made_by: ClassVar[Mapping[str, str]] = {}
    #: Other names of fields in ``--map``; what an item is called in messages.
    also: ClassVar[Mapping[str, str]] = {}
    item_word: ClassVar[str] = "item"
    #: The names of options by number, where an answer is one of them.
    options: ClassVar[Sequence[str]] = ()
    #: Whether a reply may be an object, as models give that are asked for JSON.
    objects: ClassVar[bool] = True
    checks: ClassVar[tuple[str, ...]] = CHECKS

    def __init__(self, benchmark: Any) -> None:
        self.benchmark = benchmark
        self.given: frozenset[str] = frozenset()  # fields that have a column in the table that is read

    # --- what there is ------------------------------------------------------------------------------------------------
    @property
    def name(self) -> str:
        """The benchmark."""
        return str(self.benchmark.name)

    @cached_property
    def items(self) -> Sequence[Any]:
        """The items answers can be about."""
        return list(self.benchmark.items)

    @cached_property
    def _asked(self) -> Mapping[str, frozenset[str]]:
        asked = tasks.asked(self.benchmark)
        return {name: frozenset(item.item_id for item in items) for name, items in asked}

    def expected(self) -> Mapping[str, frozenset[str]]:
        """Return the ids of the items the study asks, by condition."""
        return self._asked

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

    def needed(self, item: Any, condition: str) -> tuple[str, ...]:
        """Return the calls without which an answer is not whole."""
        return self.steps(item, condition)

    def questions(self, item: Any) -> Iterable[str]:
        """Return the texts that name an item."""
        return ()

    @property
    def asks_questions(self) -> bool:
        """Whether a text names an item."""
        return any(True for item in self.items[:1] for _ in self.questions(item))

    def fold(self, text: str) -> str:
        """Return a question's text for comparison."""
        return folded(text)

    # --- what a row says ----------------------------------------------------------------------------------------------
    def bare(self, value: Any) -> str | None:
        """Return the field of `own` that a cell of raw replies holds, where it is no reply but a bare answer."""
        return None

    def replies(self, item: Any, condition: str, said: Mapping[str, Any]) -> dict[str, str]:
        """Return {step: reply} put together from fields of `own` that say something; raise `RowError` without one."""
        raise RowError(f"there is no reply to {self.item_word} {item.item_id}")

    def plain(self, said: Mapping[str, Any]) -> tuple[str, int] | None:
        """Return the reply that the fields of `own` make for any item, and the option it chooses; None where it depends."""
        return None

    def seen(self, item: Any, condition: str, texts: Texts) -> Seen:
        """Return what the benchmark's own reader makes of the replies to an item."""
        calls = {step: Call("ok", text) for step, text in texts.items()}
        response = self.benchmark.parse(item, condition, calls)
        missing = len(texts) < len(self.steps(item, condition))
        problem = f"{response.reason} in {self.item_word} {item.item_id}"
        unreadable = response.status in self.benchmark.unreadable and not missing
        return Seen(self.right(response), self.answer(response), (problem,) if unreadable else ())

    def right(self, response: Any) -> int | None:
        """Return whether a response is right, None where it cannot be."""
        right = getattr(response, "correct", None)
        return None if right is None else int(right)

    # --- what proves a row --------------------------------------------------------------------------------------------
    def answer(self, response: Any) -> int:
        """Return the number of the option a response chooses."""
        return NONE

    def target(self, item: Any) -> int:
        """Return the number of an item's right option."""
        return NONE

    def option(self, item: Any, value: Any) -> int:
        """Return the number of the option a cell names; raise `RowError` where it names none."""
        raise RowError(f"{shown(value)} is no option")

    def agrees(self, item: Any, key: str) -> bool:
        """Return whether a key in words is that of the item, for benchmarks without numbered options."""
        return True

    def check_choices(self, path: Path) -> None:
        """Raise `StudyError` where the choices of the whole file cannot be what they are taken for."""

    def keyed(self, item: Any) -> str:
        """Return the key of an item as it is shown in messages."""
        return self.options[self.target(item)] if self.target(item) >= 0 else "nothing"
