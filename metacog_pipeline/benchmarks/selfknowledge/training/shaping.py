"""From the rewards of a population to the weights of its noises, and the update they make."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metacog_pipeline.errors import MetacogError

Floats = NDArray[np.float64]
Shaping = Literal["zscore", "ranks"]
Schedule = Literal["constant", "linear", "cosine"]
SHAPINGS: tuple[Shaping, ...] = ("zscore", "ranks")
SCHEDULES: tuple[Schedule, ...] = ("constant", "linear", "cosine")
TINY = 1e-8


def zscores(fitness: ArrayLike) -> Floats:
    """Return (F - mean) / (sd + 1e-8), sd with N - 1; exactly zero where all are equal."""
    values = _fitness(fitness)
    if values.max() == values.min():
        return np.zeros_like(values)
    with np.errstate(over="ignore", invalid="ignore"):
        spread = float(values.std(ddof=1))
        z: Floats = (values - values.mean()) / (spread + TINY)
    if not math.isfinite(spread):
        raise MetacogError(f"rewards from {values.min():g} to {values.max():g} are too large to be compared")
    return z


def centred_ranks(fitness: ArrayLike) -> Floats:
    """Return ranks spread evenly over -0.5..0.5, ties sharing their mean; exactly zero where all are equal."""
    values = _fitness(fitness)
    _, level, count = np.unique(values, return_inverse=True, return_counts=True)
    middle: Floats = (np.cumsum(count) - (count - 1) / 2)[level]
    return (middle - (len(values) + 1) / 2) / (len(values) - 1)


def shaped(fitness: ArrayLike, how: Shaping) -> Floats:
    """Return the standardised fitness of a population, shape ``(N,)``."""
    return zscores(fitness) if how == "zscore" else centred_ranks(fitness)


def step_size(alpha: float, schedule: Schedule, t: int, generations: int) -> float:
    """Return alpha of generation ``t`` (from 0): constant, or falling to 0 after the last one, linearly or as a cosine."""
    done = t / generations
    if schedule == "linear":
        return alpha * (1 - done)
    return alpha * (1 + math.cos(math.pi * done)) / 2 if schedule == "cosine" else alpha


def es_update(theta: ArrayLike, noise: ArrayLike, fitness: ArrayLike, alpha: float) -> tuple[Floats, Floats]:
    """Return z-scores and the next parameters by the closed form theta + alpha / N · Σ z_i eps_i."""
    z = zscores(fitness)
    eps = np.asarray(noise, dtype=np.float64)
    return z, np.asarray(theta, dtype=np.float64) + alpha / len(z) * (z @ eps)


def _fitness(fitness: ArrayLike) -> Floats:
    values = np.asarray(fitness, dtype=np.float64)
    if values.ndim != 1 or len(values) < 2:
        raise ValueError(f"fitness has shape {values.shape}: two or more individuals needed")
    if not np.isfinite(values).all():
        raise MetacogError("the fitness of an individual is no finite number; take smaller rewards")
    return values
