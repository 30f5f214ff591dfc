"""Results of programs whose form is small: Every Eval Ever, promptfoo, oaieval, OpenCompass, lighteval."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from metacog_pipeline.errors import one_line
from metacog_pipeline.files import canonical_json, sha256_hex
from metacog_pipeline.interchange import record
from metacog_pipeline.interchange.question import LETTERS
from metacog_pipeline.interchange.question_rows import CONTEXT
from metacog_pipeline.interchange.record import OK, Sample, listed, mapping, objects
from metacog_pipeline.llm.types import Completion, Status, Usage


# --- Every Eval Ever: a line for each item -----------------------------------------------------------------------------
def is_every_eval(row: Mapping[str, Any]) -> bool:
    """Whether a line is a result of one item."""
    return {"evaluation_id", "sample_id", "evaluation"} <= set(row)


def every_eval(path: Path, rows: Iterator[dict[str, Any]]) -> Iterator[Sample]:
    """Yield the results; several of one item by one model are its runs."""
    counted = Counter[tuple[str, ...]]()
    for row in rows:
        place = tuple(str(row.get(each) or "") for each in ("sample_id", "evaluation_name", "model_id"))
        counted[place] += 1
        yield _result(row, Sample(place[0], place[1] or path.stem, place[2], OK, run=counted[place]))


def _result(row: Mapping[str, Any], made: Sample) -> Sample:
    parts = ("input", "output", "evaluation", "token_usage", "performance")
    asked, said, scored, usage, took = (mapping(row.get(each)) for each in parts)
    if row.get("error"):
        return replace(made, why=f"ended with an error: {str(row['error'])[:80]}")
    raw = said.get("raw")
    turns = [each.get("content") for each in objects(row.get("messages")) if each.get("role") == "assistant"]
    texts = [raw[0] if isinstance(raw, list) and raw else raw, *turns[-1:]]
    text = next((each for each in texts if isinstance(each, str)), None)
    if text is None:
        return replace(made, why="has no reply")
    counts = ("input_tokens", "output_tokens", "reasoning_tokens", "input_tokens_cache_read")
    completion = Completion(
        Status.OK, text, model_reported=made.model or None, usage=Usage(*(record.whole(usage.get(n)) for n in counts)),
        latency_s=(record.amount(took.get("latency_ms")) or 0.0) / 1000,
    )  # fmt: skip
    single, answers = row.get("interaction_type") in (None, "single_turn"), asked.get("reference")
    answers = answers if isinstance(answers, list) else [answers]
    return replace(
        made, said=completion, right=record.verdict(scored.get("is_correct")),
        question=record.question_cells(asked.get("raw"), asked.get("choices"), answers, read=True),
        settings={"evaluation_id": str(row.get("evaluation_id"))}, unscored=None if single else "takes several turns",
    )  # fmt: skip


# --- promptfoo: a test asked again of the same provider is a run more --------------------------------------------------
def is_promptfoo(row: Mapping[str, Any]) -> bool:
    """Whether an object is the result of one test."""
    return {"promptIdx", "provider", "vars"} <= set(row) and ("response" in row or "error" in row)


def of_promptfoo(found: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """Return the results of a file of promptfoo; None where it is of another program."""
    inner = found.get("results")
    rows = objects(inner.get("results") if isinstance(inner, dict) else inner)
    return rows if rows and is_promptfoo(rows[0]) else None


def promptfoo(path: Path, rows: Iterable[dict[str, Any]], config: Any = None) -> Iterator[Sample]:
    """Yield the results of ``promptfoo eval -o``.

    The variables that a prompt shows are the question, since prompts may differ from model to model; where several prompts
    of one model are compared it is the prompt.
    """
    task = one_line(str(mapping(config).get("description") or path.name.partition(".json")[0]), 80)
    every, counted, prompts = list(rows), Counter[tuple[str, str]](), dict[str, set[str]]()
    for row in every:
        prompts.setdefault(str(row.get("provider")), set()).add(str(row.get("promptIdx")))
    by_variable = all(len(each) == 1 for each in prompts.values())
    for row in every:
        provider, raw, test = row.get("provider"), mapping(row.get("prompt")).get("raw"), row.get("testIdx")
        said = provider.get("label") or provider.get("id") if isinstance(provider, dict) else provider
        name = f"{row.get('promptIdx')}.{test}" if test is not None else sha256_hex(str(raw))[:12]
        model, asked = str(said or ""), record.last_asked(raw) or ""
        counted[model, name] += 1
        variables = mapping(row.get("vars")).items() if by_variable else ()
        texts = {str(n).casefold(): each for n, each in variables if isinstance(each, str) and each.strip()}
        shown = {each: text for each, text in texts.items() if text in asked}
        passages = [shown.pop(each) for each in list(shown) if each in CONTEXT]
        stem, context = (*shown.values(), "\n\n".join(passages)) if len(shown) == 1 else (asked, "")
        yield _test(row, Sample(name, task, model, OK, run=counted[model, name]), stem, context)


def _test(row: Mapping[str, Any], made: Sample, stem: str, context: str) -> Sample:
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


# --- oaieval of OpenAI Evals: an event a line, several of them about one question --------------------------------------
def is_oaieval(row: Mapping[str, Any]) -> bool:
    """Whether a line opens what ``oaieval`` records."""
    return "eval_name" in mapping(row.get("spec"))


def oaieval(path: Path, rows: Iterator[dict[str, Any]]) -> Iterator[Sample]:
    """Yield the replies; several to one question are runs, which the log does not score one by one."""
    spec: dict[str, Any] = {}
    asked: dict[str, dict[str, dict[str, Any]]] = {}
    for row in rows:
        if is_oaieval(row):
            spec = row["spec"]
        elif row.get("sample_id") is not None:  # of each kind the first: a judge is asked later
            asked.setdefault(str(row["sample_id"]), {}).setdefault(str(row.get("type")), row)
    named = spec.get("completion_fns") or [spec.get("model_name") or ""]
    model, task = str(named[0] if isinstance(named, list) else named), str(spec.get("eval_name") or path.stem)
    config = mapping(spec.get("run_config"))
    settings = {"seed": config["seed"]} if "seed" in config else {}
    for name, events in asked.items():
        said, match, metrics, error = (
            mapping(mapping(events.get(each)).get("data"))
            for each in ("sampling", "match", "metrics", "error")
        )
        right = record.verdict(match.get("correct"))
        if right is None:  # of a judge, or of several accepted answers
            right = record.verdict(metrics.get("score", metrics.get("accuracy")))
        expected = match.get("expected")
        answers = expected if isinstance(expected, list) else [expected]
        cells = record.question_cells(
            record.last_asked(said.get("prompt")), None, answers, read=right is None
        )
        at = record.moment(mapping(events.get("sampling")).get("created_at"))
        why = str(error.get("message") or error.get("type") or "nothing was sampled")[:80]
        made = Sample(name, task, model, replace(OK, started_at=at), cells, right=right, settings=settings)
        yield from record.runs(made, said.get("sampled"), f"was not answered: {why}")


# --- OpenCompass: an entry for each item, by number --------------------------------------------------------------------
def of_opencompass(found: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the entries of a file of predictions or of details by number; None where it is of another program."""
    inner = found.get("details") if isinstance(found.get("details"), dict) else found
    rows = {name: each for name, each in inner.items() if str(name).isdecimal()} if inner else {}
    first = next(iter(rows.values()), None)
    asks = isinstance(first, dict) and isinstance(first.get("origin_prompt", first.get("prompt")), str | list)
    return rows if asks and len(rows) >= len(inner or ()) - 1 else None


