"""HELM: the requests of a run (``scenario_state.json``), with the scores beside it (``per_instance_stats.json``)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from metacog_pipeline.interchange import record
from metacog_pipeline.interchange.question import LETTERS
from metacog_pipeline.interchange.record import Sample
from metacog_pipeline.llm.types import Completion, Status, TokenLogprob

SCORES = "per_instance_stats.json"
_LARGEST = 512 * 2**20  # bytes of the scores that are read
_MODEL = re.compile(r"(?:(?<=[:,])|\A)model(?:_deployment)?=[^,]*,?")
#: Scores of one reply that are 0 or 1, the first that is there.
_METRICS = (
    "exact_match", "quasi_exact_match", "final_number_exact_match", "math_equiv_chain_of_thought", "math_equiv",
    "chain_of_thought_correctness",
)  # fmt: skip
_SETTINGS = ("temperature", "max_tokens", "method", "max_train_instances")
Verdicts = dict[tuple[str, int], bool]


def is_state(found: Mapping[str, Any]) -> bool:
    """Whether a JSON object holds the requests of a run."""
    return isinstance(found.get("adapter_spec"), dict) and isinstance(found.get("request_states"), list)


def read(path: Path, found: Mapping[str, Any]) -> Iterator[Sample]:
    """Yield the replies; trials, and several replies to one request, are runs."""
    spec, verdicts = record.mapping(found["adapter_spec"]), _verdicts(path.with_name(SCORES))
    stem = path.name.partition(".json")[0]
    told = path.resolve().parent.name if stem == "scenario_state" else stem
    task = _MODEL.sub("", told).strip(",:") or "helm"
    settings = {name: spec[name] for name in _SETTINGS if spec.get(name) is not None}
    for state in record.objects(found["request_states"]):
        yield from _samples(state, task, str(spec.get("model") or ""), settings, verdicts)


def _samples(
    state: Mapping[str, Any], task: str, model: str, settings: Mapping[str, Any], verdicts: Verdicts
) -> Iterator[Sample]:
    instance, result = record.mapping(state.get("instance")), record.mapping(state.get("result"))
    name, trial = str(instance.get("id")), record.whole(state.get("train_trial_index")) or 0
    model = str(record.mapping(state.get("request")).get("model") or model)
    replies = record.objects(result.get("completions"))
    why = None
    if instance.get("perturbation"):
        why = "asks a question that HELM had changed (a perturbation)"
    elif state.get("reference_index") is not None:
        why = "is the likelihood of one option, no reply"
    elif not result.get("success", True) or not replies:
        why = f"was not answered: {str(result.get('error') or 'no completion')[:80]}"
    if why is not None:
        yield record.nothing(name, task, model, why, trial + 1)
        return
    question = _question(state, instance)
    for place, each in enumerate(replies):
        yield Sample(
            name, task, model, _completion(each, result, model), question=question, settings=settings,
            run=trial * len(replies) + place + 1, right=verdicts.get((name, trial)) if len(replies) == 1 else None,
        )  # fmt: skip


def _question(state: Mapping[str, Any], instance: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the columns of a question: with options where their letters were asked for, else as HELM scored it."""
    references = record.objects(instance.get("references"))
    tags = [each.get("tags") for each in references]
    right = [place for place, each in enumerate(tags) if isinstance(each, list) and "correct" in each]
    texts = [_text(each.get("output")) or "" for each in references]
    named = record.mapping(state.get("output_mapping"))
    options = list(map(str, named.values()))
    lettered = tuple(named) == tuple(LETTERS[: len(named)]) and options == texts[: len(options)]
    if lettered and len(right) == 1 and right[0] < len(options):
        answers = [record.lettered(LETTERS[right[0]], options)]
        return record.question_cells(_text(instance.get("input")), options, answers, read=True)
    answers = [texts[place] for place in right]
    return record.question_cells(_text(instance.get("input")), None, answers, read=not named)


def _text(value: Any) -> str | None:
    """Return the text of an input or an output; the first releases wrote it alone."""
    found = value.get("text") if isinstance(value, dict) else value
    return found if isinstance(found, str) else None


def _completion(reply: Mapping[str, Any], result: Mapping[str, Any], model: str) -> Completion:
    at = record.amount(result.get("request_datetime"))
    reason = record.mapping(reply.get("finish_reason")).get("reason")
    return Completion(
        Status.OK, str(reply.get("text") or ""), model_reported=model or None, logprobs=_tokens(reply.get("tokens")),
        latency_s=record.amount(result.get("request_time")) or 0.0, finish_reason=str(reason) if reason else None,
        reasoning_text=_text(reply.get("thinking")),
        started_at=datetime.fromtimestamp(at, UTC) if at is not None and at < 4e9 else None,
    )  # fmt: skip


def _tokens(tokens: Any) -> tuple[TokenLogprob, ...]:
    """Return log-probabilities where alternatives stand beside them: of providers that give none HELM writes 0."""
    entries, most = [], 0
    for each in record.objects(tokens):
        others = record.mapping(each.get("top_logprobs"))
        most = max(most, len(others))
        listed = [{"token": token, "logprob": value} for token, value in others.items()]
        entries.append({"token": each.get("text"), "logprob": each.get("logprob"), "top_logprobs": listed})
    return record.tokens_of(entries) if most > 1 else ()


def _verdicts(path: Path) -> Verdicts:
    """Return what HELM says of the reply to each question in each trial, as it was asked."""
    if not path.is_file() or path.stat().st_size > _LARGEST:
        return {}
    rows = record.parsed(path.read_bytes(), str(path))
    found: Verdicts = {}
    for row in record.objects(rows):
        means = {}
        for stat in record.objects(row.get("stats")):
            name = record.mapping(stat.get("name"))
            if not name.get("perturbation"):
                means[str(name.get("name"))] = stat.get("mean")
        right = next((record.verdict(means[each]) for each in _METRICS if each in means), None)
        if right is not None and not row.get("perturbation"):
            found[str(row.get("instance_id")), record.whole(row.get("train_trial_index")) or 0] = right
    return found
