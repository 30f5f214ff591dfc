"""Simulated designers, analysts and judges: they answer the requests of the construction in text."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from metacog_pipeline.benchmarks.medley.construction.designs import DESIGN, Seed
from metacog_pipeline.benchmarks.medley.construction.drafts import Draft
from metacog_pipeline.benchmarks.medley.construction.pool import AGAIN, ANALYSE
from metacog_pipeline.benchmarks.medley.construction.simulated import (
    Sample,
    Simulated,
    analyst_reply,
    judge_verdict,
)
from metacog_pipeline.benchmarks.medley.construction.verdicts import VERIFY
from metacog_pipeline.benchmarks.medley.items import Consensus
from metacog_pipeline.errors import StudyError
from metacog_pipeline.llm.types import ChatRequest

_VALUE = re.compile(r"\((\d\.\d+) on a scale from 0 to 1")


def seed_of(draft: Draft) -> Seed:
    """Return the seed a case of the sample would have grown from: its first paragraph and its claims."""
    known = draft.known_answer
    return Seed(
        draft.draft_id,
        draft.domain,
        _paragraphs(draft)[0],
        "Each of the statements has evidence for it and against it in the facts.",
        "hard" if draft.difficulty.count("hard") > 1 else "medium",
        draft.claim_texts,
        known,
        "the first impression speaks for it" if known and not draft.is_error_detection else "",
        "A mistake that a careful reader can find is hidden in it." if draft.is_error_detection else "",
    )


@dataclass(frozen=True, slots=True)
class SimulatedDesigner:
    """One designer of the sample: the first writes the case in full, the others without its last paragraph."""

    sample: Sample
    place: int

    def knows(self, request: ChatRequest) -> bool:
        """Whether ``request`` asks for a case of the sample."""
        return request.step == DESIGN and self._draft(request) is not None

    def __call__(self, request: ChatRequest) -> str:
        """Return the proposal; raises StudyError for a request that is about no seed of the sample."""
        draft = self._draft(request)
        if draft is None:
            raise StudyError(
                "a simulated designer was asked for a case it does not know; use its sample only"
            )
        if self.place >= len(draft.difficulty):
            return "{}"
        paragraphs = _paragraphs(draft)
        kept = paragraphs if self.place == 0 else paragraphs[:-1] or paragraphs
        proposal = {
            "vignette": draft.vignette if self.place == 0 else "\n\n".join(kept),
            "claims": [{"claim_text": text} for text in draft.claim_texts],
            "difficulty_assessment": draft.difficulty[self.place],
        }
        return json.dumps(proposal)

    def _draft(self, request: ChatRequest) -> Draft | None:
        text = request.messages[-1].content if request.messages else ""
        return next((draft for draft in self.sample.drafts if _paragraphs(draft)[0] in text), None)


@dataclass(frozen=True, slots=True)
class SimulatedAnalyst:
    """One analyst of the sample's pool, by its name."""

    sample: Sample
    analyst: Simulated
    seed: int

    def knows(self, request: ChatRequest) -> bool:
        """Whether ``request`` asks for the judgement of a draft of the sample."""
        return request.step in (ANALYSE, AGAIN) and _draft(self.sample, request) is not None

    def __call__(self, request: ChatRequest) -> str:
        """Return the reply; raises StudyError for a request that is about no draft of the sample."""
        draft = _required(self.sample, request)
        return analyst_reply(self.sample, draft, self.analyst, self.seed, 2 if request.step == AGAIN else 1)


@dataclass(frozen=True, slots=True)
class SimulatedJudge:
    """One judge of the consensus of the sample's pool."""

    sample: Sample
    judge: Simulated
    seed: int

    def knows(self, request: ChatRequest) -> bool:
        """Whether ``request`` asks for a verdict on a claim of the sample."""
        return request.step == VERIFY and _draft(self.sample, request) is not None

    def __call__(self, request: ChatRequest) -> str:
        """Return the reply; raises StudyError for a request that is about no draft of the sample."""
        draft, text = _required(self.sample, request), request.messages[-1].content
        claim = next((claim for claim, stated in draft.claims.items() if stated in text), None)
        value = _VALUE.search(text)
        if claim is None or value is None:
            raise StudyError(
                f"{self.judge.name}: a request about {draft.draft_id} names no claim and view of its sample"
            )
        shown = Consensus({claim: float(value[1])})
        verdict = judge_verdict(self.sample, draft, claim, shown, self.judge, self.seed)
        return json.dumps({"verdict": verdict, "reasoning": "Simulated."})


def person(people: tuple[Simulated, ...], name: str) -> Simulated:
    """Return the simulated analyst or judge of that name; StudyError names those there are."""
    found = next((each for each in people if each.name == name), None)
    if found is None:
        raise StudyError(f"no simulated {name!r}; there are: {', '.join(each.name for each in people)}")
    return found


def _paragraphs(draft: Draft) -> list[str]:
    return [part.strip() for part in draft.vignette.split("\n\n") if part.strip()]


def _draft(sample: Sample, request: ChatRequest) -> Draft | None:
    text = request.messages[-1].content if request.messages else ""
    return next((draft for draft in sample.drafts if draft.vignette in text), None)


def _required(sample: Sample, request: ChatRequest) -> Draft:
    draft = _draft(sample, request)
    if draft is None:
        raise StudyError(
            "a simulated respondent was asked about a case it does not know; ask it about the sample only"
        )
    return draft
