"""How a worker gets the base model of the world, and what it is asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from metacog_pipeline.benchmarks.selfknowledge.training.es import Settings, objective
from metacog_pipeline.benchmarks.selfknowledge.training.rewards import NOTHING, outcome
from metacog_pipeline.benchmarks.selfknowledge.training.tensors import read_tensors, write_tensors
from metacog_pipeline.benchmarks.selfknowledge.training.toy.asking import Questionnaire
from metacog_pipeline.benchmarks.selfknowledge.training.toy.model import Decoder
from metacog_pipeline.benchmarks.selfknowledge.training.toy.world import build_world
from metacog_pipeline.benchmarks.selfknowledge.training.worker import Trainee
from metacog_pipeline.errors import StoreError

WEIGHTS = "model.safetensors"
#: What raises d' in every world at little cost of accuracy; the step shrinks so that the last weights are quiet ones.
SETTINGS = Settings(
    sigma=0.02,
    alpha=0.01,
    population=32,
    batch=128,
    generations=120,
    antithetic=True,
    schedule="cosine",
    seed=0,
)


@dataclass(frozen=True, slots=True)
class ToyRecipe:
    """The world of a seed, the folder of its base model, and the settings of the run."""

    world_seed: int
    folder: Path
    settings: Settings
    threads: int = 1
    dtype: str = "float32"

    def build(self) -> Trainee:
        """Return the base model with both kinds of people to ask it about."""
        world = build_world(self.world_seed)
        training, held_out = Questionnaire(world, world.train), Questionnaire(world, world.held_out)
        return Trainee(
            model=open_toy(self.folder, self.dtype),
            fitness=objective(training, training.size, self.settings),
            # A pass or two: one worker asks all.
            validate=lambda model, part, of: NOTHING if part else outcome(*_all(held_out, model)),
            save=save_toy,
            read=lambda folder: read_tensors(folder / WEIGHTS),
        )

    def base(self) -> Mapping[str, Tensor]:
        """Return the base weights."""
        return dict(open_toy(self.folder, self.dtype).named_parameters())


def save_toy(model: nn.Module, folder: Path) -> None:
    """Write a toy model into a folder."""
    tensors: Mapping[str, Tensor] = dict(model.named_parameters())
    write_tensors(folder / WEIGHTS, tensors)


def open_toy(folder: Path, dtype: str = "float32") -> Decoder:
    """Read a toy model, its weights as float32 or another type."""
    model, tensors = Decoder(), read_tensors(folder / WEIGHTS)
    try:
        model.load_state_dict(dict(tensors))
    except RuntimeError:
        raise StoreError(f"{folder / WEIGHTS}: not the weights of a toy model") from None
    return model.to(getattr(torch, dtype)).eval()


def _all(people: Questionnaire, model: nn.Module) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    found = people.answers(model)
    return found.correct, found.yes
