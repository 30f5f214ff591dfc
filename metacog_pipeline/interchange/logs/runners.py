"""Files of programs that ask one prompt after another: promptfoo, OpenAI Evals, and results as Every Eval Ever has them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from metacog_pipeline.errors import StudyError, one_line
from metacog_pipeline.files import canonical_json, sha256_hex
from metacog_pipeline.interchange import record
from metacog_pipeline.interchange.question_rows import CONTEXT
from metacog_pipeline.interchange.record import Sample, mapping, objects
from metacog_pipeline.llm.types import Completion, Status, Usage


# --- promptfoo --------------------------------------------------------------------------------------------------------
def is_promptfoo(row: Mapping[str, Any]) -> bool:
    """Whether an object is the result of one test."""
    return {"promptIdx", "provider", "vars"} <= set(row) and ("response" in row or "error" in row)


def promptfoo_results(found: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """Return the results of a file; None where it is of another program."""
    inner = found.get("results")
    rows = objects(inner.get("results") if isinstance(inner, dict) else inner)
    return rows if rows and is_promptfoo(rows[0]) else None


def read_promptfoo(path: Path, rows: Iterable[dict[str, Any]], config: Any = None) -> Iterator[Sample]:
    """Yield the results of ``promptfoo eval -o``; a test asked again of the same provider is a run more."""
    task = one_line(str(mapping(config).get("description") or path.name.partition(".json")[0]), 80)
    runs, every = Counter[tuple[str, str]](), list(rows)
    prompts: dict[str, set[str]] = {}
    for row in every:
        prompts.setdefault(str(row.get("provider")), set()).add(str(row.get("promptIdx")))
    by_variable = all(len(each) == 1 for each in prompts.values())  # else prompts are what is compared
    for row in every:
        provider, raw, test = row.get("provider"), mapping(row.get("prompt")).get("raw"), row.get("testIdx")
        said = provider.get("label") or provider.get("id") if isinstance(provider, dict) else provider
        name = f"{row.get('promptIdx')}.{test}" if test is not None else sha256_hex(str(raw))[:12]
        model, asked = str(said or ""), record.last_asked(raw) or ""
        runs[model, name] += 1
        stem, context = _variables(row, asked) if by_variable else (asked, "")
        yield _result(row, (stem, context), name, task, model, runs[model, name])


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


def _result(
    row: Mapping[str, Any], asked: tuple[str, str], name: str, task: str, model: str, run: int
) -> Sample:
    said = mapping(row.get("response"))
    text = said.get("output")
    text = canonical_json(text) if isinstance(text, dict | list) else text
    if not isinstance(text, str):
        why = one_line(str(row.get("error") or said.get("error") or "no output"), 80)
        return record.nothing(name, task, model, f"was not answered: {why}", run)
    asserted = objects(mapping(row.get("testCase")).get("assert"))
    # a test without assertions always passes
    judged = bool(asserted or mapping(row.get("gradingResult")).get("componentResults"))
    expected = [each["value"] for each in asserted if isinstance(each.get("value"), str | int | float)]
    usage, cost = mapping(said.get("tokenUsage")), row.get("cost") or said.get("cost")
    completion = Completion(
        Status.OK, text, cost_usd=record.amount(cost), latency_s=(record.amount(row.get("latencyMs")) or 0.0) / 1000,
        usage=Usage(record.whole(usage.get("prompt")), record.whole(usage.get("completion"))),
    )  # fmt: skip
    return Sample(
        name, task, model, completion, run=run, right=record.verdict(row.get("success")) if judged else None,
        question=record.question_cells(asked[0], None, expected, read=False, context=asked[1]),
    )  # fmt: skip


# --- OpenAI Evals -----------------------------------------------------------------------------------------------------
@dataclass(slots=True)
class _Asked:
    """The events of one question: what was asked and replied first (a judge is asked later), and how it was scored."""

    sampled: dict[str, Any] = field(default_factory=dict)
    at: Any = None
    right: bool | None = None
    expected: Any = None
    error: str = ""


def is_oaieval(row: Mapping[str, Any]) -> bool:
    """Whether a line opens what ``oaieval`` records."""
    return "eval_name" in mapping(row.get("spec"))


def read_oaieval(path: Path, rows: Iterator[dict[str, Any]]) -> Iterator[Sample]:
    """Yield the replies; several to one question are runs, which the log does not score one by one."""
    spec: dict[str, Any] = {}
    asked: dict[str, _Asked] = {}
    for row in rows:
        if is_oaieval(row):
            spec = row["spec"]
        elif row.get("sample_id") is not None:
            _event(asked.setdefault(str(row["sample_id"]), _Asked()), row)
    named = spec.get("completion_fns") or [spec.get("model_name") or ""]
    model, task = str(named[0] if isinstance(named, list) else named), str(spec.get("eval_name") or path.stem)
    config = mapping(spec.get("run_config"))
    settings = {"seed": config["seed"]} if "seed" in config else {}
    for name, each in asked.items():
        said = each.sampled.get("sampled")
        texts = [text for text in (said if isinstance(said, list) else [said]) if isinstance(text, str)]
        if not texts:
            yield record.nothing(
                name, task, model, f"was not answered: {each.error or 'nothing was sampled'}"
            )
        answers = each.expected if isinstance(each.expected, list) else [each.expected]
        text = record.last_asked(each.sampled.get("prompt"))
        cells = record.question_cells(text, None, answers, read=each.right is None)
        for run, reply in enumerate(texts, start=1):
            completion = Completion(Status.OK, reply, started_at=record.moment(each.at))
            right = each.right if len(texts) == 1 else None
            yield Sample(
                name, task, model, completion, question=cells, run=run, right=right, settings=settings
            )


def _event(asked: _Asked, row: Mapping[str, Any]) -> None:
    data = mapping(row.get("data"))
    match row.get("type"):
        case "sampling" if not asked.sampled:
            asked.sampled, asked.at = data, row.get("created_at")
        case "match" if asked.right is None:
            asked.right, asked.expected = record.verdict(data.get("correct")), data.get("expected")
        case "metrics" if asked.right is None:  # of a judge, or of several accepted answers
            asked.right = record.verdict(data.get("score", data.get("accuracy")))
        case "error":
            asked.error = str(data.get("message") or data.get("type") or "")[:80]


# --- Every Eval Ever --------------------------------------------------------------------------------------------------
def is_every_eval(row: Mapping[str, Any]) -> bool:
    """Whether a line is a result of one item."""
    return {"evaluation_id", "sample_id", "evaluation"} <= set(row)


def every_eval_file(path: Path, summary: Mapping[str, Any]) -> Path | None:
    """Return the file of single results, in the same folder, that a summary of scores names; None of another object."""
    if not {"evaluation_id", "evaluation_results"} <= set(summary):
        return None
    name = Path(str(mapping(summary.get("detailed_evaluation_results")).get("file_path") or "")).name
    if not name or not (path.parent / name).is_file():
        raise StudyError(
            f"{path}: holds scores of whole tasks only; import the .jsonl of single results that belongs to it"
        )
    return path.parent / name


def read_every_eval(path: Path, rows: Iterator[dict[str, Any]]) -> Iterator[Sample]:
    """Yield the results; several of one item by one model are its runs."""
    runs = Counter[tuple[str, ...]]()
    for row in rows:
        place = tuple(str(row.get(each) or "") for each in ("sample_id", "evaluation_name", "model_id"))
        runs[place] += 1
        name, task, model = place
        yield _every_eval(row, name, task or path.stem, model, runs[place])


def _every_eval(row: Mapping[str, Any], name: str, task: str, model: str, run: int) -> Sample:
    parts = ("input", "output", "evaluation", "token_usage", "performance")
    asked, said, scored, usage, took = (mapping(row.get(each)) for each in parts)
    if row.get("error"):
        return record.nothing(name, task, model, f"ended with an error: {str(row['error'])[:80]}", run)
    raw = said.get("raw")
    text = raw[0] if isinstance(raw, list) and raw else raw
    if not isinstance(text, str):
        turns = [each for each in objects(row.get("messages")) if each.get("role") == "assistant"]
        text = turns[-1].get("content") if turns else None
    if not isinstance(text, str):
        return record.nothing(name, task, model, "has no reply", run)
    counts = ("input_tokens", "output_tokens", "reasoning_tokens", "input_tokens_cache_read")
    completion = Completion(
        Status.OK, text, model_reported=model or None, usage=Usage(*(record.whole(usage.get(n)) for n in counts)),
        latency_s=(record.amount(took.get("latency_ms")) or 0.0) / 1000,
    )  # fmt: skip
    single, answers = row.get("interaction_type") in (None, "single_turn"), asked.get("reference")
    answers = answers if isinstance(answers, list) else [answers]
    return Sample(
        name, task, model, completion, run=run, right=record.verdict(scored.get("is_correct")),
        question=record.question_cells(asked.get("raw"), asked.get("choices"), answers, read=True),
        settings={"evaluation_id": str(row.get("evaluation_id"))}, unscored=None if single else "takes several turns",
    )  # fmt: skip
