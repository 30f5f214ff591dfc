"""Every Eval Ever: results of single items (``.jsonl``), or the summary (``.json``) that names their file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from metacog_pipeline.errors import StudyError
from metacog_pipeline.interchange import record
from metacog_pipeline.interchange.record import Sample
from metacog_pipeline.llm.types import Completion, Status, Usage


def is_row(row: Mapping[str, Any]) -> bool:
    """Whether a line is a result of one item."""
    return {"evaluation_id", "sample_id", "evaluation"} <= set(row)


def is_summary(found: Any) -> bool:
    """Whether a JSON object is a summary."""
    return isinstance(found, dict) and {"evaluation_id", "evaluation_results"} <= set(found)


def beside(path: Path, summary: Mapping[str, Any]) -> Path:
    """Return the file of single results that a summary names; it must lie in the same folder."""
    detailed = summary.get("detailed_evaluation_results")
    name = Path(str(detailed.get("file_path") or "")).name if isinstance(detailed, dict) else ""
    if not name or not (path.parent / name).is_file():
        raise StudyError(
            f"{path}: holds scores of whole tasks only; import the .jsonl of single results that belongs to it"
        )
    return path.parent / name


def read(path: Path, rows: Iterator[dict[str, Any]]) -> Iterator[Sample]:
    """Yield the results; several of one item by one model are its runs."""
    runs = Counter[tuple[str, ...]]()
    for row in rows:
        place = tuple(str(row.get(each) or "") for each in ("sample_id", "evaluation_name", "model_id"))
        runs[place] += 1
        name, task, model = place
        yield _sample(row, name, task or path.stem, model, runs[place])


def _sample(row: Mapping[str, Any], name: str, task: str, model: str, run: int) -> Sample:
    parts = ("input", "output", "evaluation", "token_usage", "performance")
    asked, said, scored, usage, took = (record.mapping(row.get(each)) for each in parts)
    if row.get("error"):
        return record.nothing(name, task, model, f"ended with an error: {str(row['error'])[:80]}", run)
    raw = said.get("raw")
    text = raw[0] if isinstance(raw, list) and raw else raw
    turns = record.objects(row.get("messages"))
    if not isinstance(text, str):
        text = next(
            (each.get("content") for each in reversed(turns) if each.get("role") == "assistant"), None
        )
    if not isinstance(text, str):
        return record.nothing(name, task, model, "has no reply", run)
    counts = ("input_tokens", "output_tokens", "reasoning_tokens", "input_tokens_cache_read")
    completion = Completion(
        Status.OK, text, model_reported=model or None, usage=Usage(*(record.whole(usage.get(n)) for n in counts)),
        latency_s=(record.amount(took.get("latency_ms")) or 0.0) / 1000,
    )  # fmt: skip
    single = row.get("interaction_type") in (None, "single_turn")
    answers = asked.get("reference")
    return Sample(
        name, task, model, completion, run=run, right=record.verdict(scored.get("is_correct")),
        question=record.question_cells(
            asked.get("raw"), asked.get("choices"), answers if isinstance(answers, list) else [answers], read=True
        ),
        settings={"evaluation_id": str(row.get("evaluation_id"))}, unscored=None if single else "takes several turns",
    )  # fmt: skip
