"""Samples of lm-eval, both generations: one JSON object a line, the item under ``doc``, the replies under ``resps``."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from metacog_pipeline.files import canonical_json
from metacog_pipeline.interchange import record
from metacog_pipeline.interchange.columns import only
from metacog_pipeline.interchange.question import LETTERS
from metacog_pipeline.interchange.question_rows import CONTEXT, option_columns, solved
from metacog_pipeline.interchange.record import Sample, listed, mapping

_NAME = re.compile(r"samples_(?P<task>.+?)(?:_(?P<date>\d{4}-\d\d-\d\dT[\d.:-]+))?$")
_METRICS = ("acc", "exact_match", "em", "contains")
_WEIGHED = {
    "perplexity",
    "word_perplexity",
    "byte_perplexity",
    "bits_per_byte",
}  # of a text: there is no reply
_STEMS = ("question", "query", "input", "problem", "prompt", "goal", "sent1", "ctx", "instruction", "stem")
_KEYS = (
    "answer",
    "target",
    "gold",
    "solution",
    "explanation",
    "label",
    "id",
    "answerkey",
)  # never what is asked
_LONG = 40  # characters of a field of the item from which it is a passage where the prompt shows it
_LARGEST = 64 * 2**20  # bytes of a file of results that is read for the model's name


def read(path: Path, rows: Iterator[dict[str, Any]]) -> Iterator[Sample]:
    """Yield the samples; a reply that several filters read is in several lines and is one answer."""
    named = _NAME.match(path.name.removesuffix(".gz").removesuffix(".jsonl"))
    task = named["task"] if named else path.stem
    model, first = _model(path, task), dict[str, str]()
    for row in rows:
        made, written = Sample(str(row.get("doc_id")), task, model), canonical_json(row.get("resps"))
        if first.get(made.name) == written:
            yield replace(made, why="is the same reply, read by another filter", same=True)
        else:
            first.setdefault(made.name, written)
            yield from _samples(row, made)


def _model(path: Path, task: str) -> str:
    # samples name no model: the results in the same folder do, else its name
    for results in sorted(path.parent.glob("results*.json"), reverse=True)[:20]:
        small = results.stat().st_size <= _LARGEST
        found = mapping(record.parsed(results.read_bytes(), str(results))) if small else {}
        config = mapping(found.get("config"))
        if config and task in (found.get("configs") or {task: 0}):
            named = re.sub(r".*pretrained=|,.*", "", str(config.get("model_args") or ""))
            return str(found.get("model_name") or named)
    return path.resolve().parent.name.replace("__", "/")


def _samples(row: Mapping[str, Any], made: Sample) -> Iterator[Sample]:
    """Yield a weighed choice, or each reply of a line; the line's metric is of all of them."""
    replies, likely = row.get("resps"), _likelihoods(row.get("resps"))
    made.right = record.scored(row, [each for each in _METRICS if each in row] or listed(row.get("metrics")))
    requests = row.get("arguments")  # of each request context and continuation, in either of the two ways
    requests = requests.values() if isinstance(requests, dict) else listed(requests)
    pairs = [[*each.values()] if isinstance(each, dict) else listed(each) for each in requests]
    asked = [(str(each[0]), each[1] if isinstance(each[1], str) else "") for each in pairs if len(each) > 1]
    innermost = replies
    while isinstance(innermost, list) and innermost:
        innermost = innermost[0]
    # likelihoods are in the place of a reply, each with whether its text was the likeliest
    said = [only(each) for each in listed(replies)]
    flags = {str(each[1]) if isinstance(each, list) and len(each) == 2 else "" for each in said}
    weighed = bool(said) and flags <= {"True", "False"}
    if likely:
        made.said, made.question = record.weighed(likely), _choice(row, asked, len(likely))
        if any(isinstance(part := row.get(each), float) and not part.is_integer() for each in _METRICS):
            made.why = "several of its options are right in part (acc is no 0 or 1)"
        elif made.question is None:
            made.why = "its options are unknown"
    elif (weighed and len(said) == 1) or _WEIGHED & {*row}:
        made.why = "is the likelihood of a given text, no reply"
    elif weighed or not isinstance(innermost, str):
        made.why = "has a log-likelihood that is no number" if weighed else "has no reply"
    else:
        made.question = _open(row, asked)
        inner = replies[0] if isinstance(replies, list) and len(replies) == 1 else None
        several = isinstance(inner, list) and all(isinstance(each, str) for each in inner)
        yield from record.runs(made, inner if several else innermost)
        return
    yield made


