"""Cohen's d, the standardised difference of two means.

Sources: J. Cohen (1988), *Statistical Power Analysis*; Hedges & Olkin (1985), ch. 5, eq. 15, for the large-sample variance
(n1 + n2) / (n1 n2) + d² / (2 (n1 + n2)).
"""

from __future__ import annotations

import math

from metacog_pipeline.stats._arrays import LARGEST, whole
from metacog_pipeline.stats.anova import NO_SPREAD
from metacog_pipeline.stats.estimate import NO_ITEMS, Estimate, unavailable
from metacog_pipeline.stats.intervals import sem_interval

TOO_FEW = "fewer than three items"
# Beyond this many standard deviations the spread is rounding error.
LARGEST_EFFECT = 1e8


def cohen_d(n1: int, mean1: float, sd1: float, n2: int, mean2: float, sd2: float) -> Estimate:
    """Return d = (mean1 - mean2) / s_p with the pooled sample standard deviation s_p, as an estimate; n is n1 + n2.

    Means in any unit; sd1 and sd2 (n - 1 form) in the same, not read where n is below 2. No value where a group is empty,
    n1 + n2 < 3, or nothing varies within the groups.

    >>> found = cohen_d(20, 0.8, 0.4, 25, 0.5, 0.45)
    >>> round(found.value, 3), round(found.low, 3), round(found.high, 3)
    (0.7, 0.094, 1.305)
    """
    n1, n2 = whole("n1", n1), whole("n2", n2)
    if n1 == 0 or n2 == 0 or n1 + n2 < 3:
        return unavailable(n1 + n2, "cohen d", TOO_FEW if n1 and n2 else NO_ITEMS)
    sd1, sd2 = sd1 if n1 > 1 else 0.0, sd2 if n2 > 1 else 0.0
    if not all(abs(x) <= LARGEST for x in (mean1, mean2, sd1, sd2)) or sd1 < 0 or sd2 < 0:
        raise ValueError(f"means {mean1}, {mean2} and sds {sd1}, {sd2} must be finite, sds 0 or more")
    pooled = math.sqrt(((n1 - 1) * sd1**2 + (n2 - 1) * sd2**2) / (n1 + n2 - 2))
    difference = mean1 - mean2
    if pooled == 0 or abs(difference) / LARGEST_EFFECT > pooled:
        return unavailable(n1 + n2, "cohen d", NO_SPREAD)
    d = difference / pooled
    sem = math.sqrt((n1 + n2) / (n1 * n2) + d * d / (2 * (n1 + n2)))
    return Estimate(d, *sem_interval(d, sem), n1 + n2, "cohen d", sem=sem)
