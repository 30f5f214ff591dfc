"""What the leaderboard writes of the printed numbers until the assets do."""

from __future__ import annotations

import polars as pl

from metacog_pipeline.benchmark.published_rows import Computed, Tables
from metacog_pipeline.benchmarks.metacogbench import published


def values(tables: Tables) -> pl.DataFrame:
    """Return the printed values."""
    return published.values(tables)


def claims(tables: Tables, computed: Computed) -> pl.DataFrame:
    """Return the claims, computed again."""
    return published.claims()
