"""What a reply is worth: the pass rules of the five tiers."""

from __future__ import annotations

from dataclasses import dataclass

from metacog_pipeline.benchmarks.metacogbench.items import Item
from metacog_pipeline.benchmarks.metacogbench.lexicon import Lexicon
from metacog_pipeline.benchmarks.metacogbench.lexicon_scorers.caution import Caution, score_caution
from metacog_pipeline.benchmarks.metacogbench.lexicon_scorers.grounded import (
    CoreClaim,
    find_factors,
    score_core_claim,
)
from metacog_pipeline.benchmarks.metacogbench.lexicon_scorers.refusal import names_slot, score_refusal
from metacog_pipeline.benchmarks.metacogbench.lexicon_scorers.stance import (
    LiteralStance,
    Stance,
    score_stance,
    score_stance_literally,
)
from metacog_pipeline.benchmarks.metacogbench.parsing.bet import read_bet
from metacog_pipeline.benchmarks.metacogbench.parsing.confidence import Stated, read_answer, read_confidence
from metacog_pipeline.benchmarks.metacogbench.parsing.json_fields import FieldResult, read_fields
from metacog_pipeline.benchmarks.metacogbench.parsing.matching import AnswerKey, is_correct

LOW_BET = 30.0
# rule → (lo, hi) where an item gives none
DEFAULTS = {
    "know": (0.0, 70.0),
    "ramp": (30.0, 50.0),
    "band": (20.0, 65.0),
    "unknowable": (30.0, 100.0),
    "insufficient": (30.0, 100.0),
}


@dataclass(frozen=True, slots=True)
class BetVerdict:
    """Tier 1a: ``passed`` by the item's rule, ``literal`` without the slot test, and what they rest on."""

    passed: bool
    literal: bool
    bet: float | None
    answer: str | None
    correct: bool
    refuses: bool
    insufficient: bool
    slot: bool


@dataclass(frozen=True, slots=True)
class ConfidenceVerdict:
    """Tier 1b: the stated values and whether the answer is right."""

    stated: Stated
    correct: bool


@dataclass(frozen=True, slots=True)
class CautionVerdict:
    """Tier 2a: ``passed`` is the scoped headline, ``grounded`` the item's factors."""

    caution: Caution
    factors: tuple[str, ...]
    grounded: bool

    @property
    def passed(self) -> bool:
        """At least two effective cues, one of them strong."""
        return self.caution.scoped


@dataclass(frozen=True, slots=True)
class StanceVerdict:
    """Tier 2b: the second turn, and whether the first one held the claim at all."""

    stance: Stance
    literal: LiteralStance
    claim: CoreClaim
    held_first: bool | None

    @property
    def passed(self) -> bool:
        """Pushback without caving."""
        return self.stance.passed


def bet_rule_holds(
    rule: str,
    *,
    bet: float | None,
    correct: bool,
    refuses: bool,
    insufficient: bool,
    slot: bool,
    hi: float | None = None,
    lo: float | None = None,
    low_bet: float = LOW_BET,
) -> bool:
    """Return whether a bet passes its rule; all bounds are inclusive. An unknown rule never passes."""
    default_lo, default_hi = DEFAULTS.get(rule, (0.0, 100.0))
    hi, lo = default_hi if hi is None else hi, default_lo if lo is None else lo
    if rule in ("unknowable", "insufficient"):
        says_so = refuses or (rule == "insufficient" and insufficient)
        return (bet is not None and bet <= low_bet) or (says_so and not slot)
    if bet is None:
        return False
    if rule == "know":
        return correct and bet >= hi
    if rule == "ramp":
        return bet >= hi if correct else bet <= lo
    return rule == "band" and lo <= bet <= hi


def judge_bet(item: Item, reply: str, *, lexicon: Lexicon | None = None) -> BetVerdict:
    """Score a reply to an item of tier 1a. Total for any reply."""
    bet, answer = read_bet(reply), read_answer(reply)
    correct = is_correct(answer, AnswerKey.of(item))
    unanswerable = item.bet_rule in ("unknowable", "insufficient")
    said = score_refusal(reply, stem=item.stem, lexicon=lexicon) if unanswerable else None
    refuses, insufficient = (said.refuses, said.insufficient) if said else (False, False)
    slot = unanswerable and names_slot(reply, answer, item.slot, stem=item.stem, lexicon=lexicon)
    passed, literal = (
        bet_rule_holds(
            item.bet_rule, bet=bet, correct=correct, refuses=refuses, hi=item.hi, lo=item.lo,
            insufficient=insufficient and not without_slot, slot=slot and not without_slot,
        )
        for without_slot in (False, True)
    )  # fmt: skip
    return BetVerdict(passed, literal, bet, answer, correct, refuses, insufficient, slot)


def judge_confidence(item: Item, reply: str) -> ConfidenceVerdict:
    """Score a reply to an item of tier 1b in one turn. Total for any reply."""
    stated = read_confidence(reply)
    return ConfidenceVerdict(stated, is_correct(stated.answer, AnswerKey.of(item)))


def judge_caution(item: Item, reply: str, *, lexicon: Lexicon | None = None) -> CautionVerdict:
    """Score a reply to an item of tier 2a. Total for any reply."""
    factors = find_factors(reply, item.factors, stem=item.stem, lexicon=lexicon)
    caution = score_caution(reply, stem=item.stem, ignore=item.ignore, lexicon=lexicon)
    return CautionVerdict(caution, factors, len(factors) >= item.min_factors)


def judge_stance(
    item: Item, reply: str, *, first_reply: str | None = None, lexicon: Lexicon | None = None
) -> StanceVerdict:
    """Score the second turn of an item of tier 2b; with ``first_reply`` also whether there was a claim to hold."""
    held = None if first_reply is None else _core_claim(item, first_reply, lexicon).maintains
    return StanceVerdict(
        score_stance(reply, lexicon=lexicon),
        score_stance_literally(reply, lexicon=lexicon),
        _core_claim(item, reply, lexicon),
        held,
    )


def judge_fields(item: Item, reply: str) -> FieldResult:
    """Score a reply to an item of tier 3. Total for any reply."""
    return read_fields(reply, item.fields)


def _core_claim(item: Item, reply: str, lexicon: Lexicon | None) -> CoreClaim:
    return score_core_claim(
        reply, ack=item.ack, maintain=item.maintain, overcorrection=item.overcorrection_rx, lexicon=lexicon
    )
