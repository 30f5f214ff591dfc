"""Simulated designers, analysts and verifiers: they answer the requests of the construction in text, drawn by a seed.

About a case of the shipped sample they know where the crowd leans, what is right and the arguments, as its files say.
About any other case all of this is drawn from the words of its claims: the crowd takes a side on each, now and then the
wrong one, in labels that differ. So a set can be rehearsed as far as its release; what it says is worth nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import NormalDist
from typing import Annotated, Any, Literal

from pydantic import (
    AliasChoices,
    BaseModel,
    Field,
    StrictBool,
    StringConstraints,
    TypeAdapter,
    ValidationError,
)

from metacog_pipeline.benchmarks.medley.construction import wording
from metacog_pipeline.benchmarks.medley.construction.asked import DIFFICULTIES
from metacog_pipeline.benchmarks.medley.construction.drafts import Draft, Seed
from metacog_pipeline.benchmarks.medley.construction.ratings import SCALE
from metacog_pipeline.benchmarks.medley.construction.reading import read_document
from metacog_pipeline.benchmarks.medley.construction.verification import AGREE, AMBIGUOUS, DISAGREE
from metacog_pipeline.benchmarks.medley.items import CLAIM_IDS, DOMAINS, KnownAnswer
from metacog_pipeline.errors import SourceError
from metacog_pipeline.files import sha256_hex, shipped
from metacog_pipeline.llm.types import ChatRequest

LIMITS = (-1.2, -0.35, 0.35, 1.2)  # between the five labels
PULL, NOISE = 0.9, 0.9
CLOSE_CALL = 0.1  # a consensus this near to 0.5 says nothing
# Of claims that are not of the sample: how far the crowd leans, how often to the wrong side, and how much further then.
CLEAR_LEAN, MISLED, FURTHER = 0.6, 0.25, 1.2
_UNITS = 2.0**64
_PLACE = re.compile(r"\{([a-z]+)\}")
_CLAIM = re.compile(r"^(C[1-5]): (.+)$", re.MULTILINE)
_VALUE = re.compile(r"\((\d\.\d+)")
Key = tuple[object, ...]
Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
Texts = Annotated[tuple[Annotated[str, StringConstraints(pattern=r"\S")], ...], Field(min_length=1)]
Share = Annotated[float, Field(ge=0, le=1)]


@dataclass(frozen=True, slots=True)
class Belief:
    """What the simulation knows about a claim: where the crowd leans, what is right, and the arguments."""

    text: Text
    lean: Annotated[float, Field(ge=-10, le=10)]
    right: StrictBool
    arguments_for: Annotated[Texts, Field(alias="for")]
    arguments_against: Annotated[Texts, Field(alias="against")]


@dataclass(frozen=True, slots=True)
class Person:
    """Who is simulated. ``skill`` of an analyst, or how often a verifier is right, 0..1.

    ``boldness`` spreads the labels; ``untidiness`` is how often a first reply cannot be read, 0..1; ``place`` is that of
    a designer among the designers: the first writes a case of the sample in full, the others without its end.
    """

    name: Text
    family: Text
    skill: Annotated[Share, Field(validation_alias=AliasChoices("skill", "accuracy"))]
    boldness: Annotated[float, Field(ge=0, le=10)] = 1.0
    untidiness: Annotated[Share, Field(alias="sloppy")] = 0.0
    place: int = 0


@dataclass(frozen=True, slots=True)
class Sample:
    """The sample: its drafts, what the simulation knows of the claims of each, its people and the phrases."""

    drafts: tuple[Draft, ...]
    beliefs: Mapping[str, tuple[Belief, ...]]
    analysts: tuple[Person, ...]
    verifiers: tuple[Person, ...]
    phrases: Mapping[str, tuple[str, ...]]

    @property
    def designers(self) -> tuple[Person, ...]:
        """As many as rated the difficulty of a case."""
        number = max(len(draft.difficulty) for draft in self.drafts)
        return tuple(Person(f"designer-{place + 1}", "sample", 1.0, place=place) for place in range(number))

    @property
    def seeds(self) -> tuple[Seed, ...]:
        """The seeds its cases would have grown from: the first paragraph and the claims of each."""
        return tuple(map(_seed, self.drafts))

    def case(self, vignette: str, claims: str) -> tuple[str, dict[str, Belief]]:
        """Return the name that draws about a case depend on, and what is known of its claims, which stand one a line."""
        draft = next((one for one in self.drafts if one.vignette == vignette), None)
        if draft is not None:
            return draft.draft_id, dict(zip(CLAIM_IDS, self.beliefs[draft.draft_id], strict=True))
        return sha256_hex(vignette), {claim: _imagined(text) for claim, text in _CLAIM.findall(claims)}


@dataclass(frozen=True, slots=True)
class SimulatedAuthor:
    """A simulated designer, analyst or verifier, who answers requests in the words given."""

    person: Person
    words: wording.Words
    sample: Sample
    seed: int = 0

    def knows(self, request: ChatRequest) -> bool:
        """Whether ``request`` asks to design, judge or verify a case."""
        return self._read(request) is not None

    def __call__(self, request: ChatRequest) -> str:
        """Return the reply as JSON; "" to a request of another kind."""
        kind, parts = self._read(request) or ("", {})
        if kind == "design":
            return self._design(parts)
        if kind == "verify":
            return self._verify(parts)
        again = self.words.text("analyst_again") in request.messages[-1].content
        return self._opinion(parts, untidy=not again) if kind else ""

    def _read(self, request: ChatRequest) -> tuple[str, dict[str, str]] | None:
        text = request.messages[-1].content if request.messages else ""
        for kind in ("design", "analyst", "verify"):
            if (parts := wording.parts_of(self.words.text(kind), text)) is not None:
                return kind, parts
        return None

    # --- designers
    def _design(self, parts: dict[str, str]) -> str:
        draft = next((one for one in self.sample.drafts if _paragraphs(one)[0] in parts["scenario"]), None)
        if draft is None:
            return self._invented(parts)
        if self.person.place >= len(draft.difficulty):
            return "{}"
        paragraphs = _paragraphs(draft)
        shorter = "\n\n".join(paragraphs[:-1] or paragraphs)
        vignette = draft.vignette if self.person.place == 0 else shorter
        return _proposal(vignette, draft.claim_texts, draft.difficulty[self.person.place])

    def _invented(self, parts: dict[str, str]) -> str:
        """Return a case about a seed nobody knows: figures for every claim, drawn from its words."""
        claims = [text for _, text in _CLAIM.findall(parts["claims"])]
        facts = [
            f"At {8 + place} o'clock {10 + round(80 * _uniform(('figure', claim)))} units were measured, which is what "
            f"one would see if this were so: {claim} An hour later it was {10 + round(80 * _uniform(('later', claim)))}, "
            "and nobody noted why; the reading of the second instrument was not kept."
            for place, claim in enumerate(claims)
        ]
        level = _pick(DIFFICULTIES, (self.seed, self.person.name, parts["scenario"]))
        return _proposal(" ".join([parts["scenario"], *facts]), claims, level)

    # --- analysts
    def _opinion(self, parts: dict[str, str], *, untidy: bool) -> str:
        """Return what an analyst writes about a case; an ``untidy`` reply may break off."""
        name, beliefs = self.sample.case(parts["vignette"], parts["claims"])
        key: Key = (self.seed, name, self.person.name)
        strengths, items = {}, []
        for claim, belief in beliefs.items():
            strengths[claim] = self._strength(belief, (*key, claim))
            rank = sum(strengths[claim] > limit for limit in LIMITS)
            items.append(
                {
                    "claim_id": claim,
                    "claim_text": belief.text,
                    "confidence": SCALE[rank],
                    "reasoning": self._reasoning(belief, rank, (*key, claim)),
                }
            )
        surest = max(strengths, key=lambda claim: abs(strengths[claim]))
        least = min(strengths, key=lambda claim: abs(strengths[claim]))
        belief, phrases = beliefs[surest], self.sample.phrases
        side = belief.arguments_for if strengths[surest] >= 0 else belief.arguments_against
        argument = _pick(side, (*key, "assessment argument"))
        doubt = _pick(phrases["uncertainty"], (*key, "open"))
        reply = {
            "assessment": _filled(
                _pick(phrases["assessment"], (*key, "assessment")), claim=belief.text, argument=argument
            ),
            "difficulty_prediction": _pick(
                ("easy", "moderate", "moderate", "hard", "hard"), (*key, "difficulty")
            ),
            "claim_level_assessments": items,
            "key_uncertainties": [_filled(doubt, claim=beliefs[least].text)],
        }
        text = json.dumps(reply, indent=1)
        # "sloppy" names a draw: another word would draw other replies.
        broken = untidy and _uniform((*key, "sloppy")) < self.person.untidiness
        return text[: len(text) // 8] if broken else text

    def _strength(self, belief: Belief, key: Key) -> float:
        """Return how strongly an analyst holds a claim; below 0 it is held to be wrong."""
        pull = self.person.skill * PULL * (1 if belief.right else -1)
        noise = NOISE * NormalDist().inv_cdf(min(max(_uniform((*key, "noise")), 1e-6), 1 - 1e-6))
        return self.person.boldness * (belief.lean + pull + noise)

    def _reasoning(self, belief: Belief, rank: int, key: Key) -> str:
        side = "for" if rank > 2 else "against" if rank < 2 else "undecided"
        favour = _pick(belief.arguments_for, (*key, "for"))
        contrary = _pick(belief.arguments_against, (*key, "against"))
        phrase = _pick(self.sample.phrases[side], (*key, "phrase"))
        return _filled(phrase, **{"for": favour, "against": contrary})

    # --- verifiers
    def _verify(self, parts: dict[str, str]) -> str:
        """Return the verdict on a consensus of 0..1; one near 0.5 is AMBIGUOUS to a verifier who sees it."""
        name, beliefs = self.sample.case(parts["vignette"], f"C1: {parts['claim']}")
        found = next((each for each in beliefs.items() if each[1].text == parts["claim"]), None)
        shown = _VALUE.search(parts["consensus"])
        if found is None or shown is None:
            return ""
        (claim, belief), value = found, float(shown[1])
        sees = _uniform((self.seed, name, claim, self.person.name)) < self.person.skill
        if abs(value - 0.5) < CLOSE_CALL:
            given = AMBIGUOUS if sees else AGREE
        else:
            given = AGREE if ((value > 0.5) == belief.right) == sees else DISAGREE
        return json.dumps({"verdict": given, "reasoning": "Simulated."})


# --- the files of the sample ------------------------------------------------------------------------------------------
class _Case(BaseModel):
    """A case as its file has it."""

    id: Text
    domain: Annotated[str, StringConstraints(pattern=f"^({'|'.join(DOMAINS)})$")]
    vignette: Text
    claims: Annotated[tuple[Belief, ...], Field(min_length=len(CLAIM_IDS), max_length=len(CLAIM_IDS))]
    difficulty: tuple[Literal["easy", "moderate", "hard"], ...]
    known_answer: Text = ""
    target_wrong_claim: Literal["", "C1", "C2", "C3", "C4", "C5"] = ""
    error_detection: StrictBool = False


_Phrases = dict[Literal["for", "against", "undecided", "assessment", "uncertainty"], Texts]


def sample_folder() -> Path:
    """Return the folder of the shipped sample."""
    return shipped("data", "medley", "sample")


@cache  # the shipped files do not change under a running process
def read_sample(folder: Path | None = None) -> Sample:
    """Read the sample, or another folder of its layout; SourceError where a file is not as it must be."""
    folder = folder or sample_folder()
    cases: list[_Case] = _read(folder / "cases.toml", dict[Literal["cases"], list[_Case]])["cases"]
    people = _read(folder / "analysts.toml", dict[Literal["analysts", "judges"], tuple[Person, ...]])
    return Sample(
        tuple(map(_draft, cases)),
        {case.id: case.claims for case in cases},
        people["analysts"],
        people["judges"],
        _read(folder / "phrases.toml", _Phrases),
    )


def _read(path: Path, kind: Any) -> Any:
    try:
        return TypeAdapter(kind).validate_python(read_document(path))
    except ValidationError as error:
        first = error.errors()[0]
        place = " ".join(map(str, first["loc"]))
        raise SourceError(f"{path}: {place}: {first['msg']}; mend the file") from None


def _draft(case: _Case) -> Draft:
    texts = tuple(belief.text for belief in case.claims)
    known = KnownAnswer(case.known_answer, case.target_wrong_claim) if case.known_answer else None
    return Draft(case.id, case.domain, case.vignette, texts, case.difficulty, known, case.error_detection)


def _seed(draft: Draft) -> Seed:
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


def _imagined(claim: str) -> Belief:
    """Return what is so about a claim nobody knows, drawn from its words, the same for everybody.

    Who sees what is right leans the other way, by `PULL`: where the crowd is misled it leans so much further that a
    majority of eight still stands whoever is left out.
    """
    supports, misled = _uniform(("lean", claim)) < 0.5, _uniform(("right", claim)) < MISLED
    lean = CLEAR_LEAN + (FURTHER if misled else 0.0)
    return Belief(
        claim,
        lean if supports else -lean,
        supports != misled,
        (f"The figures of the case bear it out: {claim}",),
        ("The figures of the case could have come about otherwise.",),
    )


def _proposal(vignette: str, claims: Sequence[str], level: str) -> str:
    stated = [{"claim_text": text} for text in claims]
    return json.dumps({"vignette": vignette, "claims": stated, "difficulty_assessment": level})


def _paragraphs(draft: Draft) -> list[str]:
    return [part.strip() for part in draft.vignette.split("\n\n") if part.strip()]


def _filled(phrase: str, **parts: str) -> str:
    return _PLACE.sub(lambda place: parts.get(place[1], place[0]), phrase)


def _uniform(key: Key) -> float:
    """Return a number of 0..1 that depends on the key alone."""
    return int(sha256_hex(json.dumps(key))[:16], 16) / _UNITS


def _pick(choices: Sequence[str], key: Key) -> str:
    return choices[min(int(_uniform((*key, "pick")) * len(choices)), len(choices) - 1)]
