"""What ``oaieval`` of OpenAI Evals records: an event a line, several of them about one question."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from metacog_pipeline.interchange import record
from metacog_pipeline.interchange.record import Sample, mapping
from metacog_pipeline.llm.types import Completion, Status


def is_oaieval(row: Mapping[str, Any]) -> bool:
    """Whether a line opens what ``oaieval`` records."""
    return "eval_name" in mapping(row.get("spec"))


def read(path: Path, rows: Iterator[dict[str, Any]]) -> Iterator[Sample]:
    """Yield the replies; several to one question are runs, which the log does not score one by one."""
    spec: dict[str, Any] = {}
    asked: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        if is_oaieval(row):
            spec = row["spec"]
        elif row.get("sample_id") is not None:
            asked.setdefault(str(row["sample_id"]), []).append(row)
    named = spec.get("completion_fns") or [spec.get("model_name") or ""]
    model, task = str(named[0] if isinstance(named, list) else named), str(spec.get("eval_name") or path.stem)
    config = mapping(spec.get("run_config"))
    settings = {"seed": config["seed"]} if "seed" in config else {}
    for name, events in asked.items():
        sampling = _first(events, "sampling")  # a judge is asked later
        match, metrics, error = (
            mapping(_first(events, kind).get("data")) for kind in ("match", "metrics", "error")
        )
        right = record.verdict(match.get("correct"))
        if right is None:  # of a judge, or of several accepted answers
            right = record.verdict(metrics.get("score", metrics.get("accuracy")))
        said, expected = mapping(sampling.get("data")), match.get("expected")
        answers = expected if isinstance(expected, list) else [expected]
        cells = record.question_cells(
            record.last_asked(said.get("prompt")), None, answers, read=right is None
        )
        completion = Completion(Status.OK, started_at=record.moment(sampling.get("created_at")))
        why = str(error.get("message") or error.get("type") or "nothing was sampled")[:80]
        made = Sample(name, task, model, completion, cells, right=right, settings=settings)
        yield from record.runs(made, said.get("sampled"), f"was not answered: {why}")


def _first(events: list[dict[str, Any]], kind: str) -> dict[str, Any]:
    return next((each for each in events if each.get("type") == kind), {})
