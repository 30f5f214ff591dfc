"""Questions of one's own: what the study file says about them, and the files and rows they come from."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence, Set
from functools import cache, lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator

from metacog_pipeline.asking.session import Partition
from metacog_pipeline.errors import one_line
from metacog_pipeline.interchange.question import LETTERS as LETTERS
from metacog_pipeline.interchange.question import Question
from metacog_pipeline.interchange.question_rows import KINDS, load, question_of
from metacog_pipeline.reading import rows
from metacog_pipeline.study import sections
from metacog_pipeline.study.sections import Stage, setting
from metacog_pipeline.transcripts.journal import segments

NAME, SAMPLE = "questions", Path("sample")
SHIPPED = Path(__file__).with_name("sample.jsonl")
Elicitation = Literal[
    "verbal_percent", "choice_logprob", "p_true", "self_consistency", "abstain_allowed", "answer_only"
]


class Settings(sections.Settings):
    """``[benchmarks.questions]``: files of questions, and how confidence is elicited.

    ``items`` are files next to the study file (JSON Lines, JSON, CSV, Parquet), or ``"sample"``; ``[]`` takes those of
    imported logs alone, which are added to any. Each of ``conditions`` is asked separately. ``samples`` is how many answers
    agreement is counted over; ``limit`` asks that many questions, drawn by the study's seed.
    """

    takes_questions = True
    items: tuple[sections.PathText, ...] = setting(Stage.ITEMS, (SAMPLE,))
    conditions: Annotated[tuple[Elicitation, ...], Field(min_length=1)] = setting(
        Stage.ASKING, ("verbal_percent",)
    )
    samples: int = setting(Stage.ASKING, 5, ge=2, le=50, strict=True)
    limit: int | None = setting(Stage.ASKING, None, ge=1, strict=True)

    @field_validator("items", mode="before")
    @classmethod
    def _one_or_more(cls, value: Any) -> Any:
        return (value,) if isinstance(value, str | Path) else value

    @field_validator("conditions")
    @classmethod
    def _unique(cls, value: tuple[Elicitation, ...]) -> tuple[str, ...]:
        return sections.each_once(value)


def files_of(benchmark: Any) -> list[Path]:
    """Return the files the items are read from: those the study names, then those that came with imported logs."""
    named = benchmark.settings.items
    own = [SHIPPED if each == SAMPLE else benchmark.study.beside(each) for each in named]
    return [*own, *sorted(benchmark.study.home.imported.glob("*.jsonl"))]


def item_of(row: rows.Row) -> Question:
    """Return the question of a row of ``metacog read``: the shipped one it names, or the one it brings."""
    if (shipped := rows.found_item(row, _shipped())) is not None:
        return shipped
    keyed, kind = bool(rows.answers_of(row)), KINDS.get(str(row.get("kind")))
    # Without a key nothing can be held against the answer: like a question that its log has graded.
    asked = {"question": "?", **row, "item_id": None, **({} if keyed else {"kind": "graded"})}
    try:
        item = Question(**question_of(asked, "own"))
    except ValueError as error:
        raise rows.BadRow(one_line(str(error), 200)) from None
    return item if keyed or kind is None else item.model_copy(update={"kind": kind})


@cache
def _shipped() -> Mapping[str, Question]:
    return {item.item_id: item for item in load([SHIPPED], Question)}


# --- questions of logs ------------------------------------------------------------------------------------------------
_TEXT = rb'"((?:[^"\\]|\\.)*)"'
_PLACE = re.compile(rb'"item_id":' + _TEXT + rb',"item_hash":"[0-9a-f]*","condition":' + _TEXT)
Asked = Sequence[tuple[str, Sequence[Any]]]


def answered_only(benchmark: Any, specs: Iterable[Any], asked: Asked) -> Asked:
    """Return of each condition the tasks to which one of these replayed models has an answer; all before any has."""
    # logs of several tasks are in one study: what a model was never asked is not missing
    study = benchmark.study
    folders = [Partition(study, benchmark.name, spec, run).folder for spec in specs for run in study.runs]
    kept = [_answered(path, path.stat().st_size) for folder in folders for path in segments(folder)]
    if not any(kept):
        return asked
    there = {place for each in kept for place in each}
    tasks = {
        (condition, item.task)
        for condition, items in asked
        for item in items
        if (condition, item.item_id) in there
    }
    return [
        (condition, [item for item in items if (condition, item.task) in tasks]) for condition, items in asked
    ]


@lru_cache(maxsize=256)
def _answered(journal: Path, size: int) -> Set[tuple[str, str]]:
    # in a line of a journal both stand before the reply, so that no reply is decoded
    found = _PLACE.finditer(journal.read_bytes())
    return {(json.loads(b'"%s"' % place[2]), json.loads(b'"%s"' % place[1])) for place in found}
