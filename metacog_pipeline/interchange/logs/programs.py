"""Results of programs, a function for each: Every Eval Ever, promptfoo, oaieval, OpenCompass, lm-eval, lighteval, HELM."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from metacog_pipeline.errors import one_line
from metacog_pipeline.files import canonical_json
from metacog_pipeline.interchange import record
from metacog_pipeline.interchange.answer_cells import only
from metacog_pipeline.interchange.question import LETTERS
from metacog_pipeline.interchange.question_rows import option_columns
from metacog_pipeline.interchange.record import OK, Row, Sample, at, listed, mapping, objects, question_cells
from metacog_pipeline.llm.wire import values


# --- Every Eval Ever: a line for each item -----------------------------------------------------------------------------
def every_eval(path: Path, rows: Iterator[Row]) -> Iterator[Sample]:
    """Yield the results; several of one item by one model are its runs."""
    counted = Counter[tuple[str, ...]]()
    for row in rows:
        place = tuple(str(row.get(each) or "") for each in ("sample_id", "evaluation_name", "model_id"))
        counted[place] += 1
        made = Sample(place[0], place[1] or path.stem, place[2], run=counted[place])
        asked, error = mapping(row.get("input")), row.get("error")
        made.said = replace(OK, usage=record.usage(row.get("token_usage")))
        made.question = question_cells(asked.get("raw"), asked.get("choices"), asked.get("reference"))
        made.right = record.scored(mapping(row.get("evaluation")), ("is_correct",))
        several = row.get("interaction_type") not in (None, "single_turn")
        why = "takes several turns" if several else "has no reply"
        why = f"ended with an error: {str(error)[:80]}" if error else why
        yield from record.runs(made, None if error or several else at(row, "output", "raw"), why)


# --- promptfoo: a test asked again of the same provider is a run more --------------------------------------------------
def promptfoo(path: Path, rows: Iterator[Row]) -> Iterator[Sample]:
    """Yield the results of ``promptfoo eval -o``."""
    counted, every = Counter[tuple[str, str]](), list(rows)
    pairs = {(repr(row.get("provider")), repr(row.get("promptIdx"))) for row in every}
    # prompts of one model that are compared ask different things of the same variables
    compared = len({model for model, _ in pairs}) < len(pairs)
    for row in every:
        provider, said = row.get("provider"), mapping(row.get("response"))
        model = str(at(provider, "label") or at(provider, "id") or provider or "")
        name = f"{row.get('promptIdx')}.{row.get('testIdx')}"
        counted[model, name] += 1
        made = Sample(name, record.task_of(path), model, run=counted[model, name])
        asked, asserted = record.last_asked(at(row, "prompt", "raw")), objects(at(row, "testCase", "assert"))
        # beside another variable no name makes one the question: an input is to be translated to a language
        stem, context = record.asked_in(asked, {} if compared else mapping(row.get("vars")), names=())
        expected = [each.get("value") for each in asserted]
        made.question = question_cells(stem, None, expected, read=False, context=context)
        # a test without assertions always passes
        judged = asserted or at(row, "gradingResult", "componentResults")
        made.right = record.scored(row, ("success",)) if judged else None
        made.said = replace(OK, usage=record.usage(said.get("tokenUsage"), ("prompt", "completion")))
        error, text = row.get("error") or said.get("error") or "no output", said.get("output")
        text = text if isinstance(text, str | None) else canonical_json(text)
        yield from record.runs(made, text, f"was not answered: {one_line(str(error), 80)}")


# --- oaieval of OpenAI Evals: an event a line, several of them about one question --------------------------------------
def oaieval(path: Path, rows: Iterator[Row]) -> Iterator[Sample]:
    """Yield the replies; several to one question are runs, which the log does not score one by one."""
    spec, asked = dict[str, Any](), dict[str, dict[str, Any]]()
    for row in rows:
        if at(row, "spec", "eval_name"):
            spec = row["spec"]
        elif row.get("sample_id") is not None:  # of each kind the first: a judge is asked later
            events = asked.setdefault(str(row["sample_id"]), {})
            events.setdefault(str(row.get("type")), mapping(row.get("data")))
    named = next(iter(listed(spec.get("completion_fns"))), spec.get("model_name"))
    for name, events in asked.items():
        said, match, error = (events.get(each, {}) for each in ("sampling", "match", "error"))
        # a judge, or one of several accepted answers, has metrics
        right = record.scored({**events.get("metrics", {}), **match}, ("correct", "score", "accuracy"))
        made = Sample(name, str(spec.get("eval_name") or path.stem), str(named or ""), right=right)
        prompt = record.last_asked(said.get("prompt"))
        made.question = question_cells(prompt, None, match.get("expected"), read=right is None)
        why = str(error.get("message") or error.get("type") or "nothing was sampled")[:80]
        yield from record.runs(made, said.get("sampled"), f"was not answered: {why}")


# --- OpenCompass: an entry for each item, by number --------------------------------------------------------------------
def opencompass(path: Path, rows: Mapping[str, Row]) -> Iterator[Sample]:
    """Yield the entries; several predictions of one are runs."""
    model, task = path.resolve().parent.name, record.task_of(path)
    for name, row in rows.items():
        answers = listed(row.get("gold", row.get("answer", row.get("references"))))
        made = Sample(name, task, model, right=record.scored(row, ("correct",)))
        prompt = record.last_asked(row.get("origin_prompt", row.get("prompt")))
        made.question = record.keyed(prompt, [], answers, read=bool(answers) and made.right is None)
        lacks = "has no prediction (likelihoods of options are no replies)"
        yield from record.runs(made, row.get("prediction", row.get("pred")), lacks)


# --- lm-eval, both generations: an item a line, with its text under ``doc`` and its replies under ``resps`` ------------
_OF_TEXTS = {"perplexity", "word_perplexity", "byte_perplexity", "bits_per_byte"}  # there is no reply


def lm_eval(path: Path, rows: Iterator[Row]) -> Iterator[Sample]:
    """Yield the samples; a reply that several filters read is in several lines and is one answer."""
    # samples do not say their model
    task, model = record.task_of(path), path.resolve().parent.name.replace("__", "/")
    seen: dict[str, Any] = {}
    for row in rows:
        made, replies = Sample(str(row.get("doc_id")), task, model), row.get("resps")
        first = seen.setdefault(made.name, replies)
        if first is not replies and first == replies:
            yield replace(made, why="is the same reply, read by another filter", same=True)
        else:
            yield from _lm_eval_line(row, made)


def _lm_eval_line(row: Row, made: Sample) -> Iterator[Sample]:
    """Yield a weighed choice, or each reply of a line; the line's metric is of all of them."""
    known = [row[each] for each in record.METRICS if each in row]
    made.right = record.scored(row, (*record.METRICS, *map(str, listed(row.get("metrics")))))
    # of each request context and continuation, in either of the two ways
    pairs = [[*map(record.last_asked, listed(each))] for each in listed(row.get("arguments"))]
    replies = [only(each) for each in listed(row.get("resps"))]
    likely = [each for each in map(_likelihood, replies) if each is not None]
    if _OF_TEXTS & {*row} or (likely and len(replies) == 1):
        made.why = "is the likelihood of a given text, no reply"
    elif not likely:
        made.question = _lm_eval_question(row, pairs, 0, read=bool(known))
        yield from record.runs(made, next(iter(replies), None))
        return
    elif (said := record.weighed(likely) if len(likely) == len(replies) else None) is None:
        made.why = "has a log-likelihood that is no number"
    elif any(isinstance(each, float) and not each.is_integer() for each in known):
        made.why = "several of its options are right in part (acc is no 0 or 1)"
    else:
        made.said, made.question = said, _lm_eval_question(row, pairs, len(likely))
        made.why = None if mapping(made.question).get("kind") == "choice" else "its options are unknown"
    yield made


