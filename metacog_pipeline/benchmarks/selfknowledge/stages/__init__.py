"""The stages of the self-knowledge benchmark for one study: what each asset does, without Dagster.

Every function takes the study (or one partition of it), reads the stage before from the study's home, writes its own
files whole or not at all, and returns what there is to show. What all benchmarks do alike is in ``benchmarks.common``.
"""

from metacog_pipeline.benchmarks.selfknowledge.stages.benchmark import SELFKNOWLEDGE
from metacog_pipeline.benchmarks.selfknowledge.stages.construction import (
    CONSTRUCTION_VERSION,
    build,
    construct,
    fetch_sources,
    items,
    items_digest,
)
from metacog_pipeline.benchmarks.selfknowledge.stages.settings import (
    BENCHMARK,
    conditions,
    settings,
    wording,
)

__all__ = [
    "BENCHMARK",
    "CONSTRUCTION_VERSION",
    "SELFKNOWLEDGE",
    "build",
    "conditions",
    "construct",
    "fetch_sources",
    "items",
    "items_digest",
    "settings",
    "wording",
]
