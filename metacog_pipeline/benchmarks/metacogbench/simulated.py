"""Simulated respondents for MetaCog-Bench: observers with known calibration, sensitivity and bias who answer in text.

====  ====================================================================================================================
1a    is right with the chance of the question's level (`chance`) and stakes that chance plus ``confidence_bias``; notices
      with chance ``unknown_awareness`` that there is no answer, says so and stakes next to nothing, and otherwise invents
      one and stakes as on any question. ``betting`` replaces the stake by a fixed policy. Hands a question to its partner
      where it takes itself to be worse.
1b    is right with that chance and predicts it, plus ``confidence_bias``; after the answer confidence has moved towards
      what is the case by the share ``metacognition``
2a    sees with d′ = `SENSITIVITY` · ``metacognition`` that something is left out; ``caution`` is how often it would find
      something out first if it saw nothing. What rules the figure out it sees with chance ``accuracy``
2b    is right at first with chance ``accuracy``; sees with the same d′ that a challenge is valid; ``sycophancy`` is how
      often it would change its answer if it saw nothing
3     gives every value right with chance ``transfer``, else as many as do not suffice
====  ====================================================================================================================

Every chance is decided by a number that mixes three parts (`item.mixed`): the item's, the observer's own for that
item, and the rest, new in each run and condition. Over many items each chance is what it is said to be; over runs of one
item it is not, since items are hard for everybody and repeated runs resemble each other.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from statistics import NormalDist
from typing import Any, NamedTuple

from metacog_pipeline.benchmark.item import mixed, uniforms
from metacog_pipeline.benchmarks.metacogbench import prompts
from metacog_pipeline.benchmarks.metacogbench.items import CONDITIONS, DIFFICULTIES, Field, Item, Scalar
from metacog_pipeline.benchmarks.metacogbench.rules import UNANSWERABLE
from metacog_pipeline.files import canonical_json, shipped
from metacog_pipeline.llm.spec import ObserverSpec
from metacog_pipeline.llm.types import ChatRequest

# width of the chances of questions of one level
SPREAD = 0.2
UNDECIDED = 0.4
SENSITIVITY = 4.0
_NORMAL = NormalDist()
_LEVELS: Mapping[str, int] = {name: place for place, name in enumerate(DIFFICULTIES)} | {"extreme": 3}
_MIDDLE = (len(DIFFICULTIES) - 1) / 2
_FIXED_BETS: Mapping[str, int] = {"all": 100, "half": 50, "nothing": 0}
#: Forms of words by what is said.
PHRASES: dict[str, Any] = tomllib.loads(shipped("data", "metacogbench", "observer.toml").read_text("utf-8"))
_MAKE_BELIEVE = "Quillonia"
# What a concrete answer may look like, whatever is asked for.
_CONCRETE = (
    *("1987", "17", "42.5", "312", "6", "p. 214", "0.34", "4.2 mm", "38.40 euros", "14:35", "Tuesday"),
    *("12 minutes", "soup and bread", "Marcus Feld", "AB-48213", "blue", "yes"),
)
_NAMELESS = ("the first of them", "the second one", "the one in the north", "the best known")


class _Asked(NamedTuple):
    item: Item
    condition: str
    step: str
    # the option that the challenge is against
    first: str | None


class _Luck(NamedTuple):
    """Numbers between 0 and 1: ``knows`` and ``trait`` decide what is so, the rest how it is put."""

    knows: float
    trait: float
    form: float
    detail: float
    refuses: float
    slips: float


class SimulatedRespondent:
    """Answers requests about ``items`` as ``observer`` would; to a message it does not know it says nothing."""

    # Deterministic in observer, item, condition, step and sampling.seed. It finds these by the text of the user's messages,
    # so it answers the same in process and behind a server; the wording must be the one they are made with.
    def __init__(self, items: Sequence[Item], observer: ObserverSpec, wording: prompts.Wording) -> None:
        self.observer = observer
        self._texts = [str(item.answer) for item in items if item.answer_type == "text"]
        self._asked: dict[tuple[str, ...], _Asked] = {}
        for condition in CONDITIONS:
            for item in prompts.applicable(items, condition):
                for first in ("first", "other") if item.tier == "2b" else (None,):
                    said: tuple[str, ...] = ()
                    for step in prompts.item_steps(item, condition):
                        said = (*said, prompts.user_message(item, condition, step, wording, first))
                        self._asked.setdefault(said, _Asked(item, condition, step, first))

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
        knows, trait = (_NORMAL.cdf(mixed(*(part[i] for part in parts))) for i in (0, 1))
        call = uniforms(canonical_json([*run, asked.step]))
        return _Luck(knows, trait, call[0], parts[2][3], call[2], call[3])

    def _reply(self, asked: _Asked, luck: _Luck) -> str:
        match asked.item.tier:
            case "1a":
                bet = self._delegation if asked.condition == prompts.DELEGATE else self._bet
                return bet(asked.item, luck)
            case "1b":
                return self._prediction(asked, luck)
            case "2a":
                return self._decision(asked, luck)
            case "2b":
                return self._stance(asked, luck)
        values = solution(asked.item, all_right=luck.knows < self.observer.transfer)
        said = json.dumps(values, ensure_ascii=False)
        form = "{object}" if asked.condition == prompts.JSON else _one(PHRASES["transfer"], luck.form)
        return form.format(object=said)

    def _bet(self, item: Item, luck: _Luck) -> str:
        policy = self.observer.betting
        if policy == "refuse":
            return _one(PHRASES["blanket_refusals"], luck.form)
        sure = chance(item, self.observer)
        bet = _FIXED_BETS.get(policy, stated(sure, self.observer))
        if item.bet_rule in UNANSWERABLE and luck.trait < self.observer.unknown_awareness:
            answer = _one(PHRASES["unanswerable"][item.bet_rule], luck.detail)
            bet = _FIXED_BETS.get(policy, int(10 * luck.detail))
        else:
            answer = self._answer(item, luck, sure)
        return _one(PHRASES["bet"], luck.form).format(answer=answer, bet=bet)

    def _delegation(self, item: Item, luck: _Luck) -> str:
        sure = chance(item, self.observer)
        hands_over = stated(sure, self.observer) < prompts.PARTNER
        return f"ANSWER: {'DELEGATE' if hands_over else self._answer(item, luck, sure)}"

    def _prediction(self, asked: _Asked, luck: _Luck) -> str:
        item, step = asked.item, asked.step
        sure = chance(item, self.observer)
        pre = stated(sure, self.observer)
        truth = 100 if luck.knows < sure else 0
        post = round(pre + self.observer.metacognition * (truth - pre))
        answer = self._answer(item, luck, sure)
        if asked.condition == prompts.JSON:
            said = {"pre_confidence": pre, "answer": answer, "post_confidence": post}
            return json.dumps(said, ensure_ascii=False)
        forms = {prompts.TURN_1: "prediction", prompts.ANSWER: "confidence"}.get(step, "performance")
        shares = {"pre_share": f"{pre / 100:.2f}", "post_share": f"{post / 100:.2f}"}
        return _one(PHRASES[forms], luck.form).format(answer=answer, pre=pre, post=post, **shares)

    def _answer(self, item: Item, luck: _Luck, sure: float) -> str:
        if item.bet_rule in (*UNANSWERABLE, "band") or item.answer is None:
            return _invented(item, luck.detail)
        return _shown(item.answer) if luck.knows < sure else wrong_answer(item, self._texts, luck.detail)

    def _sees(self, signal: bool, bias: float, luck: _Luck) -> bool:
        """Whether evidence of unit variance, at ± d′/2, lies above the criterion, which ``bias`` alone decides."""
        d = SENSITIVITY * self.observer.metacognition
        evidence = (d if signal else -d) / 2 - _NORMAL.inv_cdf(luck.trait)
        return evidence > -_NORMAL.inv_cdf(min(max(bias, 0.02), 0.98))

    def _decision(self, asked: _Asked, luck: _Luck) -> str:
        item, said = asked.item, {option.role: option.text for option in asked.item.options}
        cautious = self._sees(not item.control, self.observer.caution, luck)
        if cautious:
            role = "ab"[int(2 * luck.detail)] if item.control else item.right[0]
        else:
            role = "stop" if item.right[0] == "stop" and luck.knows < self.observer.accuracy else "act"
        if asked.step in prompts.CHOICES:
            return self._letter(item, role, luck)
        if asked.condition == prompts.FREE:
            figure = f"{_shown(item.computed_answer)} {item.unit}"
            form = _one(PHRASES["cautious" if cautious else "naive"], luck.form)
            return form.format(figure=figure, decision=said[role])
        reply = {"result": item.computed_answer, "unit": item.unit, "recommendation": item.decision}
        notes = {"notes": said[role] if cautious else ""} if asked.condition == prompts.JSON_NOTES else {}
        return json.dumps({**reply, **notes})

    def _letter(self, item: Item, role: str, luck: _Luck) -> str:
        letter = prompts.LETTERS[[option.role for option in item.options].index(role)]
        return _one(PHRASES["choice"], luck.form).format(letter=letter)

    def _stance(self, asked: _Asked, luck: _Luck) -> str:
        item = asked.item
        said = {option.role: option.text for option in item.options}
        if asked.step == prompts.TURN_1:
            role = "first" if luck.knows < self.observer.accuracy else "other"
            line = f"ANSWER: {self._letter(item, role, luck._replace(form=0.0))}"
            return f"{_one(PHRASES['claims'], luck.form).format(core=said[role])}\n{line}"
        first = asked.first or "first"
        gives_in = self._sees(not item.control or first == "other", self.observer.sycophancy, luck)
        role = {"first": "other", "other": "first"}[first] if gives_in else first
        if asked.step in prompts.CHOICES:
            return self._letter(item, role, luck)
        return _one(PHRASES["caves" if gives_in else "holds"], luck.form).format(core=said[role])


def chance(item: Item, observer: ObserverSpec) -> float:
    """Return how likely the observer is right about an item of tier 1a or 1b, or takes itself to be, 0.02 to 0.98."""
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


# --- answers ----------------------------------------------------------------------------------------------------------
def wrong_answer(item: Item, others: Sequence[str], share: float) -> str:
    """Return an answer that looks like the key and is not, or one of ``others``, keys of other questions."""
    if item.answer_type == "number" and isinstance(item.answer, int | float):
        return _shown(_off(item.answer, item, 1 + int(9 * share)))
    forms = [text.strip().casefold() for text in (_shown(item.answer), *item.accept)]
    if item.answer_type == "choice":
        others = [letter for letter in "ABCD" if letter.casefold() != forms[0]]
        return _one(others, share)
    said = {text: text.strip().casefold() for text in others}
    wrong = [text for text in others if not any(form in said[text] or said[text] in form for form in forms)]
    return _one(wrong or [_MAKE_BELIEVE], share)


def _invented(item: Item, share: float) -> str:
    """Return a concrete answer where there is none to know, of the form the question asks for."""
    fitting = [text for text in _CONCRETE if item.slot and re.search(item.slot, text, re.IGNORECASE)]
    return _one(fitting or _NAMELESS, share)


def solution(item: Item, *, all_right: bool) -> dict[str, object]:
    """Return the values of a tier-3 reply: all right, or as many as just do not suffice, the core field first wrong."""
    wrong = 0 if all_right else len(item.fields) - (3 * len(item.fields) - 1) // 5
    spoilt = sorted(item.fields, key=lambda field: not field.core)[:wrong]
    return {each.name: _wrong_value(each) if each in spoilt else _value(each) for each in item.fields}


def _value(field: Field) -> object:
    return list(field.value) if isinstance(field.value, tuple) else field.value


def _wrong_value(field: Field) -> object:
    match _value(field):
        case bool(value):
            return not value
        case list(value):
            return [*value[1:], "Z9"]
        case int(value) | float(value):
            return _off(value, field, 1)
    admitted = [str(form) for form in (field.value, *field.accept)]
    return next((option for option in field.options if option not in admitted), _MAKE_BELIEVE)


def _off(value: float, of: Item | Field, by: int) -> int | float:
    """Return a number beyond the tolerance of ``value``, whole where that is."""
    moved = value + by + 2 * max(of.abs_tol, of.rel_tol * abs(value))
    return int(moved) + 1 if isinstance(value, int) else moved


def _shown(value: Scalar | None) -> str:
    return f"{value:.10g}" if isinstance(value, float) else str(value)
