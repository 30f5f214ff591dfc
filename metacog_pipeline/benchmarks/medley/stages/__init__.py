"""The stages of MEDLEY-BENCH for one study: what each asset does, without Dagster.

Every function takes the study (or one partition of it), reads the stage before from the study's home, writes its own
files whole or not at all, and returns what there is to show. What all benchmarks do alike is in ``benchmarks.common``.
"""

from metacog_pipeline.benchmarks.medley.stages.asking import import_analyst, import_answers
from metacog_pipeline.benchmarks.medley.stages.benchmark import MEDLEY
from metacog_pipeline.benchmarks.medley.stages.construction import (
    CONSTRUCTION_VERSION,
    Built,
    build,
    construct,
    fetch_source,
    instances,
    instances_digest,
)
from metacog_pipeline.benchmarks.medley.stages.settings import BENCHMARK, conditions, settings, wording

__all__ = [
    "BENCHMARK",
    "CONSTRUCTION_VERSION",
    "MEDLEY",
    "Built",
    "build",
    "conditions",
    "construct",
    "fetch_source",
    "import_analyst",
    "import_answers",
    "instances",
    "instances_digest",
    "settings",
    "wording",
]
