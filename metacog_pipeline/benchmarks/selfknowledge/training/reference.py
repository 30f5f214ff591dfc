"""Random numbers of the authors' code, for comparison with their runs only: they depend on device and worker count."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

_SEEDS = 1_000_000


def noise(seed: int, shapes: Sequence[Sequence[int]]) -> list[Tensor]:
    """Return standard normals of PyTorch's processor generator, seeded once, drawn tensor by tensor."""
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(tuple(shape), generator=generator) for shape in shapes]


def population_seeds(run_seed: int, process: int, generations: int, individuals: int) -> list[list[int]]:
    """Return the seeds one process draws: NumPy's legacy generator seeded with run seed plus process number."""
    generator = np.random.RandomState(run_seed + process)
    return [generator.randint(0, _SEEDS, individuals).tolist() for _ in range(generations)]
