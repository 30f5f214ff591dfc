"""Principal components of standardised columns, those of the correlation matrix (Pearson 1901; Hotelling 1933)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from metacog_pipeline.stats import ties
from metacog_pipeline.stats._arrays import Floats, floats
from metacog_pipeline.stats.estimate import OK

TOO_FEW = "fewer than two rows"
NO_SPREAD = "no spread"
LEAST_SPREAD = 1e-10


@dataclass(frozen=True, slots=True, eq=False)
class Pca:
    """Components of k columns, the largest first."""

    explained: Floats
    loadings: Floats
    n: int
    status: str = OK


def pca(values: ArrayLike) -> Pca:
    """Return the principal components of ``values``, shape ``(rows, k)``; a column without spread stays 0.

    >>> pca([[1, 2], [2, 4], [3, 6], [4, 8.5]]).explained.round(3)
    array([0.999, 0.001])
    """
    table = floats("values", values, 2)
    n, k = table.shape
    spread = table.std(axis=0) if n else np.zeros(k)
    flat = spread < LEAST_SPREAD
    if n < 2 or flat.all():
        return Pca(np.zeros(k), np.zeros((k, k)), n, TOO_FEW if n < 2 else NO_SPREAD)
    standard = np.where(flat, 0.0, (table - table.mean(axis=0)) / np.where(flat, 1.0, spread))
    variance, vectors = np.linalg.eigh(standard.T @ standard / n)
    variance, loadings = np.maximum(variance[::-1], 0.0), vectors.T[::-1]
    largest = loadings[np.arange(k), ties.largest(np.abs(loadings), axis=1)]
    return Pca(variance / variance.sum(), loadings * np.sign(largest)[:, None], n)
