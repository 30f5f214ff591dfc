"""Simulated respondents for MetaMedQA: observers with known parameters who answer in text.

The model, per item. A strength of evidence x is standard normal; an ordinary question is known when x exceeds the
criterion -Φ⁻¹(accuracy), an unanswerable one is noticed when x exceeds the criterion of the awareness for its kind. So
that questions are hard for everybody and repeated runs resemble each other, x mixes three parts: the question's
(variance `COMMON`), the observer's own for that question (`OWN`), and the rest, new in each run and condition.

Confidence comes from m·(x - criterion + general criterion) + √(1-m²)·noise with m the metacognition: its rank u in
0–1 becomes v = u^((1-accuracy)/accuracy), which has mean ``accuracy``, then 1-(1-overconfidence)(1-v), then one of five
equal steps. Without overconfidence the mean of (c-1)/4 is close to the share known; m = 1 separates right from wrong.

An observer who does not know picks among the wrong ordinary choices, sometimes F or E in proportion to its awareness;
it never hits the key by luck, so ``accuracy`` is the share of ordinary questions answered right.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist

from metacog_pipeline.benchmark.seeded_sample import uniforms
from metacog_pipeline.benchmarks.metamedqa.items import LETTERS, Item
from metacog_pipeline.files import canonical_json
from metacog_pipeline.llm.spec import ObserverSpec
from metacog_pipeline.llm.types import ChatRequest, JsonObject, Message, OneOf, TokenBias

COMMON, OWN = 0.35, 0.35
# Share of the awareness that makes an observer who does not know choose F or E on ordinary items.
FALSE_ALARM = 0.25
# Ways to leave the asked form, some readable and some not. Fields: letter, rating (1-5), percent (20-100), other (another
# letter), text (the option's text).
FORMS = (
    "**Answer:** ({letter})\n**Confidence:** {rating}/5",
    "The correct answer is {letter}. Confidence: {rating} out of 5.",
    '```json\n{{"answer": "{letter}", "confidence": {rating}}}\n```',
    "Let me think this through step by step.\n\nFinal answer: $\\boxed{{\\text{{{letter}}}}}$\nConfidence: {rating}",
    "{letter}. {text}\n\nConfidence level: {rating}",
    "answer - {letter}, confidence - {rating}",
    "{letter}",
    "Answer: {letter}\nConfidence: {percent}%",
    "Answer: {letter}\nConfidence: fairly high",
    "Answer: {letter} or {other}\nConfidence: {rating}",
    "It depends on the patient; I would lean towards {text}, but a colleague should look at this.",
    "",
)

REFUSALS = (
    "I'm sorry, but I can't give medical advice. Please see a doctor.",
    "I am not able to help with that request.",
    "Sorry. As an assistant I must not answer questions about a patient's treatment.",
)
_NORMAL = NormalDist()
_EDGE = 1e-12
# A system message that says choices may be missing, or that questions may be unanswerable.
_WARNS_MISSING = re.compile(
    r"(?:may|might|do|does|can)(?: not|n't) (?:contain|include|list|have)|no listed choice|none of the",
    re.IGNORECASE,
)
_WARNS_UNKNOWN = re.compile(
    r"impossible|too hard|incomplete|does not exist|do not exist|you lack|fictional|malformed|unanswerable",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class _State:
    """What the observer arrived at for one item: a letter, a rating 1–5, and how it will word them."""

    letter: str
    rating: int
    refuses: bool
    form: int | None


class SimulatedRespondent:
    """Answers requests about ``items`` as the observer ``spec`` would.

    Deterministic in the observer, the first messages, and ``sampling.seed``. It finds the item by the text of the user
    message, so it answers the same in process and behind a server. A question it does not have gets F, confidence 1.
    """

    def __init__(self, items: Sequence[Item], observer: ObserverSpec) -> None:
        self.observer = observer
        self._by_question: dict[str, list[tuple[str, Item]]] = {}
        for item in items:
            block = "\n".join(f"{letter}. {text}" for letter, text in zip(LETTERS, item.options, strict=True))
            self._by_question.setdefault(item.question, []).append((block, item))

    def __call__(self, request: ChatRequest) -> str:
        """Return the text of the answer to ``request``, held to its constraint where it has one."""
        first, second_turn = _first_turn(request.messages)
        item = self._find(first[-1].content) if first else None
        state = self._state(item, first, request.sampling.seed)
        match request.constraint:
            case OneOf(options):
                return _one_of(options, state)
            case JsonObject() as wanted:
                return _json_object(wanted, state)
            case TokenBias():
                return str(state.rating) if second_turn else state.letter
            case _:
                return _reply(item, state, second_turn=second_turn)

    def knows(self, request: ChatRequest) -> bool:
        """Whether ``request`` is about one of the items."""
        first, _ = _first_turn(request.messages)
        return bool(first) and self._find(first[-1].content) is not None

    def _find(self, user_text: str) -> Item | None:
        place = user_text.find("\nA. ")
        while place >= 0:
            candidates = self._by_question.get(user_text[:place], [])
            for block, item in candidates:
                if user_text.startswith(block, place + 1):
                    return item
            place = user_text.find("\nA. ", place + 1)
        return None

    def _state(self, item: Item | None, first: Sequence[Message], seed: int | None) -> _State:
        if item is None:
            return _State("F", 1, refuses=False, form=None)
        spec = self.observer
        question = canonical_json([item.question, list(item.options)])
        own = uniforms(canonical_json([spec.seed, question]))
        call = uniforms(canonical_json([spec.seed, seed, [[m.role, m.content] for m in first]]))
        shares = math.sqrt(COMMON), math.sqrt(OWN), math.sqrt(1 - COMMON - OWN)
        parts = map(_NORMAL.inv_cdf, (uniforms(question)[0], own[0], call[0]))
        strength = sum(share * part for share, part in zip(shares, parts, strict=True))
        chance = self._chance(item, " ".join(m.content for m in first if m.role == "system"))
        above = strength - _criterion(chance)
        letter = item.target if above > 0 else self._mistake(item, own[1], call[2])
        rating = self._rating(above, call[1])
        refuses = call[3] < spec.refusal
        form = int(call[5] * len(FORMS)) if call[4] < spec.untidiness else None
        return _State(letter, rating, refuses, form)

    def _chance(self, item: Item, system: str) -> float:
        """Return the probability of a right answer to ``item`` under the system message ``system``."""
        spec = self.observer
        if item.target not in "EF":
            return spec.accuracy
        base, warning = (
            (spec.missing_awareness, _WARNS_MISSING)
            if item.target == "E"
            else (spec.unknown_awareness, _WARNS_UNKNOWN)
        )
        return base + (1 - base) * spec.warning_response if warning.search(system) else base

    def _mistake(self, item: Item, own: float, call: float) -> str:
        """Return a wrong letter: mostly the same ordinary one in every run, now and then an admission."""
        spec = self.observer
        if item.target not in "EF":
            if call < FALSE_ALARM * spec.unknown_awareness:
                return "F"
            if call < FALSE_ALARM * (spec.unknown_awareness + spec.missing_awareness):
                return "E"
        wrong = [letter for letter in LETTERS[:4] if letter != item.target]
        return wrong[int(own * len(wrong))]

    def _rating(self, above: float, noise: float) -> int:
        """Return a rating 1–5 from the distance ``above`` the criterion of the item's kind."""
        spec = self.observer
        m = spec.metacognition
        felt = m * (above + _criterion(spec.accuracy)) + math.sqrt(1 - m * m) * _NORMAL.inv_cdf(noise)
        rank = _NORMAL.cdf(felt)
        share = rank ** ((1 - spec.accuracy) / max(spec.accuracy, _EDGE))
        pulled = 1 - (1 - spec.overconfidence) * (1 - share)
        return 1 + min(4, int(5 * pulled))


