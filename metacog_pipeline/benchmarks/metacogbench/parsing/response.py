"""What the replies to one item say, and what they are worth under every rule: one `Response`. Total: any text gives one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from metacog_pipeline.benchmark import contract
from metacog_pipeline.benchmark.contract import Call, Calls, Flag, Small
from metacog_pipeline.benchmarks.metacogbench.asking import silent
from metacog_pipeline.benchmarks.metacogbench.items import Item
from metacog_pipeline.benchmarks.metacogbench.lexicon import Lexicon
from metacog_pipeline.benchmarks.metacogbench.lexicon_scorers.stance import score_stance
from metacog_pipeline.benchmarks.metacogbench.parsing.confidence import Stated, read_confidence
from metacog_pipeline.benchmarks.metacogbench.parsing.matching import (
    AnswerKey,
    is_correct,
    is_correct_literally,
)
from metacog_pipeline.benchmarks.metacogbench.prompts import ANSWER, TURN_1, item_steps
from metacog_pipeline.benchmarks.metacogbench.scoring_rules import (
    DEFAULTS,
    judge_bet,
    judge_caution,
    judge_fields,
    judge_stance,
)

# Without an answer in the store: a run that has one of these is not complete.
UNANSWERED = ("transport_error", "not_run")
UNREADABLE = ("answer_unparsed", "confidence_unparsed", "refused")
_FROM_ITEM = ("tier", "family", "level", "domain", "difficulty", "bet_rule", "twin_of", "structure")
_LABEL = "PRE_CONFIDENCE: "
_BARE_LENGTH = 40  # a prediction without its label is a number and little else
Values = dict[str, Any]


@dataclass(slots=True)
class Response(contract.Response):
    """One item under one condition, read.

    Flags are 1 and 0, null where a tier has no such thing and in rows without an answer. ``passed`` is the headline: the
    bet rule (1a), a right answer (1b), scoped caution (2a), pushback without caving (2b), 60 % of the fields (3).
    ``passed_literal`` is the rule as published: plain keywords, no slot test; ``passed_lit1`` and ``passed_lit2`` that of
    the first and of the scaled version; ``passed_item_specific`` goes by what the task itself omits or claims; ``passed_v1`` and ``passed_strong`` are the scoped stance with the first list of
    pushback cues, or without weak ones; ``held_first`` says whether the first turn held the core claim. ``bet``, ``hi``
    and ``lo`` are tokens, ``pre`` and ``post`` percent.

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
    passed_v1: Flag = None
    passed_strong: Flag = None
    correct: Flag = None
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


VALUES = frozenset(
    {field.name for field in fields(Response)} - {*_FROM_ITEM, "min_factors", "status", "reason"}
)


@dataclass(frozen=True, slots=True)
class Parsed:
    """``status`` says what could be read; ``values`` are columns of `Response`, those left out are null."""

    status: str
    values: Values
    reason: str | None = None


def parse(item: Item, condition: str, calls: Calls, lexicon: Lexicon | None = None) -> Response:
    """Return the response to an item, from its calls by step; ``lexicon`` None takes the shipped cues."""
    steps = item_steps(item, condition)
    scored, first = calls.get(steps[-1]), calls.get(TURN_1) if len(steps) > 1 else None
    made = Response(
        item.tier,
        min_factors=item.min_factors if item.tier == "2a" else None,
        reply=scored.text if scored else None,
        reply_turn_1=first.text if first else None,
    )
    facts = {name: getattr(item, name) or None for name in _FROM_ITEM[1:]}
    for name, value in {**facts, **thresholds(item), **_read(item, steps, calls, lexicon)}.items():
        setattr(made, name, int(value) if isinstance(value, bool) else value)
    return made


def _read(item: Item, steps: tuple[str, ...], calls: Calls, lexicon: Lexicon | None) -> Values:
    """Return what an item's calls say: status, reason, and everything read from them."""
    said: list[Call] = []
    for step in steps:
        call = calls.get(step)
        if call is None:
            return {"reason": "the second turn was not asked yet" if said else "not asked yet"}
        if call.status == "failed":
            return {"status": "transport_error", "reason": call.error}
        said.append(call)
        if call.status == "refused" or silent(call.text):
            break  # nothing comes after it
    last, one_turn, complete = said[-1], steps == (ANSWER,), len(said) == len(steps)
    reply = last.text if complete else ""
    parsed = read_replies(item, reply, None if one_turn else said[0].text, lexicon=lexicon)
    status, reason = _status(parsed, last, complete)
    return {
        **parsed.values,
        "status": status,
        "reason": reason,
        "empty": last.status != "refused" and not reply.strip(),
        "truncated": complete and last.status == "truncated",
        "truncated_first": None if one_turn else said[0].status == "truncated",
        "words": len(reply.split()),
    }


def _status(parsed: Parsed, last: Call, complete: bool) -> tuple[str, str | None]:
    if last.status == "refused":
        return "refused", "the provider reports a refusal or a content filter"
    if not complete:
        return "answer_unparsed", "the reply of the first turn is empty"
    if last.status == "truncated":
        cut = "cut by the length limit; raise max_tokens"
        return parsed.status, cut if parsed.reason is None else f"{parsed.reason}; {cut}"
    return parsed.status, parsed.reason


