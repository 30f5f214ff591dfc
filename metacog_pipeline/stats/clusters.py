"""Names of before `stats.resampling`, for benchmarks that have not moved yet."""

from metacog_pipeline.stats.resampling import Patterns as Patterns
from metacog_pipeline.stats.resampling import Statistic as Statistic
from metacog_pipeline.stats.resampling import interval as percentile_interval
from metacog_pipeline.stats.resampling import intervals as percentile_intervals
from metacog_pipeline.stats.resampling import merge_patterns as merge_patterns
from metacog_pipeline.stats.resampling import patterns as resample
from metacog_pipeline.stats.resampling import patterns_of as patterns_of

__all__ = [
    "Patterns", "Statistic", "merge_patterns", "patterns_of", "percentile_interval", "percentile_intervals", "resample",
]  # fmt: skip