def opencompass(path: Path, rows: Mapping[str, Any]) -> Iterator[Sample]:
    """Yield the entries; several predictions of one are runs."""
    model, task = path.resolve().parent.name, path.name.partition(".json")[0]
    for name, row in ((str(name), mapping(each)) for name, each in rows.items()):
        right = record.verdict(row.get("correct"))
        prompt = record.last_asked(row.get("origin_prompt", row.get("prompt")))
        gold = row.get("gold", row.get("answer", row.get("references")))
        answers = [each for each in (gold if isinstance(gold, list) else [gold]) if each is not None]
        shown = record.asked_with_options(prompt or "")
        letter = str(answers[0]).strip("() .") if len(answers) == 1 else ""
        if shown is not None and letter and letter in LETTERS[: len(shown[1])]:
            cells = record.question_cells(*shown, [letter], read=True)
        else:
            cells = record.question_cells(prompt, None, answers, read=bool(answers) and right is None)
        lacks = "has no prediction (likelihoods of options are no replies)"
        made = Sample(name, task, model, OK, cells, right=right)
        yield from record.runs(made, row.get("prediction", row.get("pred")), lacks)


# --- lighteval, both generations: a Parquet file with a row for each item ----------------------------------------------
_DETAILS = re.compile(r"details_(?P<task>.+?)(?:_\d{4}(?:-\d\d-\d\dT[\d.:-]+)?)?$")
#: Scores of one reply that are 0 or 1, the first that is there.
_METRICS = (
    "extractive_match", "em", "exact_match", "acc", "loglikelihood_acc", "quasi_exact_match", "pem", "qem",
)  # fmt: skip


