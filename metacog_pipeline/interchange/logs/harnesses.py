"""Files of evaluation harnesses: details of lighteval, runs of HELM, predictions of OpenCompass."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from metacog_pipeline.interchange import record
from metacog_pipeline.interchange.logs.lm_eval import letters
from metacog_pipeline.interchange.question import LETTERS
from metacog_pipeline.interchange.record import Sample, listed, mapping, objects
from metacog_pipeline.llm.types import Completion, Status, TokenLogprob

SCORES = "per_instance_stats.json"
_LARGEST = 512 * 2**20  # bytes of HELM's scores that are read
_DETAILS = re.compile(r"details_(?P<task>.+?)(?:_\d{4}(?:-\d\d-\d\dT[\d.:-]+)?)?$")
_MODEL = re.compile(r"(?:(?<=[:,])|\A)model(?:_deployment)?=[^,]*,?")
#: Scores of one reply that are 0 or 1, the first that is there.
_METRICS_LIGHTEVAL = (
    "extractive_match", "em", "exact_match", "acc", "loglikelihood_acc", "quasi_exact_match", "pem", "qem",
)  # fmt: skip
_METRICS_HELM = (
    "exact_match", "quasi_exact_match", "final_number_exact_match", "math_equiv_chain_of_thought", "math_equiv",
    "chain_of_thought_correctness",
)  # fmt: skip
_SETTINGS = ("temperature", "max_tokens", "method", "max_train_instances")
Verdicts = dict[tuple[str, int], bool]


def _runs(
    sample: Sample, replies: Sequence[str], right: bool | None, lacks: str = "has no reply"
) -> Iterator[Sample]:
    """Yield a sample for each reply to one prompt, as runs; a verdict is of a single reply."""
    if not replies:
        yield record.nothing(sample.name, sample.task, sample.model, lacks)
    for run, text in enumerate(replies, start=1):
        said = Completion(Status.OK, text)
        verdict = right if len(replies) == 1 else None
        yield Sample(sample.name, sample.task, sample.model, said, sample.question, run=run, right=verdict)


# --- lighteval --------------------------------------------------------------------------------------------------------
def is_lighteval(names: Sequence[str]) -> bool:
    """Whether a Parquet file has the columns of either generation of lighteval's details."""
    return {"doc", "model_response"} <= {*names} or {"full_prompt", "predictions", "choices"} <= {*names}


def read_lighteval(path: Path, rows: Iterator[Mapping[str, Any]]) -> Iterator[Sample]:
    """Yield the rows of details; several replies to one prompt are runs."""
    named = _DETAILS.match(path.stem)
    task, folders = named["task"] if named else path.stem, path.resolve().parts
    at = folders.index("details") + 1 if "details" in folders else len(folders)
    model = "/".join(folders[at : len(folders) - 2]) or folders[-2]
    for number, row in enumerate(rows):
        doc = mapping(row.get("doc")) or {**row, "query": row.get("full_prompt")}
        said = mapping(row.get("model_response")) or {"text": row.get("predictions")}
        scores = mapping(row.get("metric") or row.get("metrics"))
        right = next((record.verdict(scores[each]) for each in _METRICS_LIGHTEVAL if each in scores), None)
        likely = [
            each[0] if isinstance(each, list) and each else each for each in listed(said.get("logprobs"))
        ]
        replies = [each for each in listed(said.get("text")) if isinstance(each, str)]
        cells = _lighteval_question(doc, read=right is not None)
        made = Sample(str(doc.get("id") or number), task, model, Completion(Status.OK), cells, right=right)
        weighed = len(likely) == len(listed(doc.get("choices"))) > 1
        if weighed and not any(replies) and all(isinstance(each, float) for each in likely):
            made.said = Completion(Status.OK, LETTERS[likely.index(max(likely))], logprobs=letters(likely))
            yield made
        else:
            yield from _runs(made, replies, right)


def _lighteval_question(doc: Mapping[str, Any], *, read: bool) -> dict[str, Any] | None:
    """Return the question; where the choices are bare letters their texts are in the prompt."""
    query, choices = record.last_asked(doc.get("query")), [str(each) for each in listed(doc.get("choices"))]
    gold = doc.get("gold_index", doc.get("gold"))
    places = [each for each in (gold if isinstance(gold, list) else [gold]) if record.whole(each) is not None]
    shown = record.asked_with_options(query or "")
    if shown is not None and len(shown[1]) == len(choices) and len(places) == 1:
        letter = LETTERS[places[0]] if places[0] < len(choices) else ""
        return record.question_cells(*shown, [record.lettered(letter, shown[1])], read=True)
    answers = [choices[each].strip() for each in places if each < len(choices)]
    options = choices if len(choices) > 1 and len(places) == 1 else None
    if options and answers:
        answers = [record.lettered(LETTERS[places[0]], choices)]
    return record.question_cells(query, options, answers, read=read or bool(options))


