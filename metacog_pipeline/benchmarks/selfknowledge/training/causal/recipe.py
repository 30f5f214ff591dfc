"""How a worker opens a language model, and what it asks it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import nn

from metacog_pipeline.benchmarks.selfknowledge.training.causal.interview import Asking, Interview
from metacog_pipeline.benchmarks.selfknowledge.training.causal.opening import (
    open_model,
    read_model,
    save_model,
)
from metacog_pipeline.benchmarks.selfknowledge.training.causal.questions import Question
from metacog_pipeline.benchmarks.selfknowledge.training.es import Settings, objective
from metacog_pipeline.benchmarks.selfknowledge.training.rewards import EpisodeReward, outcome
from metacog_pipeline.benchmarks.selfknowledge.training.worker import Trainee


@dataclass(frozen=True, slots=True)
class CausalRecipe:
    """The folder of a model, questions to train on and held out, how they are asked, and the settings of the run."""

    folder: Path
    training: tuple[Question, ...]
    held_out: tuple[Question, ...]
    asking: Asking
    settings: Settings
    device: str = "cpu"
    dtype: str = "auto"
    threads: int = 1

    def build(self) -> Trainee:
        """Open the model."""
        loaded = open_model(self.folder, self.device, self.dtype)
        training = Interview(loaded, self.training, self.asking)
        held_out = Interview(loaded, self.held_out, self.asking)

        def validate(model: nn.Module, part: int, of: int) -> EpisodeReward:
            return outcome(*held_out(model, places(len(self.held_out), self.asking.rows, part, of)))

        model: Any = loaded.model
        return Trainee(
            model=model,
            fitness=objective(training, len(self.training), self.settings),
            validate=validate if self.held_out else None,
            save=lambda model, folder: save_model(loaded, folder),
            read=lambda folder: read_model(folder, "float32"),
        )


def places(items: int, rows: int, part: int, of: int) -> list[int]:
    """Return the positions of a part of the items: whole batches, dealt out in turn.

    The batches are those of one worker that asks all, so that sums are rounded alike and answers are the same.
    """
    batches = range(part * rows, items, of * rows)
    return [place for begin in batches for place in range(begin, min(begin + rows, items))]
