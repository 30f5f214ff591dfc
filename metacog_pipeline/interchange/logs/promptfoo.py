"""Results of ``promptfoo eval -o``: a test asked again of the same provider is a run more."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from metacog_pipeline.errors import one_line
from metacog_pipeline.files import canonical_json, sha256_hex
from metacog_pipeline.interchange import record
from metacog_pipeline.interchange.question_rows import CONTEXT
from metacog_pipeline.interchange.record import Sample, mapping, objects
from metacog_pipeline.llm.types import Completion, Status, Usage


def is_promptfoo(row: Mapping[str, Any]) -> bool:
    """Whether an object is the result of one test."""
    return {"promptIdx", "provider", "vars"} <= set(row) and ("response" in row or "error" in row)


def results(found: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """Return the results of a file; None where it is of another program."""
    inner = found.get("results")
    rows = objects(inner.get("results") if isinstance(inner, dict) else inner)
    return rows if rows and is_promptfoo(rows[0]) else None


def read(path: Path, rows: Iterable[dict[str, Any]], config: Any = None) -> Iterator[Sample]:
    """Yield the results."""
    task = one_line(str(mapping(config).get("description") or path.name.partition(".json")[0]), 80)
    every, counted = list(rows), Counter[tuple[str, str]]()
    prompts: dict[str, set[str]] = {}
    for row in every:
        prompts.setdefault(str(row.get("provider")), set()).add(str(row.get("promptIdx")))
    by_variable = all(len(each) == 1 for each in prompts.values())  # else prompts are what is compared
    for row in every:
        provider, raw, test = row.get("provider"), mapping(row.get("prompt")).get("raw"), row.get("testIdx")
        said = provider.get("label") or provider.get("id") if isinstance(provider, dict) else provider
        name = f"{row.get('promptIdx')}.{test}" if test is not None else sha256_hex(str(raw))[:12]
        model, asked = str(said or ""), record.last_asked(raw) or ""
        counted[model, name] += 1
        made = Sample(name, task, model, Completion(Status.OK), run=counted[model, name])
        yield _result(row, made, *(_variables(row, asked) if by_variable else (asked, "")))


def _variables(row: Mapping[str, Any], prompt: str) -> tuple[str, str]:
    """Return question and passage of a test: its variables where the prompt shows no others, since prompts may differ
    from model to model; else the prompt."""
    shown = {
        str(name).casefold(): each
        for name, each in mapping(row.get("vars")).items()
        if isinstance(each, str) and each.strip() and each in prompt
    }
    passages = [shown.pop(name) for name in list(shown) if name in CONTEXT]
    stems = [*shown.values()]
    return (stems[0], "\n\n".join(passages)) if len(stems) == 1 else (prompt, "")


def _result(row: Mapping[str, Any], made: Sample, stem: str, context: str) -> Sample:
    said = mapping(row.get("response"))
    text = said.get("output")
    text = canonical_json(text) if isinstance(text, dict | list) else text
    if not isinstance(text, str):
        why = one_line(str(row.get("error") or said.get("error") or "no output"), 80)
        return replace(made, why=f"was not answered: {why}")
    asserted = objects(mapping(row.get("testCase")).get("assert"))
    # a test without assertions always passes
    judged = bool(asserted or mapping(row.get("gradingResult")).get("componentResults"))
    expected = [each["value"] for each in asserted if isinstance(each.get("value"), str | int | float)]
    usage, cost = mapping(said.get("tokenUsage")), row.get("cost") or said.get("cost")
    completion = Completion(
        Status.OK, text, cost_usd=record.amount(cost), latency_s=(record.amount(row.get("latencyMs")) or 0.0) / 1000,
        usage=Usage(record.whole(usage.get("prompt")), record.whole(usage.get("completion"))),
    )  # fmt: skip
    return replace(
        made, said=completion, right=record.verdict(row.get("success")) if judged else None,
        question=record.question_cells(stem, None, expected, read=False, context=context),
    )  # fmt: skip
