"""What the replies to one item say, and what they are worth: one `Response`. Total: any text gives one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from metacog_pipeline.benchmark import contract
from metacog_pipeline.benchmark.contract import Call, Calls, Flag, Small
from metacog_pipeline.benchmarks.metacogbench.asking import silent
from metacog_pipeline.benchmarks.metacogbench.items import Item
from metacog_pipeline.benchmarks.metacogbench.prompts import PROBE, TURN_1, TURN_2, item_steps, scored_step
from metacog_pipeline.benchmarks.metacogbench.read import NOT_READ, Scored, score
from metacog_pipeline.benchmarks.metacogbench.scoring_rules import thresholds
from metacog_pipeline.reading.calls import AGAIN, FAILED, NOT_RUN, REFUSED, TOO_LONG, ended

# Without an answer in the store: a run that has one of these is not complete.
UNANSWERED = (FAILED, NOT_RUN)
UNREADABLE = ("answer_unparsed", "answer_ambiguous", "confidence_unparsed", NOT_READ, REFUSED, TOO_LONG)
_FROM_ITEM = ("family", "level", "domain", "difficulty", "bet_rule", "twin_of", "structure", "pressure")
MOST_COUNTED = 1_000_000  # characters of a reply whose words are counted
Values = dict[str, Any]


@dataclass(slots=True)
class Response(contract.Response):
    """One item under one condition, read.

    Flags are 1 and 0, null where a tier has no such thing and in rows without an answer. ``passed`` is the headline: the
    bet rule (1a), a right answer (1b), the right option of the probe (2a, 2b), 60 % of the fields (3); null where words
    alone do not decide, status ``not_read``. ``basis`` says whether a verdict rests on the probe or on a judge, ``probe``
    is the role of the option taken. ``passed_keywords`` is the paper's rule of plain keywords (1b, 2a, 2b), and
    ``passed_keywords_v1`` that of its first version. ``bet``, ``hi`` and ``lo`` are tokens, ``pre`` and ``post`` percent;
    ``abstained`` says that the answer is stated not to be known, ``slot_named`` that it has the form of a concrete one.

    A reply that is empty or was cut by the length limit is not read and not passed: ``empty`` and ``truncated`` say so, for
    the scored turn. After a first turn that was refused or said nothing there is no second: the item is not passed.
    ``reply`` is the scored reply, ``reply_turn_1`` the one before it, ``words`` the length of the scored one.
    """

    tier: str
    family: str | None = None
    level: str | None = None
    domain: str | None = None
    difficulty: str | None = None
    bet_rule: str | None = None
    twin_of: str | None = None
    structure: str | None = None
    pressure: str | None = None
    control: Flag = None
    status: str = NOT_RUN
    reason: str | None = None
    passed: Flag = None
    passed_keywords: Flag = None
    passed_keywords_v1: Flag = None
    passed_probe: Flag = None
    correct: Flag = None
    probe: str | None = None
    basis: str | None = None
    order_ok: Flag = None
    abstained: Flag = None
    slot_named: Flag = None
    found: Flag = None
    core_ok: Flag = None
    n_keywords: Small = None
    n_ok: Small = None
    n_fields: Small = None
    hi: float | None = None
    lo: float | None = None
    bet: float | None = None
    pre: float | None = None
    post: float | None = None
    answer: str | None = None
    fields_ok: list[str] | None = None
    empty: Flag = None
    truncated: Flag = None
    truncated_first: Flag = None
    words: Small = None
    reply: str | None = None
    reply_turn_1: str | None = None


def parse(item: Item, condition: str, calls: Calls) -> Response:
    """Return the response to an item, from its calls by step."""
    steps = item_steps(item, condition)
    scored, first = calls.get(scored_step(item, condition)), calls.get(TURN_1) if TURN_1 in steps else None
    made = Response(
        item.tier,
        control=int(item.control) if item.tier in ("2a", "2b") else None,
        reply=scored.text if scored else None,
        reply_turn_1=first.text if first else None,
    )
    facts = {name: getattr(item, name) or None for name in _FROM_ITEM}
    for name, value in {**facts, **thresholds(item), **_read(item, condition, calls)}.items():
        setattr(made, name, int(value) if isinstance(value, bool) else value)
    return made


def _read(item: Item, condition: str, calls: Calls) -> Values:
    """Return what an item's calls say: status, reason, and everything read from them."""
    steps, known = item_steps(item, condition), dict[str, Call]()
    for step in steps:
        end = ended(calls.get(step))
        if end is not None and end[0] in UNANSWERED:
            late = {PROBE: "the probe was ", TURN_2: "the second turn was "}.get(step, "") if known else ""
            return {"status": end[0], "reason": late + end[1] if end[0] == NOT_RUN else end[1]}
        known[step] = calls[step]
        if calls[step].status == "refused" or silent(calls[step].text):
            break  # nothing comes after it
    again = {step: call for step, call in calls.items() if step.removesuffix(AGAIN) in known}
    scored = score(item, again, condition)
    return {
        **scored.values,
        **_status(scored, known, steps),
        **_lengths(item, condition, known),
    }


def _status(scored: Scored, known: Calls, steps: Sequence[str]) -> Values:
    """Return status and reason; of a conversation that ended early how its last call ended, and that it is not passed."""
    end = ended([*known.values()][-1])
    if len(known) == len(steps):
        return {
            "status": scored.status,
            "reason": end[1] if end and end[0] == scored.status else scored.reason,
        }
    end = end or ("answer_unparsed", f"the reply of step {[*known][-1]} is empty")
    return {"status": end[0], "reason": end[1], "passed": False}


def _lengths(item: Item, condition: str, known: Calls) -> Values:
    scored, first = known.get(scored_step(item, condition)), known.get(TURN_1)
    reply = scored.text if scored else ""
    return {
        "empty": [*known.values()][-1].status != "refused" and not reply.strip(),
        "truncated": scored is not None and scored.status == "truncated",
        "truncated_first": None if first is None else first.status == "truncated",
        "words": len(reply[:MOST_COUNTED].split()),
    }
