"""Resampling: the unit of chance is the cluster.

Runs of one item are not independent, nor are twins made from one source, so whole clusters are drawn with replacement, each
with all its observations (Davison & Hinkley 1997, *Bootstrap Methods and their Application*, §3.8). A caller names its
stream (`stream`), draws with one of the `kernels` and reads an interval, an estimate or a p from the draws (`percentiles`);
no other module draws clusters. `products` draws the same clusters for many respondents.
"""

from metacog_pipeline.stats.resampling.kernels import (
    Patterns,
    Stream,
    blocks,
    generator,
    indices,
    merge_patterns,
    occurrences,
    patterns,
    patterns_of,
    sequence,
    stream,
    table,
    weights,
)
from metacog_pipeline.stats.resampling.percentiles import (
    LEVEL,
    N_TESTED,
    Z95,
    Difference,
    Kind,
    difference,
    differences,
    from_draws,
    interval,
    intervals,
    p_value,
    usable,
    wald_p,
)
from metacog_pipeline.stats.resampling.products import Statistic

__all__ = [
    "LEVEL", "N_TESTED", "Z95", "Difference", "Kind", "Patterns", "Statistic", "Stream", "blocks", "difference",
    "differences", "from_draws", "generator", "indices", "interval", "intervals", "merge_patterns", "occurrences",
    "p_value", "patterns", "patterns_of", "sequence", "stream", "table", "usable", "wald_p", "weights",
]  # fmt: skip
