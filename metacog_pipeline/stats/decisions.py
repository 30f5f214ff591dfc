"""When is a difference one? Intervals of draws, Bonferroni Z tests, and a region of practical equivalence (ROPE).

Sources: the rules of "Measuring the metacognition of AI" (arXiv 2603.29693) and of the HMeta-d toolbox (Fleming 2017,
*Neuroscience of Consciousness*); ROPE: Kruschke (2018), *Adv. Methods Pract. Psychol. Sci.* 1.

Two sets of posterior draws are compared by T = log first - log second, draw by draw, or by their difference where a draw is
at or below 0. Criterion shifts between conditions are Z = (x₂ - x₁) / √(Var₁ + Var₂), one family for each of c, d′ and c′.

``rope`` is the half width of the region.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Literal, cast

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri

from metacog_pipeline.stats import resampling
from metacog_pipeline.stats._arrays import Floats, Ints, Rows, floats
from metacog_pipeline.stats.estimate import OK
from metacog_pipeline.stats.type1 import Texts

Verdict = Literal["not_significant", "significant", "negligible", "inconclusive"]
Scale = Literal["log_ratio", "difference"]

UNTESTED = "untested"  # the verdict where there is no number to test; the status says why
NO_LOG = "draws at or below 0: no log ratio"
UNDEFINED = "no finite difference: a rate of 0 or 1, or an empty class"
NO_SPREAD = "no sampling variance"
CONDITIONS = ("S1", "None", "S2")  # predicted order of c, from the lowest up
FEWEST = 100  # draws
LEVEL = 0.95  # coverage of an interval, and 1 - the familywise error


@dataclass(frozen=True, slots=True)
class ZTest:
    """Two-sided Z tests, one per row; the adjusted p and intervals are Bonferroni's for ``family_size`` tests."""

    z: Floats
    p: Floats
    p_adjusted: Floats
    significant: Rows
    low: Floats
    high: Floats
    low_adjusted: Floats
    high_adjusted: Floats
    family_size: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """Posterior of a difference of two positive quantities, and its verdict."""

    n: int  # pairs of draws
    scale: Scale  # on which the region lies
    log_ratio: float | None  # mean of log first - log second; None where a draw is <= 0, with its interval
    log_low: float | None
    log_high: float | None
    difference: float  # the same of first - second, in the unit of the draws
    low: float
    high: float
    probability: float  # share of pairs of draws in which the first is the larger
    differs: bool  # whether the symmetric interval leaves out 0 (the same on both scales)
    verdict: Verdict
    status: str = OK  # or why there is no log ratio: the verdict is then made on the difference


@dataclass(frozen=True, slots=True)
class Contrasts:
    """Differences of one quantity, one row per pair of cells; every array has shape ``(pairs,)``."""

    quantity: str
    first: Ints
    second: Ints
    difference: Floats  # second - first, NaN where ``status`` says why
    se: Floats
    test: ZTest
    verdict: Texts
    examined: Rows  # the rows to interpret: of c′ those whose d′ differs significantly, else all
    status: Texts


def verdicts(low: Floats, high: Floats, half_width: float, significant: Rows) -> Texts:
    """Return a verdict for each interval ``low`` .. ``high`` ``(n,)``.

    ``not_significant`` where the test did not reject (``significant``); else ``significant`` if the interval lies outside ±
    ``half_width``, ``negligible`` if inside, ``inconclusive`` if it crosses an end. ``untested`` where it has no number.

    >>> verdicts(np.array([0.2, np.nan]), np.array([0.4, np.nan]), 0.1, np.array([True, False])).tolist()
    ['significant', 'untested']
    """
    if not 0.0 <= half_width < math.inf:
        raise ValueError(f"the half width of the region of practical equivalence is {half_width}: 0 or more")
    found = np.full(len(low), "inconclusive", dtype="<U15")
    found[(low > half_width) | (high < -half_width)] = "significant"
    found[(low >= -half_width) & (high <= half_width)] = "negligible"
    found[~significant] = "not_significant"
    found[np.isnan(low) | np.isnan(high)] = UNTESTED
    return found


def z_test(difference: ArrayLike, se: ArrayLike) -> ZTest:
    """Return two-sided Z tests of a family of differences ``(rows,)``; ``se`` above 0, or NaN where none can be made."""
    delta, error = np.asarray(difference, dtype=np.float64), np.asarray(se, dtype=np.float64)
    size = max(len(delta), 1)
    usable = np.isfinite(delta) & np.isfinite(error) & (error > 0)
    delta, error = np.where(usable, delta, np.nan), np.where(usable, error, np.nan)
    z = delta / error
    p = 2.0 * ndtr(-np.abs(z))
    adjusted = np.minimum(1.0, size * p)
    plain, wide = (-float(ndtri((1.0 - LEVEL) / (2.0 * tests))) * error for tests in (1, size))
    significant = np.less(adjusted, 1.0 - LEVEL, where=usable, out=np.zeros(len(z), dtype=np.bool_))
    return ZTest(z, p, adjusted, significant, delta - plain, delta + plain, delta - wide, delta + wide, size)


