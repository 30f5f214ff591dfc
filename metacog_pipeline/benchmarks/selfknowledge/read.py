"""What replies say: whether an answer is right or withheld, and whether and how surely the model claims to know it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from metacog_pipeline.benchmark import contract
from metacog_pipeline.benchmark.contract import Calls, Flag
from metacog_pipeline.benchmarks.selfknowledge import rules
from metacog_pipeline.benchmarks.selfknowledge.items import LANGUAGE_OF, Item
from metacog_pipeline.benchmarks.selfknowledge.measures import certainty
from metacog_pipeline.benchmarks.selfknowledge.prompts import META, asked_once, condition_steps
from metacog_pipeline.benchmarks.selfknowledge.settings import Rule, YesNoRule
from metacog_pipeline.reading.calls import REFUSED, TOO_LONG, ended, read_step, said, said_with, why
from metacog_pipeline.reading.envelope import Envelope, spoken
from metacog_pipeline.reading.fields import UNKNOWN, Field, Found, YesNo
from metacog_pipeline.reading.names import ShortText
from metacog_pipeline.reading.reader import Reading, read

# Not being sure is a no: the prompt says so.
_UNSURE = re.compile(
    r"^\W*(?:i(?:['’]m|\s+am)\s+(?:\w+\s+)?(?:not\s+(?:[\w%]+\s+)?(?:sure|certain)|unsure|uncertain)|uncertain|no\s+estoy\s+segur"
    r"|我?也?(?:不太|不是很|不)确定|확실하지\s+않)",
    re.IGNORECASE,
)


class Known(YesNo):
    """Whether the model claims to know: yes or no, or that nothing is known or sure, a no without a place."""

    def read(self, said: str) -> Found:
        found = YesNo.read(self, said)
        unknown = found.status == "no_answer" and (UNKNOWN.match(said) or _UNSURE.match(said))
        return Found("ok", "no") if unknown else found

    find = read


def is_right(reading: Reading, accepted: Sequence[str]) -> bool:
    """Return whether the answer that was read is one of ``accepted``."""
    return ShortText(accepted).right(reading["answer"].value) if reading["answer"].status == "ok" else False


def is_withheld(reading: Reading) -> bool:
    """Return whether a reply begins by saying that nothing is known, or declines to answer."""
    return reading["answer"].withheld or reading.status == "refused"


def known(reading: Reading) -> Flag:
    """Return 1 or 0 for whether the model claims to know, None for neither; who declines to answer claims nothing."""
    value = said(reading["answer"])
    return int(value == "yes") if value is not None else 0 if reading.status == "refused" else None


def matches(text: str, accepted: Sequence[str], rule: Rule = "entities") -> bool:
    """Return whether the answer of ``text`` is one of ``accepted``."""
    if rule != "entities":
        return rules.RULES[rule](spoken(text), accepted)
    return is_right(read(Envelope.of(text), [ShortText(accepted)]), accepted)


@lru_cache(4_096)  # training reads tens of thousands of replies in every generation, most of them one word
def says_known(text: str, language: str = "en", rule: YesNoRule = "default") -> Flag:
    """Return 1 or 0 for what ``text`` says to be known; None where it says neither."""
    if rule == "reference":
        return int(rules.says_yes(spoken(text), language))
    return known(read(Envelope.of(text), [Known()]))


@dataclass(slots=True)
class Response(contract.Response):
    """What an item's replies under one condition say."""

    split: str
    language: str
    question_id: str | None
    event_id: str | None
    answerable: Flag  # 0 where no answer is accepted: then nothing is right
    output: str | None = None
    meta_output: str | None = None
    # by the study's rule; a reply can be right and abstain at once
    correct: Flag = None
    correct_inclusion: Flag = None  # as published
    # by the study's rule; null where the reply says neither, or one question is asked
    yes: Flag = None
    yes_reference: Flag = None  # as published
    # of a question asked once: whether the answer was withheld
    abstained: Flag = None
    # D of the meta reply, null where no log-probabilities were kept
    confidence: float | None = None
    status: str = "not_run"
    reason: str | None = None
    truncated: Flag = None
    meta_truncated: Flag = None
    matching: str | None = None
    yes_no: str | None = None
    wording: str | None = None


def read_response(
    item: Item, condition: str, calls: Calls, *, rule: Rule, yes_no: YesNoRule, wording: str | None
) -> Response:
    """Return the reading of ``calls``; ``wording`` is the digest of the texts asked."""
    language, steps = LANGUAGE_OF[condition], condition_steps(condition)
    accepted, first = item.accepted(language), steps[0]
    about = (item.split, language, item.question_id or None, item.event_id or None, int(bool(accepted)))
    row = Response(*about, matching=rule, yes_no=yes_no, wording=wording)
    # A refusal is a whole reply: it is scored, where a cut or failed one is not.
    ends = {step: ended(calls.get(step)) for step in steps}
    whole = [step for step, end in ends.items() if end is None or end[0] == REFUSED]
    fields: Mapping[str, Field] = {META: Known(), first: ShortText(accepted)}
    found = {step: read_step(calls, step, [fields[step]]) for step in whole}
    kept = {step: calls[step] for step in steps if step in calls and calls[step].status != "failed"}
    text = {step: call.text for step, call in kept.items()}
    cut = {step: int(call.status == "truncated") for step, call in kept.items()}
    row.output, row.meta_output = (text.get(step) for step in (first, META))
    row.truncated, row.meta_truncated = (cut.get(step) for step in (first, META))
    if first in found:
        own = spoken(text[first])
        right = is_right(found[first], accepted) if rule == "entities" else rules.RULES[rule](own, accepted)
        row.correct, row.correct_inclusion = int(right), int(rules.inclusion(own, accepted))
        # a refusal withholds the answer, but not by the published rule
        if asked_once(condition):
            refused = kept[first].status == "refused" and not right
            withheld = is_withheld(found[first]) or refused
            row.abstained = int(rules.abstains(own) if yes_no == "reference" else withheld)
    if META in found:
        row.yes_reference = int(rules.says_yes(spoken(text[META]), language))
        ours = known(found[META])
        ours = 0 if ours is None and kept[META].status == "refused" else ours
        row.yes = row.yes_reference if yes_no == "reference" else ours
        row.confidence = certainty(said_with(calls, META, found[META], "answer"), ours, language)
    row.status, row.reason = _status(row.yes, ends, found)
    return row


def _status(yes: Flag, ends: Mapping[str, Any], found: Mapping[str, Reading]) -> tuple[str, str | None]:
    """Return the status of the row and why it is not ok."""
    # What was not answered comes first, for it is not scored.
    for step, end in sorted(ends.items(), key=lambda each: each[1] is None or each[1][0] == REFUSED):
        if end is not None:
            return end[0], f"{step}: {end[1]}"
        if status := {"refused": REFUSED, "truncated": TOO_LONG}.get(found[step].status):
            return status, f"{step}: {why(found[step]['answer'], 'answer')}"
    if META in ends and yes is None:
        return "meta_invalid", f"meta: {why(found[META]['answer'], 'yes or no')}"
    return "ok", None