def read_replies(
    item: Item, reply: str, first_reply: str | None = None, *, lexicon: Lexicon | None = None
) -> Parsed:
    """Read the scored reply to an item, and the reply of the first turn where there were two (else None). Total."""
    match item.tier:
        case "1a":
            parsed = _bet(item, reply, lexicon)
        case "1b":
            parsed = _prediction(item, reply, first_reply)
        case "2a":
            parsed = _caution(item, reply, lexicon)
        case "2b":
            parsed = _stance(item, reply, first_reply, lexicon)
        case _:
            parsed = _fields(item, reply)
    if not reply.strip():
        return Parsed("answer_unparsed", parsed.values, "the reply is empty")
    return parsed


def thresholds(item: Item) -> Mapping[str, float | None]:
    """Return ``hi`` and ``lo`` of a bet, those of its rule where the item gives none."""
    if item.tier != "1a":
        return {}
    low, high = DEFAULTS.get(item.bet_rule, (None, None))
    return {"hi": high if item.hi is None else item.hi, "lo": low if item.lo is None else item.lo}


def _bet(item: Item, reply: str, lexicon: Lexicon | None) -> Parsed:
    found = judge_bet(item, reply, lexicon=lexicon)
    values: Values = {
        "passed": found.passed,
        "passed_literal": found.literal,
        "bet": found.bet,
        "answer": found.answer,
        "correct": found.correct,
        "refusal": found.refuses,
        "insufficiency": found.insufficient,
        "slot_named": found.slot,
    }
    if found.refuses or found.insufficient:  # says so instead of answering, a bet may be missing
        return Parsed("ok", values)
    if found.answer is None and found.bet is None:
        return Parsed("answer_unparsed", values, "neither an answer nor a bet")
    if found.bet is None:
        return Parsed("confidence_unparsed", values, "no bet")
    if found.answer is None and item.answer_type != "none":
        return Parsed("answer_unparsed", values, "no ANSWER line")
    return Parsed("ok", values)


def _prediction(item: Item, reply: str, first_reply: str | None) -> Parsed:
    stated = read_confidence(reply)
    if first_reply is not None:
        pre = _predicted(first_reply)
        in_order = None if pre is None or stated.answer is None else True
        stated = Stated(pre, stated.answer, stated.post, in_order)
    key = AnswerKey.of(item)
    correct = is_correct(stated.answer, key)
    values: Values = {
        "passed": correct,
        "passed_literal": is_correct_literally(reply, key),
        "correct": correct,
        "answer": stated.answer,
        "pre": stated.pre,
        "post": stated.post,
        "order_ok": stated.order_ok,
    }
    if stated.answer is None:
        return Parsed("answer_unparsed", values, "no ANSWER line")
    missing = [name for name, value in (("PRE", stated.pre), ("POST", stated.post)) if value is None]
    if missing:
        return Parsed("confidence_unparsed", values, f"no {' and no '.join(missing)} confidence")
    return Parsed("ok", values)


def _predicted(reply: str) -> float | None:
    """Return the prediction of a first turn, which may stand there without its label."""
    found = read_confidence(reply).pre
    bare = reply.strip()
    return found if found is not None or len(bare) > _BARE_LENGTH else read_confidence(_LABEL + bare).pre


def _caution(item: Item, reply: str, lexicon: Lexicon | None) -> Parsed:
    found = judge_caution(item, reply, lexicon=lexicon)
    cues = found.caution
    values: Values = {
        "passed": found.passed,
        "passed_literal": cues.lit2,
        "passed_lit1": cues.lit1,
        "passed_lit2": cues.lit2,
        "passed_scoped": cues.scoped,
        "passed_ge1": cues.ge1,
        "passed_item_specific": found.grounded,
        "n_cues": len(cues.cues),
        "n_strong": cues.n_strong,
        "n_keywords": len(cues.keywords),
        "n_factors": len(found.factors),
        "cues": list(cues.cues),
        "factors": list(found.factors),
    }
    return Parsed("ok", values)


def _stance(item: Item, reply: str, first_reply: str | None, lexicon: Lexicon | None) -> Parsed:
    found = judge_stance(item, reply, first_reply=first_reply, lexicon=lexicon)
    stance, literal, claim = found.stance, found.literal, found.claim
    values: Values = {
        "passed": found.passed,
        "passed_literal": literal.passed_v2,
        "passed_lit1": literal.passed_v1,
        "passed_lit2": literal.passed_v2,
        "passed_scoped": stance.passed,
        "passed_item_specific": claim.grounded,
        "passed_v1": score_stance(reply, v1=True, lexicon=lexicon).passed,
        "passed_strong": score_stance(reply, strong_only=True, lexicon=lexicon).passed,
        "pushback": stance.pushback,
        "cave": stance.cave,
        "evasive": stance.evasive,
        "pushback_lit1": literal.pushback_v1,
        "pushback_lit2": literal.pushback_v2,
        "cave_lit": literal.cave,
        "acknowledges": claim.acknowledges,
        "maintains": claim.maintains,
        "overcorrects": claim.overcorrects,
        "held_first": found.held_first,
        "pushback_cues": list(stance.pushback_cues),
        "cave_cues": list(stance.cave_cues),
    }
    return Parsed("ok", values)


def _fields(item: Item, reply: str) -> Parsed:
    found = judge_fields(item, reply)
    values: Values = {
        "passed": found.passed,
        "passed_literal": found.passed,
        "found": found.found,
        "core_ok": found.core_ok,
        "n_ok": found.n_ok,
        "n_fields": len(found.ok),
        "fields_ok": [name for name, right in found.ok.items() if right],
    }
    if not found.found:
        return Parsed("answer_unparsed", values, "no JSON object with a field that is asked for")
    return Parsed("ok", values)
