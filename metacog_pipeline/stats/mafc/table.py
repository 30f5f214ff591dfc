"""The ideal observer's type-2 ROC, from a table: what fits read, a thousand times quicker than computing it.

With zeta = z(FAR2) and eta = z(HR2) the curve is ``eta = zeta + d P(zeta, d)``, P smooth, positive and finite at d = 0. It
is kept for m = 2 .. 10 at Chebyshev nodes of d on 0 .. 6 and at equally spaced zeta, read as a Chebyshev series in d and a
cubic spline in zeta, constant beyond its ends. Probabilities are right to 3e-6 (m = 2: 1e-9).
Commit f6765406 has ``tests/stats/ideal_observer.py``, which made the file from the exact densities, in about two minutes.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import ArrayLike

from metacog_pipeline.stats._arrays import Floats, Ints

FILE = Path(__file__).with_name("ideal_observer.npz")
LARGEST_M = 10
LARGEST_D = 6.0
D_NODES = 40
Z_END, Z_NODES = 6.5, 261


@dataclass(frozen=True, slots=True)
class Table:
    """The ideal observer: ``spline`` of P, shape ``(m, interval, 4, order)``, and ``scalars``, ``(m, 2, order)``."""

    spline: Floats
    scalars: Floats

    def lift(self, m: Ints, zeta: Floats, d: Floats) -> tuple[Floats, ...]:
        """Return D = eta - zeta and its derivatives D_z, D_d, D_zz, D_zd, D_dd in the shape of ``zeta``.

        ``m`` and ``d`` broadcast to it; a ``d`` with fewer numbers is worked out once for all that share it.
        """
        m = np.broadcast_to(m, zeta.shape)
        owner = np.broadcast_to(np.arange(d.size).reshape(d.shape), zeta.shape).ravel()
        width = 2 * Z_END / (Z_NODES - 1)
        place = np.clip(zeta.ravel(), -Z_END, Z_END)
        interval = np.clip(((place + Z_END) / width).astype(int), 0, Z_NODES - 2)
        x = place - (interval * width - Z_END)
        inside = (np.abs(zeta.ravel()) < Z_END).astype(float)
        pieces = self.spline[m.ravel() - 2, interval]
        series = _series(np.clip(d.ravel(), 0.0, LARGEST_D)).transpose(1, 2, 0)
        # Cubics in zeta of P and its derivatives by d: one product for all points of a cell where they share its d.
        if zeta.size and d.shape == (len(zeta), *[1] * (zeta.ndim - 1)):
            cubic = (pieces.reshape(len(zeta), -1, D_NODES) @ series).reshape(-1, 4, 3)
        else:
            cubic = pieces @ series[owner]
        a, b, c, e = cubic.transpose(1, 2, 0)
        value, by_d, by_dd = ((a * x + b) * x + c) * x + e
        slope, slope_by_d, _ = ((3 * a * x + 2 * b) * x + c) * inside
        bends = (6 * a[0] * x + 2 * b[0]) * inside
        dd = d.ravel()[owner]
        found = dd * np.stack([value, slope, by_d, bends, slope_by_d, by_dd])
        found[2] += value
        found[4] += slope
        found[5] += 2 * by_d
        return tuple(each.reshape(zeta.shape) for each in found)

    def auroc2(self, m: ArrayLike, d: ArrayLike) -> Floats:
        """Return the area under the type-2 ROC at sensitivity ``d``; of -d it is one minus that of d."""
        d = np.asarray(d, float)
        return np.asarray(0.5 + np.sign(d) * (self._scalar(0, m, np.abs(d)) - 0.5))

    def meta_information(self, m: ArrayLike, d: ArrayLike) -> Floats:
        """Return the information, in bits, of the observer's confidence about being right."""
        return self._scalar(1, m, np.abs(np.asarray(d, float)))

    def _scalar(self, which: int, m: ArrayLike, d: Floats) -> Floats:
        alternatives, sensitivities = np.broadcast_arrays(np.asarray(m), d)
        series = _series(np.clip(sensitivities.ravel(), 0.0, LARGEST_D))[0]
        found = (self.scalars[alternatives.ravel() - 2, which] * series).sum(axis=1)
        return np.asarray(found.reshape(sensitivities.shape))


def _series(d: Floats) -> Floats:
    """Return the Chebyshev polynomials of d on 0 .. 6, and their first and second derivatives, ``(3, d, order)``."""
    first = chebyshev.chebvander(2 * d / LARGEST_D - 1, D_NODES - 1)
    return np.stack([first, *(first @ each for each in _derivatives())])


@functools.cache
def _derivatives() -> tuple[Floats, Floats]:
    """Return the matrices that take a series' polynomials to those of its first and second derivative by d."""
    unit, found = np.eye(D_NODES), np.zeros((2, D_NODES, D_NODES))
    for which, times in enumerate((1, 2)):
        for order in range(D_NODES):
            each = chebyshev.chebder(unit[order], times) * (2 / LARGEST_D) ** times
            found[which, : len(each), order] = each
    return found[0], found[1]


@functools.cache
def table() -> Table:
    """Return the table that comes with the package."""
    from scipy.interpolate import CubicSpline  # late: half a second

    with np.load(FILE) as kept:
        lifts, scalars = kept["lifts"], kept["scalars"]
    to_series = np.linalg.inv(chebyshev.chebvander(d_nodes() * 2 / LARGEST_D - 1, D_NODES - 1))
    zeta = np.linspace(-Z_END, Z_END, Z_NODES)
    series = np.einsum("od,mdz->zmo", to_series, lifts)
    pieces = CubicSpline(zeta, series).c  # (4, interval, m, order)
    spline = np.ascontiguousarray(pieces.transpose(2, 1, 0, 3))
    return Table(spline, np.einsum("od,msd->mso", to_series, scalars))


def d_nodes() -> Floats:
    """Return the sensitivities at which the table is computed."""
    x = np.cos(np.pi * (np.arange(D_NODES) + 0.5) / D_NODES)
    return np.asarray((x + 1) * LARGEST_D / 2)
