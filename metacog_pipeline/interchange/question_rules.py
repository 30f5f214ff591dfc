"""Answers to a `Question` that were collected elsewhere: under which condition they are read, and which there are."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterable, Mapping, Sequence, Set
from pathlib import Path
from typing import Any

from metacog_pipeline.asking.session import Partition
from metacog_pipeline.interchange.columns import Scale
from metacog_pipeline.interchange.import_rules import RowRules
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.transcripts.journal import segments


class QuestionRows(RowRules):
    """A reply to a `Question` is read under a condition by what it states."""

    condition = "verbal_percent"
    step = "answer"
    all_steps = (step,)
    #: Conditions of answers that have log-probabilities of letters, and that state no confidence either.
    by_logprob, unstated = "choice_logprob", "answer_only"
    scale = Scale(0, 100)


#: In a line of a journal both are before the reply, so that no reply is decoded.
_TEXT = rb'("(?:[^"\\]|\\.)*")'
_PLACE = re.compile(rb'"item_id":' + _TEXT + rb',"item_hash":"[0-9a-f]*","condition":' + _TEXT)
Asked = Sequence[tuple[str, Sequence[Any]]]


def answered_only(benchmark: Any, specs: Iterable[ModelSpec], asked: Asked) -> Asked:
    """Return of each condition the tasks to which one of these replayed models has an answer; all of them before any has.

    Logs of several tasks are in one study: what a model was never asked is not missing.
    """
    study = benchmark.context.study
    folders = [Partition(study, benchmark.name, spec, run).folder for spec in specs for run in study.runs]
    kept = [_answered(path, path.stat().st_size) for folder in folders for path in segments(folder)]
    if not any(kept):
        return asked
    found = []
    for condition, items in asked:
        names = frozenset[str]().union(*(each.get(condition, ()) for each in kept))
        there = {item.task for item in items if item.item_id in names}
        found.append((condition, [item for item in items if item.task in there]))
    return found


@functools.lru_cache(maxsize=256)
def _answered(journal: Path, size: int) -> Mapping[str, Set[str]]:
    """Return by condition the items of all lines."""
    found: dict[str, set[str]] = {}
    for line in journal.read_bytes().split(b"\n"):
        if place := _PLACE.search(line):
            item_id, condition = map(json.loads, place.groups())
            found.setdefault(condition, set()).add(item_id)
    return found
