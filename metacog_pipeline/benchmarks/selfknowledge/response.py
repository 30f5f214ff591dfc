"""The reading of an item's replies: one row per condition and item asked under it.

``correct`` says whether ``output`` is right by the study's rule, ``correct_strict`` whether an accepted answer stands there
as whole words, ``correct_inclusion`` whether it does as any part of the reply, as published; all are 1 or 0 wherever there
is a text, and 0 for an item that no answer is accepted of (``answerable`` 0). Under the dual conditions
``yes`` is what ``meta_output`` says by the study's rule, ``yes_strict`` and ``yes_reference`` by those; null, and status
``meta_invalid``, where neither can be read: ``correct`` stays. ``confidence`` is D of the meta reply, 0 to 1, null where no
log-probabilities were kept. Under ``idk`` all of these are null and ``abstained`` says whether the answer was withheld; a
reply can be right and abstain at once.

A refusal reported by the provider is scored: it is wrong, claims no knowledge and withholds the answer, by the default
rules, so far as its text says nothing else. A reply that was cut by the length limit is scored as it stands (``truncated``,
``meta_truncated``), except where it was cut while thinking: that is ``too_long`` and, like a failed call, not scored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from metacog_pipeline.benchmark import contract
from metacog_pipeline.benchmark.answers.text import LONGEST_THOUGHT, both_ends, bounded
from metacog_pipeline.benchmark.contract import Call, Calls, Flag
from metacog_pipeline.benchmark.thinking import without_thinking
from metacog_pipeline.benchmarks.selfknowledge import matching
from metacog_pipeline.benchmarks.selfknowledge.confidence import confidence
from metacog_pipeline.benchmarks.selfknowledge.items import LANGUAGE_OF, Item
from metacog_pipeline.benchmarks.selfknowledge.parsing import YesNoRule, abstains, read_yes_no, says_yes
from metacog_pipeline.benchmarks.selfknowledge.prompts import META, condition_steps, gives_leave


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
    item: Item, condition: str, calls: Calls, *, rule: matching.Rule, yes_no: YesNoRule, wording: str | None
) -> Response:
    """Return the reading of ``calls``: whether the answer is right by ``rule``, and said to be known by ``yes_no``.

    ``wording`` is the digest of the texts asked.
    """
    language, steps = LANGUAGE_OF[condition], condition_steps(condition)
    first, meta = calls.get(steps[0]), calls.get(META) if META in steps else None
    response = Response(
        *(item.split, language, item.question_id or None, item.event_id or None),
        answerable=int(item.answerable(language)), output=_text(first), meta_output=_text(meta),
        matching=rule, yes_no=yes_no, wording=wording,
    )  # fmt: skip
    if first is not None:
        _read_answer(response, first, item, condition, rule, yes_no)
    unclear = None if meta is None else _read_meta(response, meta, yes_no)
    response.status, response.reason = _status(steps, calls, response, unclear)
    return response


def _read_answer(
    response: Response, call: Call, item: Item, condition: str, rule: matching.Rule, yes_no: YesNoRule
) -> None:
    """Note whether the answer is right and, under ``idk``, withheld; nothing where there is no text to score."""
    reply = _reply(call)
    if reply is None:
        return
    accepted = item.accepted(response.language)
    question = item.question(response.language) or ""
    response.correct = int(matching.matches(reply, accepted, rule, question))
    response.correct_strict = int(matching.matches(reply, accepted, matching.STRICT))
    response.correct_inclusion = int(matching.matches(reply, accepted, "inclusion"))
    response.truncated = int(call.status == "truncated")
    if gives_leave(condition):
        withheld = abstains(reply, yes_no, accepted, question)
        # A refusal withholds the answer whatever it is worded as; the reference knows one wording only.
        refused = call.status == "refused" and yes_no != "reference" and not response.correct
        response.abstained = int(withheld or refused)


def _read_meta(response: Response, call: Call, rule: YesNoRule) -> str | None:
    """Note what the meta reply says by each rule; return why it says neither yes nor no."""
    reply = _reply(call)
    if reply is None:
        return None
    language = response.language
    reading = read_yes_no(reply, language, rule)
    response.yes = reading.value
    if response.yes is None and call.status == "refused" and rule != "strict":
        response.yes = 0
    response.yes_strict = read_yes_no(reply, language, "strict").value
    response.yes_reference = int(says_yes(reply, language))
    response.confidence = confidence(call.logprobs_json, language)
    response.meta_truncated = int(call.status == "truncated")
    return reading.reason if response.yes is None else None


def _text(call: Call | None) -> str | None:
    return None if call is None or call.status == "failed" else call.text


def _reply(call: Call) -> str | None:
    """Return the text of a reply without thinking, of a long one both ends; None where there is nothing to score."""
    if call.status == "failed":
        return None
    reply = bounded(without_thinking(both_ends(call.text, LONGEST_THOUGHT))).strip()
    return None if not reply and call.status == "truncated" else reply


def _status(
    steps: Sequence[str], calls: Calls, response: Response, unclear: str | None
) -> tuple[str, str | None]:
    for step in steps:
        call = calls.get(step)
        if call is None:
            first = step == steps[0]
            return "not_run", "not asked yet" if first else "whether it is known was not asked yet"
        if call.status == "failed":
            return "transport_error", f"{step}: {call.error}"
        if _reply(call) is None:
            return "too_long", f"{step}: cut by the length limit before a word was said; raise max_tokens"
    refused = [step for step in steps if calls[step].status == "refused"]
    if refused:
        return "refused", f"{refused[0]}: the provider reports a refusal or a content filter"
    if META in steps and response.yes is None:
        cut = "; cut by the length limit" if response.meta_truncated else ""
        return "meta_invalid", f"meta: {unclear}{cut}"
    return "ok", None
