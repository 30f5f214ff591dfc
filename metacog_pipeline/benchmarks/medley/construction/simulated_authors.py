"""Simulated designers, analysts and verifiers: a set can be rehearsed with them as far as its release, without a bill.

All they say of a case is drawn from the words of its claims: the crowd takes a side on each, now and then the wrong one, in
labels that differ. An analyst's opinion of a claim is lean + skill · (±0.9) + noise, the sign being what is right.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist

from metacog_pipeline.benchmarks.medley.construction.authors import words
from metacog_pipeline.benchmarks.medley.construction.consensus import AGREE, AMBIGUOUS, DISAGREE, SCALE
from metacog_pipeline.benchmarks.medley.items import DIFFICULTIES
from metacog_pipeline.benchmarks.medley.prompts import PLACE
from metacog_pipeline.files import sha256_hex
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import ChatRequest

LIMITS = (-1.2, -0.35, 0.35, 1.2)  # between the five labels
PULL, NOISE = 0.9, 0.9
CLOSE_CALL = 0.1  # a consensus this near to 0.5 says nothing
# How far the crowd leans, how often to the wrong side, and how much further then, so that a majority still remains.
CLEAR_LEAN, MISLED, FURTHER = 0.6, 0.25, 1.2
_CLAIM = re.compile(r"^(C[1-5]): (.+)$", re.MULTILINE)
_VALUE = re.compile(r"\((\d\.\d+)")
_FOR = "The figures of the case bear it out: {}"
_AGAINST = "The figures of the case could have come about otherwise."


@dataclass(frozen=True, slots=True)
class SimulatedAuthor:
    """A simulated designer, analyst or verifier, who answers requests in the project's words."""

    spec: ModelSpec

    def knows(self, request: ChatRequest) -> bool:
        """Whether ``request`` asks to design, judge or verify a case."""
        return _asked(request) is not None

    def __call__(self, request: ChatRequest) -> str:
        """Return the reply as JSON; "" to a request of another kind."""
        kind, parts = _asked(request) or ("", {})
        if kind == "design":
            return self._design(parts)
        if kind == "verify":
            return self._verify(parts)
        return (
            self._opinion(parts, untidy=words()["analyst_again"] not in request.messages[-1].content)
            if kind
            else ""
        )

    def _design(self, parts: Mapping[str, str]) -> str:
        """Return a case about a seed: figures for every claim, drawn from its words."""
        claims = [text for _, text in _CLAIM.findall(parts["claims"])]
        facts = [
            f"At {8 + place} o'clock {_figure('figure', claim)} units were measured, which is what one would see if this "
            f"were so: {claim} An hour later it was {_figure('later', claim)}, and no reason was noted; the reading of the "
            "second instrument was not kept."
            for place, claim in enumerate(claims)
        ]
        level = _pick(DIFFICULTIES, self.spec.observer.seed, self.spec.name, parts["scenario"])
        vignette = " ".join([parts["scenario"], *facts])
        stated = [{"claim_text": text} for text in claims]
        return json.dumps({"vignette": vignette, "claims": stated, "difficulty_assessment": level})

    def _opinion(self, parts: Mapping[str, str], *, untidy: bool) -> str:
        """Return what an analyst writes about a case; an ``untidy`` reply may break off."""
        key = (self.spec.observer.seed, sha256_hex(parts["vignette"]), self.spec.name)
        items = []
        for claim, text in _CLAIM.findall(parts["claims"]):
            lean, right = _belief(text)
            pull = self.spec.observer.accuracy * PULL * (1 if right else -1)
            chance = min(max(_uniform(*key, claim, "noise"), 1e-6), 1 - 1e-6)
            strength = lean + pull + NOISE * NormalDist().inv_cdf(chance)
            rank = sum(strength > limit for limit in LIMITS)
            reasons = {0: _AGAINST, 1: _AGAINST, 2: f"{_FOR.format(text)} {_AGAINST}"}.get(
                rank, _FOR.format(text)
            )
            told = {"claim_id": claim, "claim_text": text, "confidence": SCALE[rank], "reasoning": reasons}
            items.append(told)
        reply = {
            "assessment": f"Of all that is written here one thing is plain. {items[0]['reasoning']}",
            "difficulty_prediction": _pick(DIFFICULTIES, *key, "difficulty"),
            "claim_level_assessments": items,
            "key_uncertainties": [f"Whether it holds that {items[-1]['claim_text']}"],
        }
        text = json.dumps(reply, indent=1)
        broken = untidy and _uniform(*key, "untidy") < self.spec.observer.untidiness
        return text[: len(text) // 8] if broken else text

    def _verify(self, parts: Mapping[str, str]) -> str:
        """Return the verdict on a consensus of 0..1; one near 0.5 is AMBIGUOUS to a verifier who sees it."""
        shown = _VALUE.search(parts["consensus"])
        if shown is None:
            return ""
        value, right = float(shown[1]), _belief(parts["claim"])[1]
        drawn = _uniform(self.spec.observer.seed, parts["vignette"], parts["claim"], self.spec.name)
        sees = drawn < self.spec.observer.accuracy
        if abs(value - 0.5) < CLOSE_CALL:
            given = AMBIGUOUS if sees else AGREE
        else:
            given = AGREE if ((value > 0.5) == right) == sees else DISAGREE
        return json.dumps({"verdict": given, "reasoning": "Simulated."})


def _asked(request: ChatRequest) -> tuple[str, dict[str, str]] | None:
    """Return what a request asks, and what its text was filled in with; a request to answer again may follow."""
    text = request.messages[-1].content if request.messages else ""
    for kind in ("design", "analyst", "verify"):
        if (found := _pattern(kind).match(text)) is not None:
            names = PLACE.findall(words()[kind])
            return kind, dict(zip(names, map(str.strip, found.groups()), strict=True))
    return None


@functools.cache
def _pattern(kind: str) -> re.Pattern[str]:
    return re.compile("(.*?)".join(map(re.escape, PLACE.split(words()[kind])[::2])), re.DOTALL)


def _belief(claim: str) -> tuple[float, bool]:
    """Return where the crowd leans on a claim and whether the claim is right, drawn from its words, alike for everybody."""
    supports, misled = _uniform("lean", claim) < 0.5, _uniform("right", claim) < MISLED
    lean = CLEAR_LEAN + (FURTHER if misled else 0.0)
    return lean if supports else -lean, supports != misled


def _figure(name: str, claim: str) -> int:
    return 10 + round(80 * _uniform(name, claim))


def _uniform(*key: object) -> float:
    """Return a number of 0..1 that depends on the key alone."""
    return int(sha256_hex(json.dumps(key))[:16], 16) / 2.0**64


def _pick(choices: Sequence[str], *key: object) -> str:
    return choices[min(int(_uniform(*key, "pick") * len(choices)), len(choices) - 1)]
