"""meta-d' where all that is known of an answer is whether it was correct, and with what confidence.

A multiple-choice answer is correct or wrong but has no S1 and S2. What can still be said honestly is said of the binary
task it is equivalent to: an observer without bias, for whom the two stimuli and the two responses are alike. Every
confidence's correct and wrong answers are split in halves over the two responses::

    n_s1 = (c_K, …, c_1, w_1, …, w_K) / 2        n_s2 = (w_K, …, w_1, c_1, …, c_K) / 2

and meta-d' is fitted to that table as to any other. Its criterion is 0 by construction and

    d' = 2 z(accuracy)

is the *two-alternative equivalent*: the sensitivity of an unbiased observer of a binary task with the same accuracy. It
is not the d' of a choice among several options, whose chance level is lower; at an accuracy of one half or less there is
no such binary observer above chance, and no M-ratio is given. meta-d' itself does not depend on d' here (the relative
criterion is 0): it tells how well confidence parts correct from wrong answers, in the units of d'.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from metacog_pipeline.stats import resampling
from metacog_pipeline.stats._arrays import Floats, floats, whole
from metacog_pipeline.stats.counts import Counts, padded
from metacog_pipeline.stats.estimate import MOSTLY_UNDEFINED, OK, Estimate, unavailable
from metacog_pipeline.stats.metad import fit_metad
from metacog_pipeline.stats.metad.types import REASONS
from metacog_pipeline.stats.type1 import normal_quantile, type1

METHOD = "two-alternative equivalent"
NO_EQUIVALENT = "accuracy of one half or less: no two-alternative equivalent"
MEASURES = ("d", "meta_d", "m_ratio", "m_diff")
# Resampled tables fitted together: bounds memory.
_BATCH = 20_000


def fold(confidence_counts: ArrayLike) -> Counts:
    """Return the response-symmetric table of answers known as wrong or correct.

    Parameters
    ----------
    confidence_counts
        Shape ``(K, 2)`` for one cell or ``(cells, K, 2)``: answers by confidence, rising, and outcome, wrong
        before correct.

    Raises
    ------
    ValueError
        For another shape, negative or non-finite counts.

    Examples
    --------
    >>> table = fold([[4, 2], [1, 9]])
    >>> table.n_s1.tolist(), table.n_s2.tolist()
    ([[4.5, 1.0, 2.0, 0.5]], [[0.5, 2.0, 1.0, 4.5]])
    """
    array = np.asarray(confidence_counts)
    table = floats("confidence_counts", array[None] if array.ndim == 2 else array, 3)
    if table.shape[2] != 2 or table.shape[1] == 0:
        raise ValueError(
            f"confidence_counts has shape {table.shape}: (cells, K, 2) needed, wrong before correct"
        )
    wrong, correct = table[:, :, 0] / 2, table[:, :, 1] / 2
    return Counts(np.hstack([correct[:, ::-1], wrong]), np.hstack([wrong[:, ::-1], correct]))


def metad_of_correct_cells(
    confidence_counts: ArrayLike, *, padding: float | None = None, n_boot: int = 0, seed: int = 0
) -> list[dict[str, Estimate]]:
    """Return ``d``, ``meta_d``, ``m_ratio`` and ``m_diff`` of cells of correct and wrong answers, fitted in a few batches.

    Parameters
    ----------
    confidence_counts
        Shape ``(cells, K, 2)``: answers by confidence, rising, and outcome, wrong before correct.
    padding
        Added to each of the 4 K halves; None adds nothing.
    n_boot, seed
        Answers drawn with replacement for percentile intervals; 0 gives those of the two-stage delta method.

    Returns
    -------
    list
        Of each cell estimates in standard deviations of the evidence (``m_ratio``: a ratio), ``method`` beginning with
        ``"two-alternative equivalent"``; without a value where the status says why.

    Examples
    --------
    >>> found = metad_of_correct_cells([[[20, 20], [10, 30], [5, 45]]])[0]
    >>> [round(found[name].value, 3) for name in MEASURES]
    [1.23, 1.622, 1.319, 0.392]
    """
    given = floats("confidence_counts", confidence_counts, 3)
    n_boot = whole("n_boot", n_boot)
    raw = fold(given)
    table = raw if not padding else padded(raw, padding)
    first, fit = type1(table), fit_metad(table)
    values = {"d": fit.d1, "meta_d": fit.meta_da, "m_ratio": fit.m_ratio, "m_diff": fit.m_diff}
    errors = {"d": np.sqrt(first.var_d), "meta_d": fit.se_meta_d_total, "m_ratio": fit.se_m_ratio}
    errors["m_diff"] = fit.se_m_diff
    drawn = _resampled(given, padding, n_boot, seed) if n_boot else None
    method = f"{METHOD}, counts + {padding:g}" if padding else METHOD
    found = []
    for cell in range(raw.cells):
        n, reason = round(float(raw.n[cell])), REASONS[str(fit.status[cell])]
        of_cell = {}
        for name in MEASURES:
            value, error = float(values[name][cell]), float(errors[name][cell])
            status = "" if name == "d" and np.isfinite(value) else reason
            if name != "meta_d" and not status and not float(fit.d1[cell]) > 0:
                status = NO_EQUIVALENT
            draws = None if drawn is None else drawn[name][:, cell]
            of_cell[name] = estimate(value, error, n, method, status or OK, draws, keep=name == "d")
        found.append(of_cell)
    return found


def estimate(
    value: float, error: float, n: int, method: str, status: str, draws: Floats | None, *, keep: bool = False
) -> Estimate:
    """Return a fitted number with the interval of its draws, or else of its standard error.

    Parameters
    ----------
    value, error
        NaN or infinite where there is none.
    draws
        Shape ``(B,)``, NaN where a resample gave no number; None for value ± z error.
    keep
        Show a finite value whose status is not ok, with its interval.
    """
    name = f"{method}, delta" if draws is None else f"{method}, bootstrap of {len(draws)}"
    if not np.isfinite(value) or (status != OK and not keep):
        return unavailable(n, name, status if status != OK else "no finite value")
    if draws is None:
        if not np.isfinite(error):
            return Estimate(value, None, None, n, name, status if status != OK else "no standard error")
        half = normal_quantile(0.95) * error
        return Estimate(value, value - half, value + half, n, name, status, error)
    finite = draws[np.isfinite(draws)]
    if len(finite) < len(draws):
        name = f"{name}, {len(finite)} usable"
    low, high = resampling.interval(np.where(np.isfinite(draws), draws, np.nan))
    if low is None or high is None:
        return Estimate(value, None, None, n, name, MOSTLY_UNDEFINED)
    return Estimate(value, low, high, n, name, status, float(finite.std()))


def _resampled(given: Floats, padding: float | None, n_boot: int, seed: int) -> dict[str, Floats]:
    """Return each measure of resampled cells, ``(n_boot, cells)``, NaN where a resample has none."""
    rng = resampling.generator(seed)
    cells, ratings, _ = given.shape
    flat = np.rint(given).reshape(cells, -1)
    found: dict[str, list[Floats]] = {name: [] for name in MEASURES}
    for size in resampling.blocks(n_boot, cells, _BATCH):
        table = fold(resampling.table(flat, size, rng).reshape(-1, ratings, 2))
        fit = fit_metad(table if not padding else padded(table, padding))
        for name, values in zip(MEASURES, (fit.d1, fit.meta_da, fit.m_ratio, fit.m_diff), strict=True):
            usable = np.isfinite(values) if name == "d" else fit.ok
            found[name].append(np.where(usable, values, np.nan).reshape(size, cells))
    return {name: np.concatenate(blocks) for name, blocks in found.items()}
