"""What a reply says: one decision 0 or 1 and one confidence 1..K, or why not. Total: any string can be read.

The form asked for is one JSON object, ``{"decision": "1", "confidence": 4}``. Accepted:

* the object alone, in a code fence, or with prose around it; keys in any order and case, other keys beside them;
* ``decision`` as the text ``"0"`` or ``"1"`` or as a number of that value (1, 1.0 and 1e0 are one number in JSON);
  ``confidence`` likewise as a text of one digit or as a number. White space around a text does not count;
* the object more than once, a key given twice, as long as all say the same.

Not accepted, and reported: booleans, null, lists, words, percentages and ranges as values; a confidence that is not a
whole number from 1 to K; objects that say different things; a decision inside another object; anything that is not
JSON (single quotes, trailing commas, an object that is cut off); a bare 0 or 1.

Thinking between ``<think>`` tags is not part of the reply. A malformed object is passed over as a whole, with all that
is nested in it, so that a part of it is never taken for the reply. So are templates: an object whose decision is a
placeholder in angle brackets. Every character is looked at a fixed number of times.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, cast

from metacog_pipeline.benchmark import contract
from metacog_pipeline.benchmark.contract import Call, Flag
from metacog_pipeline.benchmark.thinking import without_thinking
from metacog_pipeline.benchmarks.signaldetection.items import Item

ParseStatus = Literal["ok", "answer_unparsed", "confidence_unparsed"]
Rule = Literal["strict", "embedded"]
Pairs = list[tuple[str, object]]

_USUAL = re.compile(r'\{"decision": ?"([01])"(?:, ?"confidence": ?([1-9]))?\}')
_OPENING = re.compile(r'\{(?=\s*+["}])')
_BRACES = re.compile(r'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)|[{}]', re.DOTALL)
_TEMPLATE = re.compile(r"\s*<[^<>]*>\s*")
_DIGITS = 15  # integers of more digits are not converted: they are out of range anyway
_SHOWN = 24


@dataclass(slots=True)
class Response(contract.Response):
    """One item under one condition: its label, what was answered, and how sure.

    ``response`` and ``correct`` are None without a readable decision; a reply whose decision can be read and whose
    confidence cannot is ``confidence_unparsed`` and keeps its response. ``confidence`` is None, and not missed, in the
    conditions that do not ask for it. An answer cut by a length limit is ``too_long`` whatever it says.
    """

    stimulus: Annotated[Flag, "the true label, 0 (S1) or 1 (S2)"]
    response: Annotated[Flag, "the label answered; null without a readable decision"] = None
    confidence: Annotated[Flag, "as stated, 1 to K; null where none is asked for"] = None
    correct: Annotated[Flag, "1 where the response is the label, else 0; null without a response"] = None
    status: str = "not_run"
    reason: str | None = "not asked yet"


def read(item: Item, call: Call | None, ratings: int | None) -> Response:
    """Return the reading of an item's only call; ``ratings`` is K, None where no confidence was asked for."""
    match call:
        case None:
            return Response(item.stimulus)
        case Call(status="failed"):
            return Response(item.stimulus, status="transport_error", reason=call.error)
        case Call(status="truncated"):
            return Response(
                item.stimulus, status="too_long", reason="cut by the length limit; raise max_tokens"
            )
        case Call(status="refused"):
            reason = "the provider reports a refusal or a content filter"
            return Response(item.stimulus, status="refused", reason=reason)
    said = parse(call.text, ratings)
    correct = None if said.decision is None else int(said.decision == item.stimulus)
    return Response(item.stimulus, said.decision, said.confidence, correct, said.status, said.reason)


@dataclass(frozen=True, slots=True)
class Parsed:
    """The reading of one reply.

    ``decision`` is 0 or 1; ``confidence`` 1 to K, None without a decision and where none was asked for; ``reason`` says
    in one printable ASCII line why something is missing; ``rule`` whether the reply was the object alone (``strict``)
    or had something around it (``embedded``), None without an object that decides.
    """

    decision: Literal[0, 1] | None
    confidence: int | None
    status: ParseStatus
    reason: str | None
    rule: Rule | None