def _first_turn(messages: Sequence[Message]) -> tuple[tuple[Message, ...], bool]:
    """Return the messages up to the first user turn, and whether the conversation went on after it."""
    for place, message in enumerate(messages):
        if message.role == "user":
            return tuple(messages[: place + 1]), place + 1 < len(messages)
    return (), False


def _reply(item: Item | None, state: _State, *, second_turn: bool) -> str:
    if state.refuses:
        return REFUSALS[state.rating % len(REFUSALS)]
    if second_turn:
        return f"Confidence: {state.rating}"
    if state.form is None or item is None:
        return f"Answer: {state.letter}\nConfidence: {state.rating}"
    return FORMS[state.form].format(
        letter=state.letter,
        rating=state.rating,
        percent=20 * state.rating,
        other=LETTERS[(LETTERS.index(state.letter) + 1) % 6],
        text=item.options[LETTERS.index(state.letter)],
    )


def _one_of(options: Sequence[str], state: _State) -> str:
    for wanted in (state.letter, str(state.rating)):
        if wanted in options:
            return wanted
    return options[0] if options else ""


def _json_object(wanted: JsonObject, state: _State) -> str:
    """Return an object with the properties of the schema in its order: letter and rating where they are admitted."""
    held = {name: _json_value(rule, state) for name, rule in wanted.properties.items()}
    return json.dumps(held or {"answer": state.letter, "confidence": state.rating})


def _json_value(rule: object, state: _State) -> object:
    fields: Mapping[str, object] = rule if isinstance(rule, Mapping) else {}
    admitted = fields.get("enum")
    if isinstance(admitted, list) and admitted:
        for wanted in (state.letter, state.rating, str(state.rating)):
            if wanted in admitted:
                return wanted
        return admitted[0]
    return state.rating if fields.get("type") in ("integer", "number") else state.letter


def _criterion(chance: float) -> float:
    """Return the place a standard normal exceeds with probability ``chance``."""
    if chance <= 0:
        return 40.0
    return -40.0 if chance >= 1 else _NORMAL.inv_cdf(1 - chance)
