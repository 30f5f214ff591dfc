"""The efficiency of a population from the posteriors of its members, in two stages.

The hierarchy over log M is that of HMeta-d's group model (Fleming 2017): log Mᵢ ~ N(μ, σ²), μ ~ N(0, 1), σ = ε·σ_δ with
ε ~ U(0, 1) and σ_δ half-normal. Each member enters with mean and standard deviation of its own posterior of log M instead
of with its counts, so that the rest is one integral over σ. The joint fit (`bayes.group`) takes minutes for three members
and finds σ hard to sample; with hundreds of trials a member both agree.
"""

from __future__ import annotations

import numpy as np
import scipy  # loads scipy.optimize where it is first used: few commands need it, and it takes long
from numpy.typing import ArrayLike
from scipy.special import exp1, ndtr

from metacog_pipeline.stats._arrays import floats, same_length


def population_efficiency(mean: ArrayLike, sd: ArrayLike) -> tuple[float, float, float]:
    """Return exp(μ): exp of the posterior mean of μ and of the ends of its 95 % interval.

    ``mean`` and ``sd`` above 0 are those of log M of each of two or more members, shapes ``(members,)``; else a ValueError.

    >>> [round(each, 2) for each in population_efficiency(np.log([0.7, 0.8, 0.9]), [0.05, 0.05, 0.05])]
    [0.8, 0.6, 1.08]
    """
    y, s = floats("mean", mean), floats("sd", sd)
    if same_length(mean=y, sd=s) < 2 or not (s > 0).all():
        raise ValueError(
            f"{len(y)} members, smallest sd {s.min(initial=np.inf):g}: two with sd above 0 needed"
        )
    sigma = (np.arange(4000) + 0.5) / 1000  # midpoints: the density of σ has no value at 0
    v = s**2 + sigma[:, None] ** 2
    precision = 1 + (1 / v).sum(axis=1)
    middle = (y / v).sum(axis=1) / precision
    log_density = -0.5 * (
        np.log(v).sum(axis=1) + np.log(precision) + (y**2 / v).sum(axis=1) - middle**2 * precision
    )
    weight = exp1(sigma**2 / 2) * np.exp(log_density - log_density.max())
    weight /= weight.sum()

    def end(level: float) -> float:
        return float(
            scipy.optimize.brentq(
                lambda x: weight @ ndtr((x - middle) * np.sqrt(precision)) - level, -20.0, 20.0
            )
        )

    value, low, high = np.exp([weight @ middle, end(0.025), end(0.975)]).tolist()
    return value, low, high
