"""Replicates of cells of counts: trials drawn again, or answers of the fitted model."""

from __future__ import annotations

import numpy as np

from metacog_pipeline.stats import resampling
from metacog_pipeline.stats._arrays import Floats, whole
from metacog_pipeline.stats.counts import Counts
from metacog_pipeline.stats.metad.types import MetaD

KINDS = ("nonparametric", "parametric")


def resample_counts(
    table: Counts, n_boot: int, seed: int, kind: str = "nonparametric", fit: MetaD | None = None
) -> tuple[Floats, Floats]:
    """Return ``n_boot`` replicates of every cell, ``(cells, n_boot, 2 K)`` for stimulus S1 and S2.

    Either stimulus keeps its number of trials. Padding is taken off first, so that a replicate is of raw counts; numbers
    of trials that are no whole numbers are rounded.

    Parameters
    ----------
    table
        Counts, raw or padded.
    n_boot, seed
        Replicates per cell (1 or more) and the seed; the same seed gives the same replicates.
    kind
        ``"nonparametric"`` draws trials with replacement; ``"parametric"`` draws the response from its observed rates and
        the rating from the fitted model, and needs ``fit``. A cell without a fit then gives empty replicates.

    Raises
    ------
    ValueError
        For an unknown kind, a parametric one without ``fit``, or a cell of more than 1e18 trials.

    Examples
    --------
    >>> table = Counts(np.array([[60.0, 40, 25, 15]]), np.array([[10.0, 20, 45, 65]]))
    >>> first, second = resample_counts(table, 2, seed=1)
    >>> first.shape, first.sum(axis=2).tolist()
    ((1, 2, 4), [[140.0, 140.0]])
    """
    if kind not in KINDS:
        raise ValueError(f"kind {kind!r} of bootstrap is unknown: one of {', '.join(KINDS)}")
    if kind == "parametric" and fit is None:
        raise ValueError("a parametric bootstrap draws from a fit: give one")
    n_boot = whole("n_boot", n_boot, 1)
    rng = resampling.generator(seed)
    raw = tuple(np.maximum(side - table.pad, 0.0) for side in (table.n_s1, table.n_s2))
    shares = raw if fit is None or kind == "nonparametric" else model_shares(fit)
    return _draw(raw[0], shares[0], n_boot, rng), _draw(raw[1], shares[1], n_boot, rng)


def _draw(raw: Floats, shares: Floats, n_boot: int, rng: np.random.Generator) -> Floats:
    cells, bins = raw.shape
    result = np.zeros((cells, n_boot, bins))
    for cell in np.flatnonzero((raw.sum(axis=1) > 0) & (shares.sum(axis=1) > 0)):
        result[cell] = resampling.table(raw[[cell]], n_boot, rng, shares[[cell]])[:, 0]
    return result


def model_shares(fit: MetaD) -> tuple[Floats, Floats]:
    """Return the expected counts of the fitted model, ``(cells, 2 K)`` for S1 and S2; zeros where there is no fit.

    Responses are as observed in ``fit``; ratings given stimulus and response follow the model.
    """
    cells = fit.cells
    one = np.ones((cells, 2, 2, 1))
    beyond = np.concatenate([one, fit.fitted, 0 * one], axis=3)
    rating = np.maximum(beyond[..., :-1] - beyond[..., 1:], 0.0)
    given = np.moveaxis(fit.counts.sum(axis=2), 2, 0)
    expected = np.nan_to_num(rating * given[..., None])
    s1 = np.concatenate([expected[:, 0, 0, ::-1], expected[:, 1, 1]], axis=1)
    s2 = np.concatenate([expected[:, 0, 1, ::-1], expected[:, 1, 0]], axis=1)
    return s1, s2
