"""Simulated respondents for MetaMedQA: observers with known parameters who answer in text.

A strength of evidence x is standard normal; an ordinary question is known when x exceeds the criterion -Φ⁻¹(accuracy), an
unanswerable one is noticed when x exceeds that of the awareness for its kind. Confidence comes from
m·(x - criterion + general criterion) + √(1-m²)·noise with m the metacognition: its rank u in 0–1 becomes
v = u^((1-accuracy)/accuracy), which has mean ``accuracy``, then 1-(1-overconfidence)(1-v), then one of five equal steps.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from statistics import NormalDist
from typing import Any

from metacog_pipeline.benchmark.item import mixed, uniforms
from metacog_pipeline.benchmarks.metamedqa.items import LETTERS, NAME, Item, Letter
from metacog_pipeline.benchmarks.metamedqa.prompts import options_block
from metacog_pipeline.files import canonical_json, read_toml, shipped
from metacog_pipeline.llm.spec import ObserverSpec
from metacog_pipeline.llm.types import ChatRequest, JsonObject, Message, OneOf, TokenBias

# Share of the awareness that makes an observer who does not know choose F or E on ordinary items.
FALSE_ALARM = 0.25
#: Forms of replies, refusals, and what warns in a system message.
WORDS: dict[str, Any] = read_toml(shipped("data", NAME, "observer.toml"))
_NORMAL = NormalDist()
_EDGE = 1e-12


class SimulatedRespondent:
    """Answers as the observer would. It finds the item by the text of the message: so a server can use it, too."""

    def __init__(self, items: Sequence[Item], observer: ObserverSpec) -> None:
        self.observer = observer
        self._items = {f"{item.question}\n{options_block(item)}\n": item for item in items}

    def __call__(self, request: ChatRequest) -> str:
        """Return the text of the answer to ``request``, held to its constraint where it has one."""
        first, second_turn = _first_turn(request.messages)
        item = self._find(first)
        letter, rating, call = self._arrived(item, first, request.sampling.seed)
        forms: list[str] = WORDS["forms"]
        refusals: list[str] = WORDS["refusals"]
        match request.constraint:
            case OneOf(options):
                return next((said for said in (letter, str(rating)) if said in options), options[0])
            case JsonObject():
                return json.dumps({"answer": letter, "confidence": rating})
            case TokenBias():
                return str(rating) if second_turn else letter
        if call[3] < self.observer.refusal:
            return refusals[rating % len(refusals)]
        if second_turn:
            return f"Confidence: {rating}"
        if item is None or call[4] >= self.observer.untidiness:
            return f"Answer: {letter}\nConfidence: {rating}"
        place, form = LETTERS.index(letter), forms[int(call[5] * len(forms))]
        others = {"other": LETTERS[(place + 1) % 6], "text": item.options[place]}
        return form.format(letter=letter, rating=rating, percent=20 * rating, **others)

    def knows(self, request: ChatRequest) -> bool:
        return self._find(_first_turn(request.messages)[0]) is not None

    def _find(self, first: Sequence[Message]) -> Item | None:
        asked = re.match(r".*?\nF\. [^\n]*\n", first[-1].content if first else "", re.DOTALL)
        return None if asked is None else self._items.get(asked[0])

    def _arrived(
        self, item: Item | None, first: Sequence[Message], seed: int | None
    ) -> tuple[Letter, int, Sequence[float]]:
        """Return a letter, a rating 1 to 5, and the random numbers of the call, which decide how they are worded."""
        if item is None:
            return "F", 1, (1.0,) * 8
        question = canonical_json([item.question, list(item.options)])
        own = uniforms(canonical_json([self.observer.seed, question]))
        call = uniforms(canonical_json([self.observer.seed, seed, [[m.role, m.content] for m in first]]))
        # Of the question, the observer and the call: so questions are hard for everybody, and runs resemble each other.
        strength = mixed(uniforms(question)[0], own[0], call[0])
        above = strength - _criterion(
            self._chance(item, " ".join(m.content for m in first if m.role == "system"))
        )
        letter = item.target if above > 0 else self._mistake(item, own[1], call[2])
        return letter, self._rating(above, call[1]), call

    def _chance(self, item: Item, system: str) -> float:
        """Return the probability of a right answer to ``item`` under the system message ``system``."""
        spec = self.observer
        aware = {"E": (spec.missing_awareness, "missing"), "F": (spec.unknown_awareness, "unknown")}
        if item.target not in aware:
            return spec.accuracy
        base, warning = aware[item.target]
        warned = re.search(WORDS["warnings"][warning], system, re.IGNORECASE)
        return base + (1 - base) * spec.warning_response if warned else base

    def _mistake(self, item: Item, own: float, call: float) -> Letter:
        """Return a wrong letter: mostly the same ordinary one in every run, now and then an admission."""
        spec = self.observer
        if item.target not in "EF" and call < FALSE_ALARM * (spec.unknown_awareness + spec.missing_awareness):
            return "F" if call < FALSE_ALARM * spec.unknown_awareness else "E"
        # Never the key by luck: so ``accuracy`` is the share of ordinary questions answered right.
        wrong = [letter for letter in LETTERS[:4] if letter != item.target]
        return wrong[int(own * len(wrong))]

    def _rating(self, above: float, noise: float) -> int:
        """Return a rating 1–5 from the distance ``above`` the criterion of the item's kind."""
        spec, m = self.observer, self.observer.metacognition
        felt = m * (above + _criterion(spec.accuracy)) + math.sqrt(1 - m * m) * _NORMAL.inv_cdf(noise)
        share = _NORMAL.cdf(felt) ** ((1 - spec.accuracy) / max(spec.accuracy, _EDGE))
        pulled = 1 - (1 - spec.overconfidence) * (1 - share)
        return 1 + min(4, int(5 * pulled))


def _first_turn(messages: Sequence[Message]) -> tuple[tuple[Message, ...], bool]:
    """Return the messages up to the first user turn, and whether the conversation went on after it."""
    roles = [message.role for message in messages]
    end = roles.index("user") + 1 if "user" in roles else 0
    return tuple(messages[:end]), 0 < end < len(messages)


def _criterion(chance: float) -> float:
    """Return the place a standard normal exceeds with probability ``chance``."""
    return math.copysign(40.0, 0.5 - chance) if chance in (0, 1) else _NORMAL.inv_cdf(1 - chance)
