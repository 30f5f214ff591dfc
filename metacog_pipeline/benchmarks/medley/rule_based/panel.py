"""What is fixed for an instance: weights of its claims, what its analysts say, phrases they use. Made once and kept.

The mean over analysts is a pairwise sum, as NumPy adds eight doubles: ((x1 + x2) + (x3 + x4)) + ((x5 + x6) + (x7 + x8)).
Whether two means tie in a ranking can hang on it.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metacog_pipeline.benchmarks.medley.items import Analyst, Claim, Instance
from metacog_pipeline.benchmarks.medley.labels import (
    LARGEST,
    LabelMap,
    claim_items,
    confidence_number,
    item_by_text,
)
from metacog_pipeline.benchmarks.medley.rule_based.phrases import Openings, Phrases, opening, texts

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

SUPPORTS = frozenset({"supports", "very_high", "high"})
SHORTEST_PHRASE = 16  # characters with blanks; shorter ones are commonplaces
SHORTEST_NAME = 4
KEPT = 1024  # instances whose constants are remembered, about 0.25 MB each


# Rows of `Panel.numbers` and `Panel.flags`.
NUMBERS = ("jsd", "consensus", "weight", "mean", "supporting", "opposed")
FLAGS = ("high_strength", "high_jsd", "wrong", "is_claim")


@dataclass(frozen=True, slots=True, eq=False)
class Speech:
    """What the analysts of one instance write.

    Attributes
    ----------
    names
        Strings that name an analyst: its model, and parts of it.
    openings
        Three-word phrases of the analysts' overall assessments.
    phrases
        The phrases in the analysts' reasoning.
    """

    names: tuple[str, ...]
    openings: Openings
    phrases: Phrases


@dataclass(frozen=True, slots=True, eq=False)
class Panel:
    """Constants of one instance with C claims.

    Attributes
    ----------
    claims
        The slots, in order.
    numbers
        Shape ``(6, C)``, NaN where not known. ``jsd``: disagreement; ``consensus``: confidence; ``weight``: number of
        raters where that is neither missing nor 0, else disagreement; ``mean``: μ; ``supporting``, ``opposed``: how many
        analyst entries support the claim, and how many take any other stance.
    flags
        Shape ``(4, C)``. ``high_strength``, ``high_jsd``: at or above the median over the claims, missing values
        counting as 0 in the first and left out in the second; ``wrong``: the consensus was verified to be wrong;
        ``is_claim``: true.
    n_analysts
        How many analysts are shown.
    speech
        What the analysts write.
    """

    claims: tuple[Claim, ...]
    numbers: Floats
    flags: Bools
    n_analysts: int
    speech: Speech


@functools.lru_cache(maxsize=KEPT)
def panel_of(instance: Instance, labels: LabelMap) -> Panel:
    """Return the constants of an instance under a label map; remembered."""
    claims, analysts = instance.claims, instance.analysts
    strength, jsd = (
        [np.nan if value is None else float(value) for value in given]
        for given in ([claim.majority_strength for claim in claims], [claim.jsd_score for claim in claims])
    )
    told = instance.consensus.claim_confidences
    taken = _stances(analysts)
    sides = [taken.get(claim.claim_id, []) for claim in claims]
    numbers = [
        jsd,
        [_number(told.get(claim.claim_id)) for claim in claims],
        [
            spread if math.isnan(raters) or not raters else raters
            for raters, spread in zip(strength, jsd, strict=True)
        ],
        _means([row(each.response, claims, labels) for each in analysts], len(claims)),
        [sum(each) for each in sides],
        [len(each) - sum(each) for each in sides],
    ]
    flags = [
        _at_least_median([0.0 if math.isnan(raters) else raters for raters in strength]),
        _at_least_median(jsd),
        [claim.claim_id in instance.verified_wrong for claim in claims],
        [True] * len(claims),
    ]
    return Panel(
        claims=claims,
        numbers=np.array(numbers, dtype=np.float64),
        flags=np.array(flags, dtype=bool),
        n_analysts=len(analysts),
        speech=speech_of(instance),
    )


@functools.lru_cache(maxsize=KEPT)
def speech_of(instance: Instance) -> Speech:
    """Return what the analysts of an instance write; remembered."""
    analysts = instance.analysts
    return Speech(
        names=tuple(sorted({name for analyst in analysts for name in _names(analyst.model_id)})),
        openings=Openings(opening(analyst.response) for analyst in analysts),
        phrases=Phrases(
            (text for each in analysts for text in texts(claim_items(each.response), "reasoning")),
            SHORTEST_PHRASE,
        ),
    )


def _number(value: object) -> float:
    """Return a finite number as it is, NaN for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= LARGEST:
        return np.nan
    return float(value)


def _at_least_median(values: Sequence[float]) -> list[bool]:
    """Say of each value whether it reaches the median of those that are known."""
    known = sorted(value for value in values if not math.isnan(value))
    if not known:
        return [False] * len(values)
    middle = len(known) // 2
    median = known[middle] if len(known) % 2 else (known[middle - 1] + known[middle]) / 2
    return [value >= median for value in values]


def row(reply: object, claims: Sequence[Claim], labels: LabelMap) -> list[float]:
    """Return the confidence a reply gives each claim, as `labels.claim_confidence` does, in one pass over the reply."""
    items = claim_items(reply)
    if not items:
        return [np.nan] * len(claims)
    first: dict[str, dict[str, Any]] = {}
    for item in items:
        if isinstance(item, dict):
            name = item.get("claim_id")
            if isinstance(name, str) and name not in first:
                first[name] = item
    known = labels.by_text
    found = []
    for claim in claims:
        entry = first.get(claim.claim_id) or (
            item_by_text(items, claim.claim_text) if claim.claim_text else None
        )
        if entry is None:
            found.append(np.nan)
            continue
        value = entry.get("confidence")
        number = known.get(value) if isinstance(value, str) else None
        found.append(confidence_number(value, labels) if number is None else number)
    return found


def _means(rows: Sequence[list[float]], width: int) -> list[float]:
    """Return the mean confidence in each claim over those who state one, NaN where nobody does."""
    found = []
    for place in range(width):
        known = [stated[place] for stated in rows if not math.isnan(stated[place])]
        found.append(float(np.add.reduce(known)) / len(known) if known else np.nan)
    return found


def _stances(analysts: Sequence[Analyst]) -> dict[str, list[bool]]:
    """Return {claim: for each entry of an analyst on it whether it supports it}; unreadable ones are skipped."""
    found: dict[str, list[bool]] = {}
    for analyst in analysts:
        for item in claim_items(analyst.response):
            claim = item.get("claim_id") if isinstance(item, dict) else None
            if not isinstance(claim, str):
                continue
            value: Any = item.get("position", item.get("confidence", ""))
            if isinstance(value, str):
                found.setdefault(claim, []).append(value.lower() in SUPPORTS)
            elif isinstance(value, int | float):
                found.setdefault(claim, []).append(value >= 0.5)
    return found


def _names(model_id: str) -> set[str]:
    """Return what could name an analyst in a text; an anonymous label names none."""
    if model_id.startswith("Analyst"):
        return set()
    name = model_id.replace("ollama/", "").split(":")[0].split("/")[-1].lower()
    return {part for part in (name, *(p for p in name.split("-") if len(p) >= SHORTEST_NAME)) if part}
