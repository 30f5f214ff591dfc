"""How many bits confidence tells about being right, free of a model, with the bias of small samples taken out.

``meta_information`` is the signed meta-I, I(correct; response, confidence) in bits (Dayan 2023), ``rmi`` its share of the
most there can be at this accuracy. Resampling items adds about as much to a plug-in value as sampling them did, so the
mean excess of the resamples is subtracted, and the interval is theirs reflected at the plug-in value. What is left may
lie below 0 where confidence tells nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from metacog_pipeline.benchmarks.signaldetection.groups import Group
from metacog_pipeline.benchmarks.signaldetection.measures.meta_d import no_meta_d, rated
from metacog_pipeline.stats.clusters import percentile_interval
from metacog_pipeline.stats.counts import Counts
from metacog_pipeline.stats.estimate import MOSTLY_UNDEFINED, Estimate, unavailable
from metacog_pipeline.stats.meta_information import meta_information

Floats = NDArray[np.float64]

INFORMATION = {"meta_information": "meta_i_signed", "rmi": "rmi"}
METHOD = "plug-in, less its mean excess in resamples of items"


def information_estimates(groups: Sequence[Group], draws: Sequence[Floats]) -> list[dict[str, Estimate]]:
    """Return ``meta_information`` (bits) and ``rmi`` of every group.

    Parameters
    ----------
    groups
        Of the condition that asks for confidence.
    draws
        Resampled totals ``(B, places)`` of each group.
    """
    return [_of_group(group, drawn) for group, drawn in zip(groups, draws, strict=True)]


def _of_group(group: Group, drawn: Floats) -> dict[str, Estimate]:
    table = rated(group)
    n = int(table.n[0])
    why = no_meta_d(group)
    if why is not None:
        return {name: unavailable(n, METHOD, why) for name in INFORMATION}
    plain = meta_information(table)
    resampled = meta_information(Counts(*group.grid.rated(drawn)))
    return {
        name: _corrected(
            float(getattr(plain, field)[0]), getattr(resampled, field), n, str(plain.status_rmi[0])
        )
        for name, field in INFORMATION.items()
    }


def _corrected(value: float, drawn: Floats, n: int, status: str) -> Estimate:
    if not np.isfinite(value):
        return unavailable(n, METHOD, status)
    usable = drawn[np.isfinite(drawn)]
    low, high = percentile_interval(np.where(np.isfinite(drawn), drawn, np.nan))
    if low is None or high is None:
        return Estimate(value, None, None, n, "plug-in", MOSTLY_UNDEFINED)
    corrected = 2 * value - float(usable.mean())
    return Estimate(corrected, 2 * value - high, 2 * value - low, n, METHOD, sem=float(usable.std(ddof=1)))
