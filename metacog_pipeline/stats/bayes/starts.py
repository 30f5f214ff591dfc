"""Where chains begin: wide around the mode of a density, found with its gradient alone.

Newton's method on the log density, the Hessian from differences of the gradient: all the points one iteration needs go into
two calls of a batched density, so a mode in some dozen dimensions takes milliseconds. The result is a place to start from;
nothing after the warm-up depends on it.
"""

from __future__ import annotations

import numpy as np

from metacog_pipeline.stats import resampling
from metacog_pipeline.stats._arrays import Floats
from metacog_pipeline.stats.bayes.sampler import Density

ITERATIONS = 60
DIFFERENCE = 1e-4  # of the gradient's differences: curvature to 1e-8, far above rounding
SCALES = 2.0 ** -np.arange(-1.0, 12.0)  # of a Newton step that are tried at once
WIDEST = 3.0  # standard deviation per direction at most, in the density's own coordinates
SPREAD = 2.0  # starts wider than the target let R̂ see a chain that has not found it (Gelman & Rubin 1992)
LONGEST = 2.0  # a step of Newton's method, in any coordinate


def mode(density: Density, start: Floats) -> tuple[Floats, Floats]:
    """Return a mode near ``start`` ``(dim,)``, and L with L Lᵀ the inverse curvature there (at least ``dim`` wide).

    Directions in which the density is flat get the largest standard deviation allowed, 3.
    """
    point = start
    with np.errstate(all="ignore"):
        for _ in range(ITERATIONS):
            value, gradient = density(point[None])
            vectors, variances = _curvature(density, point)
            slope = vectors.T @ gradient[0]
            step = vectors @ (variances * slope)
            step /= max(float(np.abs(step).max()) / LONGEST, 1.0)
            candidates = point + SCALES[:, None] * step
            values = density(candidates)[0]
            best = int(np.argmax(np.where(np.isfinite(values), values, -np.inf)))
            if not values[best] > value[0] + 1e-9:
                break
            point = candidates[best]
            if float(slope @ (variances * slope)) < 1e-8:
                break
        vectors, variances = _curvature(density, point)
    return point, vectors * np.sqrt(variances)


def overdispersed(
    density: Density, centre: Floats, factor: Floats, chains: int, seed: int | np.random.SeedSequence
) -> Floats:
    """Return ``chains`` starts about ``centre``, twice as wide as the normal approximation, shape ``(chains, dim)``.

    A start more than 5 dim + 20 below the mode in log density (a wall the normal approximation does not know)
    is moved towards the centre until it is not.
    """
    offsets = SPREAD * resampling.generator(seed).standard_normal((chains, len(centre))) @ factor.T
    with np.errstate(all="ignore"):
        lowest = float(density(centre[None])[0][0]) - 5 * len(centre) - 20
        for _ in range(60):
            value, gradient = density(centre + offsets)
            bad = ~((value > lowest) & np.isfinite(gradient).all(axis=1))
            if not bad.any():
                break
            offsets[bad] *= 0.7
    return centre + offsets


def _curvature(density: Density, point: Floats) -> tuple[Floats, Floats]:
    """Return the eigenvectors of the negative Hessian, and the variances (inverse eigenvalues, bounded)."""
    dim = len(point)
    steps = DIFFERENCE * np.eye(dim)
    gradients = density(np.concatenate([point + steps, point - steps]))[1]
    hessian = (gradients[:dim] - gradients[dim:]) / (2 * DIFFERENCE)
    hessian = np.where(np.isfinite(hessian), hessian, 0.0)
    values, vectors = np.linalg.eigh(-(hessian + hessian.T) / 2)
    # Where the density is not concave the curvature's size still tells how far a step is safe.
    return vectors, 1 / np.maximum(np.abs(values), WIDEST**-2)
