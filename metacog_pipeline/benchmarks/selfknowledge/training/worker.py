"""A model under evolution: evaluated as any individual, updated by commits, saved and loaded. One worker, or many
alike."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import torch

from metacog_pipeline.benchmarks.selfknowledge.training.es import Commit, Individual, Tried
from metacog_pipeline.benchmarks.selfknowledge.training.rewards import Counts
from metacog_pipeline.benchmarks.selfknowledge.training.weights import (
    Named,
    Weights,
    read_tensors,
    write_tensors,
)
from metacog_pipeline.errors import MetacogError, StoreError

MASTER = "master.safetensors"
# of glibc's mallopt; bytes
_MMAP_THRESHOLD, _LARGE = -3, 1 << 18


@dataclass(frozen=True, slots=True)
class Trainee:
    """A model and what is done with it."""

    # trainable, by name; changed in place
    tensors: Named
    # reward of the model as it is, on the questions of a generation
    fitness: Callable[[int], Tried]
    # counts on part k of n of the held-out questions, if there are any
    validate: Callable[[int, int], Counts] | None
    # writes a model folder
    save: Callable[[Path], None]
    # returns the tensors of one
    read: Callable[[Path], Named]


class Recipe(Protocol):
    """How to make a trainee; small, and equal in every process it is sent to."""

    @property
    def threads(self) -> int:
        """Threads of a worker: sums of another number of threads can differ in the last digit."""

    def build(self) -> Trainee:
        """Return the trainee with its base weights."""


class Worker:
    """A trainee with its weights."""

    def __init__(self, recipe: Recipe) -> None:
        torch.set_num_threads(recipe.threads)
        # Blocks of their own for activations: from a heap that is in pieces answers take a tenth of the model more.
        # another C library
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL("libc.so.6").mallopt(_MMAP_THRESHOLD, _LARGE)
        self.trainee = recipe.build()
        self.weights = Weights(self.trainee.tensors)

    @torch.no_grad()
    def evaluate(self, t: int, individuals: Sequence[Individual], sigma: float) -> list[Tried]:
        """Return the fitness of each individual; the weights are restored afterwards, also after an error."""
        found = []
        try:
            for individual in individuals:
                self.weights.perturb(individual, sigma)
                found.append(self.trainee.fitness(t))
        finally:
            self.weights.restore()
        return found

    def commit(self, commit: Commit) -> tuple[str, float]:
        """Make the update; return the digest of the weights and the norm of what was added."""
        norm = self.weights.update(commit.steps())
        if self.weights.overflowed():
            raise MetacogError(
                f"generation {commit.t + 1}: weights of 16 bits have no finite value any more; take a smaller alpha, or "
                'dtype = "bfloat16"'
            )
        return self.digest(), norm

    def replay(self, commits: Sequence[Commit]) -> str:
        """Make logged updates again and return the digest; raise `StoreError` where it is not the logged one."""
        for commit in commits:
            self.weights.update(commit.steps())
        digest = self.digest()
        if commits and digest != commits[-1].digest:
            raise StoreError(
                f"replaying {len(commits)} generations gives weights {digest}, the log has {commits[-1].digest}: the base "
                "model or the log was changed"
            )
        return digest

    @torch.no_grad()
    def validate(self, part: int = 0, of: int = 1) -> Counts | None:
        """Return the counts on a part of the held-out questions."""
        return None if self.trainee.validate is None else self.trainee.validate(part, of)

    def save(self, folder: Path) -> None:
        """Write the model, and the float32 master where the model has a type of its own."""
        self.trainee.save(folder)
        if any(tensor.dtype != torch.float32 for tensor in self.trainee.tensors.values()):
            write_tensors(folder / MASTER, self.weights.master())

    def load(self, folder: Path) -> str:
        """Take the weights of a folder that `save` wrote and return their digest."""
        kept = folder / MASTER
        self.weights.load(read_tensors(kept) if kept.exists() else self.trainee.read(folder))
        return self.digest()

    def digest(self) -> str:
        """Return the digest of the weights."""
        return self.weights.digest()

    def close(self) -> None:
        """Nothing to give back: the model goes with the worker."""
