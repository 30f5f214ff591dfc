"""Details of lighteval, both generations: a Parquet file with a row for each item."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from metacog_pipeline.interchange import record
from metacog_pipeline.interchange.question import LETTERS
from metacog_pipeline.interchange.record import Sample, listed, mapping
from metacog_pipeline.llm.types import Completion, Status

_DETAILS = re.compile(r"details_(?P<task>.+?)(?:_\d{4}(?:-\d\d-\d\dT[\d.:-]+)?)?$")
#: Scores of one reply that are 0 or 1, the first that is there.
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


def is_lighteval(names: Sequence[str]) -> bool:
    """Whether a Parquet file has the columns of either generation of lighteval's details."""
    return {"doc", "model_response"} <= {*names} or {"full_prompt", "predictions", "choices"} <= {*names}


def read(path: Path, rows: Iterator[Mapping[str, Any]]) -> Iterator[Sample]:
    """Yield the rows of details; several replies to one prompt are runs."""
    named = _DETAILS.match(path.stem)
    task, folders = named["task"] if named else path.stem, path.resolve().parts
    at = folders.index("details") + 1 if "details" in folders else len(folders)
    model = "/".join(folders[at : len(folders) - 2]) or folders[-2]
    for number, row in enumerate(rows):
        doc = mapping(row.get("doc")) or {**row, "query": row.get("full_prompt")}
        said = mapping(row.get("model_response")) or {"text": row.get("predictions")}
        scores = mapping(row.get("metric") or row.get("metrics"))
        right = next((record.verdict(scores[each]) for each in _METRICS if each in scores), None)
        likely = [each[0] if listed(each) else each for each in listed(said.get("logprobs"))]
        replies = [each for each in listed(said.get("text")) if isinstance(each, str)]
        cells = _question(doc, read=right is not None)
        made = Sample(str(doc.get("id") or number), task, model, Completion(Status.OK), cells, right=right)
        weighed = len(likely) == len(listed(doc.get("choices"))) > 1
        if weighed and not any(replies) and all(isinstance(each, float) for each in likely):
            made.said = record.weighed(likely)
            yield made
        else:
            yield from record.runs(made, replies)


def _question(doc: Mapping[str, Any], *, read: bool) -> dict[str, Any] | None:
    """Return the question; where the choices are bare letters their texts are in the prompt."""
    query, choices = record.last_asked(doc.get("query")), [str(each) for each in listed(doc.get("choices"))]
    gold = doc.get("gold_index", doc.get("gold"))
    places = [each for each in (gold if isinstance(gold, list) else [gold]) if record.whole(each) is not None]
    places = [each for each in places if each < len(choices)]
    shown = record.asked_with_options(query or "")
    one = len(places) == 1
    if one and shown is not None and len(shown[1]) == len(choices):
        return record.question_cells(*shown, [record.lettered(LETTERS[places[0]], shown[1])], read=True)
    if one and 1 < len(choices) <= len(LETTERS):
        answers = [record.lettered(LETTERS[places[0]], choices)]
        return record.question_cells(query, choices, answers, read=True)
    return record.question_cells(query, None, [choices[each].strip() for each in places], read=read)