# --- OpenCompass ------------------------------------------------------------------------------------------------------
def opencompass_rows(found: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the entries of a file of predictions or of details by number; None where it is of another program."""
    inner = found.get("details") if isinstance(found.get("details"), dict) else found
    rows = {name: each for name, each in inner.items() if str(name).isdecimal()} if inner else {}
    first = next(iter(rows.values()), None)
    asks = isinstance(first, dict) and isinstance(first.get("origin_prompt", first.get("prompt")), str | list)
    return rows if asks and len(rows) >= len(inner or ()) - 1 else None


def read_opencompass(path: Path, rows: Mapping[str, Any]) -> Iterator[Sample]:
    """Yield the entries; several predictions of one are runs."""
    model, task = path.resolve().parent.name, path.name.partition(".json")[0]
    for name, row in rows.items():
        said = mapping(row).get("prediction", mapping(row).get("pred"))
        replies = [each for each in (said if isinstance(said, list) else [said]) if isinstance(each, str)]
        right = record.verdict(mapping(row).get("correct"))
        cells = _opencompass_question(mapping(row), judged=right is not None)
        made = Sample(str(name), task, model, Completion(Status.OK), cells)
        yield from _runs(made, replies, right, "has no prediction (likelihoods of options are no replies)")


def _opencompass_question(row: Mapping[str, Any], *, judged: bool) -> dict[str, Any] | None:
    prompt = record.last_asked(row.get("origin_prompt", row.get("prompt"))) or ""
    gold = row.get("gold", row.get("answer", row.get("references")))
    answers = [each for each in (gold if isinstance(gold, list) else [gold]) if each is not None]
    shown = record.asked_with_options(prompt)
    letter = str(answers[0]).strip("() .") if len(answers) == 1 else ""
    if shown is not None and letter and letter in LETTERS[: len(shown[1])]:
        return record.question_cells(*shown, [letter], read=True)
    return record.question_cells(prompt, None, answers, read=bool(answers) and not judged)


# --- HELM -------------------------------------------------------------------------------------------------------------
def is_helm(found: Mapping[str, Any]) -> bool:
    """Whether a JSON object holds the requests of a run of HELM."""
    return isinstance(found.get("adapter_spec"), dict) and isinstance(found.get("request_states"), list)


def read_helm(path: Path, found: Mapping[str, Any]) -> Iterator[Sample]:
    """Yield the replies of ``scenario_state.json``; trials, and several replies to one request, are runs."""
    spec, verdicts = mapping(found["adapter_spec"]), _helm_verdicts(path.with_name(SCORES))
    stem = path.name.partition(".json")[0]
    told = path.resolve().parent.name if stem == "scenario_state" else stem
    task = _MODEL.sub("", told).strip(",:") or "helm"
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
        question, right = _helm_question(state, instance), verdicts.get((name, trial))
        for place, each in enumerate(replies):
            yield Sample(
                name, task, model, _helm_completion(each, result, model), question=question, settings=settings,
                run=trial * len(replies) + place + 1, right=right if len(replies) == 1 else None,
            )  # fmt: skip


def _helm_question(state: Mapping[str, Any], instance: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the columns of a question: with options where their letters were asked for, else as HELM scored it."""
    references, asked = objects(instance.get("references")), _text(instance.get("input"))
    right = [place for place, each in enumerate(references) if "correct" in listed(each.get("tags"))]
    texts = [_text(each.get("output")) or "" for each in references]
    named = mapping(state.get("output_mapping"))
    options = list(map(str, named.values()))
    lettered = tuple(named) == tuple(LETTERS[: len(named)]) and options == texts[: len(options)]
    if lettered and len(right) == 1 and right[0] < len(options):
        return record.question_cells(asked, options, [record.lettered(LETTERS[right[0]], options)], read=True)
    return record.question_cells(asked, None, [texts[place] for place in right], read=not named)


def _text(value: Any) -> str | None:
    """Return the text of an input or an output; the first releases wrote it alone."""
    found = value.get("text") if isinstance(value, dict) else value
    return found if isinstance(found, str) else None


def _helm_completion(reply: Mapping[str, Any], result: Mapping[str, Any], model: str) -> Completion:
    at, reason = (
        record.amount(result.get("request_datetime")),
        mapping(reply.get("finish_reason")).get("reason"),
    )
    return Completion(
        Status.OK, str(reply.get("text") or ""), model_reported=model or None, logprobs=_tokens(reply.get("tokens")),
        latency_s=record.amount(result.get("request_time")) or 0.0, finish_reason=str(reason) if reason else None,
        reasoning_text=_text(reply.get("thinking")),
        started_at=datetime.fromtimestamp(at, UTC) if at is not None and at < 4e9 else None,
    )  # fmt: skip


def _tokens(tokens: Any) -> tuple[TokenLogprob, ...]:
    """Return log-probabilities that have alternatives: of providers that give none HELM writes 0."""
    entries, most = [], 0
    for each in objects(tokens):
        others = mapping(each.get("top_logprobs"))
        most = max(most, len(others))
        top = [{"token": token, "logprob": value} for token, value in others.items()]
        entries.append({"token": each.get("text"), "logprob": each.get("logprob"), "top_logprobs": top})
    return record.tokens_of(entries) if most > 1 else ()


def _helm_verdicts(path: Path) -> Verdicts:
    """Return what HELM says of the reply to each question in each trial, as it was asked."""
    found: Verdicts = {}
    known = path.is_file() and path.stat().st_size <= _LARGEST
    for row in objects(record.parsed(path.read_bytes(), str(path))) if known else ():
        stats = [(mapping(each.get("name")), each.get("mean")) for each in objects(row.get("stats"))]
        means = {str(name.get("name")): mean for name, mean in stats if not name.get("perturbation")}
        right = next((record.verdict(means[each]) for each in _METRICS_HELM if each in means), None)
        if right is not None and not row.get("perturbation"):
            found[str(row.get("instance_id")), record.whole(row.get("train_trial_index")) or 0] = right
    return found
