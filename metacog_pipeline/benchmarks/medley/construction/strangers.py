"""Simulated helpers for cases nobody has seen before: they design, judge and verify whatever they are asked about.

They know nothing. Whether a statement is right, and where the crowd leans, is drawn from its words, alike for all; each
adds chance of its own, less of it with a high ``accuracy``. They show that a generator's calls, costs and failures work
over a real connection; what they say is worth nothing.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field

from metacog_pipeline.benchmarks.medley.construction.drafts import DIFFICULTIES
from metacog_pipeline.benchmarks.medley.construction.ratings import SCALE
from metacog_pipeline.benchmarks.medley.construction.verification import VERDICTS
from metacog_pipeline.benchmarks.medley.construction.wording import Words, parts_of
from metacog_pipeline.benchmarks.medley.items import CLAIM_IDS
from metacog_pipeline.files import sha256_hex
from metacog_pipeline.llm.spec import ObserverSpec
from metacog_pipeline.llm.types import ChatRequest

_UNITS = 16.0**13
_CLAIM = re.compile(r"^C[1-5]: (.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Stranger:
    """A simulated designer, analyst and judge of the consensus, who answers requests in the words given."""

    name: str
    observer: ObserverSpec
    words: Words
    roles: tuple[str, ...] = field(default=("design", "analyst", "verify"))

    def knows(self, request: ChatRequest) -> bool:
        """Whether ``request`` asks to design, judge or verify a case."""
        return self._read(request) is not None

    def __call__(self, request: ChatRequest) -> str:
        """Return the reply as JSON; "" to a request of another kind."""
        found = self._read(request)
        if found is None:
            return ""
        role, parts = found
        if role == "design":
            return self._design(parts)
        if role == "analyst":
            return self._analyse(parts)
        return self._verify(parts)

    def _read(self, request: ChatRequest) -> tuple[str, dict[str, str]] | None:
        text = request.messages[-1].content if request.messages else ""
        for role in self.roles:
            if (parts := parts_of(self.words.text(role), text)) is not None:
                return role, parts
        return None

    def _design(self, parts: dict[str, str]) -> str:
        claims = _CLAIM.findall(parts["claims"])
        facts = [
            f"At {8 + place} o'clock {10 + round(80 * _chance('figure', claim))} units were measured, which is what one "
            f"would see if this were so: {claim} An hour later it was {10 + round(80 * _chance('later', claim))}, and "
            "nobody noted why; the reading of the second instrument was not kept."
            for place, claim in enumerate(claims)
        ]
        level = min(int(self._own("level", parts["scenario"]) * len(DIFFICULTIES)), len(DIFFICULTIES) - 1)
        proposal = {
            "vignette": " ".join([parts["scenario"], *facts]),
            "claims": [{"claim_text": claim} for claim in claims],
            "difficulty_assessment": DIFFICULTIES[level],
        }
        return json.dumps(proposal)

    def _analyse(self, parts: dict[str, str]) -> str:
        items = [
            {
                "claim_id": claim_id,
                "confidence": SCALE[self._rank(claim)],
                "reasoning": f"The figures of the case bear on it: {claim} They could have come about otherwise.",
            }
            for claim_id, claim in zip(CLAIM_IDS, _CLAIM.findall(parts["claims"]), strict=False)
        ]
        reply = {
            "assessment": "The case is open; its figures point both ways.",
            "difficulty_prediction": "hard",
            "claim_level_assessments": items,
            "key_uncertainties": ["what the second instrument showed"],
        }
        return json.dumps(reply)

    def _rank(self, claim: str) -> int:
        """Return the place of a label: half what all lean to, half chance, drawn towards what is right by accuracy."""
        lean = (_chance("lean", claim) + self._own("view", claim)) / 2
        if self._own("sees", claim) < self.observer.accuracy / 2:
            lean = (lean + _right(claim)) / 2
        return min(int(lean * len(SCALE)), len(SCALE) - 1)

    def _verify(self, parts: dict[str, str]) -> str:
        agree, disagree, ambiguous = VERDICTS
        shown = "does not hold" not in parts["consensus"]
        sees = self._own("verdict", parts["claim"]) < self.observer.accuracy
        verdict = agree if (shown == _right(parts["claim"])) == sees else disagree
        if "neither" in parts["consensus"]:
            verdict = ambiguous
        return json.dumps({"verdict": verdict, "reasoning": "By the figures of the case."})

    def _own(self, *key: str) -> float:
        return _chance(self.name, str(self.observer.seed), *key)


def _right(claim: str) -> bool:
    return _chance("right", claim) < 0.5


def _chance(*key: str) -> float:
    """Return a number of 0..1 that depends on the key alone."""
    return int(sha256_hex("\x1f".join(key))[:13], 16) / _UNITS
