"""The benchmarks there are, as today's stages see them."""

from __future__ import annotations

from metacog_pipeline import registry
from metacog_pipeline.benchmarks.common.benchmark import Benchmark
from metacog_pipeline.study import Study


def benchmark(name: str) -> Benchmark:
    """Return the installed benchmark ``name``."""
    found: Benchmark = registry.load(name).legacy()
    return found


def every() -> tuple[Benchmark, ...]:
    """Return all installed benchmarks."""
    return tuple(benchmark(name) for name in registry.names())


def enabled(study: Study) -> tuple[Benchmark, ...]:
    """Return the benchmarks the study switches on, in the order of the study file."""
    return tuple(benchmark(name) for name in study.enabled)
