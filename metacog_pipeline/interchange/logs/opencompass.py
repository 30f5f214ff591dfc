"""Predictions or details of OpenCompass: a JSON object with an entry for each item, by number."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from metacog_pipeline.interchange import record
from metacog_pipeline.interchange.question import LETTERS
from metacog_pipeline.interchange.record import Sample, mapping
from metacog_pipeline.llm.types import Completion, Status


def entries(found: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the entries of a file of predictions or of details by number; None where it is of another program."""
    inner = found.get("details") if isinstance(found.get("details"), dict) else found
    rows = {name: each for name, each in inner.items() if str(name).isdecimal()} if inner else {}
    first = next(iter(rows.values()), None)
    asks = isinstance(first, dict) and isinstance(first.get("origin_prompt", first.get("prompt")), str | list)
    return rows if asks and len(rows) >= len(inner or ()) - 1 else None


def read(path: Path, rows: Mapping[str, Any]) -> Iterator[Sample]:
    """Yield the entries; several predictions of one are runs."""
    model, task = path.resolve().parent.name, path.name.partition(".json")[0]
    for name, row in ((str(name), mapping(each)) for name, each in rows.items()):
        right = record.verdict(row.get("correct"))
        cells = _question(row, judged=right is not None)
        made = Sample(name, task, model, Completion(Status.OK), cells, right=right)
        lacks = "has no prediction (likelihoods of options are no replies)"
        yield from record.runs(made, row.get("prediction", row.get("pred")), lacks)


def _question(row: Mapping[str, Any], *, judged: bool) -> dict[str, Any] | None:
    prompt = record.last_asked(row.get("origin_prompt", row.get("prompt"))) or ""
    gold = row.get("gold", row.get("answer", row.get("references")))
    answers = [each for each in (gold if isinstance(gold, list) else [gold]) if each is not None]
    shown = record.asked_with_options(prompt)
    letter = str(answers[0]).strip("() .") if len(answers) == 1 else ""
    if shown is not None and letter and letter in LETTERS[: len(shown[1])]:
        return record.question_cells(*shown, [letter], read=True)
    return record.question_cells(prompt, None, answers, read=bool(answers) and not judged)
