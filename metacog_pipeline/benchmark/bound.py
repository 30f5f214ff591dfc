"""Installed benchmarks, bound to a study."""

from __future__ import annotations

from typing import Any

from metacog_pipeline import registry
from metacog_pipeline.benchmark.contract import Benchmark
from metacog_pipeline.study import Study

Bound = Benchmark[Any, Any, Any]


def bound(study: Study, name: str) -> Bound:
    """Return benchmark ``name`` with its table of the study."""
    found: Bound = registry.load(name).of(study)
    return found


def enabled(study: Study) -> list[Bound]:
    """Return the benchmarks the study runs, in the order of its file."""
    return [bound(study, name) for name in study.enabled]