def _likelihood(reply: Any) -> float | None:
    # in the place of a reply, with whether the text was the likeliest
    try:
        likely, greedy = reply
        return float(likely) if str(greedy) in ("True", "False") else None
    except (TypeError, ValueError):
        return None


def _lm_eval_question(row: Row, pairs: Sequence[Sequence[str]], n: int, *, read: bool = True) -> Row | None:
    """Return the question of a written reply, or of ``n`` options that were weighed: a choice where these are known."""
    doc, prompt = mapping(row.get("doc")), next((each[0] for each in pairs if each), "")
    options = _doc_options(doc)
    text, context = record.asked_in(prompt, doc, options)
    keys = [str(each) for each in listed(row.get("target")) if each is not None]
    if n == 0:
        return record.keyed(text, options, keys, read=read, context=context)
    continued = [each[1].strip() for each in pairs if len(each) > 1]
    # letters, or ends of two contexts (WinoGrande), stand for options of the item, or of the prompt
    stands = all(len(each) == 1 for each in continued)
    ways = [(text, options), record.with_options(prompt), (prompt if stands else text, continued)]
    if sorted(options) == sorted(continued):
        ways.reverse()  # the key counts in the order in which they were weighed
    text, options = next((each for each in ways if len(each[1]) == n), ("", []))
    places = [int(each) if each in map(str, range(n)) else each for each in keys]
    return record.keyed(text, options, places, context=context)


