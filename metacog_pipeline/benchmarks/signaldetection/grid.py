"""Where an observation stands: stimulus, response and confidence as one number.

Within one stimulus the places are, for K ratings, in this order::

    0 .. 2K-1   response with confidence, from "S1, K" over "S1, 1" and "S2, 1" to "S2, K"
    2K          S1 without a confidence
    2K+1        S2 without a confidence
    2K+2        an answer, but no readable response (unparsed or refused)
    2K+3        no answer (not asked, failed, cut): it makes the cell incomplete, and counts in coverage alone

and stimulus S2 follows stimulus S1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Grid:
    """The places of one stimulus × response × confidence table with K ratings."""

    ratings: int

    @property
    def width(self) -> int:
        """Places of one stimulus."""
        return 2 * self.ratings + 4

    @property
    def places(self) -> int:
        """All places."""
        return 2 * self.width

    def rated(self, totals: Floats) -> tuple[Floats, Floats]:
        """Return the rated trials of S1 and S2, each ``(..., 2 K)``, of totals ``(..., places)``."""
        k2 = 2 * self.ratings
        return totals[..., :k2], totals[..., self.width : self.width + k2]

    def outcomes(self, totals: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Return hits, misses, false alarms and correct rejections ``(...)``, confidence stated or not."""
        said_s1, said_s2 = self._said(0), self._said(1)
        s1, s2 = totals[..., : self.width], totals[..., self.width :]
        return s2 @ said_s2, s2 @ said_s1, s1 @ said_s2, s1 @ said_s1

    def where(self, stimulus: int | None = None, response: int | None = None) -> Floats:
        """Return a weight of 1 for places with this stimulus and this response (None: whatever it is)."""
        said = np.ones(self.width) if response is None else self._said(response)
        sides = [said if stimulus in (None, side) else np.zeros(self.width) for side in (0, 1)]
        return np.concatenate(sides)

    def answered(self) -> Floats:
        """Return a weight of 1 for places with an answer, readable or not."""
        weights = np.ones(self.width)
        weights[-1] = 0
        return np.tile(weights, 2)

    def correct(self) -> Floats:
        """Return a weight of 1 for places whose response is the stimulus."""
        return self.where(0, 0) + self.where(1, 1)

    def by_level(self) -> Ints:
        """Return the cell level × (wrong, correct) of each place, -1 without a confidence; for `Patterns.collapse`."""
        k = self.ratings
        level = np.concatenate([np.arange(k - 1, -1, -1), np.arange(k)])
        said = np.repeat([0, 1], k)
        nothing = np.full(4, -1)
        sides = [np.concatenate([2 * level + (said == stimulus), nothing]) for stimulus in (0, 1)]
        return np.concatenate(sides).astype(np.int64)

    def _said(self, response: int) -> Floats:
        k = self.ratings
        said = np.zeros(self.width)
        said[response * k : (response + 1) * k] = 1
        said[2 * k + response] = 1
        return said
