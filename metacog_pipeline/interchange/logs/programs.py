"""Results of programs whose form is small: Every Eval Ever, promptfoo, oaieval, OpenCompass, lighteval, HELM."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from metacog_pipeline.errors import one_line
from metacog_pipeline.files import canonical_json, sha256_hex
from metacog_pipeline.interchange import record
from metacog_pipeline.interchange.question import LETTERS
from metacog_pipeline.interchange.question_rows import CONTEXT
from metacog_pipeline.interchange.record import OK, Sample, at, listed, mapping, objects, question_cells
from metacog_pipeline.llm.types import Completion
from metacog_pipeline.llm.wire import values

_COUNTS = ("input_tokens", "output_tokens", "reasoning_tokens", "input_tokens_cache_read")


# --- Every Eval Ever: a line for each item -----------------------------------------------------------------------------
def every_eval(path: Path, rows: Iterator[dict[str, Any]]) -> Iterator[Sample]:
    """Yield the results; several of one item by one model are its runs."""
    counted = Counter[tuple[str, ...]]()
    for row in rows:
        place = tuple(str(row.get(each) or "") for each in ("sample_id", "evaluation_name", "model_id"))
        counted[place] += 1
        made = Sample(place[0], place[1] or path.stem, place[2], run=counted[place])
        turns = [each for each in objects(row.get("messages")) if each.get("role") == "assistant"]
        raw = at(row, "output", "raw")
        texts = [
            next(iter(raw), None) if isinstance(raw, list) else raw,
            *(each.get("content") for each in turns[-1:]),
        ]
        text = next((each for each in texts if isinstance(each, str)), None)
        if row.get("error") or text is None:
            why = f"ended with an error: {str(row['error'])[:80]}" if row.get("error") else "has no reply"
            yield replace(made, why=why)
            continue
        usage = record.usage(row.get("token_usage"), *_COUNTS)
        made.said = replace(OK, text=text, model_reported=made.model or None, usage=usage)
        asked = mapping(row.get("input"))
        made.question = question_cells(asked.get("raw"), asked.get("choices"), asked.get("reference"))
        made.right = record.verdict(at(row, "evaluation", "is_correct"))
        made.settings = {"evaluation_id": str(row.get("evaluation_id"))}
        single = row.get("interaction_type") in (None, "single_turn")
        yield replace(made, unscored=None if single else "takes several turns")


# --- promptfoo: a test asked again of the same provider is a run more --------------------------------------------------
def promptfoo(path: Path, rows: Iterable[dict[str, Any]], config: Any = None) -> Iterator[Sample]:
    """Yield the results of ``promptfoo eval -o``."""
    task = one_line(str(at(config, "description") or path.name.partition(".json")[0]), 80)
    every, counted, prompts = list(rows), Counter[tuple[str, str]](), dict[str, set[str]]()
    for row in every:
        prompts.setdefault(str(row.get("provider")), set()).add(str(row.get("promptIdx")))
    # The variables that a prompt shows are the question, since prompts may differ from model to model; where several
    # prompts of one model are compared it is the prompt.
    by_variable = all(len(each) == 1 for each in prompts.values())
    for row in every:
        provider, raw, test = row.get("provider"), at(row, "prompt", "raw"), row.get("testIdx")
        said = provider.get("label") or provider.get("id") if isinstance(provider, dict) else provider
        name = f"{row.get('promptIdx')}.{test}" if test is not None else sha256_hex(str(raw))[:12]
        model, asked = str(said or ""), record.last_asked(raw) or ""
        counted[model, name] += 1
        variables = mapping(row.get("vars")).items() if by_variable else ()
        texts = {str(n).casefold(): each for n, each in variables if isinstance(each, str) and each.strip()}
        shown = {each: text for each, text in texts.items() if text in asked}
        passages = [shown.pop(each) for each in list(shown) if each in CONTEXT]
        stem, context = (*shown.values(), "\n\n".join(passages)) if len(shown) == 1 else (asked, "")
        yield _test(row, Sample(name, task, model, run=counted[model, name]), stem, context)


def _test(row: Mapping[str, Any], made: Sample, stem: str, context: str) -> Sample:
    said = mapping(row.get("response"))
    text = said.get("output")
    text = canonical_json(text) if isinstance(text, dict | list) else text
    if not isinstance(text, str):
        why = one_line(str(row.get("error") or said.get("error") or "no output"), 80)
        return replace(made, why=f"was not answered: {why}")
    asserted = objects(at(row, "testCase", "assert"))
    # a test without assertions always passes
    judged = bool(asserted or at(row, "gradingResult", "componentResults"))
    expected = [each["value"] for each in asserted if isinstance(each.get("value"), str | int | float)]
    cost, latency = row.get("cost") or said.get("cost"), (record.amount(row.get("latencyMs")) or 0.0) / 1000
    usage = record.usage(said.get("tokenUsage"), "prompt", "completion")
    return replace(
        made, said=replace(OK, text=text, cost_usd=record.amount(cost), latency_s=latency, usage=usage),
        right=record.verdict(row.get("success")) if judged else None,
        question=question_cells(stem, None, expected, read=False, context=context),
    )  # fmt: skip


# --- oaieval of OpenAI Evals: an event a line, several of them about one question --------------------------------------
def oaieval(path: Path, rows: Iterator[dict[str, Any]]) -> Iterator[Sample]:
    """Yield the replies; several to one question are runs, which the log does not score one by one."""
    spec: dict[str, Any] = {}
    asked: dict[str, dict[str, dict[str, Any]]] = {}
    for row in rows:
        if at(row, "spec", "eval_name"):
            spec = row["spec"]
        elif row.get("sample_id") is not None:  # of each kind the first: a judge is asked later
            asked.setdefault(str(row["sample_id"]), {}).setdefault(str(row.get("type")), row)
    named = spec.get("completion_fns") or [spec.get("model_name") or ""]
    model, task = str(named[0] if isinstance(named, list) else named), str(spec.get("eval_name") or path.stem)
    seed = at(spec, "run_config", "seed")
    for name, events in asked.items():
        said, match, metrics, error = (
            mapping(at(events, each, "data")) for each in ("sampling", "match", "metrics", "error")
        )
        right = record.verdict(match.get("correct"))
        if right is None:  # of a judge, or of several accepted answers
            right = record.verdict(metrics.get("score", metrics.get("accuracy")))
        began = record.moment(at(events, "sampling", "created_at"))
        made = Sample(name, task, model, replace(OK, started_at=began), right=right)
        prompt = record.last_asked(said.get("prompt"))
        made.question = question_cells(prompt, None, match.get("expected"), read=right is None)
        made.settings = {} if seed is None else {"seed": seed}
        why = str(error.get("message") or error.get("type") or "nothing was sampled")[:80]
        yield from record.runs(made, said.get("sampled"), f"was not answered: {why}")


# --- OpenCompass: an entry for each item, by number --------------------------------------------------------------------
def opencompass(path: Path, rows: Mapping[str, dict[str, Any]]) -> Iterator[Sample]:
    """Yield the entries; several predictions of one are runs."""
    model, task = path.resolve().parent.name, path.name.partition(".json")[0]
    for name, row in rows.items():
        prompt = record.last_asked(row.get("origin_prompt", row.get("prompt")))
        gold = row.get("gold", row.get("answer", row.get("references")))
        answers = [each for each in (gold if isinstance(gold, list) else [gold]) if each is not None]
        letter = str(answers[0]).strip("() .") if len(answers) == 1 else ""
        made = Sample(name, task, model, right=record.verdict(row.get("correct")))
        shown = record.asked_with_options(prompt)
        if shown is not None and letter and letter in LETTERS[: len(shown[1])]:
            made.question = question_cells(*shown, letter)
        else:
            made.question = question_cells(prompt, None, answers, read=bool(answers) and made.right is None)
        lacks = "has no prediction (likelihoods of options are no replies)"
        yield from record.runs(made, row.get("prediction", row.get("pred")), lacks)


# --- lighteval, both generations: a Parquet file with a row for each item ----------------------------------------------
_DETAILS = re.compile(r"details_(?P<task>.+?)(?:_\d{4}(?:-\d\d-\d\dT[\d.:-]+)?)?$")
#: Scores of one reply that are 0 or 1, the first that is there.
_LIGHTEVAL = [
    "extractive_match",
    "em",
    "exact_match",
    "acc",
    "loglikelihood_acc",
    "quasi_exact_match",
    "pem",
    "qem",
]


def lighteval(path: Path, rows: Iterator[Mapping[str, Any]]) -> Iterator[Sample]:
    """Yield the rows of details; several replies to one prompt are runs."""
    named, folders = _DETAILS.match(path.stem), path.resolve().parts
    start = folders.index("details") + 1 if "details" in folders else len(folders)
    model, task = "/".join(folders[start:-2]) or folders[-2], named["task"] if named else path.stem
    for number, row in enumerate(rows):
        doc = mapping(row.get("doc")) or {**row, "query": row.get("full_prompt")}
        said = mapping(row.get("model_response")) or {"text": row.get("predictions")}
        right = record.scored(mapping(row.get("metric") or row.get("metrics")), _LIGHTEVAL)
        name, question = str(doc.get("id") or number), _doc(doc, right is not None)
        made = Sample(name, task, model, question=question, right=right)
        likely = [each[0] if listed(each) else each for each in listed(said.get("logprobs"))]
        replies = [each for each in listed(said.get("text")) if isinstance(each, str)]
        weighed = len(likely) == len(listed(doc.get("choices"))) > 1
        if weighed and not any(replies) and all(isinstance(each, float) for each in likely):
            yield replace(made, said=record.weighed(likely))
        else:
            yield from record.runs(made, replies)


def _doc(doc: Mapping[str, Any], read: bool) -> dict[str, Any] | None:
    # where the choices are bare letters their texts are in the prompt
    query, choices = record.last_asked(doc.get("query")), [str(each) for each in listed(doc.get("choices"))]
    gold = doc.get("gold_index", doc.get("gold"))
    whole = [record.whole(each) for each in (gold if isinstance(gold, list) else [gold])]
    places = [each for each in whole if each is not None and each < len(choices)]
    shown = record.asked_with_options(query)
    if shown is not None and len(shown[1]) == len(choices):
        query, choices = shown
    if len(places) == 1 and 1 < len(choices) <= len(LETTERS):
        return question_cells(query, choices, [], place=places[0])
    return question_cells(query, None, [choices[each].strip() for each in places], read=read)


# --- HELM: ``scenario_state.json``, and the file of scores in the same folder ------------------------------------------
_SCORES, _LARGEST = "per_instance_stats.json", 512 * 2**20  # and how many bytes of it are read
_MODEL = re.compile(r"(?:(?<=[:,])|\A)model(?:_deployment)?=[^,]*,?")
_HELM = (
    "exact_match", "quasi_exact_match", "final_number_exact_match", "math_equiv_chain_of_thought", "math_equiv",
    "chain_of_thought_correctness",
)  # fmt: skip
_SETTINGS = ("temperature", "max_tokens", "method", "max_train_instances")


def helm(path: Path, found: Mapping[str, Any]) -> Iterator[Sample]:
    """Yield the replies of ``scenario_state.json``; trials, and several replies to one request, are runs."""
    spec, verdicts = mapping(found["adapter_spec"]), _verdicts(path.with_name(_SCORES))
    stem = path.name.partition(".json")[0]
    named = path.resolve().parent.name if stem == "scenario_state" else stem
    task = _MODEL.sub("", named).strip(",:") or "helm"
    settings = {name: spec[name] for name in _SETTINGS if spec.get(name) is not None}
    for state in objects(found["request_states"]):
        instance, result = mapping(state.get("instance")), mapping(state.get("result"))
        name, trial = str(instance.get("id")), record.whole(state.get("train_trial_index")) or 0
        model = str(at(state, "request", "model") or spec.get("model") or "")
        replies, why = objects(result.get("completions")), None
        if instance.get("perturbation"):
            why = "asks a question that HELM had changed (a perturbation)"
        elif state.get("reference_index") is not None:
            why = "is the likelihood of one option, no reply"
        elif not result.get("success", True) or not replies:
            why = f"was not answered: {str(result.get('error') or 'no completion')[:80]}"
        if why is not None:
            yield Sample(name, task, model, run=trial + 1, why=why)
            continue
        right = verdicts.get((name, trial)) if len(replies) == 1 else None
        made = Sample(name, task, model, question=_asked(state, instance), settings=settings, right=right)
        for run, each in enumerate(replies, start=trial * len(replies) + 1):
            yield replace(made, said=_completion(each, result, model), run=run)


def _asked(state: Mapping[str, Any], instance: Mapping[str, Any]) -> dict[str, Any] | None:
    # options were shown only where HELM maps their letters to texts
    references, asked = objects(instance.get("references")), _text(instance.get("input"))
    right = [place for place, each in enumerate(references) if "correct" in listed(each.get("tags"))]
    texts = [_text(each.get("output")) or "" for each in references]
    named = mapping(state.get("output_mapping"))
    options = list(map(str, named.values()))
    lettered = tuple(named) == tuple(LETTERS[: len(named)]) and options == texts[: len(options)]
    if lettered and len(right) == 1 and right[0] < len(options):
        return question_cells(asked, options, [], place=right[0])
    return question_cells(asked, None, [texts[place] for place in right], read=not named)


def _text(value: Any) -> str | None:
    # the first releases wrote the text alone, later ones an object
    found = value.get("text") if isinstance(value, dict) else value
    return found if isinstance(found, str) else None


def _completion(reply: Mapping[str, Any], result: Mapping[str, Any], model: str) -> Completion:
    tokens: list[Any] = []
    for each in objects(reply.get("tokens")):
        top = [{"token": token, "logprob": n} for token, n in mapping(each.get("top_logprobs")).items()]
        tokens.append({"token": each.get("text"), "logprob": each.get("logprob"), "top_logprobs": top})
    # without alternatives the provider gives none: HELM writes 0 then
    known = any(len(each["top_logprobs"]) > 1 for each in tokens)
    logprobs = values.token_logprobs(tokens) if known else ()
    began = record.amount(result.get("request_datetime"))
    date = datetime.fromtimestamp(began, UTC) if began is not None and began < 4e9 else None
    said = str(reply.get("text") or "")
    return replace(OK, text=said, model_reported=model or None, logprobs=logprobs, started_at=date)


def _verdicts(path: Path) -> dict[tuple[str, int], bool]:
    # of questions as they were asked: HELM scores perturbed ones in the same file
    found: dict[tuple[str, int], bool] = {}
    known = path.is_file() and path.stat().st_size <= _LARGEST
    for row in objects(record.parsed(path.read_bytes(), str(path))) if known else ():
        stats = [(mapping(each.get("name")), each.get("mean")) for each in objects(row.get("stats"))]
        means = {str(name.get("name")): mean for name, mean in stats if not name.get("perturbation")}
        right = record.scored(means, _HELM)
        if right is not None and not row.get("perturbation"):
            found[str(row.get("instance_id")), record.whole(row.get("train_trial_index")) or 0] = right
    return found
