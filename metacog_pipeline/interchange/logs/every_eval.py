"""Results as Every Eval Ever has them: a line for each item, or the summary that names their file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from metacog_pipeline.errors import StudyError
from metacog_pipeline.interchange import record
from metacog_pipeline.interchange.record import Sample, mapping, objects
from metacog_pipeline.llm.types import Completion, Status, Usage


def is_every_eval(row: Mapping[str, Any]) -> bool:
    """Whether a line is a result of one item."""
    return {"evaluation_id", "sample_id", "evaluation"} <= set(row)


def detailed(path: Path, summary: Mapping[str, Any]) -> Path | None:
    """Return the file of single results, in the same folder, that a summary of scores names; None of another object."""
    if not {"evaluation_id", "evaluation_results"} <= set(summary):
        return None
    name = Path(str(mapping(summary.get("detailed_evaluation_results")).get("file_path") or "")).name
    if not name or not (path.parent / name).is_file():
        raise StudyError(
            f"{path}: holds scores of whole tasks only; import the .jsonl of single results that belongs to it"
        )
    return path.parent / name


def read(path: Path, rows: Iterator[dict[str, Any]]) -> Iterator[Sample]:
    """Yield the results; several of one item by one model are its runs."""
    counted = Counter[tuple[str, ...]]()
    for row in rows:
        place = tuple(str(row.get(each) or "") for each in ("sample_id", "evaluation_name", "model_id"))
        counted[place] += 1
        name, task, model = place
        yield _result(row, Sample(name, task or path.stem, model, Completion(Status.OK), run=counted[place]))


def _result(row: Mapping[str, Any], made: Sample) -> Sample:
    parts = ("input", "output", "evaluation", "token_usage", "performance")
    asked, said, scored, usage, took = (mapping(row.get(each)) for each in parts)
    if row.get("error"):
        return replace(made, why=f"ended with an error: {str(row['error'])[:80]}")
    raw = said.get("raw")
    turns = [each.get("content") for each in objects(row.get("messages")) if each.get("role") == "assistant"]
    texts = [raw[0] if isinstance(raw, list) and raw else raw, *turns[-1:]]
    text = next((each for each in texts if isinstance(each, str)), None)
    if text is None:
        return replace(made, why="has no reply")
    counts = ("input_tokens", "output_tokens", "reasoning_tokens", "input_tokens_cache_read")
    completion = Completion(
        Status.OK, text, model_reported=made.model or None, usage=Usage(*(record.whole(usage.get(n)) for n in counts)),
        latency_s=(record.amount(took.get("latency_ms")) or 0.0) / 1000,
    )  # fmt: skip
    single, answers = row.get("interaction_type") in (None, "single_turn"), asked.get("reference")
    answers = answers if isinstance(answers, list) else [answers]
    return replace(
        made, said=completion, right=record.verdict(scored.get("is_correct")),
        question=record.question_cells(asked.get("raw"), asked.get("choices"), answers, read=True),
        settings={"evaluation_id": str(row.get("evaluation_id"))}, unscored=None if single else "takes several turns",
    )  # fmt: skip
