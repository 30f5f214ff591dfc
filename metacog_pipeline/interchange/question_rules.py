"""What a row of a table says about a `Question`: an answer with a confidence, or the raw reply."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterable, Mapping, Sequence, Set
from pathlib import Path
from typing import Any, ClassVar

from metacog_pipeline.asking.session import Partition
from metacog_pipeline.interchange.columns import Scale
from metacog_pipeline.interchange.import_cells import RowError, whole
from metacog_pipeline.interchange.import_rules import RowRules
from metacog_pipeline.interchange.question import Question
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.transcripts.journal import segments

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
    """Return by condition the items of all lines; both are in them before the reply, so that no reply is decoded."""
    found: dict[str, set[str]] = {}
    for line in journal.read_bytes().split(b"\n"):
        if place := _PLACE.search(line):
            item_id, condition = map(json.loads, place.groups())
            found.setdefault(condition, set()).add(item_id)
    return found


class QuestionRows(RowRules):
    """One reply to a `Question`, put together from an answer and a confidence in percent where there is no raw one."""

    condition = "verbal_percent"
    own: ClassVar = {
        # A column "answer" next to a prediction has the right answer.
        "choice": ("choice", "prediction", "predicted", "pred", "model_answer", "answer"),
        "confidence": ("confidence", "conf", "certainty", "probability", "confidence_score"),
    }
    step: ClassVar = "answer"
    #: Conditions of answers that state a confidence, that have log-probabilities of letters, and that have neither.
    in_words, by_logprob, unstated = "verbal_percent", "choice_logprob", "answer_only"
    rated, scale = ("confidence",), Scale(0, 100)
    item_word = "question"

    def questions(self, item: Question) -> Iterable[str]:
        """Return the question, and the question with its options."""
        return (item.question, item.stem) if item.options else (item.question,)

    def replies(self, item: Question, condition: str, said: Mapping[str, Any]) -> dict[str, str]:
        """Return the lines a model is asked for."""
        if "choice" not in said:
            raise RowError(f"there is no answer to question {item.item_id}")
        place = whole(said["choice"])
        if item.options and place is not None and str(said["choice"]).strip() not in item.options:
            raise RowError(
                f"answer {place} is a number where options have letters; say which is which, as in --map-values 0=A,1=B,…"
            )
        sure = [f"Confidence: {said['confidence']}%"] if "confidence" in said else []
        return {self.step: "\n".join([f"Answer: {said['choice']}", *sure])}

    def agrees(self, item: Question, key: str) -> bool:
        """Return whether the key is an accepted answer, read as a stated one."""
        return not item.answer or item.accepts(key)

    def keyed(self, item: Question) -> str:
        """Return the accepted answers."""
        return " or ".join((item.answer, *item.accept)) or "nothing"
