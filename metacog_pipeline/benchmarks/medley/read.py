"""Text of a reply → JSON object, and the row of an instance. Nothing raises: a text without object is an error object."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from metacog_pipeline.benchmarks.medley import items
from metacog_pipeline.benchmarks.medley.items import CLAIM_IDS, RATED, STEPS, Instance
from metacog_pipeline.reading import rows
from metacog_pipeline.reading.calls import AGAIN, Calls, ended
from metacog_pipeline.reading.envelope import turn_of

CUTS_TRIED = 5
FENCE = "```"
NO_JSON = object()  # told apart from the JSON value null


def strict_json(text: str) -> Any:
    """Return the value of a JSON text; `NO_JSON` for any other."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return NO_JSON


def parse_reply(raw: str) -> dict[str, Any]:
    """Return the object a reply holds, an array as its claims, or ``{"_parse_error": True, "_raw": raw}``."""
    found = _object(turn_of(raw))
    return {"_parse_error": True, "_raw": raw} if found is None else found


def is_error(response: object) -> bool:
    """Say whether a parsed reply is the error object, or neither an object nor an array."""
    lacking = response.get("_parse_error") if isinstance(response, dict) else not isinstance(response, list)
    return bool(lacking)


def _object(text: str) -> dict[str, Any] | None:
    # In the package's order: the whole turn, the first fenced block, what is between the first { and the last }.
    value = strict_json(text)
    if value is None or isinstance(value, str | int | float):
        return None  # a lone number, word or string
    opened = text.find(FENCE)
    closed = text.find(FENCE, opened + len(FENCE)) if opened >= 0 else -1
    if value is NO_JSON and closed >= 0:
        value = strict_json(text[opened + len(FENCE) : closed].removeprefix("json"))
    if isinstance(value, list):
        return {"claim_level_assessments": value}
    start = text.find("{")
    if not isinstance(value, dict) and start >= 0:
        value = strict_json(text[start : text.rfind("}") + 1])
        value = value if isinstance(value, dict) else _repaired(text[start:])
    return value if isinstance(value, dict) else None


def _repaired(fragment: str) -> dict[str, Any] | None:
    """Read JSON that was cut off: close what is open, or drop the last piece and try again."""
    for _ in range(CUTS_TRIED):
        last = fragment.rfind("}")
        for each in ([fragment[: last + 1]] if last > 0 else []) + [fragment]:
            ends = "]" * (each.count("[") - each.count("]")) + "}" * (each.count("{") - each.count("}"))
            if (value := strict_json(each + ends)) and isinstance(value, dict):
                return value
        fragment = fragment[: max(fragment.rfind(","), 0)]
        if not fragment:
            return None
    return None


FORM = 'one JSON object with "claim_level_assessments", a rating for each of the claims'
UNPARSED = "answer_unparsed"


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
    return items.Response(**columns, overall_confidence=overall)


@functools.lru_cache(maxsize=1024)  # an answer that counts under several conditions is read once
def _reading(item: Instance, text: str) -> _Reading:
    reply = parse_reply(text)
    try:
        kept = json.dumps(reply)
    except RecursionError:  # nested too deeply to be written
        kept = json.dumps({"_parse_error": True, "_raw": text})
    stated = reply.get("overall_confidence")
    overall = None if stated is None else items.confidence_number(stated)
    texts = {claim.claim_id: claim.claim_text for claim in item.claims}
    rated = tuple(items.claim_confidence(reply, claim, texts.get(claim, "")) for claim in CLAIM_IDS)
    if not is_error(reply) and any(value is not None for value in rated):
        return _Reading("ok", None, kept, rated, overall)
    why = "holds no JSON object" if text.strip() else "is empty"
    why = why if is_error(reply) else "rates none of C1 to C5"
    return _Reading(UNPARSED, f"the reply {why}", kept, overall=overall)


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
    rated = {} if is_error(reply) else {claim: items.claim_confidence(reply, claim) for claim in CLAIM_IDS}
    fields = {claim: value for claim, value in rated.items() if value is not None}
    return rows.unread("ok" if fields else "no_answer", fields=fields or None, step=step)
