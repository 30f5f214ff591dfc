"""meta-d' and M-ratio of questions with m alternatives, by maximum likelihood.

meta-d' is the sensitivity of the ideal observer whose type-2 ROC fits the confidence of right and wrong answers best;
``M = meta-d' / d'`` compares it with the sensitivity of the accuracy. Questions of mixed difficulty raise M (Rahnev &
Fleming 2019), so an M above 1 is no error. Questions of different m are strata with criteria of their own and one common
meta-d' and d'. The status is that of `identifiability`, or ``no_sensitivity``: at chance or below there is no ratio.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metacog_pipeline.stats import identifiability
from metacog_pipeline.stats._arrays import Floats, Ints
from metacog_pipeline.stats.auroc import area_of
from metacog_pipeline.stats.identifiability import BOUNDARY_DOWN, BOUNDARY_UP, OK
from metacog_pipeline.stats.mafc import accuracy as type1
from metacog_pipeline.stats.mafc.likelihood import Found, Problem, climb, criteria, evaluate, pack, solved
from metacog_pipeline.stats.mafc.table import LARGEST_M, table

NO_SENSITIVITY = "no_sensitivity"
REASONS = {**identifiability.REASONS, NO_SENSITIVITY: "accuracy at chance or below: there is no ratio"}
AT_CHANCE = 1e-9  # d' up to here is none
MOST_RATINGS = 20  # confidence finer than this is grouped by `groups`
_FIRST_D, _LAST_D = 0.05, 4.0
_BLOCK = 500  # cells


@dataclass(frozen=True, slots=True)
class Efficiency:
    """Fits of many cells; arrays have shape ``(N,)``. NaN where the status gives no number."""

    status: NDArray[np.str_]
    d: Floats
    se_d: Floats
    meta_d: Floats
    se_meta_d: Floats
    m_ratio: Floats
    se_m_ratio: Floats
    log_likelihood: Floats
    few_errors: NDArray[np.bool_]


def fit(right: ArrayLike, wrong: ArrayLike, m: ArrayLike) -> Efficiency:
    """Fit meta-d' to ``right`` and ``wrong`` answers by rising confidence, ``(N, K)`` or, of S strata, ``(N, S, K)``.

    Fractions are allowed; alternatives ``m`` of 2 to 10: one number, ``(N,)``, or ``(N, S)``. Else a ValueError.
    """
    correct, errors, alternatives = checked(right, wrong, m)
    status = identifiability.statuses(correct, errors)
    d, se_d = type1_of(correct, errors, alternatives)
    problem = pack(correct, errors, alternatives)
    meta = np.full(len(status), np.nan)
    se_meta, value = meta.copy(), meta.copy()
    cells = np.flatnonzero(status == OK)
    if len(cells):
        found = best(problem.take(cells))
        meta[cells], value[cells] = found.d, found.slopes.value
        se_meta[cells] = _standard_errors(found)
    status = np.where((status == OK) & (d <= AT_CHANCE), NO_SENSITIVITY, status)
    meta = np.where(status == BOUNDARY_UP, np.inf, np.where(status == BOUNDARY_DOWN, -np.inf, meta))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(status == OK, meta / d, np.nan)
        se_ratio = np.sqrt((se_meta / d) ** 2 + (ratio * se_d / d) ** 2)
    few = identifiability.few_errors(correct, errors)
    return Efficiency(status.astype(np.str_), d, se_d, meta, se_meta, ratio, se_ratio, value, few)


def checked(right: ArrayLike, wrong: ArrayLike, m: ArrayLike) -> tuple[Floats, Floats, Ints]:
    """Return counts of shape ``(N, S, K)`` and m of shape ``(N, S)``; raises ValueError as `fit`."""
    correct, errors = _numbers("right", right), _numbers("wrong", wrong)
    if correct.ndim == 2:
        correct, errors = correct[:, None, :], errors[:, None, :] if errors.ndim == 2 else errors
    if correct.ndim != 3 or correct.shape != errors.shape or correct.shape[2] < 1:
        raise ValueError(
            f"right and wrong need one shape (N, K) or (N, S, K), not {correct.shape}, {errors.shape}"
        )
    if not all(bool((np.isfinite(each) & (each >= 0)).all()) for each in (correct, errors)):
        raise ValueError("counts must be finite and 0 or more")
    alternatives = _numbers("m", m)
    if alternatives.ndim == 1 and correct.shape[1] == 1:
        alternatives = alternatives[:, None]
    alternatives = np.broadcast_to(alternatives, correct.shape[:2])
    outside = (alternatives < 2) | (alternatives > LARGEST_M) | (alternatives != np.round(alternatives))
    if outside.any():
        raise ValueError(
            f"m is {alternatives[outside][0]}: alternatives are whole numbers from 2 to {LARGEST_M}"
        )
    return correct, errors, alternatives.astype(np.int64)


def _numbers(name: str, values: ArrayLike) -> Floats:
    found = np.asarray(values)
    if found.dtype.kind not in "biuf":
        raise ValueError(f"{name} is {values!r:.60}: numbers are needed")
    return found.astype(np.float64)


def one_cell(right: ArrayLike, wrong: ArrayLike, m: ArrayLike) -> tuple[Floats, Floats, Ints]:
    """Return the counts ``(K,)`` or ``(S, K)`` of one cell, and its m, in the shapes of `checked`."""
    alternatives = _numbers("m", m)
    correct, errors = _numbers("right", right)[None], _numbers("wrong", wrong)[None]
    return checked(correct, errors, alternatives[None] if alternatives.ndim else alternatives)


def best(problem: Problem) -> Found:
    """Return the maximum over criteria and meta-d', of either sign."""
    zero = np.zeros(len(problem.m))
    down = evaluate(problem, criteria(problem, zero), zero).gradient[:, -1] < 0
    turned = turn(problem, down)
    found = climb(turned, _first_guess(turned))
    return Found(found.zeta, np.where(down, -found.d, found.d), found.slopes)


