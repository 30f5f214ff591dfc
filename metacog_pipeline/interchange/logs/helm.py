"""Runs of HELM: ``scenario_state.json``, and the file of scores in the same folder."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from metacog_pipeline.interchange import record
from metacog_pipeline.interchange.question import LETTERS
from metacog_pipeline.interchange.record import Sample, listed, mapping, objects
from metacog_pipeline.llm.types import Completion, Status

#: The file of scores, and bytes of it that are read.
_SCORES, _LARGEST = "per_instance_stats.json", 512 * 2**20
_MODEL = re.compile(r"(?:(?<=[:,])|\A)model(?:_deployment)?=[^,]*,?")
_METRICS = (
    "exact_match", "quasi_exact_match", "final_number_exact_match", "math_equiv_chain_of_thought", "math_equiv",
    "chain_of_thought_correctness",
)  # fmt: skip
_SETTINGS = ("temperature", "max_tokens", "method", "max_train_instances")


def is_helm(found: Mapping[str, Any]) -> bool:
    """Whether a JSON object holds the requests of a run of HELM."""
    return isinstance(found.get("adapter_spec"), dict) and isinstance(found.get("request_states"), list)


def read(path: Path, found: Mapping[str, Any]) -> Iterator[Sample]:
    """Yield the replies of ``scenario_state.json``; trials, and several replies to one request, are runs."""
    spec, verdicts = mapping(found["adapter_spec"]), _verdicts(path.with_name(_SCORES))
    stem = path.name.partition(".json")[0]
    named = path.resolve().parent.name if stem == "scenario_state" else stem
    task = _MODEL.sub("", named).strip(",:") or "helm"
    settings = {name: spec[name] for name in _SETTINGS if spec.get(name) is not None}
    for state in objects(found["request_states"]):
        instance, result = mapping(state.get("instance")), mapping(state.get("result"))
        name, trial = str(instance.get("id")), record.whole(state.get("train_trial_index")) or 0
        model = str(mapping(state.get("request")).get("model") or spec.get("model") or "")
        replies, why = objects(result.get("completions")), None
        if instance.get("perturbation"):
            why = "asks a question that HELM had changed (a perturbation)"
        elif state.get("reference_index") is not None:
            why = "is the likelihood of one option, no reply"
        elif not result.get("success", True) or not replies:
            why = f"was not answered: {str(result.get('error') or 'no completion')[:80]}"
        if why is not None:
            yield record.nothing(name, task, model, why, trial + 1)
            continue
        question, right = _question(state, instance), verdicts.get((name, trial))
        for place, each in enumerate(replies):
            yield Sample(
                name, task, model, _completion(each, result, model), question=question, settings=settings,
                run=trial * len(replies) + place + 1, right=right if len(replies) == 1 else None,
            )  # fmt: skip


def _question(state: Mapping[str, Any], instance: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the columns of a question: with options where their letters were asked for, else as HELM scored it."""
    references, asked = objects(instance.get("references")), _text(instance.get("input"))
    right = [place for place, each in enumerate(references) if "correct" in listed(each.get("tags"))]
    texts = [_text(each.get("output")) or "" for each in references]
    named = mapping(state.get("output_mapping"))
    options = list(map(str, named.values()))
    lettered = tuple(named) == tuple(LETTERS[: len(named)]) and options == texts[: len(options)]
    if lettered and len(right) == 1 and right[0] < len(options):
        return record.choice_cells(asked, options, right[0])
    return record.question_cells(asked, None, [texts[place] for place in right], read=not named)


def _text(value: Any) -> str | None:
    """Return the text of an input or an output; the first releases wrote it alone."""
    found = value.get("text") if isinstance(value, dict) else value
    return found if isinstance(found, str) else None


def _completion(reply: Mapping[str, Any], result: Mapping[str, Any], model: str) -> Completion:
    at, reason = (
        record.amount(result.get("request_datetime")),
        mapping(reply.get("finish_reason")).get("reason"),
    )
    entries: list[dict[str, Any]] = [
        {"token": each.get("text"), "logprob": each.get("logprob"), "top_logprobs": [
            {"token": token, "logprob": value} for token, value in mapping(each.get("top_logprobs")).items()
        ]}
        for each in objects(reply.get("tokens"))
    ]  # fmt: skip
    # without alternatives the provider gives none: HELM writes 0 then
    known = any(len(each["top_logprobs"]) > 1 for each in entries)
    return Completion(
        Status.OK, str(reply.get("text") or ""), model_reported=model or None, reasoning_text=_text(reply.get("thinking")),
        latency_s=record.amount(result.get("request_time")) or 0.0, finish_reason=str(reason) if reason else None,
        logprobs=record.tokens_of(entries) if known else (),
        started_at=datetime.fromtimestamp(at, UTC) if at is not None and at < 4e9 else None,
    )  # fmt: skip


def _verdicts(path: Path) -> dict[tuple[str, int], bool]:
    """Return what HELM says of the reply to each question in each trial, as it was asked."""
    found: dict[tuple[str, int], bool] = {}
    known = path.is_file() and path.stat().st_size <= _LARGEST
    for row in objects(record.parsed(path.read_bytes(), str(path))) if known else ():
        stats = [(mapping(each.get("name")), each.get("mean")) for each in objects(row.get("stats"))]
        means = {str(name.get("name")): mean for name, mean in stats if not name.get("perturbation")}
        right = next((record.verdict(means[each]) for each in _METRICS if each in means), None)
        if right is not None and not row.get("perturbation"):
            found[str(row.get("instance_id")), record.whole(row.get("train_trial_index")) or 0] = right
    return found
