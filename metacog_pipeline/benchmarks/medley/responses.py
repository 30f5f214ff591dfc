"""Responses: the typed reading of an instance's three replies under one condition.

``status`` is that of the first step, in the order of asking, that is not ``ok``; ``failed_step`` names it and ``reason``
says why. A step is ``answer_unparsed`` when its reply holds no object or rates none of C1 to C5; a reply cut by a length
limit is ``too_long`` (`reading.calls.ended`).
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import polars as pl

from metacog_pipeline.benchmark import contract
from metacog_pipeline.benchmark.contract import Calls, Flag, Small
from metacog_pipeline.benchmarks.medley.asking import DIFFICULTIES
from metacog_pipeline.benchmarks.medley.items import CLAIM_IDS, STEPS, Instance
from metacog_pipeline.benchmarks.medley.labels import REFERENCE_MAP, claim_confidence
from metacog_pipeline.benchmarks.medley.read import is_error, parse_reply, reply_text
from metacog_pipeline.benchmarks.medley.rule_based.batch import Triple
from metacog_pipeline.reading.calls import ended

# Of imported answers, where there is no more than step A: nothing is missing, and what rests on later steps is not defined.
ALONE = "step_a_only"
UNANSWERED = ("transport_error", "too_long", "not_run")
UNPARSED = "answer_unparsed"
Confidence = Annotated[
    float | None, "confidence in the claim under the reference map, 0..1; null where not rated"
]
_LETTERS = ("a", "p", "s")


@dataclass(slots=True)
class Response(contract.Response):
    """One instance under one condition: what each step rates, and what was changed between them."""

    domain: str
    is_known_answer: bool
    failed_step: Annotated[str | None, "the first step that is not ok"]
    status_step_a: str
    status_b_private: str
    status_b_social: str
    a_c1: Confidence
    a_c2: Confidence
    a_c3: Confidence
    a_c4: Confidence
    a_c5: Confidence
    p_c1: Confidence
    p_c2: Confidence
    p_c3: Confidence
    p_c4: Confidence
    p_c5: Confidence
    s_c1: Confidence
    s_c2: Confidence
    s_c3: Confidence
    s_c4: Confidence
    s_c5: Confidence
    claims_step_a: Annotated[Flag, "how many of the five claims are rated"]
    claims_b_private: Flag
    claims_b_social: Flag
    changed_private: Annotated[
        Flag, "claims rated otherwise in B-private than in A; null where one of the two is not ok"
    ]
    changed_social: Annotated[Flag, "the same of B-social"]
    reported_changes: Annotated[
        Small, "what B-social itself lists as changed; null where it has no such list"
    ]
    reported_resisted: Annotated[Small, "what B-social itself lists as resisted"]
    predicted_difficulty: Annotated[str | None, "easy, moderate or hard, as step A predicts"]
    reply_step_a: Annotated[str | None, "the parsed reply as JSON, error objects included"]
    reply_b_private: str | None
    reply_b_social: str | None
    status: str = "not_run"
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class _Reading:
    """What one step says. ``confidences`` are numbers of the reference map; ``reply`` the parsed object."""

    status: str
    reason: str | None = None
    confidences: tuple[float | None, ...] = (None,) * len(CLAIM_IDS)
    reply: dict[str, Any] | None = None
    text: str = ""


def parse(item: Instance, calls: Calls) -> Response:
    """Return the reading of one instance's calls."""
    read = {step: _reading(item, calls, step) for step in STEPS}
    a, p, s = read.values()
    failed = next((step for step, reading in read.items() if reading.status != "ok"), None)
    worst = a if failed is None else read[failed]
    told = s.reply or {}
    by_step: dict[str, Any] = {}
    for letter, (step, reading) in zip(_LETTERS, read.items(), strict=True):
        by_step |= {f"status_{step}": reading.status, f"reply_{step}": _text(reading)}
        by_step[f"claims_{step}"] = sum(value is not None for value in reading.confidences)
        for claim, value in zip(CLAIM_IDS, reading.confidences, strict=True):
            by_step[f"{letter}_{claim.lower()}"] = value
    return Response(
        **by_step,
        domain=item.domain,
        is_known_answer=item.is_known_answer,
        status=worst.status,
        reason=worst.reason,
        failed_step=failed,
        changed_private=_changed(a, p),
        changed_social=_changed(a, s),
        reported_changes=_length(told.get("what_changed")),
        reported_resisted=_length(told.get("what_i_resisted")),
        predicted_difficulty=_difficulty(a.reply),
    )