def is_lighteval(names: Iterable[str]) -> bool:
    """Whether a Parquet file has the columns of either generation of lighteval's details."""
    return {"doc", "model_response"} <= {*names} or {"full_prompt", "predictions", "choices"} <= {*names}


def lighteval(path: Path, rows: Iterator[Mapping[str, Any]]) -> Iterator[Sample]:
    """Yield the rows of details; several replies to one prompt are runs."""
    named, folders = _DETAILS.match(path.stem), path.resolve().parts
    at = folders.index("details") + 1 if "details" in folders else len(folders)
    model, task = "/".join(folders[at:-2]) or folders[-2], named["task"] if named else path.stem
    for number, row in enumerate(rows):
        doc = mapping(row.get("doc")) or {**row, "query": row.get("full_prompt")}
        said = mapping(row.get("model_response")) or {"text": row.get("predictions")}
        scores = mapping(row.get("metric") or row.get("metrics"))
        right = next((record.verdict(scores[each]) for each in _METRICS if each in scores), None)
        likely = [each[0] if listed(each) else each for each in listed(said.get("logprobs"))]
        replies = [each for each in listed(said.get("text")) if isinstance(each, str)]
        made = Sample(
            str(doc.get("id") or number), task, model, OK, _doc(doc, read=right is not None), right=right
        )
        weighed = len(likely) == len(listed(doc.get("choices"))) > 1
        if weighed and not any(replies) and all(isinstance(each, float) for each in likely):
            yield replace(made, said=record.weighed(likely))
        else:
            yield from record.runs(made, replies)


def _doc(doc: Mapping[str, Any], *, read: bool) -> dict[str, Any] | None:
    """Return the question; where the choices are bare letters their texts are in the prompt."""
    query, choices = record.last_asked(doc.get("query")), [str(each) for each in listed(doc.get("choices"))]
    gold = doc.get("gold_index", doc.get("gold"))
    whole = [record.whole(each) for each in (gold if isinstance(gold, list) else [gold])]
    places = [each for each in whole if each is not None and each < len(choices)]
    shown = record.asked_with_options(query or "")
    if shown is not None and len(shown[1]) == len(choices):
        query, choices = shown
    if len(places) == 1 and 1 < len(choices) <= len(LETTERS):
        return record.choice_cells(query, choices, places[0])
    return record.question_cells(query, None, [choices[each].strip() for each in places], read=read)