def _doc_options(doc: Row) -> list[str]:
    # HellaSwag has endings, COPA choice1, others a list, a list below text, or texts by letter
    found = at(doc, "choices", "text") or doc.get("choices") or doc.get("options") or doc.get("endings")
    columns = option_columns(list(doc)).values()
    return [*map(str, listed(found) if isinstance(found, dict | list) else [doc[each] for each in columns])]


# --- lighteval, both generations: a Parquet file with a row for each item ----------------------------------------------
def lighteval(path: Path, rows: Iterator[Row]) -> Iterator[Sample]:
    """Yield the rows of details; several replies to one prompt are runs."""
    folder, task = path.resolve().parent, record.task_of(path)
    model = folder.as_posix().partition("/details/")[2].rpartition("/")[0] or folder.name
    for number, row in enumerate(rows):
        doc = mapping(row.get("doc")) or {**row, "query": row.get("full_prompt")}
        said = mapping(row.get("model_response")) or {"text": row.get("predictions")}
        right = record.scored(mapping(row.get("metric") or row.get("metrics")))
        query, options = record.last_asked(doc.get("query")), [*map(str, listed(doc.get("choices")))]
        golds = listed(doc.get("gold_index", doc.get("gold")))
        known = [each for each in golds if isinstance(each, int) and 0 <= each < len(options)]
        # where the choices are bare letters their texts are in the prompt
        own = [] if len(record.with_options(query)[1]) == len(options) else options
        made = Sample(str(doc.get("id") or number), task, model, right=right)
        made.question = record.keyed(query, own, known, read=right is not None)
        replies = listed(said.get("text"))
        likely = [next(iter(listed(each)), each) for each in listed(said.get("logprobs"))]
        numbers = len(likely) == len(options) > 1 and all(isinstance(each, float) for each in likely)
        if numbers and not any(replies) and (chosen := record.weighed(likely)) is not None:
            made.said, replies = chosen, [chosen.text]
        yield from record.runs(made, replies)


# --- HELM: ``scenario_state.json``, and the file of scores in the same folder ------------------------------------------
_MODEL = re.compile(r"(?:(?<=[:,])|\A)model(?:_deployment)?=[^,]*,?")


def helm(path: Path, found: Row) -> Iterator[Sample]:
    """Yield the replies of ``scenario_state.json``; trials, and several replies to one request, are runs."""
    verdicts = _verdicts(path.with_name("per_instance_stats.json"))
    task = _MODEL.sub("", path.resolve().parent.name).strip(",:") or "helm"
    for state in objects(found["request_states"]):
        instance, result = mapping(state.get("instance")), mapping(state.get("result"))
        name, trial = str(instance.get("id")), values.count_at(state, "train_trial_index") or 0
        model = str(at(state, "request", "model") or found["adapter_spec"].get("model") or "")
        made = Sample(name, task, model, run=trial + 1, right=verdicts.get((name, trial)))
        made.question = _asked(state, instance)
        replies = [str(each.get("text") or "") for each in objects(result.get("completions"))]
        why = f"was not answered: {str(result.get('error') or 'no completion')[:80]}"
        if instance.get("perturbation"):
            replies, why = [], "asks a question that HELM had changed (a perturbation)"
        elif state.get("reference_index") is not None:
            replies, why = [], "is the likelihood of one option, no reply"
        yield from record.runs(made, replies if result.get("success", True) else [], why)


def _asked(state: Row, instance: Row) -> Row | None:
    # the first releases wrote texts alone, later ones objects
    asked = record.last_asked(at(instance, "input", "text") or instance.get("input"))
    right = [each for each in objects(instance.get("references")) if "correct" in listed(each.get("tags"))]
    texts = [str(at(each, "output", "text") or each.get("output") or "") for each in right]
    # options were shown only where HELM maps their letters to texts
    named = mapping(state.get("output_mapping"))
    if named and LETTERS.startswith("".join(named)):
        return record.keyed(asked, [*map(str, named.values())], texts, read=False)
    return question_cells(asked, None, texts, read=not named)


def _verdicts(path: Path) -> dict[tuple[str, int], bool]:
    # of questions as they were asked: HELM scores perturbed ones in the same file
    found: dict[tuple[str, int], bool] = {}
    for row in objects(record.parsed(path.read_bytes(), path)) if path.is_file() else ():
        stats = [(mapping(each.get("name")), each.get("mean")) for each in objects(row.get("stats"))]
        means = {str(name.get("name")): mean for name, mean in stats if not name.get("perturbation")}
        right = record.scored(means)
        if right is not None and not row.get("perturbation"):
            found[str(row.get("instance_id")), values.count_at(row, "train_trial_index") or 0] = right
    return found
