"""What a printed d′, raw alignment and accuracy say together: the yeses behind them.

Three printed numbers leave one free: with accuracy p and raw alignment r, the false-alarm rate follows from the hit rate,
f = 1 - (r - p h) / (1 - p), and d′ = z(h) - z(f) is solved for h. There may be two solutions. With the number of questions
known, whole answers that print alike can be counted out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy  # loads scipy.optimize where it is first used: few commands need it, and it takes long
from numpy.typing import NDArray
from scipy.special import ndtri

from metacog_pipeline.stats.yes_no import CLIP, clipped_dprime

Floats = NDArray[np.float64]
_GRID = 20_001
HALF = 0.5  # of the last printed digit


@dataclass(frozen=True, slots=True)
class Rates:
    """Shares of yeses: of right answers, of wrong ones, of all; 0..1."""

    hit_rate: float
    false_alarm_rate: float
    yes_ratio: float


@dataclass(frozen=True, slots=True)
class Answers:
    """Whole answers: ``correct`` of ``n`` were right, ``hits`` of them and ``false_alarms`` of the others got a yes."""

    n: int
    correct: int
    hits: int
    false_alarms: int

    @property
    def table(self) -> tuple[int, int, int, int]:
        """Yeses to right and to wrong answers, right and wrong answers."""
        return self.hits, self.false_alarms, self.correct, self.n - self.correct


def implied_rates(d_prime: float, raw_alignment: float, accuracy: float, digits: int = 2) -> list[Rates]:
    """Return the rates that give these three; shares 0..1, d′ clipped as published and printed with ``digits`` digits."""
    low = max(0.0, (raw_alignment - (1 - accuracy)) / accuracy)
    high = min(1.0, raw_alignment / accuracy)
    if not 0 < accuracy < 1 or low > high:
        return []

    def alarms(h: Floats | float) -> Floats | float:
        return 1 - (raw_alignment - accuracy * h) / (1 - accuracy)

    def excess(h: Floats | float) -> Floats:
        rates = [np.clip(each, CLIP, 1 - CLIP) for each in (h, alarms(h))]
        made: Floats = ndtri(rates[0]) - ndtri(rates[1]) - d_prime
        return made

    grid = np.linspace(low, high, _GRID)
    off = excess(grid)
    turns = np.flatnonzero(np.signbit(off[1:]) != np.signbit(off[:-1]))
    roots = [
        float(scipy.optimize.brentq(lambda h: float(excess(h)), grid[i], grid[i + 1], xtol=1e-12))
        for i in turns
    ]
    if not roots and float(np.abs(off).min()) <= HALF / 10**digits:
        roots = [float(grid[int(np.abs(off).argmin())])]  # touches what is printed without crossing it
    found = []
    for h in roots:
        f = float(np.clip(alarms(h), 0.0, 1.0))
        found.append(Rates(h, f, accuracy * h + (1 - accuracy) * f))
    return found


def whole_answers(
    n: int, d_prime: float, raw_alignment_pct: float, accuracy_pct: float, digits: int = 2
) -> list[Answers]:
    """Return all whole answers to ``n`` questions that print as these three numbers with ``digits`` digits."""
    slack = (HALF + 1e-6) / 10**digits
    found = []
    for correct in _counts(n, accuracy_pct, slack):
        wrong = n - correct
        for aligned in _counts(n, raw_alignment_pct, slack):
            hits = np.arange(max(0, aligned - wrong), min(correct, aligned) + 1)
            alarms = hits + wrong - aligned
            if not correct or not wrong:
                continue
            d = clipped_dprime(hits, alarms, np.full(len(hits), correct), np.full(len(hits), wrong))
            found += [
                Answers(n, correct, int(hits[i]), int(alarms[i]))
                for i in np.flatnonzero(np.abs(d - d_prime) <= slack)
            ]
    return found


def _counts(n: int, percent: float, slack: float) -> range:
    """Return the whole numbers of ``n`` that print as ``percent``."""
    first = int(np.ceil(n * (percent - slack) / 100 - 1e-9))
    last = int(np.floor(n * (percent + slack) / 100 + 1e-9))
    return range(max(0, first), min(n, last) + 1)
