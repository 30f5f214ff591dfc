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
from typing import Any

from metacog_pipeline.benchmarks.medley.construction import wording
from metacog_pipeline.benchmarks.medley.construction.designs import Seed
from metacog_pipeline.benchmarks.medley.construction.drafts import DIFFICULTIES, Draft, read_drafts
from metacog_pipeline.benchmarks.medley.construction.ratings import SCALE
from metacog_pipeline.benchmarks.medley.construction.reading import objects, read_document, text_of
from metacog_pipeline.benchmarks.medley.construction.verification import AGREE, AMBIGUOUS, DISAGREE
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
_PHRASES = ("for", "against", "undecided", "assessment", "uncertainty")
_REQUESTS = ("design", "analyst", "verify")
Key = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Belief:
    """What the simulation knows about a claim: where the crowd leans, what is right, and the arguments."""

    lean: float
    right: bool
    arguments_for: tuple[str, ...]
    arguments_against: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Person:
    """Who is simulated. ``skill`` of an analyst, or how often a verifier is right, 0..1.

    ``boldness`` spreads the labels; ``untidiness`` is how often a first reply cannot be read, 0..1; ``place`` is that of
    a designer among the designers: the first writes a case of the sample in full, the others without its end.
    """

    name: str
    family: str
    skill: float
    boldness: float = 1.0
    untidiness: float = 0.0
    place: int = 0


@dataclass(frozen=True, slots=True)
class Sample:
    """The sample: its drafts, what the simulation knows of each, its people and the phrases."""

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


