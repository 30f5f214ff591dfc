"""Answers collected elsewhere: tables of raw replies.

A table has one row per instance and condition, with raw replies in columns ``step_a``, ``b_private`` and ``b_social``; or
one row per step, named in a column ``step``, with the reply in ``response``. A step that is not there was not asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from metacog_pipeline.benchmarks.medley.items import BENCHMARK, EVERY, NORMAL, NUDGED, STEPS, Instance
from metacog_pipeline.benchmarks.medley.presentation import applicable
from metacog_pipeline.benchmarks.medley.read import claim_confidence, is_error, parse_reply
from metacog_pipeline.interchange.import_cells import RowError, shown
from metacog_pipeline.interchange.import_rules import RowRules, Seen, Texts
from metacog_pipeline.interchange.importing import importer_of


class Rows(RowRules):
    """A row names an instance and holds raw replies; nothing in it can be right or wrong."""

    condition = NORMAL
    checks = ()
    all_steps = STEPS
    also: ClassVar = {"instance_id": "item_id"}
    item_word = "instance"
    usual: ClassVar = {
        "step_a": ("step_a", "stepa", "response_a", "a", "solo"),
        "b_private": ("b_private", "step_b_private", "private", "response_b_private"),
        "b_social": ("b_social", "step_b_social", "social", "response_b_social"),
    }
    step_words: ClassVar = {word: step for step, words in usual.items() for word in words}

    def __init__(self, benchmark: Any) -> None:
        super().__init__(benchmark)
        self._applicable = {name: {i.item_id for i in applicable(self.items, name)} for name in EVERY}

    @property
    def name(self) -> str:
        """The benchmark."""
        return BENCHMARK

    def expected(self) -> Mapping[str, frozenset[str]]:
        """Return the instances of the study's conditions."""
        named = [each.name for each in self.benchmark.conditions()] or [NORMAL]
        return {name: frozenset(self._applicable[name]) for name in named}

    def condition_named(self, text: str) -> str:
        """Return one of the published conditions."""
        name = text.strip().casefold()
        if name not in EVERY:
            raise RowError(f"condition {shown(text)} is none of {', '.join(EVERY)}")
        return name

    def check_asked(self, item: Instance, condition: str) -> None:
        """Raise `RowError` where an instance is not put to a condition."""
        if item.item_id not in self._applicable[condition]:
            raise RowError(f"instance {item.item_id} is not asked under {condition}")

    def steps(self, item: Instance, condition: str) -> tuple[str, ...]:
        """Return all three."""
        return STEPS

    def needed(self, item: Instance, condition: str) -> tuple[str, ...]:
        """Return the steps a condition has for itself: the first two are those of the normal one."""
        return STEPS if condition == NORMAL else STEPS[1:2] if condition == NUDGED else STEPS[-1:]

    def seen(self, item: Instance, condition: str, texts: Texts) -> Seen:
        """Return which replies will not count, and why."""
        found = [(step, _unreadable(item, text)) for step, text in texts.items()]
        if len(found) > 1:  # a row of all steps: one that is in it alone may be all there is
            blank = [step for step in self.needed(item, condition) if step not in texts]
            found += [(step, "is blank: this instance counts as unanswered, no other") for step in blank]
        place = f"of instance {item.item_id}"
        return Seen(None, problems=tuple(f"{step} {place} {why}" for step, why in found if why is not None))


IMPORTER = importer_of(Rows)


def _unreadable(item: Instance, text: str) -> str | None:
    reply = parse_reply(text)
    if is_error(reply):
        return "holds no JSON object"
    rated = (claim_confidence(reply, claim.claim_id, claim.claim_text) for claim in item.claims)
    return "rates no claim" if all(value is None for value in rated) else None
