"""From kept answers to responses, estimates and comparisons, alike for every benchmark.

``responses`` reads the answers of a partition, ``estimates`` computes every measure of every group, ``comparisons`` the
tests and a benchmark's own tables, ``files`` keeps all of them on disk with the digest of what they were made from.
``measures`` holds measures that benchmarks share. Nothing here knows a benchmark, asks anybody or imports Dagster. A
measure, test or table that fails leaves its own rows empty with the reason. Start with ``files``; `stale` names
what has to be made again.
"""

from typing import Any


def __getattr__(name: str) -> Any:
    """Import `stale` when it is first named: who reads a schema needs none of the statistics."""
    if name == "stale":
        from metacog_pipeline.scoring.staleness import stale

        return stale
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
