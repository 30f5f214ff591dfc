"""The baseline: gradient steps on the meta answer, its label whether the model's own direct answer is right."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch.nn import functional

from metacog_pipeline.benchmarks.selfknowledge.training.toy.model import Decoder
from metacog_pipeline.benchmarks.selfknowledge.training.toy.world import DIRECT, META, NO, YES, World

BATCH, _RATE = 32, 3e-4


def train_meta(
    model: Decoder, world: World, seed: int, steps: int = 60, done: Callable[[int], None] | None = None
) -> Decoder:
    """Train ``model`` in place and return it; the labels follow it as it changes."""
    rng = np.random.Generator(np.random.PCG64([seed, 3]))
    optimiser = torch.optim.AdamW(model.parameters(), lr=_RATE)
    for step in range(steps):
        rows = world.train[rng.integers(len(world.train), size=BATCH)]
        with torch.no_grad():
            said = model(torch.from_numpy(world.prompts(rows, DIRECT))).argmax(-1).numpy()
        labels = np.where(said == world.city[rows], YES, NO)
        loss = functional.cross_entropy(
            model(torch.from_numpy(world.prompts(rows, META))), torch.from_numpy(labels)
        )
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        if done:
            done(step + 1)
    return model