@dataclass(frozen=True, slots=True)
class _Case:
    """A case as a respondent meets it: the name its draws depend on, its claims by id, and what is known of each."""

    name: str
    claims: Mapping[str, str]
    beliefs: tuple[Belief, ...]


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
        found = self._read(request)
        if found is None:
            return ""
        kind, parts = found
        if kind == "design":
            return self._design(parts)
        if kind == "verify":
            return self._verify(parts)
        again = self.words.text("analyst_again") in request.messages[-1].content
        return self.opinion(self._case(parts), untidy=not again)

    def opinion(self, case: _Case, *, untidy: bool) -> str:
        """Return what an analyst writes about a case; an ``untidy`` reply may break off."""
        key: Key = (self.seed, case.name, self.person.name)
        pairs = list(zip(case.claims, case.beliefs, strict=True))
        views = [self._view(belief, (*key, claim)) for claim, belief in pairs]
        items = [
            {
                "claim_id": claim,
                "claim_text": case.claims[claim],
                "confidence": SCALE[rank],
                "reasoning": self._reasoning(belief, rank, (*key, claim)),
            }
            for (claim, belief), (rank, _) in zip(pairs, views, strict=True)
        ]
        surest = max(range(len(items)), key=lambda place: abs(views[place][1]))
        least = min(range(len(items)), key=lambda place: abs(views[place][1]))
        belief, texts = pairs[surest][1], list(case.claims.values())
        side = belief.arguments_for if views[surest][1] >= 0 else belief.arguments_against
        argument = _pick(side, (*key, "assessment argument"))
        phrases = self.sample.phrases
        assessment = _pick(phrases["assessment"], (*key, "assessment"))
        levels = ("easy", "moderate", "moderate", "hard", "hard")
        reply = {
            "assessment": _filled(assessment, claim=texts[surest], argument=argument),
            "difficulty_prediction": _pick(levels, (*key, "difficulty")),
            "claim_level_assessments": items,
            "key_uncertainties": [_filled(_pick(phrases["uncertainty"], (*key, "open")), claim=texts[least])],
        }
        text = json.dumps(reply, indent=1)
        # "sloppy" names a draw: another word would draw other replies.
        broken = untidy and _uniform((*key, "sloppy")) < self.person.untidiness
        return text[: len(text) // 8] if broken else text

    def verdict(self, case: _Case, claim: str, belief: Belief, value: float) -> str:
        """Return the verdict on a consensus of 0..1; one near 0.5 is AMBIGUOUS to a verifier who sees it."""
        sees = _uniform((self.seed, case.name, claim, self.person.name)) < self.person.skill
        if abs(value - 0.5) < CLOSE_CALL:
            return AMBIGUOUS if sees else AGREE
        return AGREE if ((value > 0.5) == belief.right) == sees else DISAGREE

    def _read(self, request: ChatRequest) -> tuple[str, dict[str, str]] | None:
        text = request.messages[-1].content if request.messages else ""
        for kind in _REQUESTS:
            if (parts := wording.parts_of(self.words.text(kind), text)) is not None:
                return kind, parts
        return None

    def _design(self, parts: dict[str, str]) -> str:
        draft = next((one for one in self.sample.drafts if _paragraphs(one)[0] in parts["scenario"]), None)
        if draft is None:
            return self._invented(parts)
        if self.person.place >= len(draft.difficulty):
            return "{}"
        paragraphs = _paragraphs(draft)
        shorter = "\n\n".join(paragraphs[:-1] or paragraphs)
        return _proposal(
            draft.vignette if self.person.place == 0 else shorter,
            draft.claim_texts,
            draft.difficulty[self.person.place],
        )

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

    def _verify(self, parts: dict[str, str]) -> str:
        case = self._case({**parts, "claims": f"C1: {parts['claim']}"})
        shown = _VALUE.search(parts["consensus"])
        claim = next((name for name, text in case.claims.items() if text == parts["claim"]), None)
        if claim is None or shown is None:
            return ""
        belief = case.beliefs[list(case.claims).index(claim)]
        given = self.verdict(case, claim, belief, float(shown[1]))
        return json.dumps({"verdict": given, "reasoning": "Simulated."})

    def _case(self, parts: Mapping[str, str]) -> _Case:
        draft = next((one for one in self.sample.drafts if one.vignette == parts["vignette"]), None)
        if draft is not None:
            return _Case(draft.draft_id, draft.claims, self.sample.beliefs[draft.draft_id])
        claims = dict(_CLAIM.findall(parts["claims"]))
        return _Case(sha256_hex(parts["vignette"]), claims, tuple(map(_imagined, claims.values())))

    def _view(self, belief: Belief, key: Key) -> tuple[int, float]:
        """Return the place of a label on the scale and the strength behind it."""
        pull = self.person.skill * PULL * (1 if belief.right else -1)
        noise = NOISE * NormalDist().inv_cdf(min(max(_uniform((*key, "noise")), 1e-6), 1 - 1e-6))
        strength = self.person.boldness * (belief.lean + pull + noise)
        return sum(strength > limit for limit in LIMITS), strength

    def _reasoning(self, belief: Belief, rank: int, key: Key) -> str:
        side = "for" if rank > 2 else "against" if rank < 2 else "undecided"
        favour = _pick(belief.arguments_for, (*key, "for"))
        contrary = _pick(belief.arguments_against, (*key, "against"))
        phrase = _pick(self.sample.phrases[side], (*key, "phrase"))
        return _filled(phrase, **{"for": favour, "against": contrary})


def sample_folder() -> Path:
    """Return the folder of the shipped sample."""
    return shipped("data", "medley", "sample")


def read_sample(folder: Path | None = None) -> Sample:
    """Read the sample, or another folder of its layout; SourceError where a file is not as it must be."""
    if folder is None:
        return _shipped_sample()
    cases, roster, phrases = folder / "cases.toml", folder / "analysts.toml", folder / "phrases.toml"
    drafts = read_drafts(cases)
    given = objects(read_document(cases), "cases", str(cases))
    people = read_document(roster)
    given_phrases = read_document(phrases)
    texts = {name: _texts(given_phrases.get(name), f"{phrases}: {name}") for name in _PHRASES}
    return Sample(
        tuple(drafts),
        {
            draft.draft_id: _beliefs(case, f"{cases} ({draft.draft_id})")
            for draft, case in zip(drafts, given, strict=True)
        },
        tuple(_person(each, "skill", str(roster)) for each in objects(people, "analysts", str(roster))),
        tuple(_person(each, "accuracy", str(roster)) for each in objects(people, "judges", str(roster))),
        texts,
    )


@cache  # the shipped files do not change under a running process
def _shipped_sample() -> Sample:
    return read_sample(sample_folder())


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


def _beliefs(case: Mapping[str, Any], where: str) -> tuple[Belief, ...]:
    found = []
    for claim in objects(case, "claims", where):
        right = claim.get("right")
        if not isinstance(right, bool):
            raise SourceError(f"{where}: right of a claim is {str(right)[:40]!r}; true or false is needed")
        found.append(
            Belief(
                _number(claim.get("lean"), -10, 10, f"{where}: lean of a claim"),
                right,
                _texts(claim.get("for"), f"{where}: for of a claim"),
                _texts(claim.get("against"), f"{where}: against of a claim"),
            )
        )
    return tuple(found)


def _person(given: Mapping[str, Any], skill: str, where: str) -> Person:
    name = text_of(given, "name", where)
    return Person(
        name,
        text_of(given, "family", f"{where} ({name})"),
        _number(given.get(skill), 0, 1, f"{where} ({name}): {skill}"),
        _number(given.get("boldness", 1.0), 0, 10, f"{where} ({name}): boldness"),
        _number(given.get("sloppy", 0.0), 0, 1, f"{where} ({name}): sloppy"),
    )


def _texts(value: object, where: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not value or not all(isinstance(e, str) and e.strip() for e in value):
        raise SourceError(f"{where}: a list of texts is needed, at least one")
    return tuple(value)


def _number(value: object, low: float, high: float, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise SourceError(f"{where} is {str(value)[:40]!r}; a number from {low:g} to {high:g} is needed")
    return float(value)
