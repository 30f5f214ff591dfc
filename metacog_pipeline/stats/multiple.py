"""Many p values at once: the corrections of Holm (1979, *Scand. J. Stat.* 6) and Bonferroni.

None, for a test that could not be made, stays None and is not counted; a p outside 0..1 is a ValueError.
"""

from __future__ import annotations

from collections.abc import Sequence


def holm(pvalues: Sequence[float | None]) -> tuple[float | None, ...]:
    """Return Holm-adjusted p in the given order.

    >>> holm([0.01, None, 0.04, 0.03])
    (0.03, None, 0.06, 0.06)
    """
    known = sorted((p, i) for i, p in _known(pvalues))
    adjusted: list[float | None] = [None] * len(pvalues)
    largest = 0.0
    for rank, (p, i) in enumerate(known):
        largest = max(largest, min(1.0, (len(known) - rank) * p))
        adjusted[i] = largest
    return tuple(adjusted)


def bonferroni(pvalues: Sequence[float | None]) -> tuple[float | None, ...]:
    """Return each p times the number of tests, at most 1.

    >>> bonferroni([0.01, None, 0.04, 0.6])
    (0.03, None, 0.12, 1.0)
    """
    number = len(_known(pvalues))
    return tuple(None if p is None else min(1.0, number * p) for p in pvalues)


def _known(pvalues: Sequence[float | None]) -> list[tuple[int, float]]:
    known = [(i, p) for i, p in enumerate(pvalues) if p is not None]
    for i, p in known:
        if not 0.0 <= p <= 1.0:
            raise ValueError(f"p value {p} at position {i} is outside 0..1")
    return known
