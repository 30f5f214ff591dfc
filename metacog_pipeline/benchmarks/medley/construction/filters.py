"""Which drafts become instances: how hard their designers find them, and whether the pool disagrees about them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

_LEVELS = {"easy": 0.0, "moderate": 1.0, "medium": 1.0, "hard": 2.0}
LEAST_DISAGREEMENT = 0.2  # nats, mean over the five claims


def difficulty(levels: Sequence[str]) -> tuple[float, str]:
    """Return (combined, tier) from designers' words: 0.6 · mean + 2 · variance of easy 0, moderate 1, hard 2.

    Words that are none of the three count as moderate. Below 0.8 is easy, below 1.5 medium, else hard; without any
    word (0.5, medium).
    """
    if not levels:
        return 0.5, "medium"
    values = np.array([_LEVELS.get(level.strip().lower(), 1.0) for level in levels])
    combined = round(float(0.6 * values.mean() + 2.0 * values.var()), 4)
    return combined, "easy" if combined < 0.8 else "medium" if combined < 1.5 else "hard"


def ambiguity(
    disagreement: ArrayLike, claim_ids: Sequence[str], *, known_answer: bool = False
) -> tuple[bool, str]:
    """Say whether a case is kept, and why: mean disagreement of at least 0.2 nats, and no claim on which all agree.

    Cases with a known answer are kept whatever the pool says, since there the crowd is meant to agree on something
    wrong. The paper filters for genuine ambiguity without giving a rule; this is this project's.
    """
    values = np.asarray(disagreement, dtype=np.float64)
    if known_answer:
        return True, "the answer is known"
    if unanimous := [claim for claim, value in zip(claim_ids, values, strict=True) if value <= 0]:
        return False, f"nobody disagrees about {', '.join(unanimous)}"
    mean = float(values.mean()) if values.size else 0.0
    if mean < LEAST_DISAGREEMENT:
        return False, f"mean disagreement {mean:.3f} is below {LEAST_DISAGREEMENT:g}"
    return True, "the pool disagrees"
