"""The kept calls of one item, read: how a call ended, what its reply says, and what a second ask adds to it."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from metacog_pipeline.llm.types import TokenLogprob
from metacog_pipeline.reading.envelope import CallStatus, Envelope
from metacog_pipeline.reading.fields import Field, Found
from metacog_pipeline.reading.reader import Reading, read
from metacog_pipeline.reading.tokens import at
from metacog_pipeline.transcripts.lines import decode_logprobs

#: What the step of a second ask is called, behind the name of the step it asks again.
AGAIN = "_again"
#: Statuses of responses whose calls ended without a whole reply.
NOT_RUN, FAILED, TOO_LONG, REFUSED = "not_run", "transport_error", "too_long", "refused"
_ENDS: Mapping[str, CallStatus] = {TOO_LONG: "truncated", REFUSED: "refused"}
_CUT = "cut by the length limit; raise {}"
_WHY = {
    "no_answer": "no {name} can be read",
    "ambiguous": "the reply gives more than one {name}",
    "out_of_range": "the {name} is outside the scale",
    "refused": "the reply declines to answer",
    "truncated": _CUT.format("max_tokens"),
    "not_read": "words alone do not decide it",
}


@dataclass(frozen=True, slots=True)
class Call:
    """One kept answer of a step: the newest that did not fail, a failed one only where there is no other."""

    status: str  # ok, refused, truncated or failed
    text: str
    mode: str = "text"  # the answer mode
    logprobs_json: str | None = None
    error: str | None = None  # why it failed


Calls = Mapping[str, Call]  # by step


def ended(call: Call | None, limit: str = "max_tokens") -> tuple[str, str] | None:
    """Return status and reason of a call without a whole reply, which names the ``limit`` to raise; else None."""
    if call is None:
        return NOT_RUN, "not asked yet"
    match call.status:
        case "failed":
            return FAILED, call.error or "the call failed"
        # In mode logit_bias one token is all that was asked for; a model that had ended its turn was not cut in it.
        case "truncated" if call.mode != "logit_bias" and not Envelope.of(call.text).ended:
            return TOO_LONG, _CUT.format(limit)
        case "refused":
            return REFUSED, "the provider reports a refusal or a content filter"
    return None


def read_step(calls: Calls, step: str, fields: Sequence[Field]) -> Reading:
    """Read ``fields`` of the reply to ``step``, which is there; what it does not say, of the reply to the second ask."""
    first = read(Envelope.of(calls[step].text), fields)
    again = calls.get(step + AGAIN)
    if again is None or ended(again) is not None or first.status == "refused":
        return first
    second = read(Envelope.of(again.text), fields)
    merged = {
        name: found if found.status == "ok" else replace(second[name], again=True)
        for name, found in first.fields.items()
    }
    return Reading(merged[fields[0].name].status, merged, first.start, second.start)


def reading_of(calls: Calls, step: str, fields: Sequence[Field]) -> Reading:
    """Read ``fields`` of a step and its second ask; of a call that was cut or refused, or is not there, nothing."""
    end = ended(calls.get(step))
    if end is None:
        return read_step(calls, step, fields)
    return read(Envelope.of("", _ENDS.get(end[0], "ok")), fields)


def _place(calls: Calls, step: str, reading: Reading, name: str) -> tuple[Call, int, int]:
    """Return the call that a field was read from, and its place in the reply, which is empty where there is none."""
    found = reading[name]
    start = reading.second_start if found.again else reading.start
    place = (start + found.start, start + found.end) if found.start >= 0 else (0, 0)
    return calls[step + AGAIN if found.again else step], *place


def said_with(calls: Calls, step: str, reading: Reading, name: str) -> Sequence[TokenLogprob]:
    """Return the tokens that say a field; none where the provider gave none, or those of another text."""
    call, start, end = _place(calls, step, reading, name)
    with contextlib.suppress(ValueError):
        if call.logprobs_json and end:
            return at(decode_logprobs(call.logprobs_json), call.text, start, end)
    return ()


def words_of(calls: Calls, step: str, reading: Reading, name: str) -> str:
    """Return the words of the reply that a field was read from."""
    call, start, end = _place(calls, step, reading, name)
    return call.text[start:end]


def why(found: Found, name: str) -> str:
    """Return in one line why a field has no value."""
    outside = found.status == "out_of_range" and isinstance(found.value, int | float)
    return _WHY[found.status].format(name=f"{name} {found.value:g}" if outside else name)


def said(found: Found) -> Any:
    """Return the value of a field; None without one."""
    return found.value if found.status == "ok" else None
