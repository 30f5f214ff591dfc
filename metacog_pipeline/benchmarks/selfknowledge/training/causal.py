"""A causal language model in a local folder as a trainee: opened, asked, saved."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from metacog_pipeline.benchmarks.selfknowledge.training import generation, questions, rewards
from metacog_pipeline.benchmarks.selfknowledge.training.es import Settings, Tried
from metacog_pipeline.benchmarks.selfknowledge.training.interview import Answering, Asking, Interview
from metacog_pipeline.benchmarks.selfknowledge.training.questions import Question
from metacog_pipeline.benchmarks.selfknowledge.training.weights import Named, trainable
from metacog_pipeline.benchmarks.selfknowledge.training.worker import Trainee
from metacog_pipeline.errors import StudyError
from metacog_pipeline.llm.local.loading import Loaded, open_folder

# Bytes; larger models are written in pieces, so that memory holds a copy of a piece, not of the model.
_WHOLE = 512 << 20


def open_model(folder: Path, device: str = "cpu", dtype: str = "auto") -> Loaded:
    """Return a model of its own, which may be changed."""
    require_model(folder)
    return open_folder(folder.name, str(folder), device, dtype)


def require_model(folder: Path) -> None:
    """Raise `StudyError` where a folder holds no model."""
    if not (folder / "config.json").is_file():
        raise StudyError(
            f"{folder}: no model here (config.json is missing); give the folder of a model in the layout of Hugging "
            "Face"
        )


def save_model(loaded: Loaded, folder: Path) -> None:
    """Write model and tokenizer so that the folder can be opened like any other."""
    size = sum(each.numel() * each.element_size() for each in loaded.model.parameters())
    loaded.model.save_pretrained(folder, max_shard_size=max(_WHOLE, size // 8))
    loaded.tokenizer.save_pretrained(folder)


def read_model(folder: Path) -> Named:
    """Return the parameters of a folder in float32 by the names the model gives them, tied ones once."""
    return trainable(open_model(folder, "cpu", "float32").model)


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
    trainee: Literal["torch", "vllm"] = "torch"

    def build(self) -> Trainee:
        """Open the model, here or in vLLM."""
        if self.trainee == "vllm":
            from metacog_pipeline.benchmarks.selfknowledge.training.vllm_model import open_vllm

            return self.of(*open_vllm(self.folder, self.device, self.dtype, self.asking))
        loaded = open_model(self.folder, self.device, self.dtype)
        return self.of(
            loaded, trainable(loaded.model), lambda folder: save_model(loaded, folder), generation.answers
        )

    def of(
        self, loaded: Loaded, tensors: Named, save: Callable[[Path], None], generate: Answering
    ) -> Trainee:
        """Return the trainee of an opened model."""
        training = Interview(loaded, self.training, self.asking, generate)
        held_out = Interview(loaded, self.held_out, self.asking, generate)
        reward = rewards.reward_named(self.settings.reward)

        def fitness(t: int) -> Tried:
            counts = training.counts(self.settings.positions(t, len(self.training)))
            return Tried(float(reward(counts)), counts)

        def validate(part: int, of: int) -> rewards.Counts:
            # Whole batches, dealt out in turn: those of one worker that asks all, so that answers are the same.
            rows, items = self.asking.rows, len(self.held_out)
            begins = range(part * rows, items, of * rows)
            return held_out.counts([k for begin in begins for k in range(begin, min(begin + rows, items))])

        return Trainee(tensors, fitness, validate if self.held_out else None, save, read_model)

    def about(self) -> dict[str, Any]:
        """Return what a run depends on besides settings and weights; noise is that of the kind of device."""
        asked = {"training": questions.digest(self.training), "held_out": questions.digest(self.held_out)}
        return {
            **asked,
            "asking": asdict(self.asking),
            "dtype": self.dtype,
            "device": self.device.partition(":")[0],
        }
