"""What the study asks for, as assets. Another study file shows others after "Reload definitions"."""

from __future__ import annotations

from metacog_assets import apart, cross_benchmark
from metacog_assets.benchmark_assets import benchmark_assets, produced
from metacog_assets.cross_benchmark import cross_benchmark_assets
from metacog_assets.study_file import bound, current_study
from metacog_assets.tables import table_assets
from metacog_pipeline.leaderboard.models import load_project

BENCHMARKS = tuple(bound(name) for name in current_study().enabled)
PRODUCED = [*(pair for each in BENCHMARKS for pair in produced(each)), *cross_benchmark.produced()]
ASSETS = (
    *(made for each in BENCHMARKS for made in benchmark_assets(each)),
    cross_benchmark_assets(BENCHMARKS),
    *table_assets(apart.call(apart.ITEMS, None, load_project), PRODUCED, [each.name for each in BENCHMARKS]),
)