def turn(problem: Problem, cells: NDArray[np.bool_]) -> Problem:
    """Return the problem with right and wrong exchanged in ``cells``: the ROC of -d is that of d turned round."""
    which = cells[:, None, None]
    right = np.where(which, problem.wrong, problem.right)
    return Problem(right, np.where(which, problem.right, problem.wrong), problem.m, problem.used)


def _first_guess(problem: Problem) -> Floats:
    """Return the sensitivity whose ideal AUROC2 is the one seen, over all strata together."""
    right, wrong = problem.right.sum(axis=1), problem.wrong.sum(axis=1)
    area = np.nan_to_num(area_of(right, wrong))
    grid = np.linspace(0.0, _LAST_D, 41)
    guess = np.full(len(area), _FIRST_D)
    most = problem.m.max(axis=1)
    for m in np.unique(most):
        of_m = most == m
        guess[of_m] = np.interp(area[of_m], table().auroc2(int(m), grid), grid)
    return np.asarray(np.clip(guess, _FIRST_D, _LAST_D))


def _standard_errors(found: Found) -> Floats:
    information = -found.slopes.bands
    unit = np.zeros(information.shape[:2])
    unit[:, -1] = 1.0
    variance = solved(information, unit, found.zeta.shape[1])[:, -1]
    return np.asarray(np.where(variance > 0, np.sqrt(np.abs(variance)), np.nan))


def type1_of(right: Floats, wrong: Floats, m: Ints) -> tuple[Floats, Floats]:
    """Return d' of counts ``(N, S, K)`` and its error: the accuracy turned round, or the common ML estimate of strata."""
    correct, errors = right.sum(axis=2), wrong.sum(axis=2)
    n = correct + errors
    d = np.full(len(n), np.nan)
    some = (correct.sum(axis=1) > 0) & (errors.sum(axis=1) > 0)
    single = some & ((n > 0).sum(axis=1) == 1)
    rows = np.flatnonzero(single)
    stratum = n[single].argmax(axis=1)
    d[rows] = type1.sensitivity(correct[rows, stratum] / n[rows, stratum], m[rows, stratum])
    # In blocks: an accuracy is an integral of 800 points for each stratum.
    several = np.flatnonzero(some & ~single)
    for at in np.split(several, range(_BLOCK, len(several), _BLOCK)) if len(several) else ():
        d[at] = type1.common_sensitivity(correct[at], errors[at], m[at])
    se = np.full(len(n), np.nan)
    for at in np.split(np.flatnonzero(some), range(_BLOCK, int(some.sum()), _BLOCK)) if some.any() else ():
        share, error, slope, _ = type1.shares(d[at, None], m[at])
        se[at] = 1 / np.sqrt((n[at] * slope**2 / np.maximum(share * error, 1e-300)).sum(axis=1))
    return d, se


def groups(right: Floats, wrong: Floats) -> Ints:
    """Return the rating, from 0, of each of L rising confidences with ``right`` and ``wrong`` answers ``(L,)``.

    >>> groups(np.array([0.0, 1, 0, 2, 1]), np.array([1.0, 1, 0, 0, 0])).tolist()
    [0, 1, 1, 2, 2]
    """
    used = np.flatnonzero(right + wrong)
    if not len(used):
        return np.zeros(len(right), dtype=np.int64)
    # Neighbours that hold only right, or only wrong, answers are joined: the likelihood does not distinguish them (Metz,
    # Herman & Shen 1998). More than 20 that remain become the 20 quantile groups of all answers.
    pure = np.where(wrong[used] == 0, 1, np.where(right[used] == 0, -1, 0))
    starts = np.append(True, (pure[1:] != pure[:-1]) | (pure[1:] == 0))
    if starts.sum() > MOST_RATINGS:
        count = (right + wrong)[used]
        before = (np.cumsum(count) - count / 2) / count.sum()
        group = np.minimum((before * MOST_RATINGS).astype(int), MOST_RATINGS - 1)
        starts = np.append(True, np.diff(group) > 0)
    below = np.searchsorted(used, np.arange(len(right)), side="right").clip(1, None) - 1
    return np.asarray((np.cumsum(starts) - 1)[below], dtype=np.int64)
