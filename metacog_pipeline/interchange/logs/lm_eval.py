"""Samples of lm-eval, both generations: one JSON object a line, the item under ``doc``, the replies under ``resps``."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from metacog_pipeline.errors import StudyError
from metacog_pipeline.files import canonical_json
from metacog_pipeline.interchange import record
from metacog_pipeline.interchange.import_cells import only
from metacog_pipeline.interchange.question import LETTERS
from metacog_pipeline.interchange.question_rows import CONTEXT, option_columns, solved
from metacog_pipeline.interchange.record import Sample, listed, mapping
from metacog_pipeline.llm.types import Completion, Status, TokenLogprob

_NAME = re.compile(r"samples_(?P<task>.+?)(?:_(?P<date>\d{4}-\d\d-\d\dT[\d.:-]+))?$")
_METRICS = ("acc", "exact_match", "em", "contains")
#: Metrics of tasks that weigh a text and have no reply.
_WEIGHED = ("perplexity", "word_perplexity", "byte_perplexity", "bits_per_byte")
_STEMS = ("question", "query", "input", "problem", "prompt", "goal", "sent1", "ctx", "instruction", "stem")
#: Fields that are never what is asked.
_KEYS = ("answer", "target", "gold", "solution", "explanation", "label", "id", "answerkey")
_LONG = 40  # characters of a field of the item from which it is a passage where the prompt shows it
_LARGEST = 64 * 2**20  # bytes of a file of results that is read for the model's name


def is_row(row: Mapping[str, Any]) -> bool:
    """Whether a line is a sample of lm-eval."""
    return {"doc_id", "doc", "resps"} <= set(row)


def read(path: Path, rows: Iterator[dict[str, Any]]) -> Iterator[Sample]:
    """Yield the samples; a reply that several filters read is in several lines and is one answer.

    Of several replies to one request each is a run; the line's metric is of all of them.
    """
    named = _NAME.match(path.name.removesuffix(".gz").removesuffix(".jsonl"))
    task = named["task"] if named else path.stem
    model, settings = _about(path, task)
    first: dict[str, str] = {}
    for row in rows:
        name, replies = str(row.get("doc_id")), row.get("resps")
        written = canonical_json(replies)
        if first.get(name) == written:
            yield record.nothing(name, task, model, "is the same reply, read by another filter", same=True)
            continue
        first.setdefault(name, written)
        inner = replies[0] if isinstance(replies, list) and len(replies) == 1 else None
        several = isinstance(inner, list) and len(inner) > 1 and all(isinstance(each, str) for each in inner)
        for run, each in enumerate(inner if several and inner else [None], start=1):
            made = _sample({**row, "resps": [[each]]} if several else row, task, model, settings)
            if several:
                made.run, made.right = run, None
            yield made


def _about(path: Path, task: str) -> tuple[str, dict[str, Any]]:
    """Return the model and its settings from the results in the same folder, else the name of the folder."""
    for results in sorted(path.parent.glob("results*.json"), reverse=True)[:20]:
        if results.stat().st_size > _LARGEST:
            continue
        found = mapping(record.parsed(results.read_bytes(), str(results)))
        config = found.get("config")
        if not isinstance(config, dict) or task not in (found.get("configs") or {task: 0}):
            continue
        named = re.sub(r".*pretrained=|,.*", "", str(config.get("model_args") or ""))
        settings = {
            "temperature": mapping(config.get("gen_kwargs")).get("temperature"),
            "seed": config.get("random_seed"),
            "created": str(found.get("date") or ""),
        }
        known = {key: value for key, value in settings.items() if value is not None}
        return str(found.get("model_name") or named), known
    return path.resolve().parent.name.replace("__", "/"), {}


def _sample(row: Mapping[str, Any], task: str, model: str, settings: Mapping[str, Any]) -> Sample:
    name, doc, asked = str(row.get("doc_id")), mapping(row.get("doc")), _requests(row.get("arguments"))
    replies, target, prompt = row.get("resps"), row.get("target"), asked[0][0] if asked else ""
    other = [each for each in listed(row.get("metrics")) if isinstance(each, str)]
    metrics = [each for each in _METRICS if each in row] or other
    right = next((record.verdict(row[each]) for each in metrics if each in row), None)
    likely, why, cells = _likelihoods(replies), None, None
    if likely:
        said = Completion(Status.OK, LETTERS[likely.index(max(likely))], logprobs=letters(likely))
        cells = _choice(doc, asked, likely, target)
        if any(isinstance(part := row.get(each), float) and not part.is_integer() for each in _METRICS):
            why = "several of its options are right in part (acc is no 0 or 1)"
        elif cells is None:
            why = "its options are unknown"
    else:
        reply = replies
        while isinstance(reply, list) and reply:
            reply = reply[0]
        weighed = _weighed(replies)
        if weighed == 1 or any(each in row for each in _WEIGHED):
            why = "is the likelihood of a given text, no reply"
        elif weighed:
            why = "has a log-likelihood that is no number"
        elif not isinstance(reply, str):
            why = "has no reply"
        said = Completion(Status.OK, str(reply))
        cells = _open(row, doc, prompt, target)
    if why is not None:
        return record.nothing(name, task, model, why)
    return Sample(name, task, model, said, cells, right=right, settings=settings)


# --- the question -----------------------------------------------------------------------------------------------------
def _open(row: Mapping[str, Any], doc: Mapping[str, Any], prompt: str, target: Any) -> dict[str, Any] | None:
    """Return the question of a written reply, with its options where the right answer is one of them."""
    short = [solved(each) for each in (target if isinstance(target, list) else [target])]
    text, options = _stem(doc, prompt), _options(doc)
    below = record.asked_with_options(text or "") if options is None else None
    if below is not None and all(_gold(each, below[1]) is not None for each in short):
        text, options = below  # as those of BIG-bench end in their options
    known = (
        options
        if options and all(_gold(each, list(map(str, options))) is not None for each in short)
        else None
    )
    read_here = any(each in row for each in _METRICS)
    return record.question_cells(text, known, short, read=read_here, context=_context(doc, text, prompt))


def _choice(
    doc: Mapping[str, Any], asked: Sequence[tuple[str, str]], likely: Sequence[float], target: Any
) -> dict[str, Any] | None:
    """Return the question of options that were weighed; None where it is not known which there are."""
    prompt = asked[0][0] if asked else ""
    text = _stem(doc, prompt)
    if named := _filled(doc, asked):
        text, options, target = named
    else:
        options = [continued.strip() for _, continued in asked] or [*map(str, range(len(likely)))]
    gold = _gold(target, options, by_place=True)
    if gold is None or len(likely) != len(options) or len(options) > len(LETTERS):
        return None
    if all(len(each) == 1 for each in options):  # letters of options that the item has, or the prompt alone
        there, shown = [str(each) for each in _options(doc) or ()], record.asked_with_options(prompt)
        if len(there) == len(options):
            options = there
        elif shown is not None and len(shown[1]) == len(options):
            text, options = shown
        else:
            text = prompt or text
    answers = [record.lettered(LETTERS[gold], options)]
    return record.question_cells(text, options, answers, read=True, context=_context(doc, text, prompt))


def _stem(doc: Mapping[str, Any], prompt: str) -> str | None:
    """Return the question as the item has it, since prompts differ from model to model; the prompt where it has none.

    A field of another name is the question where it is the longest text of the item that the prompt shows.
    """
    texts = {str(n).casefold(): each for n, each in doc.items() if isinstance(each, str) and each.strip()}
    known = next((texts[name] for name in _STEMS if name in texts), None)
    options = {str(each).strip() for each in _options(doc) or ()}
    asked = (each for name, each in texts.items() if name not in (*CONTEXT, *_KEYS))
    shown = [each for each in asked if each.strip() in prompt and each.strip() not in options]
    return known or max(shown, key=len, default=None) or prompt or None


def _context(doc: Mapping[str, Any], stem: str | None, prompt: str) -> str:
    """Return the passages a question is about: fields of the item that the prompt shows, but for stem and options."""
    used, found = {str(each).strip() for each in (stem, *(_options(doc) or ()))}, []
    for name, value in doc.items():
        text, plain = value.strip() if isinstance(value, str) else "", str(name).casefold()
        passage = plain in CONTEXT or (len(text) >= _LONG and plain not in _KEYS)
        if text and passage and text not in used and text in prompt and text not in str(stem):
            found.append(text)
    return "\n\n".join(found)


def _requests(arguments: Any) -> list[tuple[str, str]]:
    """Return (context, continuation) of each request, in either of the two ways they are written."""
    requests = list(arguments.values()) if isinstance(arguments, dict) else listed(arguments)
    pairs = [list(each.values()) if isinstance(each, dict) else each for each in requests]
    return [
        (str(each[0]), each[1] if isinstance(each[1], str) else "")
        for each in pairs
        if isinstance(each, list) and len(each) > 1
    ]


def _options(doc: Mapping[str, Any]) -> list[Any] | None:
    """Return the options of an item, in a list or in fields of their own such as ``choice1`` or ``ending0``."""
    found = doc.get("choices") or doc.get("options") or doc.get("endings")
    found = found.get("text") if isinstance(found, dict) else found
    found = found or [doc[each] for each in option_columns(list(doc)).values()]
    return found if isinstance(found, list) and found else None


def _filled(doc: Mapping[str, Any], asked: Sequence[tuple[str, str]]) -> tuple[str, list[str], int] | None:
    """Return question, options and the right one of a text with a gap whose end was weighed after each filling."""
    gap, fillings, right = (
        doc.get("sentence"),
        [doc.get("option1"), doc.get("option2")],
        str(doc.get("answer")),
    )
    same = len(asked) == 2 and asked[0][1] == asked[1][1] and asked[0][0] != asked[1][0]
    if not (same and right in ("1", "2") and all(isinstance(each, str) for each in (gap, *fillings))):
        return None
    return str(gap), list(map(str, fillings)), int(right) - 1


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


# --- likelihoods ------------------------------------------------------------------------------------------------------
def _likelihoods(replies: Any) -> list[float]:
    """Return the log-likelihood of each option, some of which may be minus infinity; empty where replies are texts."""
    found: list[float] = []
    for each in listed(replies):
        while isinstance(each, list) and each and isinstance(each[0], list):
            each = each[0]
        if not isinstance(each, list) or len(each) != 2:
            return []
        try:
            found.append(float(each[0]))
        except (TypeError, ValueError):
            return []
    known = any(map(math.isfinite, found)) and all(each < math.inf for each in found)  # NaN is not
    return found if len(found) > 1 and known else []


def _weighed(replies: Any) -> int:
    """Return how many log-likelihoods, each with whether its text was the likeliest, are in the place of replies."""
    pair = only(replies)
    if isinstance(pair, list) and len(pair) == 2 and str(pair[1]) in ("True", "False"):
        return 1
    pairs = [only(each) for each in listed(replies)]
    said = {str(each[1]) if isinstance(each, list) and len(each) == 2 else "" for each in pairs}
    return len(pairs) if pairs and said <= {"True", "False"} else 0


def letters(likely: Sequence[float]) -> tuple[TokenLogprob, ...]:
    """Return the letters with the chances that the log-likelihoods of their options come to; without those of no chance."""
    top = max(likely)
    total = top + math.log(sum(math.exp(each - top) for each in likely))
    logs = tuple(
        (letter, each - total) for letter, each in zip(LETTERS, likely, strict=False) if math.isfinite(each)
    )
    letter, most = max(logs, key=lambda pair: pair[1])
    return (TokenLogprob(letter, most, logs),)


def lines(path: Path, content: bytes) -> Iterator[dict[str, Any]]:
    """Yield the objects of JSON Lines; StudyError with its number for a line that is none."""
    for number, line in enumerate(content.split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            row = None
        if not isinstance(row, dict):
            raise StudyError(
                f"{path}: line {number} is no JSON object; cut off? nothing was kept; copy the file again"
            )
        yield row