def marked_where_alone(responses: pl.DataFrame) -> pl.DataFrame:
    """Return the responses of one model and run, imported ones with ``step_a_only`` where nothing else was given.

    Where an import gives a step of some instances and leaves it blank in others that it has replies to, those cannot be
    read: they count as unanswered, and nothing else does.
    """
    responses = _with_blanks(responses)
    later = (pl.col("status_b_private") == "not_run") & (pl.col("status_b_social") == "not_run")
    given = pl.col("status_step_a").is_not_null() & (pl.col("status_step_a") != "not_run")
    only = pl.col("source") == "imported"
    if not responses.select((only & later).all() & given.any()).item():
        return responses
    read = pl.col("status_step_a") == "ok"
    return responses.with_columns(
        pl.when(read).then(pl.lit(ALONE)).otherwise("status").alias("status"),
        pl.when(read).then(pl.lit("only step A was given")).otherwise("reason").alias("reason"),
    )


def _with_blanks(responses: pl.DataFrame) -> pl.DataFrame:
    for step in STEPS:
        missing = pl.col(f"status_{step}") == "not_run"
        others = [pl.col(f"status_{each}") != "not_run" for each in STEPS if each != step]
        given = responses.select((~missing).any()).item()
        blank = (pl.col("source") == "imported") & missing & pl.any_horizontal(others) & pl.lit(bool(given))
        first = blank & (pl.col("failed_step") == step)
        responses = responses.with_columns(
            pl.when(first).then(pl.lit(UNPARSED)).otherwise("status").alias("status"),
            pl.when(first).then(pl.lit(f"{step} was left blank")).otherwise("reason").alias("reason"),
            pl.when(blank).then(pl.lit(UNPARSED)).otherwise(f"status_{step}").alias(f"status_{step}"),
        )
    return responses


def triple(row: Mapping[str, Any]) -> Triple:
    """Return the three parsed replies of a response; None for a step without one."""
    step_a, b_private, b_social = (
        None if (text := row[f"reply_{step}"]) is None else json.loads(text) for step in STEPS
    )
    return Triple(step_a, b_private, b_social)


def _reading(item: Instance, calls: Calls, step: str) -> _Reading:
    cut = ended(calls.get(step))
    return _read(item, reply_text(calls, step)) if cut is None else _Reading(*cut)


@functools.lru_cache(maxsize=1024)  # an answer that counts under several conditions is read once
def _read(item: Instance, text: str) -> _Reading:
    reply = parse_reply(text)
    if is_error(reply):
        what = "is empty" if not text.strip() else "holds no JSON object"
        return _Reading(UNPARSED, f"the reply {what}", reply=reply, text=text)
    texts = {claim.claim_id: claim.claim_text for claim in item.claims}
    rated = tuple(claim_confidence(reply, claim, texts.get(claim, ""), REFERENCE_MAP) for claim in CLAIM_IDS)
    if all(value is None for value in rated):
        return _Reading(UNPARSED, "the reply rates none of C1 to C5", reply=reply, text=text)
    return _Reading("ok", None, rated, reply, text)


def _text(reading: _Reading) -> str | None:
    """Return the parsed reply as JSON; one nested too deeply to be written counts as text."""
    if reading.reply is None:
        return None
    try:
        return json.dumps(reading.reply)
    except RecursionError:
        return json.dumps({"_parse_error": True, "_raw": reading.text})


def _changed(before: _Reading, after: _Reading) -> int | None:
    if before.status != "ok" or after.status != "ok":
        return None
    pairs = zip(before.confidences, after.confidences, strict=True)
    return sum(first is not None and last is not None and first != last for first, last in pairs)


def _length(listed: object) -> int | None:
    return len(listed) if isinstance(listed, list) else None


def _difficulty(reply: Mapping[str, Any] | None) -> str | None:
    told = (reply or {}).get("difficulty_prediction")
    cleaned = told.strip().lower() if isinstance(told, str) else None
    return cleaned if cleaned in DIFFICULTIES else None
