"""Predictions of OpenCompass: one JSON object with an entry per question, by its number."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from metacog_pipeline.interchange import record
from metacog_pipeline.interchange.record import Sample
from metacog_pipeline.llm.types import Completion, Status


def rows_of(found: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the entries of a file of predictions or of details; None where it is of another program."""
    inner = found.get("details") if isinstance(found.get("details"), dict) else found
    rows = {name: each for name, each in inner.items() if str(name).isdecimal()} if inner else {}
    first = next(iter(rows.values()), None)
    prompts = isinstance(first, dict) and isinstance(
        first.get("origin_prompt", first.get("prompt")), str | list
    )
    return rows if prompts and len(rows) >= len(inner or ()) - 1 else None


def read(path: Path, rows: Mapping[str, Any]) -> Iterator[Sample]:
    """Yield the entries; several predictions of one are runs."""
    model, task = path.resolve().parent.name, path.name.partition(".json")[0]
    for name, row in rows.items():
        if not isinstance(row, dict):
            yield record.nothing(name, task, model, "is no object")
            continue
        said = row.get("prediction", row.get("pred"))
        replies = [each for each in (said if isinstance(said, list) else [said]) if isinstance(each, str)]
        if not replies:
            yield record.nothing(
                name, task, model, "has no prediction (likelihoods of options are no replies)"
            )
        right = record.verdict(row.get("correct"))
        for run, text in enumerate(replies, start=1):
            cells = _question(row, judged=right is not None)
            yield Sample(
                name, task, model, Completion(Status.OK, text), cells, run=run, right=right if len(replies) == 1 else None
            )  # fmt: skip


def _question(row: Mapping[str, Any], *, judged: bool) -> dict[str, Any] | None:
    prompt = record.last_asked(row.get("origin_prompt", row.get("prompt"))) or ""
    gold = row.get("gold", row.get("answer", row.get("references")))
    answers = [each for each in (gold if isinstance(gold, list) else [gold]) if each is not None]
    shown = record.asked_with_options(prompt)
    if (
        shown is not None
        and len(answers) == 1
        and str(answers[0]).strip("() .") in "ABCDEFGHIJ"[: len(shown[1])]
    ):
        return record.question_cells(*shown, [str(answers[0]).strip("() .")], read=True)
    return record.question_cells(prompt, None, answers, read=bool(answers) and not judged)
