"""The maximum of the likelihood: damped Newton steps in the criteria and meta-d', many cells at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from metacog_pipeline.stats._arrays import Floats, Ints
from metacog_pipeline.stats.mafc.likelihood import Problem, Slopes, evaluate, solved
from metacog_pipeline.stats.mafc.table import LARGEST_D, Table, table

LARGEST_STEP = 1.5  # in z and in d: further than that the quadratic says nothing
STEPS = 200
FLAT = 1e-9  # gradient per answer at which a search ends
STARTS = 100  # steps to criteria that reproduce the used shares; four are usual, halving a bracket takes 60


@dataclass(frozen=True, slots=True)
class Found:
    """Where the searches ended; ``converged`` says which of them are at a maximum."""

    zeta: Floats
    d: Floats
    slopes: Slopes
    converged: NDArray[np.bool_]


def climb(
    problem: Problem,
    d: Floats,
    *,
    fixed: bool = False,
    zeta: Floats | None = None,
    flat: float = FLAT,
    curve: Table | None = None,
) -> Found:
    """Climb from sensitivity ``d`` ``(N,)``; with ``fixed`` only the criteria move, which gives the profile.

    ``zeta`` are first criteria, by default those at which every rating is used as often as it was; ``flat`` is the
    gradient per answer at which a search ends, ``curve`` the table of the ideal observer.
    """
    zeta = criteria(problem, d) if zeta is None else zeta
    slopes = evaluate(problem, zeta, d, curve)
    n = np.maximum((problem.right + problem.wrong).sum(axis=(1, 2)), 1.0)
    damping = np.zeros(len(d))
    d = d.copy()
    done = np.zeros(len(d), bool)
    for _ in range(STEPS):
        steep = _free_gradient(slopes.gradient, d, fixed)
        done |= np.abs(steep).max(axis=1) / n < flat
        moving = np.flatnonzero(~done)
        if not len(moving):
            break
        part = problem.take(moving)
        step = _step(slopes.bands[moving], steep[moving], damping[moving], fixed, zeta.shape[1])
        new_zeta, new_d = _moved(zeta[moving], d[moving], step, fixed)
        tried = evaluate(part, new_zeta, new_d, curve)
        before = slopes.value[moving]
        better = _ordered(part, new_zeta) & (tried.value >= before - 1e-12 * np.abs(before))
        better &= np.isfinite(tried.gradient).all(axis=1)
        taken = moving[better]
        zeta[taken], d[taken] = new_zeta[better], new_d[better]
        slopes.value[taken], slopes.gradient[taken] = tried.value[better], tried.gradient[better]
        slopes.bands[taken] = tried.bands[better]
        damping[taken] = np.where(damping[taken] > 1e-6, damping[taken] / 10, 0.0)
        damping[moving[~better]] = np.maximum(damping[moving[~better]] * 10, 1e-3)
        done |= damping > 1e12
    converged = np.abs(_free_gradient(slopes.gradient, d, fixed)).max(axis=1) / n < 1e-6
    return Found(zeta, d, slopes, converged)


def criteria(problem: Problem, d: Floats) -> Floats:
    """Return criteria at which the ideal observer of sensitivity ``d`` uses every rating as often as it was used."""
    right, wrong = problem.right, problem.wrong
    total = np.maximum((right + wrong).sum(axis=2, keepdims=True), 1e-300)
    above = np.cumsum((right + wrong)[..., ::-1], axis=2)[..., ::-1][..., 1:] / total
    share = right.sum(axis=2, keepdims=True) / total
    above = np.where(problem.real, above, 0.5)
    found = shares_to_criteria(above, share, problem.m[..., None], d[:, None, None], precise=1e-3)
    odd = np.flatnonzero(~_ordered(problem, found))
    if len(odd):  # ratings used so little that their criteria are closer than what was asked for
        m, cells = problem.m[odd][..., None], d[odd][:, None, None]
        found[odd] = shares_to_criteria(above[odd], share[odd], m, cells)
    return found


def shares_to_criteria(
    above: Floats, right: Floats, m: Ints, d: Floats, *, precise: float = 1e-12, curve: Table | None = None
) -> Floats:
    """Return zeta with ``right`` HR(zeta) + (1 - ``right``) FAR(zeta) = ``above``, strictly between 0 and 1.

    Newton steps are kept inside a shrinking bracket, which is halved where they do not get shorter by themselves: where
    few false alarms and many hits meet, they may go to and fro between two places.
    """
    low, high = np.full(above.shape, -40.0), np.full(above.shape, 40.0)
    zeta, last = special.ndtri(above), np.full(above.shape, np.inf)
    curve = table() if curve is None else curve
    for _ in range(STARTS):
        lift, by_z = curve.along(m, zeta, d)
        value = right * special.ndtr(zeta + lift) + (1 - right) * special.ndtr(zeta) - above
        slope = right * _phi(zeta + lift) * (1 + by_z) + (1 - right) * _phi(zeta)
        low, high = np.where(value < 0, zeta, low), np.where(value >= 0, zeta, high)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            newton = zeta - value / slope
        shorter = np.abs(newton - zeta) <= np.maximum(last / 2, precise)
        moved = np.where(shorter & (newton >= low) & (newton <= high), newton, (low + high) / 2)
        last = np.abs(moved - zeta)
        if last.max(initial=0.0) < precise:
            return np.asarray(moved)
        zeta = moved
    return np.asarray(zeta)


def _phi(x: Floats) -> Floats:
    return np.asarray(np.exp(-x * x / 2) / np.sqrt(2 * np.pi))


def _free_gradient(gradient: Floats, d: Floats, fixed: bool) -> Floats:
    """Return the gradient without what cannot move: a fixed d, or one at an end of its range that pushes outwards."""
    steep = gradient.copy()
    stuck = ((d <= 0) & (steep[:, -1] < 0)) | ((d >= LARGEST_D) & (steep[:, -1] > 0))
    steep[stuck | fixed, -1] = 0.0
    return steep


def _step(hessian: Floats, gradient: Floats, damping: Floats, fixed: bool, strata: int) -> Floats:
    bands = -hessian
    held = (gradient[:, -1] == 0.0) | fixed
    bands[held, :, 2] = 0.0
    diagonal = np.maximum(np.abs(bands[..., 0]), 1e-8)
    diagonal[held, -1] = 1.0
    bands[held, -1, 0] = 1.0
    bands[..., 0] += damping[:, None] * diagonal
    try:
        step = solved(bands, gradient, strata)
    except np.linalg.LinAlgError:
        step = gradient / diagonal
    # Where the likelihood is not concave the Newton step may lead down: follow the scaled gradient instead.
    down = ~((step * gradient).sum(axis=1) > 0)
    step[down] = gradient[down] / (diagonal[down] * (1 + damping[down, None]))
    size = np.abs(step).max(axis=1, keepdims=True)
    return np.asarray(step * np.minimum(1.0, LARGEST_STEP / np.maximum(size, 1e-300)))


def _moved(zeta: Floats, d: Floats, step: Floats, fixed: bool) -> tuple[Floats, Floats]:
    moved = zeta + step[:, :-1].reshape(zeta.shape)
    return moved, d if fixed else np.clip(d + step[:, -1], 0.0, LARGEST_D)


def _ordered(problem: Problem, zeta: Floats) -> NDArray[np.bool_]:
    real = problem.real[..., 1:]
    return np.asarray(np.where(real, zeta[..., :-1] > zeta[..., 1:], True).all(axis=(1, 2)))
