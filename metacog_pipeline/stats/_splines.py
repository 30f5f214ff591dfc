"""Cubic curves through points: what is needed of SciPy's interpolation, to the same bits, without the half second it loads.

A spline is that of de Boor (1978), "A practical guide to splines": its first two and its last two cubics are one each
(not-a-knot).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from metacog_pipeline.stats._arrays import Floats


@dataclass(frozen=True, slots=True)
class Curve:
    """A curve made of cubics: ``c`` ``(4, interval, …)``, highest power first, between the ``x`` at which they meet."""

    c: Floats
    x: Floats

    def __call__(self, at: Floats) -> Floats:
        """Return its values at ``at``, any shape, where it has one value each; beyond its ends the last cubic goes on."""
        before = np.searchsorted(self.x, at, side="right") - 1
        # Of few points: clip takes three times as long.
        interval = np.minimum(np.maximum(before, 0), len(self.x) - 2)
        step = at - self.x[interval]
        highest, second, slope, value = (each[interval] for each in self.c)
        square = step * step
        found: Floats = value + slope * step + second * square + highest * (square * step)
        return found


def hermite(x: Floats, y: Floats, slopes: Floats) -> Curve:
    """Return the curve through ``y`` with these ``slopes`` at ``x``, which rises; both ``(n, …)``.

    >>> hermite(np.array([0.0, 1.0]), np.array([0.0, 1.0]), np.array([0.0, 2.0]))(np.array([0.5]))
    array([0.25])
    """
    width = np.diff(x).reshape(-1, *[1] * (y.ndim - 1))
    rise = np.diff(y, axis=0) / width
    bend = (slopes[:-1] + slopes[1:] - 2 * rise) / width
    return Curve(np.stack([bend / width, (rise - slopes[:-1]) / width - bend, slopes[:-1], y[:-1]]), x)


def spline(x: Floats, y: Floats) -> Curve:
    """Return the cubic spline through ``y`` ``(n, …)`` at ``x``, four points or more that rise.

    >>> spline(np.arange(4.0), np.arange(4.0) ** 3)(np.array([2.5]))
    array([15.625])
    """
    flat = y.reshape(len(x), -1)
    step = np.diff(x)
    width = step[:, None]
    rise = np.diff(flat, axis=0) / width
    below, middle, above = np.append(step[1:], 0.0), np.empty(len(x)), np.append(0.0, step[:-1])
    middle[1:-1] = 2 * (step[:-1] + step[1:])
    right = np.empty_like(flat)
    right[1:-1] = 3 * (width[1:] * rise[:-1] + width[:-1] * rise[1:])
    first, last = x[2] - x[0], x[-1] - x[-3]
    middle[0], above[0], middle[-1], below[-1] = step[1], first, step[-2], last
    right[0] = ((width[0] + 2 * first) * width[1] * rise[0] + width[0] ** 2 * rise[1]) / first
    right[-1] = (width[-1] ** 2 * rise[-2] + (2 * last + width[-1]) * width[-2] * rise[-1]) / last
    return hermite(x, y, _solved(below, middle, above, right).reshape(y.shape))


def _solved(below: Floats, middle: Floats, above: Floats, right: Floats) -> Floats:
    """Return the solutions of a system of three diagonals, by elimination with exchange of rows; all is overwritten."""
    n = len(middle)
    further = np.zeros(n)  # what an exchange puts beside the upper diagonal
    for i in range(n - 1):
        if abs(middle[i]) >= abs(below[i]):
            factor = below[i] / middle[i]
            middle[i + 1] -= factor * above[i]
            right[i + 1] -= factor * right[i]
            continue
        factor = middle[i] / below[i]
        middle[i], under = below[i], middle[i + 1]
        middle[i + 1] = above[i] - factor * under
        if i < n - 2:
            further[i], above[i + 1] = above[i + 1], -factor * above[i + 1]
        above[i] = under
        right[i], right[i + 1] = right[i + 1].copy(), right[i] - factor * right[i + 1]
    right[-1] /= middle[-1]
    right[-2] = (right[-2] - above[-1] * right[-1]) / middle[-2]
    for i in range(n - 3, -1, -1):
        right[i] = (right[i] - above[i] * right[i + 1] - further[i] * right[i + 2]) / middle[i]
    return right
