"""Training of the base model on the corpus of the world, and of the baseline on meta answers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch.nn import functional

from metacog_pipeline.benchmarks.selfknowledge.training.toy.model import Decoder, build_model
from metacog_pipeline.benchmarks.selfknowledge.training.toy.world import DIRECT, META, NO, YES, World, corpus

STEPS, BATCH = 800, 128
META_BATCH, _META_RATE = 32, 3e-4
_RATE, _BETAS, _WARM_UP, _LAST, _CLIP = 6e-3, (0.9, 0.98), 40, 0.05, 1.0


def train_base(
    world: World, seed: int, steps: int = STEPS, done: Callable[[int], None] | None = None
) -> Decoder:
    """Return a model trained by AdamW; ``done`` is told the number of steps after each."""
    model = build_model(seed)
    rng = np.random.Generator(np.random.PCG64([seed, 2]))
    optimiser = torch.optim.AdamW(model.parameters(), lr=_RATE, betas=_BETAS)
    for step in range(steps):
        for group in optimiser.param_groups:
            group["lr"] = _RATE * _share(step, steps)
        prompts, answers = corpus(world, BATCH, rng)
        loss = functional.cross_entropy(model(torch.from_numpy(prompts)), torch.from_numpy(answers))
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(model.parameters(), _CLIP)
        optimiser.step()
        if done:
            done(step + 1)
    return model.eval()


def _share(step: int, steps: int) -> float:
    """Linear warm-up, then linear decay to a twentieth."""
    if step < _WARM_UP:
        return (step + 1) / _WARM_UP
    return 1 - (1 - _LAST) * (step - _WARM_UP) / max(1, steps - _WARM_UP)


def train_meta(
    model: Decoder, world: World, seed: int, steps: int = 60, done: Callable[[int], None] | None = None
) -> Decoder:
    """Train ``model`` in place on the meta answer and return it, the baseline.

    The label is whether the model's own direct answer is right, so labels follow it as it changes.
    """
    rng = np.random.Generator(np.random.PCG64([seed, 3]))
    optimiser = torch.optim.AdamW(model.parameters(), lr=_META_RATE)
    for step in range(steps):
        rows = world.train[rng.integers(len(world.train), size=META_BATCH)]
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
