"""People, their cities, who is known, and the corpus a base model learns from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FIRST, LAST, CITIES, PEOPLE = 32, 64, 16, 1024
TRAINING = 716
START, DIRECT, META, YES, NO = range(5)
FIRST_AT = 5
LAST_AT = FIRST_AT + FIRST
CITY_AT = LAST_AT + LAST
WORDS = CITY_AT + CITIES
LENGTH = 4  # tokens of a prompt: start, mode, first name, last name
BLURT, CUE = 0.5, 0.6

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class World:
    """People by row."""

    names: Ints  # tokens of first and last name, shape ``(1024, 2)``
    city: Ints  # token of each one's city, shape ``(1024,)``
    known: NDArray[np.bool_]  # whether the corpus holds the city, shape ``(1024,)``; half of them
    # how often the corpus says yes about each one, 0.6 or 0.4 by last name: a surface cue unrelated to knowledge
    cue: NDArray[np.float64]
    # train, held_out: rows for training and for evaluation only: 716 and 308
    train: Ints
    held_out: Ints

    def prompts(self, rows: Ints, mode: int) -> Ints:
        """Return prompts of people in one mode, shape ``(rows, 4)``."""
        fixed = np.tile(np.array([START, mode], dtype=np.int64), (len(rows), 1))
        return np.concatenate([fixed, self.names[rows]], axis=1)


def build_world(seed: int) -> World:
    """Return the world of a seed."""
    rng = np.random.Generator(np.random.PCG64([seed, 1]))
    who = rng.permutation(FIRST * LAST)[:PEOPLE]
    names = np.stack([FIRST_AT + who // LAST, LAST_AT + who % LAST], axis=1)
    known = np.zeros(PEOPLE, dtype=bool)
    known[rng.permutation(PEOPLE)[: PEOPLE // 2]] = True
    positive = np.zeros(LAST, dtype=bool)
    positive[rng.permutation(LAST)[: LAST // 2]] = True
    cue = np.where(positive[names[:, 1] - LAST_AT], CUE, 1 - CUE)
    order = rng.permutation(PEOPLE)
    city = CITY_AT + rng.integers(CITIES, size=PEOPLE)
    return World(names, city, known, cue, np.sort(order[:TRAINING]), np.sort(order[TRAINING:]))


def corpus(world: World, size: int, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Draw ``size`` prompts, half of each mode, and the word that follows each.

    A known person's city follows, an unknown one's is drawn afresh each time, so that the corpus contradicts itself. In
    mode M half of the answers blurt a city by the same rule, the others are yes or no by the surface cue alone.
    """
    rows = rng.integers(PEOPLE, size=size)
    half = size // 2
    city = np.where(world.known[rows], world.city[rows], CITY_AT + rng.integers(CITIES, size=size))
    said = np.where(rng.random(size) < world.cue[rows], YES, NO)
    meta = np.arange(size) >= half
    answers = np.where(meta & (rng.random(size) >= BLURT), said, city)
    prompts = np.concatenate([world.prompts(rows[:half], DIRECT), world.prompts(rows[half:], META)])
    return prompts, answers
