"""Whoever holds a model: tries it as any individual, follows the commits, saves it. One of them, or many alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from metacog_pipeline.benchmarks.selfknowledge.training import weights
from metacog_pipeline.benchmarks.selfknowledge.training.es import Commit, Objective, Tried
from metacog_pipeline.benchmarks.selfknowledge.training.rewards import EpisodeReward
from metacog_pipeline.benchmarks.selfknowledge.training.seeds import Individual
from metacog_pipeline.benchmarks.selfknowledge.training.tensors import MASTER, read_tensors
from metacog_pipeline.errors import MetacogError, StoreError


@dataclass(frozen=True, slots=True)
class Trainee:
    """A model and what is done with it."""

    model: nn.Module  # in evaluation mode, on its device
    fitness: Objective  # of the model as it stands, in one generation
    # what it does on part k of n of the questions held out; None where there are none
    validate: Callable[[nn.Module, int, int], EpisodeReward] | None
    save: Callable[[nn.Module, Path], None]  # write the model into a folder, ready to be used elsewhere
    # return the trainable tensors of a folder that ``save`` wrote, by name
    read: Callable[[Path], Mapping[str, Tensor]]
    # take hold of weights that another program holds; None where ``model`` holds them
    open_weights: Callable[[Path | None, weights.SharedMaster | None], Any] | None = None


@dataclass(frozen=True, slots=True)
class Committed:
    """What an update left: digest of all weights (empty where only a sample was wanted), of a sample, and its norm."""

    digest: str
    sample: str
    norm: float


class Recipe(Protocol):
    """How to make a trainee; small, and can be sent to another process, where it makes an equal one."""

    @property
    def threads(self) -> int:
        """Threads of a worker. A number of its own: sums of another number of threads can differ in the last digit."""

    def build(self) -> Trainee:
        """Return the trainee with its base weights."""

    def base(self) -> Mapping[str, Tensor]:
        """Return the base weights by name."""


class Worker:
    """A trainee with its weights."""

    def __init__(
        self, recipe: Recipe, scratch: Path | None = None, shared: weights.SharedMaster | None = None
    ) -> None:
        torch.set_num_threads(recipe.threads)
        self._recipe = recipe
        self.trainee = recipe.build()
        self.weights: weights.Weights = (
            weights.Weights(self.trainee.model, scratch, shared=shared)
            if self.trainee.open_weights is None
            else self.trainee.open_weights(scratch, shared)
        )

    def evaluate(self, t: int, individuals: Sequence[Individual], sigma: float) -> list[Tried]:
        """Return what became of each individual; the weights are afterwards as they were, also after an error."""
        found: list[Tried] = []
        try:
            for individual in individuals:
                self.weights.perturb(individual, sigma)
                with torch.no_grad():
                    found.append(self.trainee.fitness(self.trainee.model, t))
        finally:
            self.weights.restore()
        return found

    def commit(self, commit: Commit, whole: bool = True) -> Committed:
        """Make the update and return what it left; ``whole``: with the digest of all weights, as small ones always are."""
        norm = self._update(commit)
        self._refuse_overflow(commit.t)
        digest = self.weights.digest() if whole or self.weights.size <= weights.WHOLE else ""
        return Committed(digest, self.weights.sample(commit.t), norm)

    def commit_part(self, commit: Commit, part: int, of: int) -> float:
        """Make a part of the update of a shared master; return the norm of that part."""
        return self._update(commit, part, of)

    def _update(self, commit: Commit, part: int = 0, of: int = 1) -> float:
        wanted, rank = weights.steps(commit.individuals, commit.z, commit.alpha), commit.individuals[0].rank
        return self.weights.update(wanted, part, of, rank)

    def adopt(self, t: int | None = None, whole: bool = False) -> Committed:
        """Take the weights of a shared master, once all its parts are made; with digests where ``t`` is given."""
        self.weights.restore()
        if t is None:
            return Committed("", "", 0.0)
        self._refuse_overflow(t)
        digest = self.weights.digest() if whole or self.weights.size <= weights.WHOLE else ""
        return Committed(digest, self.weights.sample(t), 0.0)

    def _refuse_overflow(self, t: int) -> None:
        if self.weights.overflowed():
            raise MetacogError(
                f"generation {t + 1}: weights of 16 bits have no finite value any more; in another folder, take a smaller "
                "--alpha, or --dtype bfloat16"
            )

    def reset(self) -> None:
        """Put the base weights back."""
        self.weights.load(self._recipe.base())

    def replay(self, commits: Sequence[Commit]) -> str:
        """Make updates made before and return the digest; one that is logged must come out again."""
        for commit in commits:
            self._update(commit)
        return self.check(commits)

    def check(self, commits: Sequence[Commit]) -> str:
        """Return the digest of the weights, which must be what the log has of the last of these commits."""
        digest, logged = self.weights.digest(), commits[-1].digest if commits else ""
        if commits and not logged and commits[-1].sample:  # what the log has of a large model
            digest, logged = self.weights.sample(commits[-1].t), commits[-1].sample
        if logged and digest != logged:
            raise StoreError(
                f"replaying {len(commits)} generations gives weights {digest}, the log has {logged}: the base "
                "model or the log is another one"
            )
        return digest

    def validate(self, part: int = 0, of: int = 1) -> EpisodeReward | None:
        """Return what the model does on a part of the questions held out."""
        if self.trainee.validate is None:
            return None
        with torch.no_grad():
            return self.trainee.validate(self.trainee.model, part, of)

    def save(self, folder: Path) -> None:
        """Write the model, and the float32 master where the model's own type is another, into ``folder``."""
        self.trainee.save(self.trainee.model, folder)
        if not self.weights.is_single:
            self.weights.write(folder / MASTER)

    def load(self, folder: Path) -> str:
        """Take the weights of a folder that `save` wrote and return their digest."""
        kept = folder / MASTER
        self.weights.load(read_tensors(kept) if kept.exists() else self.trainee.read(folder))
        return self.weights.digest()

    def digest(self) -> str:
        """Return the digest of the weights."""
        return self.weights.digest()

    def close(self) -> None:
        """Give the scratch file back."""
        self.weights.close()
