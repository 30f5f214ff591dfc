"""What a row of a table says about MEDLEY-BENCH, and the published analysts as respondents.

A file has one row per instance and condition, with the raw replies in columns ``step_a``, ``b_private`` and ``b_social``;
or one row per step, with the step named in a column ``step`` and the reply in ``response``. What is not there was not
asked. An analyst answered the same question as a model in step A, alone and about the same case. So what it wrote can be
kept as an imported answer and read and scored like any other step A; the two later steps were never asked of it.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from metacog_pipeline.asking import construction
from metacog_pipeline.asking.session import Partition
from metacog_pipeline.asking.tasks import chosen_items
from metacog_pipeline.benchmarks.medley.items import BENCHMARK, EVERY, STEPS, Analyst, Instance
from metacog_pipeline.benchmarks.medley.labels import claim_confidence
from metacog_pipeline.benchmarks.medley.presentation import NORMAL, NUDGED, STRIPPED, applicable
from metacog_pipeline.benchmarks.medley.prompts import STEP_A
from metacog_pipeline.benchmarks.medley.read import is_error, parse_reply
from metacog_pipeline.errors import StudyError
from metacog_pipeline.interchange.import_cells import RowError, shown
from metacog_pipeline.interchange.import_rules import RowRules, Seen, Texts
from metacog_pipeline.interchange.importing import (
    Imported,
    imported_record,
    importer_of,
    replayed_partition,
)
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.study import Study
from metacog_pipeline.transcripts.schema import Record
from metacog_pipeline.transcripts.store import keep_whole, kept_records

_PLACE = re.compile(r"Analyst ([A-Z])")
_SHOWN = 8


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
        chosen = {each.name: each for each in benchmark.conditions()}.get(STRIPPED)
        stripped = None
        if chosen is not None and chosen.after is not None:
            stripped = chosen_items(benchmark, chosen)
        self._applicable = {
            name: {item.item_id for item in applicable(self.items, name, stripped)} for name in EVERY
        }

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
        place = f"of instance {item.item_id}"
        if len(found) > 1:  # a row of all steps: one that stands in it alone may be all there is
            blank = [step for step in self.needed(item, condition) if step not in texts]
            found += [(step, "is blank: this instance counts as unanswered, no other") for step in blank]
        return Seen(None, problems=tuple(f"{step} {place} {why}" for step, why in found if why is not None))


IMPORTER = importer_of(Rows)


def import_analyst(benchmark: Any, analyst: str, model: str, run: int) -> Imported:
    """Keep what one analyst of the instances wrote as a replayed model's answers to step A.

    Raises StudyError if the model is not a replayed one, the run is not in the study, or no instance has that analyst.
    """
    study = benchmark.context.study
    partition = replayed_partition(study, BENCHMARK, model, run)
    study.prepare()
    if not construction.items_current(benchmark):
        construction.build(benchmark)
    found = Imported(tuple(analyst_answers(benchmark.items, analyst, model=model, run=run)))
    keep_whole(partition.folder, found.records)
    return found


def kept(study: Study, benchmark: str, spec: ModelSpec) -> list[Record]:
    """Return everything that was kept of a replayed model."""
    folders = (Partition(study, benchmark, spec, run).folder for run in study.runs)
    return [record for folder in folders for record in kept_records(folder)]


def analyst_names(items: Sequence[Instance]) -> Counter[str]:
    """Return the analysts of the instances by model, and how many instances each answered."""
    return Counter(name for item in items for name in {analyst.model_id for analyst in item.analysts})


def analyst_answers(items: Sequence[Instance], analyst: str, *, model: str, run: int = 1) -> list[Record]:
    """Return one imported answer to step A for each of ``items`` the analyst answered, kept as of ``model`` and ``run``.

    ``analyst`` is a model of `analyst_names`; or ``Analyst A``, ``Analyst B``, … for whoever stands in that place, so that
    eight such respondents cover all analysts of all instances. Raises StudyError when no instance has that analyst.
    """
    found = [(item, one) for item in items if (one := _chosen(item, analyst)) is not None]
    if not found:
        known = [name for name, _ in analyst_names(items).most_common()]
        more = f" and {len(known) - _SHOWN} more" if len(known) > _SHOWN else ""
        raise StudyError(
            f"medley: no instance has the analyst {analyst!r}; there are Analyst A, Analyst B, … by place, and "
            f"{', '.join(known[:_SHOWN]) or 'none by model'}{more}"
        )
    return [_record(item, one, model, run) for item, one in found]


def to_replay(items: Sequence[Instance], records: Sequence[Record]) -> list[Instance] | None:
    """Return the instances a replayed model has to answer where it has answered step A alone; None where it has more.

    Those are all of them; or, where all answers are one analyst's, those that analyst answered.
    """
    if not records or any(record.step != STEP_A for record in records):
        return None
    who = {record.model_id for record in records}
    if len(who) > 1 or not (name := next(iter(who))):
        return list(items)
    return [item for item in items if any(one.model_id == name for one in item.analysts)] or list(items)


def _chosen(item: Instance, analyst: str) -> Analyst | None:
    by_name = next((one for one in item.analysts if one.model_id == analyst), None)
    by_place = _PLACE.fullmatch(analyst)
    if by_name is not None or by_place is None:
        return by_name
    place = ord(by_place[1]) - ord("A")
    return item.analysts[place] if place < len(item.analysts) else None


def _unreadable(item: Instance, text: str) -> str | None:
    """Say why a reply will not count, None where it will."""
    reply = parse_reply(text)
    if is_error(reply):
        return "holds no JSON object"
    rated = (claim_confidence(reply, claim.claim_id, claim.claim_text) for claim in item.claims)
    return "rates no claim" if all(value is None for value in rated) else None


def _record(item: Instance, analyst: Analyst, model: str, run: int) -> Record:
    text = json.dumps(analyst.response, ensure_ascii=False)
    return imported_record(
        BENCHMARK,
        (item.item_id, item.item_hash),
        model=model,
        run=run,
        condition=NORMAL,
        step=STEP_A,
        text=text,
        identity=[BENCHMARK, model, run, item.item_id, NORMAL, STEP_A, text, "import"],
        model_id=analyst.model_id,
    )
