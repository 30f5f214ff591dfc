"""Simulated respondents for MetaCog-Bench: observers with known calibration, caution and caving who answer in text.

What an observer does, tier by tier:

====  ====================================================================================================================
1a    is right with the chance of the question's level (`chance`) and stakes that chance plus ``confidence_bias``; notices
      with chance ``unknown_awareness`` that there is no answer, says so and stakes next to nothing, and otherwise invents
      one and stakes as on any question. ``betting`` replaces the stake by a fixed policy.
1b    is right with that chance and predicts it, plus ``confidence_bias``; after the answer confidence has moved towards
      what is the case by the share ``metacognition``
2a    names two of the item's factors with chance ``caution``, if the format has room for them; ``json`` has none
2b    states the core claim with chance ``accuracy``; gives it up in the second turn with chance ``sycophancy``
3     gives every value right with chance ``transfer``, else as many as do not suffice
====  ====================================================================================================================

So that items are hard for everybody and repeated runs resemble each other, every chance is decided by a number that mixes
three parts: the item's (variance `COMMON`), the observer's own for that item (`OWN`), and the rest, new in each run and
condition. Over many items each chance is what it is said to be; over runs of one item it is not.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from statistics import NormalDist
from typing import NamedTuple

from metacog_pipeline.benchmark.seeded_sample import uniforms
from metacog_pipeline.benchmarks.metacogbench import prompts
from metacog_pipeline.benchmarks.metacogbench import simulated_answers as answers
from metacog_pipeline.benchmarks.metacogbench.items import CONDITIONS, DIFFICULTIES, Item
from metacog_pipeline.benchmarks.metacogbench.prompts import (
    ANSWER,
    FREE,
    JSON,
    JSON_NOTES,
    PROBE,
    TURN_1,
    Wording,
)
from metacog_pipeline.benchmarks.metacogbench.simulated_answers import PHRASES
from metacog_pipeline.files import canonical_json
from metacog_pipeline.llm.spec import ObserverSpec
from metacog_pipeline.llm.types import ChatRequest

COMMON, OWN = 0.35, 0.35
SPREAD = 0.2  # width of the chances of questions of one level
UNDECIDED = 0.4
_WEIGHTS = math.sqrt(COMMON), math.sqrt(OWN), math.sqrt(1 - COMMON - OWN)
_NORMAL = NormalDist()
_LEVELS: Mapping[str, int] = {name: place for place, name in enumerate(DIFFICULTIES)} | {"extreme": 3}
_MIDDLE = (len(DIFFICULTIES) - 1) / 2
_UNANSWERABLE = ("unknowable", "insufficient")
_FIXED_BETS: Mapping[str, int] = {"all": 100, "half": 50, "nothing": 0}


class _Asked(NamedTuple):
    item: Item
    condition: str
    step: str


class _Luck(NamedTuple):
    """Numbers between 0 and 1: ``knows`` and ``trait`` decide what is so, the rest how it is put."""

    knows: float
    trait: float
    form: float
    detail: float
    refuses: float
    slips: float


class SimulatedRespondent:
    """Answers requests about ``items`` as the observer ``observer`` would.

    Deterministic in the observer, the item, the condition, the step and ``sampling.seed``. It finds item, condition and
    step by the text of the user's messages, so it answers the same in process and behind a server; ``wording`` must be the
    one the messages are made with (None: the shipped one). To a message it does not know it says nothing.
    """

    def __init__(self, items: Sequence[Item], observer: ObserverSpec, wording: Wording | None = None) -> None:
        self.observer = observer
        wording = wording or prompts.load_wording()
        self._texts = [str(item.answer) for item in items if item.answer_type == "text"]
        self._asked: dict[tuple[str, ...], _Asked] = {}
        for condition in CONDITIONS:
            for item in prompts.applicable(items, condition):
                said: tuple[str, ...] = ()
                for step in prompts.item_steps(item, condition):
                    said = (*said, prompts.user_message(item, condition, step, wording))
                    self._asked.setdefault(said, _Asked(item, condition, step))

    def knows(self, request: ChatRequest) -> bool:
        """Whether ``request`` is about one of the items."""
        return self._find(request) is not None

    def __call__(self, request: ChatRequest) -> str:
        """Return the text of the answer to ``request``."""
        asked = self._find(request)
        if asked is None:
            return ""
        luck = self._luck(asked, request.sampling.seed)
        reply = self._reply(asked, luck)
        if request.constraint is not None:
            return reply
        if luck.refuses < self.observer.refusal:
            return _one(PHRASES["refusals"], luck.form)
        if luck.slips < self.observer.untidiness:
            return _one(PHRASES["untidy"], luck.form).replace("{half}", reply[: len(reply) // 2])
        return reply

    def _find(self, request: ChatRequest) -> _Asked | None:
        said = tuple(message.content for message in request.messages if message.role == "user")
        return self._asked.get(said)

    def _luck(self, asked: _Asked, seed: int | None) -> _Luck:
        item, own = asked.item.item_id, [self.observer.seed, asked.item.item_id]
        run = [*own, asked.condition, seed]
        parts = [uniforms(canonical_json(key)) for key in ([item], own, run)]
        knows, trait = (
            _NORMAL.cdf(sum(w * _NORMAL.inv_cdf(part[i]) for w, part in zip(_WEIGHTS, parts, strict=True)))
            for i in (0, 1)
        )
        call = uniforms(canonical_json([*run, asked.step]))
        return _Luck(knows, trait, call[0], parts[2][3], call[2], call[3])

    def _reply(self, asked: _Asked, luck: _Luck) -> str:
        if asked.step == PROBE:
            return self._choice(asked.item, luck)
        match asked.item.tier:
            case "1a":
                return self._bet(asked.item, luck)
            case "1b":
                return self._prediction(asked, luck)
            case "2a":
                return self._analysis(asked.item, asked.condition, luck)
            case "2b":
                return self._stance(asked, luck)
            case _:
                solved = luck.knows < self.observer.transfer
                values = json.dumps(answers.solution(asked.item, all_right=solved), ensure_ascii=False)
                if asked.condition == JSON:
                    return values
                return _one(PHRASES["transfer"], luck.form).format(object=values)

    def _bet(self, item: Item, luck: _Luck) -> str:
        policy = self.observer.betting
        if policy == "refuse":
            return _one(PHRASES["blanket_refusals"], luck.form)
        sure = chance(item, self.observer)
        bet = _FIXED_BETS.get(policy, stated(sure, self.observer))
        if item.bet_rule in _UNANSWERABLE and luck.trait < self.observer.unknown_awareness:
            answer = _one(PHRASES["unanswerable"][item.bet_rule], luck.detail)
            bet = _FIXED_BETS.get(policy, int(10 * luck.detail))
        else:
            answer = self._answer(item, luck, sure)
        return _one(PHRASES["bet"], luck.form).format(answer=answer, bet=bet)

    def _prediction(self, asked: _Asked, luck: _Luck) -> str:
        item, step = asked.item, asked.step
        sure = chance(item, self.observer)
        pre = stated(sure, self.observer)
        truth = 100 if luck.knows < sure else 0
        post = round(pre + self.observer.metacognition * (truth - pre))
        answer = self._answer(item, luck, sure)
        if asked.condition == JSON:
            said = {"pre_confidence": pre, "answer": answer, "post_confidence": post}
            return json.dumps(said, ensure_ascii=False)
        forms = {TURN_1: "prediction", ANSWER: "confidence"}.get(step, "performance")
        shares = {"pre_share": f"{pre / 100:.2f}", "post_share": f"{post / 100:.2f}"}
        return _one(PHRASES[forms], luck.form).format(answer=answer, pre=pre, post=post, **shares)

    def _answer(self, item: Item, luck: _Luck, sure: float) -> str:
        if item.bet_rule in (*_UNANSWERABLE, "band") or item.answer is None:
            return answers.invented(item, luck.detail)
        return (
            answers.right_answer(item)
            if luck.knows < sure
            else answers.wrong_answer(item, self._texts, luck.detail)
        )

    def _analysis(self, item: Item, condition: str, luck: _Luck) -> str:
        labels = [answers.named(factor) for factor in item.factors] or ["local conditions"]
        place = int(luck.detail * len(labels))
        material = {
            "figure": answers.figure(item),
            "trap": answers.sentence(item.trap or "Go ahead with that"),
            "first": labels[place],
            "second": labels[(place + 1) % len(labels)],
        }
        cautious = luck.trait < self.observer.caution
        if condition == FREE:
            return _one(PHRASES["cautious"] if cautious else PHRASES["naive"], luck.form).format(**material)
        reply = {"result": item.computed_answer, "unit": item.unit, "recommendation": material["trap"]}
        if condition == JSON_NOTES:
            notes = _one(PHRASES["cautious_notes"], luck.form).format(**material)
            reply["notes"] = notes if cautious else ""
        return json.dumps(reply, ensure_ascii=False)

    def _choice(self, item: Item, luck: _Luck) -> str:
        """Return the letter of the position the observer takes: that of its free reply, right where it knows better."""
        knows = luck.knows < self.observer.accuracy
        if item.tier == "2a":
            careful = luck.trait < self.observer.caution
            role = ("act" if knows else "check") if item.control else "check" if careful else "act"
        elif luck.trait < self.observer.sycophancy:
            role = "give"
        else:
            role = item.right[0] if knows or not item.control else "keep"
        letter = prompts.LETTERS[[option.role for option in item.options].index(role)]
        return _one(PHRASES["choice"], luck.form).format(letter=letter)

    def _stance(self, asked: _Asked, luck: _Luck) -> str:
        item = asked.item
        core, valid = answers.sentence(item.core_claim), answers.clause(item.valid_point)
        if asked.step == TURN_1:
            forms = "claims" if luck.knows < self.observer.accuracy else "no_claim"
        else:
            forms = "caves" if luck.trait < self.observer.sycophancy else "holds"
        over = answers.clause(item.overcorrection)
        return _one(PHRASES[forms], luck.form).format(core=core, valid=valid, over=over)


def chance(item: Item, observer: ObserverSpec) -> float:
    """Return how likely the observer is right about an item of tier 1a or 1b, 0.02 to 0.98.

    ``accuracy``, raised or lowered by ``difficulty_slope`` for every level the item lies below or above the middle, and
    by up to half of `SPREAD` either way for the item itself. Where there is nothing to know it is how likely the
    observer takes itself to be; `UNDECIDED` in a matter of taste.
    """
    if item.bet_rule == "band":
        return UNDECIDED
    level = _LEVELS.get(item.difficulty or item.level, _MIDDLE)
    base = observer.accuracy + observer.difficulty_slope * (_MIDDLE - level)
    own = SPREAD * (uniforms(canonical_json([item.item_id]))[6] - 0.5)
    return min(max(base + own, 0.02), 0.98)


def stated(sure: float, observer: ObserverSpec) -> int:
    """Return the confidence an observer states, in percent, whose chance of being right is ``sure``."""
    return round(100 * min(max(sure + observer.confidence_bias, 0.0), 1.0))


def _one(forms: Sequence[str], share: float) -> str:
    return forms[int(share * len(forms))]
