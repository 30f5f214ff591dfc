"""promptfoo: what ``promptfoo eval -o`` writes, as ``.json`` or ``.jsonl``; its assertions say what is right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from metacog_pipeline.errors import one_line
from metacog_pipeline.files import canonical_json, sha256_hex
from metacog_pipeline.interchange import record
from metacog_pipeline.interchange.question_rows import CONTEXT
from metacog_pipeline.interchange.record import Sample
from metacog_pipeline.llm.types import Completion, Status, Usage


def is_row(row: Mapping[str, Any]) -> bool:
    """Whether an object is the result of one test."""
    return {"promptIdx", "provider", "vars"} <= set(row) and ("response" in row or "error" in row)


def results_of(found: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """Return the results of a file; None where it is of another program."""
    inner = found.get("results")
    rows = record.objects(inner.get("results") if isinstance(inner, dict) else inner)
    return rows if rows and is_row(rows[0]) else None


def read(path: Path, rows: Iterable[dict[str, Any]], config: Any = None) -> Iterator[Sample]:
    """Yield the results; a test asked again of the same provider is a run more."""
    task = one_line(str(record.mapping(config).get("description") or path.name.partition(".json")[0]), 80)
    runs, every = Counter[tuple[str, str]](), list(rows)
    prompts: dict[str, set[str]] = {}
    for row in every:
        prompts.setdefault(str(row.get("provider")), set()).add(str(row.get("promptIdx")))
    by_variable = all(len(each) == 1 for each in prompts.values())  # else prompts are what is compared
    for row in every:
        provider = row.get("provider")
        said = provider.get("label") or provider.get("id") if isinstance(provider, dict) else provider
        raw = record.mapping(row.get("prompt")).get("raw")
        test = row.get("testIdx")
        name = f"{row.get('promptIdx')}.{test}" if test is not None else sha256_hex(str(raw))[:12]
        model = str(said or "")
        runs[model, name] += 1
        asked = record.last_asked(raw) or ""
        stem, context = _asked(row, asked) if by_variable else (asked, "")
        yield _sample(row, (stem, context), name, task, model, runs[model, name])


def _asked(row: Mapping[str, Any], prompt: str) -> tuple[str, str]:
    """Return question and passage of a test: its variables where the prompt shows no others, since prompts may differ
    from model to model; else the prompt."""
    shown = {
        str(name).casefold(): each
        for name, each in record.mapping(row.get("vars")).items()
        if isinstance(each, str) and each.strip() and each in prompt
    }
    passages = [shown.pop(name) for name in list(shown) if name in CONTEXT]
    stems = [*shown.values()]
    return (stems[0], "\n\n".join(passages)) if len(stems) == 1 else (prompt, "")


def _sample(
    row: Mapping[str, Any], asked: tuple[str, str], name: str, task: str, model: str, run: int
) -> Sample:
    said = record.mapping(row.get("response"))
    text = said.get("output")
    if isinstance(text, dict | list):
        text = canonical_json(text)
    if not isinstance(text, str):
        why = one_line(str(row.get("error") or said.get("error") or "no output"), 80)
        return record.nothing(name, task, model, f"was not answered: {why}", run)
    graded, case = record.mapping(row.get("gradingResult")), record.mapping(row.get("testCase"))
    asserted = record.objects(case.get("assert"))
    judged = bool(asserted or graded.get("componentResults"))  # a test without any always passes
    expected = [each["value"] for each in asserted if isinstance(each.get("value"), str | int | float)]
    usage, cost = record.mapping(said.get("tokenUsage")), row.get("cost") or said.get("cost")
    completion = Completion(
        Status.OK, text, cost_usd=record.amount(cost), latency_s=(record.amount(row.get("latencyMs")) or 0.0) / 1000,
        usage=Usage(record.whole(usage.get("prompt")), record.whole(usage.get("completion"))),
    )  # fmt: skip
    return Sample(
        name, task, model, completion, run=run, right=record.verdict(row.get("success")) if judged else None,
        question=record.question_cells(asked[0], None, expected, read=False, context=asked[1]),
    )  # fmt: skip
