"""What a reply says: one row with the confidence of each claim in each step. Total: any text can be read."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from dataclasses import make_dataclass
from typing import Annotated, Any, NamedTuple

import polars as pl

from metacog_pipeline.benchmark import contract
from metacog_pipeline.benchmarks.medley.items import CLAIM_IDS, STEPS, Instance
from metacog_pipeline.benchmarks.medley.records import (
    claim_confidence,
    confidence_number,
    is_error,
    parse_reply,
)
from metacog_pipeline.reading import rows
from metacog_pipeline.reading.calls import AGAIN, Calls, ended

FORM = 'one JSON object with "claim_level_assessments", a rating for each of the claims'
UNPARSED = "answer_unparsed"
Confidence = Annotated[
    float | None, "confidence in the claim under the reference map, 0..1; null where not rated"
]
RATED = {letter: [f"{letter}_{claim.lower()}" for claim in CLAIM_IDS] for letter in "aps"}
#: One instance under one condition: what each step rates. ``status`` is that of the first step, in the order of asking,
#: that is not ``ok``.
Response: type = make_dataclass(
    "Response",
    [
        ("domain", str),
        ("is_known_answer", bool),
        ("failed_step", Annotated[str | None, "the first step that is not ok"]),
        *((f"status_{step}", str) for step in STEPS),
        *((name, Confidence) for names in RATED.values() for name in names),
        ("overall_confidence", Annotated[float | None, "confidence in the whole assessment of step A, 0..1"]),
        ("reply_step_a", Annotated[str | None, "the parsed reply as JSON, error objects included"]),
        ("reply_b_private", str | None),
        ("reply_b_social", str | None),
        ("status", str, "not_run"),
        ("reason", str | None, None),
    ],
    bases=(contract.Response,),
    namespace={"__doc__": "The typed reading of one instance's three replies under one condition."},
)


class _Reading(NamedTuple):
    """What one step says: the parsed reply as JSON, and numbers of the reference map."""

    status: str
    reason: str | None = None
    reply: str | None = None
    confidences: tuple[float | None, ...] = (None,) * len(CLAIM_IDS)
    overall: float | None = None


def parse(item: Instance, calls: Calls) -> Any:
    """Return the reading of one instance's calls."""
    read: dict[str, _Reading] = {}
    columns: dict[str, Any] = {"domain": item.domain, "is_known_answer": item.is_known_answer}
    for step, names in zip(STEPS, RATED.values(), strict=True):
        cut = ended(calls.get(step))
        read[step] = _reading(item, reply_text(calls, step)) if cut is None else _Reading(*cut)
        columns |= dict(zip(names, read[step].confidences, strict=True))
        columns |= {f"status_{step}": read[step].status, f"reply_{step}": read[step].reply}
    failed = next((step for step, reading in read.items() if reading.status != "ok"), None)
    worst, overall = read[failed or STEPS[0]], read[STEPS[0]].overall
    columns |= {"status": worst.status, "reason": worst.reason, "failed_step": failed}
    return Response(**columns, overall_confidence=overall)


@functools.lru_cache(maxsize=1024)  # an answer that counts under several conditions is read once
def _reading(item: Instance, text: str) -> _Reading:
    reply = parse_reply(text)
    try:
        kept = json.dumps(reply)
    except RecursionError:  # nested too deeply to be written
        kept = json.dumps({"_parse_error": True, "_raw": text})
    stated = reply.get("overall_confidence")
    overall = None if stated is None else confidence_number(stated)
    texts = {claim.claim_id: claim.claim_text for claim in item.claims}
    rated = tuple(claim_confidence(reply, claim, texts.get(claim, "")) for claim in CLAIM_IDS)
    why = None if any(value is not None for value in rated) else "rates none of C1 to C5"
    if is_error(reply):
        why = "holds no JSON object" if text.strip() else "is empty"
    if why is not None:
        return _Reading(UNPARSED, f"the reply {why}", kept, overall=overall)
    return _Reading("ok", None, kept, rated, overall)


def blanks_marked(responses: pl.DataFrame) -> pl.DataFrame:
    """Return responses in which an imported row that leaves a step blank counts as unreadable, not as not asked yet."""
    blank = [pl.col(f"status_{step}") == "not_run" for step in STEPS]
    left = (pl.col("source") == "imported") & pl.any_horizontal(blank) & ~pl.all_horizontal(blank)
    marked = pl.when(left & (pl.col("status") == "not_run"))
    return responses.with_columns(
        reason=marked.then(pl.format("{} was left blank", "failed_step")).otherwise("reason"),
        status=marked.then(pl.lit(UNPARSED)).otherwise("status"),
    )


def reply_text(calls: Calls, step: str) -> str:
    """Return the reply to a step that counts: the first, or that to the second ask where the first holds no object."""
    first, second = calls[step].text, calls.get(step + AGAIN)
    if second is None or ended(second) is not None or not is_error(parse_reply(first)):
        return first
    return second.text


def again(item: Instance, calls: Calls) -> list[tuple[str, str]]:
    """Return the steps to ask once more, with the form to ask for."""
    read = parse(item, calls)
    return [(step, FORM) for step in STEPS if step in calls and getattr(read, f"status_{step}") == UNPARSED]


def read_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """Read one row of ``metacog read``: the rating of each claim, as text and as a number from 0 to 1, by step."""
    calls = rows.calls_of(row, STEPS, STEPS[0])
    step = next(each for each in reversed(STEPS) if each in calls)
    if ended(calls[step]) is not None:
        return rows.unread("truncated", fields=None)
    reply = parse_reply(reply_text(calls, step))
    rated = {} if is_error(reply) else {claim: claim_confidence(reply, claim) for claim in CLAIM_IDS}
    fields = {claim: value for claim, value in rated.items() if value is not None}
    return rows.unread("ok" if fields else "no_answer", fields=fields or None, step=step)
