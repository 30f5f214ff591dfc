"""The row of an item and condition: what its replies say.

``correct`` says whether ``output`` is right by the study's rule, ``correct_strict`` whether an accepted answer stands
there as whole words, ``correct_inclusion`` whether it does as any part of the reply, as published; 0 for an item that no
answer is accepted of (``answerable`` 0). Under the dual conditions ``yes`` is what ``meta_output`` says by the study's
rule, ``yes_strict`` and ``yes_reference`` by those; null, and status ``meta_invalid``, where neither can be read:
``correct`` stays. ``confidence`` is D of the meta reply, 0 to 1, null where no log-probabilities were kept. Under ``idk``
these are null and ``abstained`` says whether the answer was withheld; a reply can be right and abstain at once.

A refusal is scored: it is wrong, claims no knowledge and withholds the answer, so far as its text says nothing else. A
reply that was cut by the length limit is ``too_long`` and, like a failed call, not scored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from metacog_pipeline.benchmark import contract
from metacog_pipeline.benchmark.contract import Call, Calls, Flag
from metacog_pipeline.benchmarks.selfknowledge import rules
from metacog_pipeline.benchmarks.selfknowledge.certainty import certainty
from metacog_pipeline.benchmarks.selfknowledge.items import LANGUAGE_OF, Item
from metacog_pipeline.benchmarks.selfknowledge.prompts import META, condition_steps, gives_leave
from metacog_pipeline.benchmarks.selfknowledge.read import Known, is_right, is_withheld, known
from metacog_pipeline.reading.calls import REFUSED, TOO_LONG, ended, read_step, said_with, why
from metacog_pipeline.reading.envelope import spoken
from metacog_pipeline.reading.names import ShortText
from metacog_pipeline.reading.reader import Reading


@dataclass(slots=True)
class Response(contract.Response):
    """What an item's replies under one condition say; columns as in the module's text."""

    split: str
    language: str
    question_id: str | None
    event_id: str | None
    answerable: Flag
    output: str | None = None
    meta_output: str | None = None
    correct: Flag = None
    correct_strict: Flag = None
    correct_inclusion: Flag = None
    yes: Flag = None
    yes_strict: Flag = None
    yes_reference: Flag = None
    abstained: Flag = None
    confidence: float | None = None
    status: str = "not_run"
    reason: str | None = None
    truncated: Flag = None
    meta_truncated: Flag = None
    matching: str | None = None
    yes_no: str | None = None
    wording: str | None = None


def read(
    item: Item,
    condition: str,
    calls: Calls,
    *,
    rule: rules.Rule,
    yes_no: rules.YesNoRule,
    wording: str | None,
) -> Response:
    """Return the reading of ``calls``: whether the answer is right by ``rule``, and said to be known by ``yes_no``.

    ``wording`` is the digest of the texts asked.
    """
    language, steps = LANGUAGE_OF[condition], condition_steps(condition)
    response = Response(
        *(item.split, language, item.question_id or None, item.event_id or None),
        answerable=int(item.answerable(language)),
        matching=rule,
        yes_no=yes_no,
        wording=wording,
    )
    response.output, response.truncated = _kept(calls, steps[0])
    found = {}
    if _whole(calls, steps[0]):
        found[steps[0]] = _read_answer(response, calls, steps[0], item.accepted(language), rule)
        if gives_leave(condition):
            response.abstained = _withheld(response, calls[steps[0]], found[steps[0]])
    if META in steps:
        response.meta_output, response.meta_truncated = _kept(calls, META)
        if _whole(calls, META):
            found[META] = _read_meta(response, calls)
    response.status, response.reason = _status(response, calls, steps, found)
    return response


def _kept(calls: Calls, step: str) -> tuple[str | None, Flag]:
    """Return the text of a reply, and whether it was cut."""
    call = calls.get(step)
    if call is None or call.status == "failed":
        return None, None
    return call.text, int(call.status == "truncated")


def _whole(calls: Calls, step: str) -> bool:
    lost = ended(calls.get(step))
    return lost is None or lost[0] == REFUSED


def _read_answer(
    response: Response, calls: Calls, step: str, accepted: Sequence[str], rule: rules.Rule
) -> Reading:
    """Note whether the answer is right by each rule."""
    text, reading = spoken(calls[step].text), read_step(calls, step, [ShortText(accepted)])
    right = is_right(reading, accepted) if rule == "entities" else rules.RULES[rule](text, accepted)
    response.correct = int(right)
    response.correct_strict = int(rules.token_boundary(text, accepted))
    response.correct_inclusion = int(rules.inclusion(text, accepted))
    return reading


def _withheld(response: Response, call: Call, reading: Reading) -> Flag:
    """Return whether the answer is withheld; a refusal does whatever it is worded as, but by the published rule."""
    if response.yes_no == "reference":
        return int(rules.abstains(spoken(call.text)))
    return int(is_withheld(reading) or (call.status == "refused" and not response.correct))


def _read_meta(response: Response, calls: Calls) -> Reading:
    """Note what the meta reply says by each rule, and how surely."""
    text, language = spoken(calls[META].text), response.language
    reading = read_step(calls, META, [Known()])
    response.yes_strict = rules.first_word(text, language)
    response.yes_reference = int(rules.says_yes(text, language))
    ours = known(reading)
    if ours is None and calls[META].status == "refused":
        ours = 0
    others = {"reference": response.yes_reference, "strict": response.yes_strict}
    response.yes = others.get(str(response.yes_no), ours)
    response.confidence = certainty(said_with(calls, META, reading, "answer"), ours, language)
    return reading


def _status(
    response: Response, calls: Calls, steps: Sequence[str], found: Mapping[str, Reading]
) -> tuple[str, str | None]:
    """Return the status of the row and why it is not ok."""
    lost = [(step, ended(calls.get(step))) for step in steps]
    for step, end in lost:
        if end is not None and end[0] != REFUSED:
            return end[0], f"{step}: {end[1]}"
    for step, end in lost:
        if end is not None:
            return REFUSED, f"{step}: {end[1]}"
        status = {"refused": REFUSED, "truncated": TOO_LONG}.get(found[step].status)
        if status is not None:
            return status, f"{step}: {why(found[step]['answer'], 'answer')}"
    if META in steps and response.yes is None:
        return "meta_invalid", f"meta: {why(found[META]['answer'], 'yes or no')}"
    return "ok", None
