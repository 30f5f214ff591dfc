"""From kept answers to responses, estimates and comparisons, alike for every benchmark.

``responses`` reads the answers of a partition, ``estimates`` computes every measure of every group, ``comparisons`` the
tests and a benchmark's own tables, ``files`` keeps all of them on disk with the digest of what they were made from.
``measures`` holds measures that benchmarks share. Nothing here knows a benchmark, asks anybody or imports Dagster. A
measure, test or table that fails leaves its own rows empty with the reason. Start with ``files``; `staleness.stale` names
what has to be recomputed.
"""
