"""Which drafts become instances: how hard their designers find them, and whether the pool disagrees about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

_LEVELS = {"easy": 0.0, "moderate": 1.0, "medium": 1.0, "hard": 2.0}
_OF_MEAN, _OF_VARIANCE = 0.6, 2.0
_MEDIUM_FROM, _HARD_FROM = 0.8, 1.5
UNRATED = (0.5, "medium")
LEAST_DISAGREEMENT = 0.2  # nats, mean over the five claims


@dataclass(frozen=True, slots=True)
class Ambiguity:
    """Whether a case is open enough: ``mean`` disagreement in nats, ``unanimous`` claims, and the verdict."""

    mean: float
    unanimous: tuple[str, ...]
    kept: bool
    reason: str


def difficulty(levels: Sequence[str]) -> tuple[float, str]:
    """Return (combined, tier) from designers' words: 0.6 · mean + 2 · variance of easy 0, moderate 1, hard 2.

    Words that are none of the three count as moderate. Below 0.8 is easy, below 1.5 medium, else hard; without any
    word (0.5, medium).
    """
    if not levels:
        return UNRATED
    values = np.array([_LEVELS.get(level.strip().lower(), 1.0) for level in levels])
    combined = round(float(_OF_MEAN * values.mean() + _OF_VARIANCE * values.var()), 4)
    return combined, "easy" if combined < _MEDIUM_FROM else "medium" if combined < _HARD_FROM else "hard"


def ambiguity(
    disagreement: ArrayLike,
    claim_ids: Sequence[str],
    *,
    known_answer: bool = False,
    least: float = LEAST_DISAGREEMENT,
) -> Ambiguity:
    """Say whether a case is kept: mean disagreement of at least ``least`` nats, and no claim on which all agree.

    Cases with a known answer are kept whatever the pool says, since there the crowd is meant to agree on something
    wrong. The paper filters for genuine ambiguity without giving a rule; this is this project's.
    """
    values = np.asarray(disagreement, dtype=np.float64)
    unanimous = tuple(claim for claim, value in zip(claim_ids, values, strict=True) if value <= 0)
    mean = float(values.mean()) if values.size else 0.0
    if known_answer:
        return Ambiguity(mean, unanimous, True, "the answer is known")
    if unanimous:
        return Ambiguity(mean, unanimous, False, f"nobody disagrees about {', '.join(unanimous)}")
    if mean < least:
        return Ambiguity(mean, unanimous, False, f"mean disagreement {mean:.3f} is below {least:g}")
    return Ambiguity(mean, unanimous, True, "the pool disagrees")
