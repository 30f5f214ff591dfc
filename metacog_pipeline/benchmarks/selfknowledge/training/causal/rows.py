"""How many prompts are put to a model at once: the most that fit, found by trying."""

from __future__ import annotations

import torch

from metacog_pipeline.benchmarks.selfknowledge.prompts import DIRECT, META
from metacog_pipeline.benchmarks.selfknowledge.training import room
from metacog_pipeline.benchmarks.selfknowledge.training.causal import generation
from metacog_pipeline.benchmarks.selfknowledge.training.causal.interview import Interview
from metacog_pipeline.benchmarks.selfknowledge.training.causal.opening import open_model
from metacog_pipeline.benchmarks.selfknowledge.training.causal.recipe import CausalRecipe

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
