"""The stages of MetaCog-Bench for one study: what each asset does, without Dagster.

Every function takes the study (or one partition of it), reads the stage before from the study's home, writes its own
files whole or not at all, and returns what there is to show. What all benchmarks do alike is in ``benchmarks.common``.
"""

from metacog_pipeline.benchmarks.metacogbench.stages.benchmark import METACOGBENCH
from metacog_pipeline.benchmarks.metacogbench.stages.construction import (
    CONSTRUCTION_VERSION,
    build,
    construct,
    items,
    items_digest,
)
from metacog_pipeline.benchmarks.metacogbench.stages.settings import (
    BENCHMARK,
    conditions,
    lexicon,
    settings,
    wording,
)

__all__ = [
    "BENCHMARK",
    "CONSTRUCTION_VERSION",
    "METACOGBENCH",
    "build",
    "conditions",
    "construct",
    "items",
    "items_digest",
    "lexicon",
    "settings",
    "wording",
]
