"""A run of the evolution strategy on a language model, from folder and questions to a folder."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from metacog_pipeline.benchmarks.selfknowledge.training.causal.questions import digest
from metacog_pipeline.benchmarks.selfknowledge.training.causal.recipe import CausalRecipe
from metacog_pipeline.benchmarks.selfknowledge.training.engines.choice import (
    Kind,
    Master,
    open_engine,
    scratch_folder,
)
from metacog_pipeline.benchmarks.selfknowledge.training.figures import Figures
from metacog_pipeline.benchmarks.selfknowledge.training.run import Plan, Trained, train


@dataclass(frozen=True, slots=True)
class Means:
    """With what a run is made; none of it changes what comes out.

    ``address`` and ``gpus`` are of a Ray cluster and of each of its actors.
    """

    workers: int = 1
    engine: Kind = "process"
    master: Master = "auto"
    address: str | None = None
    gpus: float = 0.0


def about(recipe: CausalRecipe) -> dict[str, Any]:
    """Return what a run depends on beside settings and weights: questions, how they are asked, the type of the weights."""
    return {
        "training": digest(recipe.training),
        "held_out": digest(recipe.held_out),
        "asking": asdict(recipe.asking),
        "dtype": recipe.dtype,
    }


def evolve(
    recipe: CausalRecipe,
    folder: Path,
    means: Means | None = None,
    *,
    checkpoint_every: int = 60,
    evaluate_every: int = 60,
    digest_every: int = 10,
    patience: int = 5,
    resume: bool = False,
    from_checkpoint: int | None = None,
    done: Callable[[int], None] | None = None,
    tell: Callable[[Figures], None] | None = None,
) -> Trained:
    """Run all generations, or those that are missing, and return where the last weights are.

    Arguments and errors as of :func:`metacog_pipeline.benchmarks.selfknowledge.training.run.train`.
    """
    means = means or Means()
    plan = Plan(folder, checkpoint_every, evaluate_every, about(recipe), digest_every, patience)
    scratch = scratch_folder(means.master, recipe.folder, folder, recipe.device)
    engine = open_engine(recipe, means.workers, means.engine, scratch, address=means.address, gpus=means.gpus)
    try:
        return train(
            recipe.settings,
            plan,
            engine,
            resume=resume,
            from_checkpoint=from_checkpoint,
            done=done,
            tell=tell,
        )
    finally:
        engine.close()
