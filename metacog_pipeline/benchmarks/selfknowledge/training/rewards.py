"""Rewards: what an individual earns for right and wrong answers and for saying yes or no.

The joint reward is Eq. 2 of arXiv 2602.02605, correctness plus alignment; `direct` and `meta` are its two halves
(Table 4).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from metacog_pipeline.errors import StudyError


class Counts(NamedTuple):
    """Counts of one batch: items, right answers, yeses, yeses to right answers.

    ``parsed`` counts the meta replies that say yes or no at all; None where replies were not read as text.
    """

    n: int
    correct: int
    yes: int
    hits: int
    parsed: int | None = None


Reward = Callable[[Counts], float]


def outcome(correct: ArrayLike, yes: ArrayLike, parsed: ArrayLike | None = None) -> Counts:
    """Count a batch from 0/1 (or booleans) of shape ``(n,)``."""
    right, said = np.asarray(correct, dtype=bool), np.asarray(yes, dtype=bool)
    if right.ndim != 1 or right.shape != said.shape:
        raise ValueError(f"correct {right.shape} and yes {said.shape} must be rows of one length")
    read = None if parsed is None else int(np.count_nonzero(parsed))
    return Counts(right.size, int(right.sum()), int(said.sum()), int((right & said).sum()), read)


def together(many: list[Counts]) -> Counts:
    """Return counts added up."""
    read = [each.parsed for each in many if each.parsed is not None]
    n, correct, yes, hits = (sum(each[place] or 0 for each in many) for place in range(4))
    return Counts(n, correct, yes, hits, sum(read) if read else None)


@dataclass(frozen=True, slots=True)
class RewardTable:
    """A reward per item, one number for each combination of correctness and yes."""

    correct_yes: float
    correct_no: float
    wrong_no: float
    wrong_yes: float

    def __call__(self, counts: Counts) -> float:
        """Return the mean reward of a batch."""
        if counts.n < 1:
            raise ValueError("a batch without items has no reward")
        alarms = counts.yes - counts.hits
        total = (
            self.correct_yes * counts.hits
            + self.correct_no * (counts.correct - counts.hits)
            + self.wrong_no * (counts.n - counts.correct - alarms)
            + self.wrong_yes * alarms
        )
        return total / counts.n


TABLES = {
    "joint": RewardTable(2, 1, 1, 0),
    "direct": RewardTable(1, 1, 0, 0),
    "meta": RewardTable(1, 0, 1, 0),
}
DPRIME = "dprime"
#: Steps as published: with the step of the others, `meta` taught the model to be wrong and say no (Appendix B.1).
ALPHA, ALPHA_META = 5e-4, 2e-4
# Of four numbers: their size, and the distance of the largest to the smallest.
_MOST, _LEAST_SPREAD = 1e6, 1e-6


def usual_alpha(reward: str) -> float:
    """Return the published step size of a reward."""
    return ALPHA_META if reward == "meta" else ALPHA


def dprime(counts: Counts) -> float:
    """Return d'type2 of the whole batch with the log-linear correction: a reward that is no mean over items."""
    wrong, alarms = counts.n - counts.correct, counts.yes - counts.hits
    hit_rate, alarm_rate = (counts.hits + 0.5) / (counts.correct + 1), (alarms + 0.5) / (wrong + 1)
    return float(ndtri(hit_rate) - ndtri(alarm_rate))


def reward_named(text: str) -> Reward:
    """Return the reward ``joint``, ``direct``, ``meta`` or ``dprime``, or the table of four numbers such as
    ``2,1,1,0``.
    """
    # The four are the rewards of correct and yes, correct and no, wrong and no, wrong and yes.
    if text == DPRIME:
        return dprime
    if text in TABLES:
        return TABLES[text]
    try:
        cells = [float(part) for part in text.split(",")]
    except ValueError:
        cells = []
    if len(cells) != 4 or not np.isfinite(cells).all():
        raise StudyError(
            f'reward "{text}" is none of {", ".join([*TABLES, DPRIME])}, nor four numbers such as 2,1,1,0 '
            "(correct and yes, correct and no, wrong and no, wrong and yes)"
        )
    if max(map(abs, cells)) > _MOST or max(cells) - min(cells) < _LEAST_SPREAD:
        raise StudyError(
            f'reward "{text}": four numbers of at most {_MOST:,.0f} needed, two of which differ by '
            f"{_LEAST_SPREAD} or more"
        )
    return RewardTable(*cells)