def parse(text: str, ratings: int | None = 5) -> Parsed:
    """Read ``text``; ``ratings`` is K of the scale 1..K, None where no confidence was asked for (any is ignored)."""
    usual = _USUAL.fullmatch(text)
    if usual is not None and (ratings is None or (usual[2] is not None and int(usual[2]) <= ratings)):
        confidence = None if ratings is None else int(usual[2])
        return Parsed(cast(Literal[0, 1], int(usual[1])), confidence, "ok", None, "strict")
    # In a reply that is JSON as a whole a tag is part of some value.
    reply = text if _is_alone(text) else without_thinking(text)
    found = [pairs for pairs in _objects(reply) if pairs is not None]
    named = [pairs for pairs in found if _values(pairs, "decision")]
    deciding = [pairs for pairs in named if not _is_template(pairs)]
    if not deciding:
        return _unread(_why_no_object(text, reply, found, named))
    decisions = [_decision(value) for pairs in deciding for value in _values(pairs, "decision")]
    readings = {value for value, _ in decisions}
    if len(readings) > 1:
        return _unread("the reply decides more than once, and differently")
    decision = decisions[0][0]
    if decision is None:
        return _unread(decisions[0][1])
    rule: Rule = "strict" if _is_alone(reply) else "embedded"
    if ratings is None:
        return Parsed(decision, None, "ok", None, rule)
    confidence, reason = _confidence_of(deciding, ratings)
    status: ParseStatus = "confidence_unparsed" if confidence is None else "ok"
    return Parsed(decision, confidence, status, reason, rule)


def _unread(reason: str) -> Parsed:
    return Parsed(None, None, "answer_unparsed", reason, None)


def _objects(text: str) -> Iterator[Pairs | None]:
    """Yield the pairs of every outermost JSON object in order, None for one that is not JSON."""
    place = 0
    while (opening := _OPENING.search(text, place)) is not None:
        try:
            pairs, place = _DECODER.raw_decode(text, opening.start())
            yield pairs.pairs if isinstance(pairs, _Object) else None
        except (ValueError, RecursionError):
            yield None
            place = _end_of_object(text, opening.start())


def _end_of_object(text: str, start: int) -> int:
    """Return the place after the brace that closes the one at ``start``, the end of ``text`` where none does."""
    depth = 0
    for token in _BRACES.finditer(text, start):
        depth += {"{": 1, "}": -1}.get(token[0], 0)
        if depth == 0:
            return token.end()
    return len(text)


@dataclass(frozen=True, slots=True)
class _Object:
    pairs: Pairs


def _number(digits: str) -> int | float:
    return int(digits) if len(digits) <= _DIGITS else math.inf


# NaN and Infinity are no JSON, but an answer beside them is readable: they are values that are no whole number.
_DECODER = json.JSONDecoder(object_pairs_hook=_Object, parse_int=_number, parse_constant=float)


def _values(pairs: Pairs, name: str) -> list[object]:
    return [value for key, value in pairs if key.strip().casefold() == name]


def _is_template(pairs: Pairs) -> bool:
    return all(isinstance(v, str) and _TEMPLATE.fullmatch(v) for v in _values(pairs, "decision"))


def _is_alone(reply: str) -> bool:
    core = reply.strip()
    try:
        value, end = _DECODER.raw_decode(core)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, _Object) and end == len(core)


def _decision(value: object) -> tuple[Literal[0, 1] | None, str]:
    found = _whole_number(value)
    if found in (0, 1):
        return cast(Literal[0, 1], found), ""
    return None, f"decision {_shown(value)} is neither 0 nor 1"


def _confidence_of(objects: Sequence[Pairs], ratings: int) -> tuple[int | None, str | None]:
    values = [value for pairs in objects for value in _values(pairs, "confidence")]
    if not values:
        return None, "the JSON object has no confidence"
    readings = [_whole_number(value) for value in values]
    for value, reading in zip(values, readings, strict=True):
        if reading is None or not 1 <= reading <= ratings:
            return None, f"confidence {_shown(value)} is not a whole number from 1 to {ratings}"
    if len(set(readings)) > 1:
        return None, "the reply states more than one confidence"
    return readings[0], None


def _whole_number(value: object) -> int | None:
    """Return a number of whole value, or a text that is one digit; None for anything else."""
    if isinstance(value, str):
        digit = value.strip()
        return int(digit) if len(digit) == 1 and digit in "0123456789" else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if math.isfinite(value) and value == int(value) else None


def _shown(value: object) -> str:
    """Return a value for a message: a few ASCII characters."""
    if isinstance(value, _Object):
        return "{...}"
    if isinstance(value, list):
        return "[...]"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str):
        cut = value if len(value) <= _SHOWN else value[:_SHOWN] + "..."
        return json.dumps(cut)
    return "that is too large" if value == math.inf else str(value)


def _why_no_object(text: str, reply: str, found: Sequence[Pairs], named: Sequence[Pairs]) -> str:
    if not text.strip():
        return "the reply is empty"
    if not reply.strip():
        return "the reply is all thinking"
    if named:
        return "the reply repeats the form of the answer without filling it in"
    if found:
        return "the JSON object has no decision"
    return "no JSON object in the reply" if _OPENING.search(reply) is None else "the JSON object is not valid"
