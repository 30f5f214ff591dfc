"""What the replies to an item say, by the fields its tier asks for, and what that is worth.

Where words alone do not decide, the status is ``not_read`` and no verdict is given: whether a text answers a question that
has no answer (1a), and the position of a free reply that no forced choice ended (2a, 2b).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from metacog_pipeline.benchmarks.metacogbench import fields, keywords
from metacog_pipeline.benchmarks.metacogbench.items import Item
from metacog_pipeline.benchmarks.metacogbench.prompts import FREE, LETTERS, PROBE, TURN_1, scored_step
from metacog_pipeline.benchmarks.metacogbench.scoring_rules import (
    UNANSWERABLE,
    bet_rule_holds,
    fields_right,
    is_right,
)
from metacog_pipeline.reading.calls import REFUSED, TOO_LONG, Calls, ended, reading_of, said, why
from metacog_pipeline.reading.envelope import Envelope
from metacog_pipeline.reading.fields import Found, Letter
from metacog_pipeline.reading.reader import Reading

NOT_READ = "not_read"
_STATUSES = {"ok": "ok", "truncated": TOO_LONG, "refused": REFUSED, "ambiguous": "answer_ambiguous"}


class Scored(NamedTuple):
    """``status`` says what could be read, ``reason`` why it is not ok; ``values`` are columns of a response."""

    status: str
    values: dict[str, Any]
    reason: str | None = None


def score(item: Item, calls: Calls, condition: str = FREE) -> Scored:
    """Return what the replies to an item say, and what that is worth. Total for any text."""
    step = scored_step(item, condition)
    text = Envelope.of(calls[step].text).text if step in calls else ""
    match item.tier:
        case "1a":
            made = _bet(item, calls, step)
        case "1b":
            made = _prediction(item, calls, step)
        case "3":
            made = _story(item, calls, step)
        case _:
            made = _position(item, calls)
    return made._replace(values={**keywords.verdicts(item, text), **made.values})


_BET, _POST = "BET: <0 to 100>", "POST_CONFIDENCE: <0 to 100>"


def again(item: Item, calls: Calls, condition: str) -> Iterable[tuple[str, str]]:
    """Yield the step to ask once more and the form to ask for, of a reply that cannot be read."""
    status, values, _ = score(item, calls, condition)
    if status not in ("answer_unparsed", "answer_ambiguous", "confidence_unparsed"):
        return
    beside = {"1a": _BET, "1b": _POST}.get(item.tier)
    if item.tier in ("2a", "2b"):
        yield PROBE, "the letter of one option"
    elif item.tier == "3":
        fields = ", ".join(f'"{field.name}": …' for field in item.fields)
        yield scored_step(item, condition), f"{{{fields}}}"
    elif status != "confidence_unparsed":
        yield scored_step(item, condition), f"ANSWER: <your answer>\n{beside}"
    elif values.get("bet" if item.tier == "1a" else "post") is None:
        yield scored_step(item, condition), str(beside)


def _bet(item: Item, calls: Calls, step: str) -> Scored:
    reading = reading_of(calls, step, (fields.answer_field(item), fields.Tokens(0, 100)))
    answer, bet = (said(reading[name]) for name in ("answer", "bet"))
    correct = answer is not None and is_right(item, answer)
    values = {"answer": fields.shown(answer), "bet": bet, "correct": correct}
    abstained: bool | None = reading["answer"].withheld
    slot = bool(answer and item.slot and re.search(item.slot, answer, re.IGNORECASE))
    if item.bet_rule in UNANSWERABLE:
        declined = reading.status == REFUSED and ended(calls.get(step)) is None
        abstained = True if abstained or declined else None if answer and not slot else False
    passed = bet_rule_holds(item, bet=bet, correct=correct, abstained=abstained, slot=slot)
    values |= {"abstained": abstained, "slot_named": slot, "passed": passed}
    if passed is None:
        return Scored(NOT_READ, values, "words alone do not decide whether this is an answer")
    answered = reading.status == "ok" or (item.answer is None and reading.status == "no_answer")
    if abstained or (answered and bet is not None):
        return Scored("ok", values)
    return _unread(reading, values, ("bet",))


def _prediction(item: Item, calls: Calls, step: str) -> Scored:
    both = (fields.Percent(0, 100, "pre"), fields.Percent(0, 100, "post"))
    reading = reading_of(calls, step, (fields.answer_field(item), *both))
    pre, answer = reading["pre"], reading["answer"]
    in_order: bool | None = pre.start < answer.start
    if TURN_1 in calls:
        pre, in_order = reading_of(calls, TURN_1, (fields.Prediction(0, 100, "pre"),))["pre"], True
    correct = answer.status == "ok" and is_right(item, answer.value)
    values = {
        "passed": correct, "correct": correct, "answer": fields.shown(said(answer)),
        "pre": said(pre), "post": said(reading["post"]),
        "order_ok": in_order if pre.status == answer.status == "ok" else None,
    }  # fmt: skip
    whole = Reading(reading.status, {**reading.fields, "pre": pre})
    done = all(found.status == "ok" or found.withheld for found in whole.fields.values())
    return Scored("ok", values) if done else _unread(whole, values, ("pre", "post"))


def _unread(reading: Reading, values: dict[str, Any], numbers: Sequence[str]) -> Scored:
    """Return the status of a reply without an answer, or without a number that was asked for."""
    if reading.status != "ok":
        status = _STATUSES.get(reading.status, "answer_unparsed")
        return Scored(status, values, why(reading["answer"], "answer"))
    told = {"bet": "bet", "pre": "PRE confidence", "post": "POST confidence"}
    reasons = [why(reading[name], told[name]) for name in numbers if reading[name].status != "ok"]
    return Scored("confidence_unparsed", values, "; ".join(reasons))


def _position(item: Item, calls: Calls) -> Scored:
    """Read the forced choice that ends tasks of 2a and 2b; without one words alone do not decide."""
    if PROBE not in calls:
        return Scored(NOT_READ, {"passed": None}, why(Found("not_read"), "position"))
    reading = reading_of(calls, PROBE, (Letter(fields.options_of(item)),))
    letter = said(reading["answer"])
    role = None if letter is None else item.options[LETTERS.index(letter)].role
    right = role in item.right
    values = {"probe": role, "basis": "probe", "passed": right, "passed_probe": right}
    return Scored("ok", values) if role else _unread(reading, values, ())


def _story(item: Item, calls: Calls, step: str) -> Scored:
    reading = reading_of(calls, step, (fields.story_fields(item),))
    found = fields_right(item.fields, said(reading["fields"]) or {})
    values = {
        "passed": found.passed, "found": reading.status == "ok", "core_ok": found.core_ok, "n_ok": found.n_ok,
        "n_fields": len(found.ok), "fields_ok": [name for name, right in found.ok.items() if right],
    }  # fmt: skip
    if reading.status == "ok":
        return Scored("ok", values)
    return Scored(
        _STATUSES.get(reading.status, "answer_unparsed"),
        values,
        why(reading["fields"], "field that is asked for"),
    )
