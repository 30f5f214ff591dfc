"""One generation of the evolution strategy of arXiv 2602.02605, whatever the model and the questions are.

Every individual is the model plus sigma times its own noise, asked the same batch (common random numbers). Its reward,
standardised over the population, weighs its noise in the update: theta += alpha / N · Σ z_i eps_i. No division by
sigma, no momentum, no weight decay.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

from numpy.typing import ArrayLike
from torch import nn

from metacog_pipeline.benchmarks.selfknowledge.training import rewards, seeds, shaping
from metacog_pipeline.benchmarks.selfknowledge.training.rewards import EpisodeReward
from metacog_pipeline.benchmarks.selfknowledge.training.seeds import Individual
from metacog_pipeline.benchmarks.selfknowledge.training.shaping import SCHEDULES, SHAPINGS, Schedule, Shaping
from metacog_pipeline.errors import StudyError

Evaluate = Callable[
    [nn.Module, Sequence[int]], tuple[ArrayLike, ...]
]  # right, yes and, where known, readable
Objective = Callable[[nn.Module, int], "Tried"]
#: What is allowed, both ends included. Weights of a model are of the size of 1: what is far from that changes nothing of
#: them, or leaves nothing of them.
_ALLOWED = {
    "sigma": (1e-12, 1000), "alpha": (1e-12, 1000),
    "population": (2, 10**6), "batch": (1, 10**9), "generations": (0, 10**9),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Settings:
    """How a run goes; all that its trajectory depends on beside the base weights and the questions."""

    # sigma, alpha: size of the noise and of the step, in units of the weights
    sigma: float = 1e-3
    alpha: float = 5e-4
    # population, batch, generations: individuals per generation, items each is asked, generations
    population: int = 32
    batch: int = 256
    generations: int = 750
    # ``joint``, ``direct``, ``meta``, ``dprime``, or four numbers (see :func:`.rewards.reward_named`)
    reward: str = "joint"
    antithetic: bool = False  # whether individuals come in pairs, noise added and subtracted
    shaping: Shaping = "zscore"  # ``zscore`` or ``ranks`` (centred)
    schedule: Schedule = "constant"  # of alpha: ``constant``, ``linear`` or ``cosine`` to zero
    seed: int = 42  # of noise and batches
    # ``full``: a number per weight. ``rank-4``: the noise of a matrix is a product of two thin ones (see
    # :func:`.noise.low_rank`), another algorithm with a log of its own
    noise: str = "full"

    def __post_init__(self) -> None:
        rewards.reward_named(self.reward)
        for name, (least, most) in _ALLOWED.items():
            if not least <= getattr(self, name) <= most:  # NaN is not
                raise StudyError(
                    f"{name} = {getattr(self, name)}: a number from {least:,} to {most:,} needed"
                )
        if self.antithetic and self.population % 2:
            raise StudyError(f"population = {self.population}: antithetic pairs need an even number")
        if self.shaping not in SHAPINGS or self.schedule not in SCHEDULES:
            raise StudyError(f"shaping {self.shaping!r} or schedule {self.schedule!r} is unknown")
        if self.noise != "full" and not re.fullmatch(r"rank-[1-9][0-9]{0,2}", self.noise):
            raise StudyError(f'noise "{self.noise}" is neither full nor a rank such as rank-4')
        if not -(2**63) <= self.seed < 2**63:
            raise StudyError(f"seed = {self.seed}: 64 bits with sign at most")

    def individuals(self, t: int) -> tuple[Individual, ...]:
        """Return the population of generation ``t``, from 0."""
        rank = 0 if self.noise == "full" else int(self.noise.removeprefix("rank-"))
        return seeds.population(self.seed, t, self.population, self.antithetic, rank)


@dataclass(frozen=True, slots=True)
class Tried:
    """Fitness of one individual and what it rests on."""

    fitness: float
    outcome: EpisodeReward = rewards.NOTHING


@dataclass(frozen=True, slots=True)
class Commit:
    """Everything about one generation that another worker needs to make the same update.

    ``t`` counts from 0; ``digest`` is that of the weights after the update, ``sample`` of a part that ``t`` picks.
    Large models have the first every few generations only.
    """

    t: int
    individuals: tuple[Individual, ...]
    fitness: tuple[float, ...]
    z: tuple[float, ...]
    alpha: float
    digest: str = ""
    sample: str = ""

    def record(self) -> dict[str, Any]:
        """Return it as JSON values; the rank of its noises only where they have one."""
        rank = self.individuals[0].rank if self.individuals else 0
        return {
            **({"rank": rank} if rank else {}),
            "t": self.t,
            "seeds": [each.seed for each in self.individuals],
            "signs": [each.sign for each in self.individuals],
            "fitness": list(self.fitness),
            "z": list(self.z),
            "alpha": self.alpha,
            "digest": self.digest,
            "sample": self.sample,
        }

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> Self:
        """Read it back, exactly."""
        return cls(
            t=int(record["t"]),
            individuals=tuple(
                Individual(int(seed), int(sign), int(record.get("rank", 0)))
                for seed, sign in zip(record["seeds"], record["signs"], strict=True)
            ),
            fitness=tuple(float(f) for f in record["fitness"]),
            z=tuple(float(z) for z in record["z"]),
            alpha=float(record["alpha"]),
            digest=str(record["digest"]),
            sample=str(record.get("sample", "")),
        )


def commit_of(settings: Settings, t: int, fitness: Sequence[float]) -> Commit:
    """Return the commit of generation ``t`` from the fitness of its individuals, without a digest yet."""
    z = shaping.shaped(fitness, settings.shaping)
    alpha = shaping.step_size(settings.alpha, settings.schedule, t, settings.generations)
    return Commit(t, settings.individuals(t), tuple(fitness), tuple(float(v) for v in z), alpha)


def objective(evaluate: Evaluate, items: int, settings: Settings) -> Objective:
    """Return the fitness of a model at generation ``t``: its reward on the batch of that generation."""
    reward = rewards.reward_named(settings.reward)

    @functools.lru_cache(maxsize=1)
    def positions(t: int) -> list[int]:
        return [int(place) for place in seeds.batch(settings.seed, t, settings.batch, items)]

    def tried(model: nn.Module, t: int) -> Tried:
        outcome = rewards.outcome(*evaluate(model, positions(t)))
        return Tried(float(reward(outcome)), outcome)

    return tried
