"""A run of the evolution strategy on a language model, from folder and questions to a folder."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch

from metacog_pipeline.benchmarks.selfknowledge.prompts import DIRECT, META
from metacog_pipeline.benchmarks.selfknowledge.training import room
from metacog_pipeline.benchmarks.selfknowledge.training.causal import generation
from metacog_pipeline.benchmarks.selfknowledge.training.causal.interview import Interview
from metacog_pipeline.benchmarks.selfknowledge.training.causal.opening import open_model
from metacog_pipeline.benchmarks.selfknowledge.training.causal.questions import digest
from metacog_pipeline.benchmarks.selfknowledge.training.causal.recipe import CausalRecipe
from metacog_pipeline.benchmarks.selfknowledge.training.engines import choice
from metacog_pipeline.benchmarks.selfknowledge.training.figures import Figures
from metacog_pipeline.benchmarks.selfknowledge.training.log import Log
from metacog_pipeline.benchmarks.selfknowledge.training.run import Engine, Plan, Trained, train


@dataclass(frozen=True, slots=True)
class Means:
    """With what a run is made; none of it changes what comes out.

    ``workers`` 0 means one per device. ``address`` and ``gpus`` are of a Ray cluster and of each of its actors; without
    ``gpus`` an actor has one where the device is a graphics card. ``fit_rows`` looks for the most prompts at once that fit,
    once for a run.
    """

    workers: int = 1
    engine: choice.Kind = "process"
    master: choice.Master = "auto"
    address: str | None = None
    gpus: float | None = None
    devices: tuple[str, ...] = ()
    fit_rows: bool = False

    def placed(self, recipe: CausalRecipe) -> tuple[CausalRecipe, Means]:
        """Return recipe and means with devices and workers filled in; several workers of a card are nobody's wish."""
        devices = self.devices or (recipe.device,)
        return replace(recipe, device=devices[0]), replace(
            self, devices=devices, workers=self.workers or len(devices)
        )


def open_worker_pool(recipe: CausalRecipe, means: Means, folder: Path) -> Engine:
    """Return the engine of a run in a folder."""
    scratch = choice.scratch_folder(means.master, recipe.folder, folder, recipe.device)
    shared = choice.shared_weights(means.master, recipe.folder, means.workers, means.engine)
    return choice.open_engine(
        recipe,
        means.workers,
        means.engine,
        scratch,
        address=means.address,
        gpus=means.gpus,
        devices=means.devices,
        shared=shared,
    )


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
    recipe, means = (means or Means()).placed(recipe)
    if means.fit_rows:
        recipe = replace(recipe, asking=replace(recipe.asking, rows=_rows(recipe, folder)))
    plan = Plan(folder, checkpoint_every, evaluate_every, about(recipe), digest_every, patience)
    engine = open_worker_pool(recipe, means, folder)
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


def _rows(recipe: CausalRecipe, folder: Path) -> int:
    """Return the prompts at once that the run in the folder was begun with, or the most that fit."""
    known = Log(folder).about()
    return largest_rows(recipe) if known is None else int(known["about"]["asking"]["rows"])


TRIED = 256  # questions among which the longest prompt is looked for
_LEAVE = 0.8  # share of the free memory of a processor that may be taken


def largest_rows(recipe: CausalRecipe) -> int:
    """Return the largest power of two, or the batch of a generation, of the longest prompts that fits the device.

    A graphics card is tried until it has no memory left; a processor, where that would end other programs, while twice as
    much as was taken last is still free.
    """
    loaded = open_model(recipe.folder, recipe.device, recipe.dtype)
    interview = Interview(loaded, recipe.training[:TRIED], recipe.asking)
    places = range(len(interview.questions))
    longest = max((interview.prompt(step, k) for step in (DIRECT, META) for k in places), key=len)
    most, fitting, rows, before = recipe.settings.batch, 1, 1, room.peak() or 0
    while rows <= most:
        try:
            with torch.no_grad():
                generation.answers(loaded, [longest] * rows, recipe.asking.max_tokens, rows)
        except torch.OutOfMemoryError:
            torch.cuda.empty_cache()
            break
        fitting = rows
        taken, free = (room.peak() or 0) - before, room.host_free()
        if recipe.device == "cpu" and free is not None and taken >= _LEAVE * free:
            break
        rows = most if rows < most < 2 * rows else 2 * rows
    return fitting
