"""Details of lighteval, both generations: a Parquet file per task, the item as the prompt shows it and what was said."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from metacog_pipeline.interchange import record
from metacog_pipeline.interchange.logs.lm_eval import letters
from metacog_pipeline.interchange.question import LETTERS
from metacog_pipeline.interchange.record import Sample
from metacog_pipeline.llm.types import Completion, Status

_NAME = re.compile(r"details_(?P<task>.+?)(?:_\d{4}(?:-\d\d-\d\dT[\d.:-]+)?)?$")
_METRICS = (
    "extractive_match",
    "em",
    "exact_match",
    "acc",
    "loglikelihood_acc",
    "quasi_exact_match",
    "pem",
    "qem",
)


def is_table(names: Sequence[str]) -> bool:
    """Whether a Parquet file has the columns of either generation."""
    return {"doc", "model_response"} <= {*names} or {"full_prompt", "predictions", "choices"} <= {*names}


def read(path: Path, rows: Iterator[Mapping[str, Any]]) -> Iterator[Sample]:
    """Yield the rows; several replies to one prompt are runs."""
    named = _NAME.match(path.stem)
    task, folders = named["task"] if named else path.stem, path.resolve().parts
    at = folders.index("details") + 1 if "details" in folders else len(folders)
    model = "/".join(folders[at : len(folders) - 2]) or folders[-2]
    for number, row in enumerate(rows):
        yield from _samples(row, str(number), task, model)


def _samples(row: Mapping[str, Any], name: str, task: str, model: str) -> Iterator[Sample]:
    doc = record.mapping(row.get("doc")) or {**row, "query": row.get("full_prompt")}
    said = record.mapping(row.get("model_response")) or {"text": row.get("predictions")}
    scores = record.mapping(row.get("metric") or row.get("metrics"))
    right = next((record.verdict(scores[each]) for each in _METRICS if each in scores), None)
    name = str(doc.get("id") or name)
    likely = [
        each[0] if isinstance(each, list) and each else each for each in record.listed(said.get("logprobs"))
    ]
    replies = [each for each in record.listed(said.get("text")) if isinstance(each, str)]
    options, cells = record.listed(doc.get("choices")), _question(doc, read=right is not None)
    if (
        not any(replies)
        and len(likely) == len(options) > 1
        and all(isinstance(each, float) for each in likely)
    ):
        completion = Completion(Status.OK, LETTERS[likely.index(max(likely))], logprobs=letters(likely))
        yield Sample(name, task, model, completion, cells, right=right)
        return
    if not replies:
        yield record.nothing(name, task, model, "has no reply")
    for run, text in enumerate(replies, start=1):
        verdict = right if len(replies) == 1 else None
        yield Sample(name, task, model, Completion(Status.OK, text), cells, run=run, right=verdict)


def _question(doc: Mapping[str, Any], *, read: bool) -> dict[str, Any] | None:
    """Return the question; where the choices are bare letters their texts stand in the prompt."""
    query, choices = (
        record.last_asked(doc.get("query")),
        [str(each) for each in record.listed(doc.get("choices"))],
    )
    gold = doc.get("gold_index", doc.get("gold"))
    places = [each for each in (gold if isinstance(gold, list) else [gold]) if record.whole(each) is not None]
    answers: list[Any] = [choices[each].strip() for each in places if each < len(choices)]
    shown = record.asked_with_options(query or "")
    if shown is not None and len(shown[1]) == len(choices) and len(places) == 1:
        letter = LETTERS[places[0]] if places[0] < len(choices) else ""
        return record.question_cells(*shown, [record.lettered(letter, shown[1])], read=True)
    options = choices if len(choices) > 1 and len(places) == 1 else None
    answers = [record.lettered(LETTERS[places[0]], choices)] if options and answers else answers
    return record.question_cells(query, options, answers, read=read or bool(options))
