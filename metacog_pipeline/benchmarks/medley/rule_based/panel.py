"""What is fixed for an instance: weights of its claims, what its analysts say, phrases they use. Made once and kept.

The mean over analysts is a pairwise sum, as NumPy adds eight doubles: ((x1 + x2) + (x3 + x4)) + ((x5 + x6) + (x7 + x8)).
Whether two means tie in a ranking can hang on it.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metacog_pipeline.benchmarks.medley.items import Analyst, Claim, Instance
from metacog_pipeline.benchmarks.medley.labels import LARGEST, LabelMap, claim_confidence, claim_items
from metacog_pipeline.benchmarks.medley.rule_based.phrases import (
    Index,
    opening,
    phrase_index,
    texts,
    trigrams,
)

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

SUPPORTS = frozenset({"supports", "very_high", "high"})
SHORTEST_PHRASE = 16  # characters with blanks; shorter ones are commonplaces
SHORTEST_NAME = 4
KEPT = 1024  # instances whose constants are remembered, about 0.25 MB each


# Rows of `Panel.numbers` and `Panel.flags`.
NUMBERS = ("strength", "jsd", "consensus", "weight", "mean", "supporting", "opposed")
FLAGS = ("high_strength", "high_jsd", "wrong", "is_claim")


@dataclass(frozen=True, slots=True, eq=False)
class Speech:
    """What the analysts of one instance write.

    Attributes
    ----------
    names
        Strings that name an analyst: its model, and parts of it.
    openings, any_opening
        Three-word phrases of each analyst's overall assessment, and of all together.
    phrases
        Index of the phrases in the analysts' reasoning.
    """

    names: tuple[str, ...]
    openings: tuple[frozenset[str], ...]
    any_opening: frozenset[str]
    phrases: Index


@dataclass(frozen=True, slots=True, eq=False)
class Panel:
    """Constants of one instance with C claims.

    Attributes
    ----------
    claim_ids, claim_texts
        Of the slots, in order.
    numbers
        Shape ``(7, C)``, NaN where not known. ``strength``: number of raters; ``jsd``: disagreement; ``consensus``:
        confidence; ``weight``: number of raters where that is neither missing nor 0, else disagreement; ``mean``: μ;
        ``supporting``, ``opposed``: how many analyst entries support the claim, and how many take any other stance.
    flags
        Shape ``(4, C)``. ``high_strength``, ``high_jsd``: at or above the median over the claims, missing values
        counting as 0 in the first and left out in the second; ``wrong``: the consensus was verified to be wrong;
        ``is_claim``: true.
    n_analysts
        How many analysts are shown.
    speech
        What the analysts write.
    """

    claim_ids: tuple[str, ...]
    claim_texts: tuple[str, ...]
    numbers: Floats
    flags: Bools
    n_analysts: int
    speech: Speech


@functools.lru_cache(maxsize=KEPT)
def panel_of(instance: Instance, labels: LabelMap) -> Panel:
    """Return the constants of an instance under a label map; remembered."""
    claims, analysts = instance.claims, instance.analysts
    strength = _array(claim.majority_strength for claim in claims)
    jsd = _array(claim.jsd_score for claim in claims)
    told = instance.consensus.claim_confidences
    consensus = _array(_known(told.get(claim.claim_id)) for claim in claims)
    weight = np.where(np.isnan(strength) | (strength == 0), jsd, strength)
    mean = _array(_mean(analysts, claim, labels) for claim in claims)
    stances = [_stances(analysts, claim.claim_id) for claim in claims]
    supporting = _array(float(sum(sides)) for sides in stances)
    opposed = _array(float(len(sides) - sum(sides)) for sides in stances)
    high_strength = _at_least_median(np.nan_to_num(strength, nan=0.0))
    wrong = np.array([claim.claim_id in instance.verified_wrong for claim in claims], dtype=bool)
    return Panel(
        claim_ids=tuple(claim.claim_id for claim in claims),
        claim_texts=tuple(claim.claim_text for claim in claims),
        numbers=np.stack([strength, jsd, consensus, weight, mean, supporting, opposed]),
        flags=np.stack([high_strength, _at_least_median(jsd), wrong, np.ones(len(claims), dtype=bool)]),
        n_analysts=len(analysts),
        speech=speech_of(instance),
    )


@functools.lru_cache(maxsize=KEPT)
def speech_of(instance: Instance) -> Speech:
    """Return what the analysts of an instance write; remembered."""
    analysts = instance.analysts
    openings = tuple(trigrams(opening(analyst.response)) for analyst in analysts)
    return Speech(
        names=tuple(sorted({name for analyst in analysts for name in _names(analyst.model_id)})),
        openings=openings,
        any_opening=frozenset().union(*openings),
        phrases=phrase_index(_phrases(analysts)),
    )


def _array(values: Iterator[float | None]) -> Floats:
    return np.array([np.nan if value is None else float(value) for value in values], dtype=np.float64)


def _known(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= LARGEST:
        return None
    return float(value)


def _at_least_median(values: Floats) -> Bools:
    known = values[~np.isnan(values)]
    if not len(known):
        return np.zeros(len(values), dtype=bool)
    high: Bools = values >= np.median(known)
    return high


def _mean(analysts: Sequence[Analyst], claim: Claim, labels: LabelMap) -> float | None:
    stated = [claim_confidence(a.response, claim.claim_id, claim.claim_text, labels) for a in analysts]
    known = np.array([value for value in stated if value is not None], dtype=np.float64)
    return float(np.add.reduce(known) / len(known)) if len(known) else None


def _stances(analysts: Sequence[Analyst], claim_id: str) -> list[bool]:
    """Return for each entry of an analyst on exactly this claim whether it supports it; unreadable ones are skipped."""
    sides = []
    for analyst in analysts:
        for item in claim_items(analyst.response):
            if not isinstance(item, dict) or item.get("claim_id") != claim_id:
                continue
            value: Any = item.get("position", item.get("confidence", ""))
            if isinstance(value, str):
                sides.append(value.lower() in SUPPORTS)
            elif isinstance(value, int | float):
                sides.append(value >= 0.5)
    return sides


def _names(model_id: str) -> set[str]:
    """Return what could name an analyst in a text; an anonymous label names none."""
    if model_id.startswith("Analyst"):
        return set()
    name = model_id.replace("ollama/", "").split(":")[0].split("/")[-1].lower()
    return {part for part in (name, *(p for p in name.split("-") if len(p) >= SHORTEST_NAME)) if part}


def _phrases(analysts: Sequence[Analyst]) -> set[str]:
    """Return the phrases of the analysts' reasoning that are long enough to be somebody's own."""
    found: set[str] = set()
    for analyst in analysts:
        for text in texts(claim_items(analyst.response), "reasoning"):
            found |= trigrams(text)
    return {phrase for phrase in found if len(phrase) >= SHORTEST_PHRASE}
