"""What a reply says: text → object, total.

A reply is read as strict JSON, in this order: the whole turn, the first fenced block, the text from the first ``{`` to the
last ``}``; then as JSON that was cut off, by closing what is open. Whatever else there is gives an error object, which
counts as "all claims missing". Every step takes time linear in the length of the text.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from metacog_pipeline.benchmarks.medley.items import CLAIM_IDS, STEPS
from metacog_pipeline.benchmarks.medley.labels import REFERENCE_MAP, claim_confidence
from metacog_pipeline.reading import rows
from metacog_pipeline.reading.calls import AGAIN, Calls, ended
from metacog_pipeline.reading.envelope import turn_of

CUTS_TRIED = 5
_FENCE = "```"
NO_JSON = object()  # told apart from the JSON value null
FORM = 'one JSON object with "claim_level_assessments", a rating for each of the claims'


def strict_json(text: str) -> Any:
    """Return the value of a JSON text; `NO_JSON` for any other."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return NO_JSON


def parse_reply(raw: str) -> dict[str, Any]:
    """Return the object a reply holds, or ``{"_parse_error": True, "_raw": raw}``. Never raises.

    An array becomes ``{"claim_level_assessments": array}``; other values that are no object are errors.
    """
    text = turn_of(raw) if isinstance(raw, str) else ""
    found = _read(text) if text else None
    return {"_parse_error": True, "_raw": raw} if found is None else found


def is_error(response: object) -> bool:
    """Say whether a parsed reply is the error object, or neither an object nor an array."""
    if isinstance(response, dict):
        return bool(response.get("_parse_error"))
    return not isinstance(response, list)


def _read(text: str) -> dict[str, Any] | None:
    for candidate in (text, _fenced(text)):
        value = None if candidate is None else strict_json(candidate)
        if isinstance(value, list):
            return {"claim_level_assessments": value}
        if isinstance(value, dict):
            return value
        if candidate is text and value is not None and value is not NO_JSON:
            return None  # a lone number, word or string
    start = text.find("{")
    if start < 0:
        return None
    value = strict_json(text[start : text.rfind("}") + 1])
    return value if isinstance(value, dict) else _repaired(text[start:])


def _fenced(text: str) -> str | None:
    start = text.find(_FENCE)
    end = text.find(_FENCE, start + len(_FENCE)) if start >= 0 else -1
    return None if end < 0 else text[start + len(_FENCE) : end].removeprefix("json")


def _repaired(fragment: str) -> dict[str, Any] | None:
    """Read JSON that was cut off: close what is open, or drop the last piece and try again."""
    for _ in range(CUTS_TRIED):
        last = fragment.rfind("}")
        for candidate in ([fragment[: last + 1]] if last > 0 else []) + [fragment]:
            value = strict_json(_closed(candidate))
            if isinstance(value, dict) and value:
                return value
        comma = fragment.rfind(",")
        if comma <= 0:
            return None
        fragment = fragment[:comma]
    return None


def _closed(fragment: str) -> str:
    brackets = fragment.count("[") - fragment.count("]")
    braces = fragment.count("{") - fragment.count("}")
    return fragment + "]" * max(0, brackets) + "}" * max(0, braces)


# --- calls, and rows without a study ------------------------------------------------------------------------------------
def reply_text(calls: Calls, step: str) -> str:
    """Return the reply to a step that counts: the first, or that to the second ask where the first holds no object."""
    second = calls.get(step + AGAIN)
    first = calls[step].text
    if second is None or ended(second) is not None or not is_error(parse_reply(first)):
        return first
    return second.text


def again(statuses: Mapping[str, str], unread: str) -> Iterable[tuple[str, str]]:
    """Yield the steps to ask once more, by the status of each, with the form to ask for."""
    yield from ((step, FORM) for step, status in statuses.items() if status == unread)


def read_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """Read one row of ``metacog read``: the rating of each claim, as text and as a number from 0 to 1, by step."""
    calls = rows.calls_of(row, STEPS, STEPS[0])
    step = next(each for each in reversed(STEPS) if each in calls)
    if ended(calls[step]) is not None:
        return rows.unread("truncated", fields=None)
    reply = parse_reply(reply_text(calls, step))
    rated = (
        {}
        if is_error(reply)
        else {claim: claim_confidence(reply, claim, "", REFERENCE_MAP) for claim in CLAIM_IDS}
    )
    fields = {claim: value for claim, value in rated.items() if value is not None}
    return rows.unread("ok" if fields else "no_answer", fields=fields or None, step=step)
