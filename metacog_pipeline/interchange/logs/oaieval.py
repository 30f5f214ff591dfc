"""OpenAI Evals: the ``.jsonl`` that ``oaieval`` records, a line an event; its matches say what is right."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from metacog_pipeline.interchange import record
from metacog_pipeline.interchange.record import Sample
from metacog_pipeline.llm.types import Completion, Status


@dataclass(slots=True)
class _Asked:
    """The events of one question: what was asked and said first (a judge is asked later), and how it was scored."""

    sampled: dict[str, Any] = field(default_factory=dict)
    at: Any = None
    right: bool | None = None
    expected: Any = None
    error: str = ""


def is_head(row: Mapping[str, Any]) -> bool:
    """Whether a line opens such a log."""
    return "eval_name" in record.mapping(row.get("spec"))


def read(path: Path, rows: Iterator[dict[str, Any]]) -> Iterator[Sample]:
    """Yield the replies; several to one question are runs, which the log does not score one by one."""
    spec: dict[str, Any] = {}
    asked: dict[str, _Asked] = {}
    for row in rows:
        if is_head(row):
            spec = row["spec"]
        elif row.get("sample_id") is not None:
            _add(asked.setdefault(str(row["sample_id"]), _Asked()), row)
    named = spec.get("completion_fns") or [spec.get("model_name") or ""]
    model, task = str(named[0] if isinstance(named, list) else named), str(spec.get("eval_name") or path.stem)
    config = record.mapping(spec.get("run_config"))
    settings = {"seed": config["seed"]} if "seed" in config else {}
    for name, each in asked.items():
        said = each.sampled.get("sampled")
        texts = [text for text in (said if isinstance(said, list) else [said]) if isinstance(text, str)]
        if not texts:
            why = f"was not answered: {each.error or 'nothing was sampled'}"
            yield record.nothing(name, task, model, why)
            continue
        answers = each.expected if isinstance(each.expected, list) else [each.expected]
        text, one = record.last_asked(each.sampled.get("prompt")), len(texts) == 1
        cells = record.question_cells(text, None, answers, read=each.right is None)
        for run, reply in enumerate(texts, start=1):
            completion = Completion(Status.OK, reply, started_at=record.moment(each.at))
            yield Sample(
                name, task, model, completion, question=cells, run=run, right=each.right if one else None,
                settings=settings,
            )  # fmt: skip


def _add(asked: _Asked, row: Mapping[str, Any]) -> None:
    data = record.mapping(row.get("data"))
    match row.get("type"):
        case "sampling" if not asked.sampled:
            asked.sampled, asked.at = data, row.get("created_at")
        case "match" if asked.right is None:
            asked.right, asked.expected = record.verdict(data.get("correct")), data.get("expected")
        case "metrics" if asked.right is None:  # of a judge, or of several accepted answers
            asked.right = record.verdict(data.get("score", data.get("accuracy")))
        case "error":
            asked.error = str(data.get("message") or data.get("type") or "")[:80]
