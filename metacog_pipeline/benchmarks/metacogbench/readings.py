"""What the replies to one item say, and what they are worth under every rule: the columns of its observation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import polars as pl

from metacog_pipeline.benchmarks.metacogbench.items import Item
from metacog_pipeline.benchmarks.metacogbench.lexicon import Lexicon
from metacog_pipeline.benchmarks.metacogbench.lexicon_scorers.stance import score_stance
from metacog_pipeline.benchmarks.metacogbench.parsing.confidence import Stated, read_confidence
from metacog_pipeline.benchmarks.metacogbench.parsing.matching import (
    AnswerKey,
    is_correct,
    is_correct_literally,
)
from metacog_pipeline.benchmarks.metacogbench.scoring_rules import (
    DEFAULTS,
    judge_bet,
    judge_caution,
    judge_fields,
    judge_stance,
)

ReadStatus = Literal["ok", "answer_unparsed", "confidence_unparsed"]
Value = float | str | bool | list[str] | None

_FLAGS = (
    *("passed", "passed_lit", "passed_lit1", "passed_lit2", "passed_scoped", "passed_ge1", "passed_grounded"),
    *("passed_v1", "passed_strong", "correct", "order_ok", "refusal", "insufficiency", "slot_named"),
    *("pushback", "cave", "evasive", "pushback_lit1", "pushback_lit2", "cave_lit"),
    *("acknowledges", "maintains", "overcorrects", "held_first", "found", "core_ok"),
)
_COUNTS = ("n_cues", "n_strong", "n_keywords", "n_factors", "n_ok", "n_fields")
_NUMBERS = ("hi", "lo", "bet", "pre", "post")
_LISTS = ("cues", "factors", "pushback_cues", "cave_cues", "fields_ok")
READING_TYPES: dict[str, pl.DataType | type[pl.DataType]] = {
    **dict.fromkeys(_FLAGS, pl.Int8),
    **dict.fromkeys(_COUNTS, pl.Int32),
    **dict.fromkeys(_NUMBERS, pl.Float64),
    "answer": pl.String,
    **dict.fromkeys(_LISTS, pl.List(pl.String)),
}
_LABEL = "PRE_CONFIDENCE: "
_BARE_LENGTH = 40  # a prediction without its label is a number and little else


@dataclass(frozen=True, slots=True)
class Reading:
    """``status`` says what could be read; ``values`` are columns of `READING_TYPES`, those left out are null."""

    status: ReadStatus
    values: dict[str, Value]
    reason: str | None = None


def read_item(
    item: Item, reply: str, first_reply: str | None = None, *, lexicon: Lexicon | None = None
) -> Reading:
    """Read the scored reply to an item, and the reply of the first turn where there were two. Total for any reply.

    Parameters
    ----------
    reply
        The only reply, or the one of the second turn.
    first_reply
        That of the first turn, None where there was one turn only.
    lexicon
        The cues; None for the shipped ones.
    """
    match item.tier:
        case "1a":
            reading = _bet(item, reply, lexicon)
        case "1b":
            reading = _prediction(item, reply, first_reply)
        case "2a":
            reading = _caution(item, reply, lexicon)
        case "2b":
            reading = _stance(item, reply, first_reply, lexicon)
        case _:
            reading = _fields(item, reply)
    if not reply.strip():
        return Reading("answer_unparsed", reading.values, "the reply is empty")
    return reading


def thresholds(item: Item) -> dict[str, Value]:
    """Return ``hi`` and ``lo`` of a bet, those of its rule where the item gives none."""
    if item.tier != "1a":
        return {}
    low, high = DEFAULTS.get(item.bet_rule, (None, None))
    return {"hi": high if item.hi is None else item.hi, "lo": low if item.lo is None else item.lo}


def _bet(item: Item, reply: str, lexicon: Lexicon | None) -> Reading:
    found = judge_bet(item, reply, lexicon=lexicon)
    values: dict[str, Value] = {
        "passed": found.passed,
        "passed_lit": found.literal,
        "bet": found.bet,
        "answer": found.answer,
        "correct": found.correct,
        "refusal": found.refuses,
        "insufficiency": found.insufficient,
        "slot_named": found.slot,
    }
    if found.refuses or found.insufficient:  # says so instead of answering, a bet may be missing
        return Reading("ok", values)
    if found.answer is None and found.bet is None:
        return Reading("answer_unparsed", values, "neither an answer nor a bet")
    if found.bet is None:
        return Reading("confidence_unparsed", values, "no bet")
    if found.answer is None and item.answer_type != "none":
        return Reading("answer_unparsed", values, "no ANSWER line")
    return Reading("ok", values)


def _prediction(item: Item, reply: str, first_reply: str | None) -> Reading:
    stated = read_confidence(reply)
    if first_reply is not None:
        pre = _predicted(first_reply)
        in_order = None if pre is None or stated.answer is None else True
        stated = Stated(pre, stated.answer, stated.post, in_order)
    key = AnswerKey.of(item)
    correct = is_correct(stated.answer, key)
    values: dict[str, Value] = {
        "passed": correct,
        "passed_lit": is_correct_literally(reply, key),
        "correct": correct,
        "answer": stated.answer,
        "pre": stated.pre,
        "post": stated.post,
        "order_ok": stated.order_ok,
    }
    if stated.answer is None:
        return Reading("answer_unparsed", values, "no ANSWER line")
    missing = [name for name, value in (("PRE", stated.pre), ("POST", stated.post)) if value is None]
    if missing:
        return Reading("confidence_unparsed", values, f"no {' and no '.join(missing)} confidence")
    return Reading("ok", values)


def _predicted(reply: str) -> float | None:
    """Return the prediction of a first turn, which may stand there without its label."""
    found = read_confidence(reply).pre
    bare = reply.strip()
    return found if found is not None or len(bare) > _BARE_LENGTH else read_confidence(_LABEL + bare).pre


def _caution(item: Item, reply: str, lexicon: Lexicon | None) -> Reading:
    found = judge_caution(item, reply, lexicon=lexicon)
    cues = found.caution
    return Reading(
        "ok",
        {
            "passed": found.passed,
            "passed_lit": cues.lit2,
            "passed_lit1": cues.lit1,
            "passed_lit2": cues.lit2,
            "passed_scoped": cues.scoped,
            "passed_ge1": cues.ge1,
            "passed_grounded": found.grounded,
            "n_cues": len(cues.cues),
            "n_strong": cues.n_strong,
            "n_keywords": len(cues.keywords),
            "n_factors": len(found.factors),
            "cues": list(cues.cues),
            "factors": list(found.factors),
        },
    )


def _stance(item: Item, reply: str, first_reply: str | None, lexicon: Lexicon | None) -> Reading:
    found = judge_stance(item, reply, first_reply=first_reply, lexicon=lexicon)
    stance, literal, claim = found.stance, found.literal, found.claim
    return Reading(
        "ok",
        {
            "passed": found.passed,
            "passed_lit": literal.passed_v2,
            "passed_lit1": literal.passed_v1,
            "passed_lit2": literal.passed_v2,
            "passed_scoped": stance.passed,
            "passed_grounded": claim.grounded,
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
        },
    )


def _fields(item: Item, reply: str) -> Reading:
    found = judge_fields(item, reply)
    values: dict[str, Value] = {
        "passed": found.passed,
        "passed_lit": found.passed,
        "found": found.found,
        "core_ok": found.core_ok,
        "n_ok": found.n_ok,
        "n_fields": len(found.ok),
        "fields_ok": [name for name, right in found.ok.items() if right],
    }
    if not found.found:
        return Reading("answer_unparsed", values, "no JSON object with a field that is asked for")
    return Reading("ok", values)
