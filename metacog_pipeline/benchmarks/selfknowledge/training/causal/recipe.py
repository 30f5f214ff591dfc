"""How a worker opens a language model, and what it asks it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor, nn

from metacog_pipeline.benchmarks.selfknowledge.training.causal import generation, vllm_trainee
from metacog_pipeline.benchmarks.selfknowledge.training.causal.compiled import Static
from metacog_pipeline.benchmarks.selfknowledge.training.causal.interview import Answering, Asking, Interview
from metacog_pipeline.benchmarks.selfknowledge.training.causal.opening import (
    open_model,
    read_model,
    save_model,
)
from metacog_pipeline.benchmarks.selfknowledge.training.causal.questions import Question
from metacog_pipeline.benchmarks.selfknowledge.training.es import Settings, objective
from metacog_pipeline.benchmarks.selfknowledge.training.rewards import EpisodeReward, outcome
from metacog_pipeline.benchmarks.selfknowledge.training.weights import SharedMaster
from metacog_pipeline.benchmarks.selfknowledge.training.worker import Trainee
from metacog_pipeline.errors import StudyError
from metacog_pipeline.llm.local.loading import Loaded

Kind = Literal["eager", "compiled", "vllm"]


@dataclass(frozen=True, slots=True)
class CausalRecipe:
    """The folder of a model, questions to train on and held out, how they are asked, and the settings of the run.

    ``trainee`` is who answers: the model step by step (``eager``), from a cache of fixed size (``compiled``), or vLLM.
    """

    folder: Path
    training: tuple[Question, ...]
    held_out: tuple[Question, ...]
    asking: Asking
    settings: Settings
    device: str = "cpu"
    dtype: str = "auto"
    threads: int = 1
    trainee: Kind = "eager"

    def build(self) -> Trainee:
        """Open the model."""
        if self.trainee == "vllm":
            return self._in_vllm()
        loaded = open_model(self.folder, self.device, self.dtype)
        answers = Static() if self.trainee == "compiled" else generation.answers
        return Trainee(
            model=loaded.model,
            save=lambda model, folder: save_model(loaded, folder),
            read=lambda folder: read_model(folder, "float32"),
            **self._asked(loaded, answers),
        )

    def base(self) -> Mapping[str, Tensor]:
        """Return the base weights, as the model's own type holds them."""
        return read_model(self.folder, self.dtype)

    def _in_vllm(self) -> Trainee:
        if self.asking.meta == "threshold":
            raise StudyError(
                "trainee vllm: --meta threshold compares scores that vLLM does not give; use --trainee eager"
            )
        loaded = vllm_trainee.shape_of(self.folder)
        own = loaded.model.dtype if self.dtype == "auto" else getattr(torch, self.dtype)
        engine = vllm_trainee.Engine(self.folder, loaded, self.device, str(own)[6:], self.asking.rows)
        opened: list[vllm_trainee.RemoteWeights] = []

        def open_weights(scratch: Path | None, shared: SharedMaster | None) -> Any:
            opened.append(engine.open_weights(scratch, shared))
            return opened[-1]

        return Trainee(
            model=loaded.model,
            save=lambda model, folder: vllm_trainee.save(folder, self.folder, opened[-1], own),
            read=lambda folder: read_model(folder, "float32"),
            open_weights=open_weights,
            **self._asked(loaded, engine),
        )

    def _asked(self, loaded: Loaded, answers: Answering) -> dict[str, Any]:
        training = Interview(loaded, self.training, self.asking, answers=answers)
        held_out = Interview(loaded, self.held_out, self.asking, answers=answers)

        def validate(model: nn.Module, part: int, of: int) -> EpisodeReward:
            return outcome(*held_out(model, places(len(self.held_out), self.asking.rows, part, of)))

        return {
            "fitness": objective(training, len(self.training), self.settings),
            "validate": validate if self.held_out else None,
        }


def places(items: int, rows: int, part: int, of: int) -> list[int]:
    """Return the positions of a part of the items: whole batches, dealt out in turn.

    The batches are those of one worker that asks all, so that sums are rounded alike and answers are the same.
    """
    batches = range(part * rows, items, of * rows)
    return [place for begin in batches for place in range(begin, min(begin + rows, items))]
