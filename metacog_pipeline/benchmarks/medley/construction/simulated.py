"""A simulated pool of analysts and judges for the sample: original arguments, drawn by a seed, as replies in text."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import NormalDist
from typing import Any

from metacog_pipeline.benchmarks.medley.construction.drafts import Draft, read_drafts
from metacog_pipeline.benchmarks.medley.construction.ratings import SCALE
from metacog_pipeline.benchmarks.medley.construction.reading import objects, read_document, text_of
from metacog_pipeline.benchmarks.medley.construction.verification import AGREE, AMBIGUOUS, DISAGREE
from metacog_pipeline.benchmarks.medley.items import CLAIM_IDS, Consensus
from metacog_pipeline.errors import SourceError
from metacog_pipeline.files import shipped

LIMITS = (-1.2, -0.35, 0.35, 1.2)  # between the five labels
PULL, NOISE = 0.9, 0.9
CLOSE_CALL = 0.1  # a consensus this near to 0.5 says nothing
_UNITS = 2.0**64
_PLACE = re.compile(r"\{([a-z]+)\}")
_SIDES = ("for", "against", "undecided", "assessment", "uncertainty")


@dataclass(frozen=True, slots=True)
class Belief:
    """What the simulation knows about a claim: where the crowd leans, what is right, and the arguments."""

    lean: float
    right: bool
    arguments_for: tuple[str, ...]
    arguments_against: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Simulated:
    """An analyst or a judge. ``skill`` of an analyst, or how often a judge is right, 0..1."""

    name: str
    family: str
    skill: float
    boldness: float = 1.0
    sloppy: float = 0.0


@dataclass(frozen=True, slots=True)
class Sample:
    """The sample: its drafts, what the simulation knows of each, the pool, the judges and the phrases."""

    drafts: tuple[Draft, ...]
    beliefs: Mapping[str, tuple[Belief, ...]]
    analysts: tuple[Simulated, ...]
    judges: tuple[Simulated, ...]
    phrases: Mapping[str, tuple[str, ...]]


def sample_folder() -> Path:
    """Return the folder of the shipped sample."""
    return shipped("data", "medley", "sample")


def read_sample(folder: Path | None = None) -> Sample:
    """Read the sample, or another folder of its layout; SourceError where a file is not as it must be."""
    folder = sample_folder() if folder is None else folder
    cases, roster, phrases = folder / "cases.toml", folder / "analysts.toml", folder / "phrases.toml"
    drafts = read_drafts(cases)
    given = objects(read_document(cases), "cases", str(cases))
    people = read_document(roster)
    given_phrases = read_document(phrases)
    texts = {name: _texts(given_phrases.get(name), f"{phrases}: {name}") for name in _SIDES}
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


def analyst_reply(sample: Sample, draft: Draft, analyst: Simulated, seed: int, attempt: int = 1) -> str:
    """Return what an analyst writes about a draft; a sloppy one may break off in its first attempt."""
    key = (seed, draft.draft_id, analyst.name)
    opinions = [_opinion(analyst, belief, (*key, claim)) for claim, belief in _pairs(sample, draft)]
    items = [
        {
            "claim_id": claim,
            "claim_text": draft.claims[claim],
            "confidence": SCALE[rank],
            "reasoning": _reasoning(sample, belief, rank, (*key, claim)),
        }
        for (claim, belief), (rank, _) in zip(_pairs(sample, draft), opinions, strict=True)
    ]
    surest = max(range(len(items)), key=lambda place: abs(opinions[place][1]))
    least = min(range(len(items)), key=lambda place: abs(opinions[place][1]))
    belief = sample.beliefs[draft.draft_id][surest]
    side = belief.arguments_for if opinions[surest][1] >= 0 else belief.arguments_against
    argument = _pick(side, (*key, "assessment argument"))
    reply = {
        "assessment": _filled(
            _pick(sample.phrases["assessment"], (*key, "assessment")),
            claim=draft.claim_texts[surest],
            argument=argument,
        ),
        "difficulty_prediction": _pick(
            ("easy", "moderate", "moderate", "hard", "hard"), (*key, "difficulty")
        ),
        "claim_level_assessments": items,
        "key_uncertainties": [
            _filled(_pick(sample.phrases["uncertainty"], (*key, "open")), claim=draft.claim_texts[least])
        ],
    }
    text = json.dumps(reply, indent=1)
    broken = attempt == 1 and _uniform((*key, "sloppy")) < analyst.sloppy
    return text[: len(text) // 8] if broken else text


def judge_verdict(
    sample: Sample, draft: Draft, claim: str, consensus: Consensus, judge: Simulated, seed: int
) -> str:
    """Return a judge's verdict on the consensus about a claim; a consensus near 0.5 is AMBIGUOUS to a judge who sees it."""
    value = float(consensus.claim_confidences[claim])
    belief = sample.beliefs[draft.draft_id][CLAIM_IDS.index(claim)]
    sees = _uniform((seed, draft.draft_id, claim, judge.name)) < judge.skill
    if abs(value - 0.5) < CLOSE_CALL:
        return AMBIGUOUS if sees else AGREE
    return AGREE if ((value > 0.5) == belief.right) == sees else DISAGREE


def _opinion(analyst: Simulated, belief: Belief, key: tuple[object, ...]) -> tuple[int, float]:
    """Return the place of a label on the scale and the strength behind it."""
    pull = analyst.skill * PULL * (1 if belief.right else -1)
    noise = NOISE * NormalDist().inv_cdf(min(max(_uniform((*key, "noise")), 1e-6), 1 - 1e-6))
    strength = analyst.boldness * (belief.lean + pull + noise)
    return sum(strength > limit for limit in LIMITS), strength


def _reasoning(sample: Sample, belief: Belief, rank: int, key: tuple[object, ...]) -> str:
    side = "for" if rank > 2 else "against" if rank < 2 else "undecided"
    favour = _pick(belief.arguments_for, (*key, "for"))
    contrary = _pick(belief.arguments_against, (*key, "against"))
    return _filled(_pick(sample.phrases[side], (*key, "phrase")), **{"for": favour, "against": contrary})


def _filled(phrase: str, **parts: str) -> str:
    return _PLACE.sub(lambda place: parts.get(place[1], place[0]), phrase)


def _pairs(sample: Sample, draft: Draft) -> list[tuple[str, Belief]]:
    return list(zip(CLAIM_IDS, sample.beliefs[draft.draft_id], strict=True))


def _uniform(key: tuple[object, ...]) -> float:
    """Return a number of 0..1 that depends on the key alone."""
    digest = hashlib.sha256(json.dumps(key).encode()).digest()
    return int.from_bytes(digest[:8], "big") / _UNITS


def _pick(choices: Sequence[str], key: tuple[object, ...]) -> str:
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


def _person(given: Mapping[str, Any], skill: str, where: str) -> Simulated:
    name = text_of(given, "name", where)
    return Simulated(
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