def contrasts(
    quantity: str, first: Ints, second: Ints, difference: ArrayLike, se: ArrayLike, *,
    rope: float = 0.1, examined: Rows | None = None,
) -> Contrasts:  # fmt: skip
    """Test one family of differences ``(pairs,)`` and give each its verdict, on the Bonferroni interval.

    quantity, first, second: what the differences are of; indices of the cells of each pair.
    difference, se, examined: differences and standard errors; which pairs to interpret, None: all.

    >>> contrasts("c", np.array([0]), np.array([1]), [0.5], [0.1]).verdict.tolist()
    ['significant']
    """
    delta, error = np.asarray(difference, dtype=np.float64), np.asarray(se, dtype=np.float64)
    finite = np.isfinite(delta) & np.isfinite(error)
    status = np.where(finite, np.where(error > 0, OK, NO_SPREAD), UNDEFINED)
    delta, error = np.where(finite, delta, np.nan), np.where(finite, error, np.nan)
    test = z_test(delta, error)
    verdict = verdicts(test.low_adjusted, test.high_adjusted, rope, test.significant)
    seen = np.ones(len(delta), dtype=np.bool_) if examined is None else examined
    return Contrasts(quantity, first, second, delta, error, test, verdict, seen, status)


def condition_pairs(
    groups: Sequence[Hashable], conditions: Sequence[str], order: Sequence[str] = CONDITIONS
) -> tuple[Ints, Ints]:
    """Return the indices (first, second) of the cells to compare: by group as they appear, neighbours in ``order`` first.

    >>> condition_pairs(["m", "m", "m"], ["None", "S1", "S2"])
    (array([1, 0, 1]), array([0, 2, 2]))
    """
    cells: dict[Hashable, dict[str, int]] = {}
    for i, (group, condition) in enumerate(zip(groups, conditions, strict=True)):
        cells.setdefault(group, {})[condition] = i
    steps = [(order[a], order[a + gap]) for gap in range(1, len(order)) for a in range(len(order) - gap)]
    pairs = [(cell[a], cell[b]) for cell in cells.values() for a, b in steps if a in cell and b in cell]
    both = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return both[:, 0], both[:, 1]


def compare(
    first_draws: ArrayLike, second_draws: ArrayLike, rope: float = 0.05, *, scale: Scale = "log_ratio", seed: int = 0
) -> Comparison:  # fmt: skip
    """Compare two independent fits by draws of one positive quantity (M-ratio, d′), any shape, at least 100 each.

    scale: on which the region lies, ``log_ratio`` or ``difference``; seed: of the order in which draws are paired.
    Too few draws, or draws that are not finite, are a ValueError.

    >>> rng = np.random.default_rng(1)
    >>> found = compare(rng.normal(1.0, 0.05, 1000), rng.normal(0.7, 0.05, 1000))
    >>> round(found.difference, 2), found.differs, found.verdict
    (0.3, True, 'significant')
    """
    one, two = _enough("first_draws", first_draws), _enough("second_draws", second_draws)
    n = min(len(one), len(two))
    rng = resampling.generator(seed)
    first = one if len(one) == n else one[rng.permutation(len(one))[:n]]
    # Draws of one random stream move together: paired as they come, their interval would be too narrow.
    return _compared(first, two[rng.permutation(len(two))[:n]], rope, scale)


def against_optimality(draws: ArrayLike, rope: float = 0.05, *, scale: Scale = "log_ratio") -> Comparison:
    """Compare one fit's M-ratio ``draws`` with 1: T = log M, and M - 1 as the difference.

    >>> against_optimality(np.random.default_rng(1).normal(0.7, 0.05, 1000)).verdict
    'significant'
    """
    ratio = _enough("draws", draws)
    return _compared(ratio, np.ones(len(ratio)), rope, scale)


def _compared(first: Floats, second: Floats, rope: float, scale: Scale) -> Comparison:
    tail = (1.0 - LEVEL) / 2

    def ends(draws: Floats) -> tuple[float, float]:
        low, high = np.quantile(draws, (tail, 1.0 - tail)).tolist()
        return low, high

    delta = first - second
    plain = judged = ends(delta)
    positive = bool((first > 0).all() and (second > 0).all())
    ratio = log_low = log_high = None
    if positive:
        logs = np.log(first) - np.log(second)
        ratio, (log_low, log_high) = float(logs.mean()), ends(logs)
        judged = (log_low, log_high) if scale == "log_ratio" else plain
    differs = judged[0] > 0 or judged[1] < 0
    at_low, at_high = (np.array([end]) for end in judged)
    (verdict,) = verdicts(at_low, at_high, rope, np.array([differs])).tolist()
    above = np.count_nonzero(delta > 0) / len(delta) + np.count_nonzero(delta == 0) / len(delta) / 2
    return Comparison(
        len(delta), scale if positive else "difference", ratio, log_low, log_high, float(delta.mean()),
        *plain, above, differs, cast(Verdict, verdict), OK if positive else NO_LOG,
    )  # fmt: skip


def _enough(name: str, draws: ArrayLike) -> Floats:
    flat = floats(name, np.asarray(draws).reshape(-1))
    if len(flat) < FEWEST:
        raise ValueError(f"{name} holds {len(flat)} draws: at least {FEWEST} are needed")
    return flat
