"""Names of before `stats.resampling`, for benchmarks that have not moved yet."""

from metacog_pipeline.stats.resampling import ratio as ratio_estimate
from metacog_pipeline.stats.resampling import ratio_statistic as ratio_statistic

__all__ = ["ratio_estimate", "ratio_statistic"]
