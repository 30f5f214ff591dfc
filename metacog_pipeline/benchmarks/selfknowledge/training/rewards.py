"""Rewards: what an individual earns for being correct or not and for saying yes or no.

The joint reward is Eq. 2 of arXiv 2602.02605: correctness plus alignment of the yes with it. The two others are its
ablations; any other table can be written down as four numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from metacog_pipeline.errors import StudyError

Reward = Callable[["EpisodeReward"], float]


@dataclass(frozen=True, slots=True)
class EpisodeReward:
    """What became of one batch: items, correct ones, yeses, and yeses to correct ones.

    ``parsed`` counts the meta replies that say yes or no at all; None where nobody looked.
    """

    n: int
    correct: int
    yes: int
    hits: int
    parsed: int | None = None

    def __add__(self, other: EpisodeReward) -> EpisodeReward:
        looked = [each.parsed for each in (self, other) if each.parsed is not None]
        return EpisodeReward(
            self.n + other.n,
            self.correct + other.correct,
            self.yes + other.yes,
            self.hits + other.hits,
            sum(looked) if looked else None,
        )


NOTHING = EpisodeReward(0, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class RewardTable:
    """A reward per item, one number for each combination of correctness and yes."""

    correct_yes: float
    correct_no: float
    wrong_no: float
    wrong_yes: float

    def per_item(self, correct: ArrayLike, yes: ArrayLike) -> NDArray[np.float64]:
        """Return the reward of every item, shape ``(n,)``, from 0/1 of the same shape."""
        right, said = _binary("correct", correct), _binary("yes", yes)
        if right.shape != said.shape:
            raise ValueError(f"correct {right.shape} and yes {said.shape} differ in shape")
        cells = np.array([[self.wrong_no, self.wrong_yes], [self.correct_no, self.correct_yes]])
        rewards: NDArray[np.float64] = cells[right, said]
        return rewards

    def __call__(self, outcome: EpisodeReward) -> float:
        """Return the mean reward of a batch."""
        if outcome.n < 1:
            raise ValueError("a batch without items has no reward")
        alarms = outcome.yes - outcome.hits
        quiet = outcome.n - outcome.correct - alarms
        total = (
            self.correct_yes * outcome.hits
            + self.correct_no * (outcome.correct - outcome.hits)
            + self.wrong_no * quiet
            + self.wrong_yes * alarms
        )
        return total / outcome.n


JOINT = RewardTable(2, 1, 1, 0)
DIRECT = RewardTable(1, 1, 0, 0)
META = RewardTable(1, 0, 1, 0)
TABLES = {"joint": JOINT, "direct": DIRECT, "meta": META}
DPRIME = "dprime"
MOST, LEAST_APART = 10**6, 1e-6  # of four numbers: their size, and how far the largest is from the smallest


def dprime(outcome: EpisodeReward) -> float:
    """Return d'type2 of the whole batch with the log-linear correction: a reward that is no mean over items."""
    right, wrong = outcome.correct, outcome.n - outcome.correct
    alarms = outcome.yes - outcome.hits
    h, f = (outcome.hits + 0.5) / (right + 1), (alarms + 0.5) / (wrong + 1)
    return float(ndtri(h) - ndtri(f))


def reward_named(text: str) -> Reward:
    """Return the reward called ``joint``, ``direct``, ``meta`` or ``dprime``, or given as four numbers.

    Four numbers, comma separated, are the rewards of correct and yes, correct and no, wrong and no, wrong and yes. Raises
    StudyError for anything else, for numbers beyond a million, and for four that tell nothing apart.
    """
    if text == DPRIME:
        return dprime
    if text in TABLES:
        return TABLES[text]
    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) != 4 or not np.isfinite(numbers).all():
        raise StudyError(
            f'reward "{text}" is none of {", ".join([*TABLES, DPRIME])}, nor four numbers such as 2,1,1,0 '
            "(correct and yes, correct and no, wrong and no, wrong and yes)"
        )
    if max(map(abs, numbers)) > MOST or max(numbers) - min(numbers) < LEAST_APART:
        raise StudyError(
            f'reward "{text}": four numbers from {-MOST:,} to {MOST:,} needed, two of which differ by {LEAST_APART} or more'
        )
    return RewardTable(*numbers)


def outcome(correct: ArrayLike, yes: ArrayLike, parsed: ArrayLike | None = None) -> EpisodeReward:
    """Count a batch from 0/1 (or booleans) of shape ``(n,)``."""
    right, said = _binary("correct", correct), _binary("yes", yes)
    if right.shape != said.shape:
        raise ValueError(f"correct {right.shape} and yes {said.shape} differ in shape")
    looked = None if parsed is None else int(_binary("parsed", parsed).sum())
    return EpisodeReward(right.size, int(right.sum()), int(said.sum()), int((right & said).sum()), looked)


def _binary(name: str, values: ArrayLike) -> NDArray[np.int64]:
    array = np.asarray(values)
    if array.ndim != 1 or not np.isin(array, (0, 1)).all():
        raise ValueError(f"{name} must be one row of 0 and 1")
    return array.astype(np.int64)