# --- the question -----------------------------------------------------------------------------------------------------
def _open(row: Mapping[str, Any], asked: Sequence[tuple[str, str]]) -> dict[str, Any] | None:
    """Return the question of a written reply, with its options where the right answer is one of them."""
    doc, target, prompt = mapping(row.get("doc")), row.get("target"), asked[0][0] if asked else ""
    short = [solved(each) for each in (target if isinstance(target, list) else [target])]
    text, options = _stem(doc, prompt), _options(doc)
    below = record.asked_with_options(text) if not options else None
    if below is not None and all(_gold(each, below[1]) is not None for each in short):
        text, options = below  # as those of BIG-bench end in their options
    known = options if options and all(_gold(each, options) is not None for each in short) else None
    read_here = any(each in row for each in _METRICS)
    return record.question_cells(text, known, short, read=read_here, context=_context(doc, text, prompt))


def _choice(row: Mapping[str, Any], asked: Sequence[tuple[str, str]], n: int) -> dict[str, Any] | None:
    """Return the question of options that were weighed; None where it is not known which there are."""
    doc, prompt = mapping(row.get("doc")), asked[0][0] if asked else ""
    text, options = _stem(doc, prompt), [continued.strip() for _, continued in asked] or [*map(str, range(n))]
    gold = _gold(row.get("target"), options, by_place=True)
    if gold is None or n != len(options) or n > len(LETTERS):
        return None
    if all(len(each) == 1 for each in options):  # letters of options that the item has, or the prompt alone
        there, shown = _options(doc), record.asked_with_options(prompt)
        if len(there) == n:
            options = there
        elif shown is not None and len(shown[1]) == n:
            text, options = shown
        else:
            text = prompt or text
    return record.question_cells(text, options, [], context=_context(doc, text, prompt), place=gold)


def _stem(doc: Mapping[str, Any], prompt: str) -> str | None:
    # as the item has it, since prompts differ from model to model; the prompt where it has none
    texts = {str(n).casefold(): each for n, each in doc.items() if isinstance(each, str) and each.strip()}
    known = next((texts[name] for name in _STEMS if name in texts), None)
    options = {each.strip() for each in _options(doc)}
    # a field of another name is the question where it is the longest text of the item that the prompt shows
    asked = (each for name, each in texts.items() if name not in (*CONTEXT, *_KEYS))
    shown = [each for each in asked if each.strip() in prompt and each.strip() not in options]
    return known or max(shown, key=len, default=None) or prompt or None


def _context(doc: Mapping[str, Any], stem: str | None, prompt: str) -> str:
    # a field that the prompt shows is part of what was asked, one that it does not show is none
    used, found = {str(each).strip() for each in (stem, *_options(doc))}, []
    for name, value in doc.items():
        text, plain = value.strip() if isinstance(value, str) else "", str(name).casefold()
        passage = plain in CONTEXT or (len(text) >= _LONG and plain not in _KEYS)
        if text and passage and text not in used and text in prompt and text not in str(stem):
            found.append(text)
    return "\n\n".join(found)


def _options(doc: Mapping[str, Any]) -> list[str]:
    # COPA has choice1, HellaSwag endings, others a list or a list below text
    found = doc.get("choices") or doc.get("options") or doc.get("endings")
    found = found.get("text") if isinstance(found, dict) else found
    found = found or [doc[each] for each in option_columns(list(doc)).values()]
    return [*map(str, listed(found))]


def _gold(target: Any, options: Sequence[str], by_place: bool = False) -> int | None:
    """Return the place of a right answer among options, by place, text or letter."""
    text = str(target).strip()
    if by_place and text.isdecimal() and int(text[:4]) < len(options):
        return int(text[:4])
    plain = [each.strip().casefold() for each in options]
    if plain.count(text.casefold()) == 1:
        return plain.index(text.casefold())
    letter = text.strip("().")
    return LETTERS.index(letter) if len(letter) == 1 and letter in LETTERS[: len(options)] else None


def _likelihoods(replies: Any) -> list[float]:
    """Return the log-likelihood of each option, some of which may be minus infinity; empty where replies are texts."""
    found: list[float] = []
    for each in listed(replies):
        while isinstance(each, list) and each and isinstance(each[0], list):
            each = each[0]
        try:
            likely, _ = each
            found.append(float(likely))
        except (TypeError, ValueError):
            return []
    known = any(map(math.isfinite, found)) and all(each < math.inf for each in found)  # NaN is not
    return found if len(found) > 1 and known else []
