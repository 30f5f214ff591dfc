"""Samples of lm-eval, both generations: one JSON object a line, the item under ``doc``, the replies under ``resps``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from metacog_pipeline.files import canonical_json
from metacog_pipeline.interchange import record
from metacog_pipeline.interchange.answer_cells import only
from metacog_pipeline.interchange.question import LETTERS
from metacog_pipeline.interchange.question_rows import option_columns
from metacog_pipeline.interchange.record import Sample, listed, mapping

_DATE = re.compile(r"_\d{4}-\d\d-\d\dT[\d.:-]+$")
_METRICS = ("acc", "exact_match", "em", "contains")
_OF_TEXTS = {"perplexity", "word_perplexity", "byte_perplexity", "bits_per_byte"}  # there is no reply


def read(path: Path, rows: Iterator[Mapping[str, Any]]) -> Iterator[Sample]:
    """Yield the samples; a reply that several filters read is in several lines and is one answer."""
    task = _DATE.sub("", path.name.partition(".json")[0]).removeprefix("samples_")
    model = path.resolve().parent.name.replace("__", "/")  # samples do not say it
    first: dict[str, str] = {}
    for row in rows:
        made, written = Sample(str(row.get("doc_id")), task, model), canonical_json(row.get("resps"))
        if first.get(made.name) == written:
            yield replace(made, why="is the same reply, read by another filter", same=True)
        else:
            first.setdefault(made.name, written)
            yield from _samples(row, made)


def _samples(row: Mapping[str, Any], made: Sample) -> Iterator[Sample]:
    """Yield a weighed choice, or each reply of a line; the line's metric is of all of them."""
    known = [each for each in _METRICS if each in row]
    made.right = record.scored(row, known or map(str, listed(row.get("metrics"))))
    requests = row.get("arguments")  # of each request context and continuation, in either of the two ways
    requests = requests.values() if isinstance(requests, dict) else listed(requests)
    pairs = [[*each.values()] if isinstance(each, dict) else listed(each) for each in requests]
    prompt = record.last_asked(pairs[0][0]) if pairs and pairs[0] else ""
    replies = [only(each) for each in listed(row.get("resps"))]
    likely = [each for each in map(_likelihood, replies) if each is not None]
    if _OF_TEXTS & {*row} or (likely and len(replies) == 1):
        made.why = "is the likelihood of a given text, no reply"
    elif not likely:
        made.question = _question(row, prompt, read=bool(known))
        yield from record.runs(made, next(iter(replies), None))
        return
    elif (said := record.weighed(likely) if len(likely) == len(replies) else None) is None:
        made.why = "has a log-likelihood that is no number"
    elif any(isinstance(part := row.get(each), float) and not part.is_integer() for each in _METRICS):
        made.why = "several of its options are right in part (acc is no 0 or 1)"
    else:
        continued = [str(each[1]).strip() for each in pairs if len(each) > 1]
        made.said, made.question = said, _question(row, prompt, continued, len(likely))
        made.why = "its options are unknown" if made.question is None else None
    yield made


def _likelihood(reply: Any) -> float | None:
    # in the place of a reply, with whether the text was the likeliest
    try:
        likely, greedy = reply
        return float(likely) if str(greedy) in ("True", "False") else None
    except (TypeError, ValueError):
        return None


def _question(
    row: Mapping[str, Any], prompt: str, options: Sequence[str] = (), n: int = 0, *, read: bool = True
) -> dict[str, Any] | None:
    """Return the question of a written reply, or of ``n`` options that were weighed; None where these are unknown."""
    doc, target = mapping(row.get("doc")), row.get("target")
    own = _options(doc)
    text, context = record.asked_in(prompt, doc, own)
    keys = [str(each) for each in (target if isinstance(target, list) else [target]) if each is not None]
    if n == 0:
        return record.keyed(text, own, keys, read=read, context=context)
    options, key = options or own, keys[0] if len(keys) == 1 else ""
    gold = record.place_of(int(key) if key in map(str, range(n)) else key, options)
    if gold is None or not n == len(options) <= len(LETTERS):
        return None
    # letters, or ends of two contexts (WinoGrande), of options that the item has, or the prompt alone
    if all(len(each) == 1 for each in options) or len({*options}) < n:
        stem, shown = (text, own) if len(own) == n else record.with_options(prompt)
        text, options = (stem, shown) if len(shown) == n else (prompt or text, options)
    return record.keyed(text, options, [gold], context=context)


def _options(doc: Mapping[str, Any]) -> list[str]:
    # COPA has choice1, HellaSwag endings, others a list or a list below text
    found = doc.get("choices") or doc.get("options") or doc.get("endings")
    found = found.get("text") if isinstance(found, dict) else found
    return [*map(str, listed(found))] or [str(doc[each]) for each in option_columns(list(doc)).values()]
