"""The evolution strategy of arXiv 2602.02605 (Algorithm 1) as arithmetic, for any model and any questions.

Every individual is the model plus sigma times its own noise and is asked the same batch (common random numbers). Its
reward, standardised over the population, weighs its noise in the update: theta += alpha / N · Σ z_i eps_i. There is
no division by sigma, no momentum and no weight decay.

Every random number follows from (run seed, generation, individual) alone, so results do not depend on the number of
workers and any generation can be made again from its number.
"""

from __future__ import annotations

import hashlib
import math
import struct
from collections.abc import Sequence
from typing import Annotated, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import BaseModel, ConfigDict, Field, model_validator

from metacog_pipeline.benchmarks.selfknowledge.training import rewards
from metacog_pipeline.errors import MetacogError

Floats = NDArray[np.float64]
# Weights have the size of 1: beyond this none is left.
Positive = Annotated[float, Field(ge=1e-12, le=1e3, strict=True)]
_TINY = 1e-8


class Settings(BaseModel):
    """All that the trajectory of a run depends on besides base weights and questions; defaults as published."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    sigma: Positive = 1e-3
    alpha: Positive = rewards.ALPHA
    population: int = Field(32, ge=2, le=10**6)
    batch: int = Field(256, ge=1, le=10**9)
    generations: int = Field(750, ge=0, le=10**9)
    reward: str = "joint"
    # individuals in pairs, noise added and subtracted
    antithetic: bool = False
    # cosine: alpha falls to 0, which quiets the weights
    schedule: Literal["constant", "cosine"] = "constant"
    seed: int = Field(42, ge=-(2**63), lt=2**63)

    @model_validator(mode="after")
    def _possible(self) -> Self:
        rewards.reward_named(self.reward)
        if self.antithetic and self.population % 2:
            raise ValueError(f"population = {self.population}: antithetic pairs need an even number")
        return self

    def step(self, t: int) -> float:
        """Return alpha of generation ``t``, from 0."""
        falls = (1 + math.cos(math.pi * t / self.generations)) / 2 if self.schedule == "cosine" else 1.0
        return self.alpha * falls

    def individuals(self, t: int) -> list[Individual]:
        """Return the population of generation ``t``."""
        seeds = [hash63(b"indiv", self.seed, t, i) for i in range(self.population)]
        if not self.antithetic:
            return [Individual(seed) for seed in seeds]
        return [Individual(seed, sign) for seed in seeds[: self.population // 2] for sign in (1, -1)]

    def positions(self, t: int, items: int) -> list[int]:
        """Return which of ``items`` questions generation ``t`` asks: the next slice of a reshuffled pass over all."""
        # The last slice of a pass is shorter where the batch does not divide the items.
        return batch(self.seed, t, self.batch, items)


class Individual(NamedTuple):
    """One member of a population: the seed of its noise, and whether the noise is added or subtracted."""

    seed: int
    sign: int = 1


class Tried(NamedTuple):
    """Fitness of one individual and the counts it rests on."""

    fitness: float
    counts: rewards.Counts


class Commit(NamedTuple):
    """One update: everything another worker needs to make it too. ``digest`` is that of the weights after it."""

    t: int
    individuals: list[Individual]
    fitness: list[float]
    z: list[float]
    alpha: float
    digest: str = ""

    def steps(self) -> list[tuple[int, float]]:
        """Return seed and weight alpha / N · z of every noise; the two of an antithetic pair become one."""
        found: dict[int, float] = {}
        for (seed, sign), z in zip(self.individuals, self.z, strict=True):
            found[seed] = found.get(seed, 0.0) + self.alpha / len(self.z) * sign * z
        return [(seed, weight) for seed, weight in found.items() if weight]


def commit_of(settings: Settings, t: int, fitness: Sequence[float]) -> Commit:
    """Return the update of generation ``t`` from the fitness of its individuals, without a digest yet."""
    return Commit(t, settings.individuals(t), list(fitness), zscores(fitness).tolist(), settings.step(t))


def zscores(fitness: ArrayLike) -> Floats:
    """Return (F - mean) / (sd + 1e-8), sd with N - 1; exactly zero where all are equal."""
    values = np.asarray(fitness, dtype=np.float64)
    if values.ndim != 1 or len(values) < 2:
        raise ValueError(f"fitness has shape {values.shape}: two or more individuals needed")
    if not np.isfinite(values).all():
        raise MetacogError("the fitness of an individual is no finite number; take smaller rewards")
    if values.max() == values.min():
        return np.zeros_like(values)
    found: Floats = (values - values.mean()) / (values.std(ddof=1) + _TINY)
    return found


def es_update(theta: ArrayLike, noise: ArrayLike, fitness: ArrayLike, alpha: float) -> tuple[Floats, Floats]:
    """Return z-scores and the next parameters by the closed form: what the workers do to tensors, in float64."""
    z = zscores(fitness)
    return z, np.asarray(theta, dtype=np.float64) + alpha / len(z) * (z @ np.asarray(noise, dtype=np.float64))


def hash63(kind: bytes, *numbers: int) -> int:
    """Return 63 bits of BLAKE2b over signed 64-bit numbers; ``kind`` keeps uses separate. PyTorch's seeds are
    signed."""
    packed = struct.pack(f"<{len(numbers)}q", *numbers)
    return int.from_bytes(hashlib.blake2b(packed, digest_size=8, person=kind).digest(), "little") >> 1


def batch(seed: int, t: int, size: int, items: int) -> list[int]:
    """Return slice ``t`` of passes over ``items``, each pass in an order of its own."""
    turn, part = divmod(t, -(-items // size))
    order = np.random.Generator(np.random.PCG64(hash63(b"batch", seed, turn))).permutation(items)
    return [int(place) for place in order[part * size : (part + 1) * size]]
