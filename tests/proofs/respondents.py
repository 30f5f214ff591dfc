"""How often a 95 % interval holds the truth, measured: simulated respondents with known values, the house's own intervals.

A respondent chooses among m alternatives with a known accuracy and M-ratio, and rates on a few levels of confidence; what
it does is a table of probabilities over level × (wrong, right), so every measure of such a table has a true value. Samples
of it have the number of answers of a cell, one per item or several: an answer then repeats that of the item's first run
with a given probability. A truth is covered where it lies in the interval; a sample without an interval covers nothing and
is counted apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from metacog_pipeline.stats import resampling
from metacog_pipeline.stats._arrays import Floats, Ints, floats
from metacog_pipeline.stats.estimate import Estimate
from metacog_pipeline.stats.mafc.accuracy import sensitivity
from metacog_pipeline.stats.mafc.likelihood import shares_to_criteria
from metacog_pipeline.stats.mafc.table import table
from metacog_pipeline.stats.resampling import Patterns, merge_patterns

SHARES = (0.08, 0.12, 0.2, 0.25, 0.35)  # of the levels of confidence, rising


@dataclass(frozen=True, slots=True)
class Coverage:
    """How many intervals of how many samples held the truth; ``without`` had none."""

    held: int
    samples: int
    without: int = 0

    @property
    def percent(self) -> float | None:
        """Share of the intervals that held it, in per cent; None where no sample had an interval."""
        judged = self.samples - self.without
        return 100 * self.held / judged if judged else None


def covered(truth: float, found: Iterable[Estimate | None]) -> Coverage:
    """Count the estimates whose interval holds ``truth``."""
    held = samples = without = 0
    slack = 1e-12 * max(1.0, abs(truth))
    for each in found:
        samples += 1
        if each is None or each.low is None or each.high is None:
            without += 1
        else:
            held += each.low - slack <= truth <= each.high + slack
    return Coverage(held, samples, without)


def respondent(accuracy: float, m_ratio: float = 1.0, m: int = 4, shares: ArrayLike = SHARES) -> Floats:
    """Return what a respondent does: probabilities ``(2 L,)`` of level × (wrong, right), levels rising."""
    used = floats("shares", shares)
    if not (used > 0).all() or not 1 / m < accuracy < 1:
        raise ValueError(
            f"accuracy {accuracy} of {m} alternatives, shares {used.tolist()}: above chance, all used"
        )
    meta = float(sensitivity(accuracy, m)) * m_ratio
    above = np.cumsum((used / used.sum())[::-1])[::-1][1:]
    # Of a negative meta-d' the roles of right and wrong are exchanged.
    share = np.array(accuracy if meta >= 0 else 1 - accuracy)
    alternatives, d = np.array(m), np.array(abs(meta))
    zeta = shares_to_criteria(above, share, alternatives, d)
    lift = table().lift(alternatives, zeta, d)[0]
    high, low = _levels(special.ndtr(zeta + lift)), _levels(special.ndtr(zeta))
    right, wrong = (high, low) if meta >= 0 else (low, high)
    found: Floats = np.column_stack([(1 - accuracy) * wrong, accuracy * right]).ravel()
    return found


def _levels(above: Floats) -> Floats:
    return np.asarray(-np.diff(np.concatenate([[1.0], above, [0.0]])))


def samples(
    cells: ArrayLike, n_items: int, count: int, seed: int, *, runs: int = 1, repeated: float = 0.5
) -> Iterator[Patterns]:
    """Yield ``count`` samples of a respondent, as items over its cells."""
    p = floats("cells", cells)
    rng = resampling.generator(seed)
    single = np.eye(len(p), dtype=np.int64)
    for _ in range(count):
        if runs == 1:
            yield Patterns(single, rng.multinomial(n_items, p / p.sum()))
            continue
        drawn: Ints = rng.choice(len(p), size=(n_items, runs), p=p / p.sum())
        same = rng.random((n_items, runs)) < repeated
        drawn = np.where(same, drawn[:, :1], drawn)
        yield merge_patterns(single[drawn].sum(axis=1), np.ones(n_items, dtype=np.int64))


def population(cells: ArrayLike, size: int = 2_000_000) -> Patterns:
    """Return a sample so large and so even that its values are the true ones to six digits."""
    p = floats("cells", cells)
    return Patterns(np.eye(len(p), dtype=np.int64), np.rint(p / p.sum() * size).astype(np.int64))
