"""Resampling: the unit of chance is the cluster.

Runs of one item are not independent, nor are twins made from one source, so whole clusters are drawn with replacement, each
with all its observations (Davison & Hinkley 1997, *Bootstrap Methods and their Application*, §3.8). A caller names its
stream (`stream`), draws with one of four kernels and reads an interval, an estimate or a p from the draws; nobody else in
the package draws clusters.

=============================================  ==================================================================
`Patterns`, `patterns_of`, `merge_patterns`    clusters as their distinct count vectors
`stream`, `sequence`                           the seed that belongs to names; one with streams below it
`patterns`                                     draw clusters by pattern: totals of cells
`weights`                                      draw how often each cluster occurs
`indices`, `occurrences`                       draw clusters by number; the same as weights
`table`                                        draw independent trials over the bins of a table
`interval`, `intervals`, `from_draws`          percentiles, widened to hold the value; with the value, an `Estimate`
`joint`                                        groups on the same clusters
`usable`                                       the draws that have a value, where 95 % of them do; else nothing is read
`difference`, `p_value`, `wald_p`              the p of draws, 2 (1 + k) / (1 + B); Wald's, named wherever it is used
=============================================  ==================================================================
"""

from metacog_pipeline.stats.resampling.counting import Patterns, merge_patterns, patterns_of
from metacog_pipeline.stats.resampling.kernels import (
    Stream,
    blocks,
    generator,
    indices,
    occurrences,
    patterns,
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
from metacog_pipeline.stats.resampling.products import Statistic, joint

__all__ = [
    "LEVEL", "N_TESTED", "Z95", "Difference", "Kind", "Patterns", "Statistic", "Stream", "blocks", "difference",
    "differences", "from_draws", "generator", "indices", "interval", "intervals", "joint", "merge_patterns", "occurrences",
    "p_value", "patterns", "patterns_of", "sequence", "stream", "table", "usable", "wald_p", "weights",
]  # fmt: skip
