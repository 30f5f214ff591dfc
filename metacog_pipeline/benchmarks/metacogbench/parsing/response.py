"""What the replies to one item say, and what they are worth under every rule: one `Response`. Total: any text gives one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from metacog_pipeline.benchmark import contract
from metacog_pipeline.benchmark.contract import Call, Calls, Flag, Small
from metacog_pipeline.benchmarks.metacogbench.asking import silent
from metacog_pipeline.benchmarks.metacogbench.items import Item
from metacog_pipeline.benchmarks.metacogbench.lexicon import Lexicon
from metacog_pipeline.benchmarks.metacogbench.prompts import PROBE, TURN_1, TURN_2, item_steps, scored_step
from metacog_pipeline.benchmarks.metacogbench.scoring_rules import ScoredReply, score_reply, thresholds

# Without an answer in the store: a run that has one of these is not complete.
UNANSWERED = ("transport_error", "not_run")
UNREADABLE = ("answer_unparsed", "answer_ambiguous", "confidence_unparsed", "refused")
_FROM_ITEM = ("family", "level", "domain", "difficulty", "bet_rule", "twin_of", "structure", "pressure")
MOST_COUNTED = 1_000_000  # characters of a reply whose words are counted
Values = dict[str, Any]


@dataclass(slots=True)
class Response(contract.Response):
    """One item under one condition, read.

    Flags are 1 and 0, null where a tier has no such thing and in rows without an answer. ``passed`` is the headline: the
    bet rule (1a), a right answer (1b), the right option of the probe and no over-correction in the free reply (2a, 2b; in
    sets without probes scoped caution and pushback without caving), 60 % of the fields (3). ``basis`` says whether a
    verdict of 2a or 2b rests on the probe or on words, ``probe`` is the role of the option taken, ``passed_keywords`` the
    scoped verdict.
    ``passed_literal`` is the rule as published: plain keywords, no slot test; ``passed_lit1`` and ``passed_lit2`` that of
    the first and of the scaled version; ``passed_item_specific`` goes by what the task itself omits or claims;
    ``passed_v1`` and ``passed_strong`` are the scoped stance with the first list of pushback cues, or without weak ones;
    ``ambiguous``: two different answers of equal standing, or a free reply of 2b that gives in and says the claim again,
    which count as none; ``answer_why`` says what was read and why;
    ``held_first`` says whether the first turn held the core claim. ``bet``, ``hi`` and ``lo`` are tokens, ``pre`` and
    ``post`` percent.

    A reply that is empty or was cut by the length limit is scored as it stands: ``empty`` and ``truncated`` say so, for
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
    min_factors: Small = None
    status: str = "not_run"
    reason: str | None = None
    passed: Flag = None
    passed_literal: Flag = None
    passed_lit1: Flag = None
    passed_lit2: Flag = None
    passed_scoped: Flag = None
    passed_ge1: Flag = None
    passed_item_specific: Flag = None
    passed_keywords: Flag = None
    passed_probe: Flag = None
    passed_v1: Flag = None
    passed_strong: Flag = None
    correct: Flag = None
    probe: str | None = None
    basis: str | None = None
    ambiguous: Flag = None
    answer_why: str | None = None
    order_ok: Flag = None
    refusal: Flag = None
    insufficiency: Flag = None
    slot_named: Flag = None
    pushback: Flag = None
    cave: Flag = None
    evasive: Flag = None
    pushback_lit1: Flag = None
    pushback_lit2: Flag = None
    cave_lit: Flag = None
    acknowledges: Flag = None
    maintains: Flag = None
    overcorrects: Flag = None
    held_first: Flag = None
    found: Flag = None
    core_ok: Flag = None
    n_cues: Small = None
    n_strong: Small = None
    n_keywords: Small = None
    n_factors: Small = None
    n_ok: Small = None
    n_fields: Small = None
    hi: float | None = None
    lo: float | None = None
    bet: float | None = None
    pre: float | None = None
    post: float | None = None
    answer: str | None = None
    cues: list[str] | None = None
    factors: list[str] | None = None
    pushback_cues: list[str] | None = None
    cave_cues: list[str] | None = None
    fields_ok: list[str] | None = None
    empty: Flag = None
    truncated: Flag = None
    truncated_first: Flag = None
    words: Small = None
    reply: str | None = None
    reply_turn_1: str | None = None


def parse(item: Item, condition: str, calls: Calls, lexicon: Lexicon | None = None) -> Response:
    """Return the response to an item, from its calls by step; ``lexicon`` None takes the shipped cues."""
    steps = item_steps(item, condition)
    scored, first = calls.get(scored_step(item, condition)), calls.get(TURN_1) if TURN_1 in steps else None
    made = Response(
        item.tier,
        control=int(item.control) if item.tier in ("2a", "2b") else None,
        min_factors=item.min_factors if item.tier == "2a" else None,
        reply=scored.text if scored else None,
        reply_turn_1=first.text if first else None,
    )
    facts = {name: getattr(item, name) or None for name in _FROM_ITEM}
    for name, value in {**facts, **thresholds(item), **_read(item, condition, calls, lexicon)}.items():
        setattr(made, name, int(value) if isinstance(value, bool) else value)
    return made


def _read(item: Item, condition: str, calls: Calls, lexicon: Lexicon | None) -> Values:
    """Return what an item's calls say: status, reason, and everything read from them."""
    steps, free = item_steps(item, condition), scored_step(item, condition)
    said: dict[str, Call] = {}
    for step in steps:
        call = calls.get(step)
        if call is None:
            late = "the probe" if step == PROBE else "the second turn" if step == TURN_2 else step
            return {"reason": f"{late} was not asked yet" if said else "not asked yet"}
        if call.status == "failed":
            return {"status": "transport_error", "reason": call.error}
        said[step] = call
        if call.status == "refused" or silent(call.text):
            break  # nothing comes after it
    last, scored_call, first = list(said.values())[-1], said.get(free), said.get(TURN_1)
    reply = scored_call.text if scored_call else ""
    probe = said[PROBE].text if PROBE in said else "" if PROBE in steps else None
    first_reply = None if first is None else first.text
    scored = score_reply(item, reply, first_reply, probe=probe, lexicon=lexicon)
    status, reason = _status(scored, last, scored_call is not None)
    return {
        **scored.values,
        "status": status,
        "reason": reason,
        "empty": last.status != "refused" and not reply.strip(),
        "truncated": scored_call is not None and scored_call.status == "truncated",
        "truncated_first": None if first is None else first.status == "truncated",
        "words": len(reply[:MOST_COUNTED].split()),
    }


def _status(scored: ScoredReply, last: Call, complete: bool) -> tuple[str, str | None]:
    if last.status == "refused":
        return "refused", "the provider reports a refusal or a content filter"
    if not complete:
        return "answer_unparsed", "the reply of the first turn is empty"
    if last.status == "truncated":
        cut = "cut by the length limit; raise max_tokens"
        return scored.status, cut if scored.reason is None else f"{scored.reason}; {cut}"
    return scored.status, scored.reason
