"""How replies are read: which fields are asked for, what a reply says of them, and why there is nothing."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from metacog_pipeline.benchmark.contract import Calls
from metacog_pipeline.benchmarks.metacogbench import prompts
from metacog_pipeline.benchmarks.metacogbench.items import Item
from metacog_pipeline.reading import fields as asked
from metacog_pipeline.reading.calls import FAILED, NOT_RUN, REFUSED, TOO_LONG, ended, reading_of, said, why
from metacog_pipeline.reading.envelope import Envelope
from metacog_pipeline.reading.fields import Bet, Confidence, Field, Found, Letter, Number
from metacog_pipeline.reading.names import ShortText
from metacog_pipeline.reading.numbers import asked_unit
from metacog_pipeline.reading.reader import Reading
from metacog_pipeline.reading.records import records

# words alone do not decide
NOT_READ = "not_read"
# Without an answer in the store: a run that has one of these is not complete.
UNANSWERED = (FAILED, NOT_RUN)
#: What cannot be read; the first three are asked once more.
UNREADABLE = ("answer_unparsed", "answer_ambiguous", "confidence_unparsed", NOT_READ, REFUSED, TOO_LONG)
STATUSES = {"ok": "ok", "truncated": TOO_LONG, "refused": REFUSED, "ambiguous": "answer_ambiguous"}
_OPTIONS = re.compile(r"\b([A-H])\)\s+(.+?)(?=\s+[A-H]\)|$)")
#: A number that a reply gives beside the answer: how a reason names it.
_NUMBERS = {"bet": "bet", "pre": "PRE confidence", "post": "POST confidence"}
Values = dict[str, Any]
Tokens = partial(Bet, tokens=True)
# Confidence before or after answering is read under its name only, since a reply has two: as stated, or as a percentage.
Moment = partial(Confidence, named=True)
Percent = partial(Confidence, named=True, shares=True)
# all that a turn is asked for
Prediction = partial(Confidence, shares=True)


class Scored(NamedTuple):
    """``status`` says what could be read, ``reason`` why it is not ok; ``values`` are columns of a response."""

    status: str
    values: Values
    reason: str | None = None


def answer_field(item: Item) -> Field:
    """Return what the answer of tiers 1a and 1b is read as."""
    match item.answer_type:
        case "number":
            # A whole number of four digits or more, in which a point groups thousands.
            grouped = len(str(item.answer)) > 3 and str(item.answer).isdigit()
            exact = not item.abs_tol and not item.rel_tol
            return Number(item.unit or asked_unit(item.stem), whole=grouped and exact)
        case "choice":
            return Letter(prompts.options_of(item) or dict(_OPTIONS.findall(item.stem)))
        case "yesno":
            return asked.YesNo()
        case "text":
            return ShortText([str(form) for form in (item.answer, *item.accept) if form is not None])
    # nothing is right: whatever stands in place of an answer
    return ShortText(())


def story(item: Item, calls: Calls) -> Reading:
    """Read the values of a story of tier 3 by the names of its fields and their other names."""
    names = {name: field.name for field in item.fields for name in (field.name, *field.aliases)}
    return reading_of(calls, prompts.ANSWER, (asked.Fields(names),))


def stated_moments(calls: Calls, step: str, answer: Field, moment: Callable[..., Confidence]) -> Reading:
    """Read an answer and the confidence before and after it."""
    moments = [moment(0, 100, name) for name in ("pre", "post")]
    reading = reading_of(calls, step, (answer, *moments))
    fields, whole = dict(reading.fields), ended(calls.get(step)) is None
    found = records(Envelope.of(calls[step].text).text) if whole else []
    # A prediction cannot be revised: of several the first counts. Of several confidences in the answer the last counts.
    for field, place in zip(moments, (0, -1), strict=True):
        values = [record.values[field.name] for record in found if field.name in record.values]
        valid = [(each, value.start) for value in values if (each := field.read(value.said)).status == "ok"]
        if valid:
            each, start = valid[place]
            fields[field.name] = replace(each, start=start + each.start, end=start + each.end)
    return replace(reading, fields=fields)


def unread(reading: Reading, values: Values, *numbers: str, answer: str = "answer") -> Scored:
    """Return the status of a reply without an answer, or without one of the ``numbers`` that were asked for."""
    first = next(iter(reading.fields.values()))
    if first.status != "ok":
        return Scored(STATUSES.get(first.status, "answer_unparsed"), values, why(first, answer))
    lacking = [why(reading[name], _NUMBERS[name]) for name in numbers if reading[name].status != "ok"]
    return Scored("confidence_unparsed", values, "; ".join(lacking))


def choice(item: Item, calls: Calls, step: str) -> tuple[str | None, Scored]:
    """Read a forced choice: the role of the option, and the status where there is none."""
    if step not in calls:
        return None, Scored(NOT_READ, {"passed": None}, why(Found("not_read"), "position"))
    reading = reading_of(calls, step, (Letter(prompts.options_of(item)),))
    letter = said(reading["answer"])
    if letter is None:
        return None, unread(reading, {"passed": False})
    return item.options[prompts.LETTERS.index(letter)].role, Scored("ok", {})
