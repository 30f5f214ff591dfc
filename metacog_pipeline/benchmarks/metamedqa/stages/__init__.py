"""The stages of MetaMedQA for one study: what each asset does, without Dagster.

Every function takes the study (or one partition of it), reads the stage before from the study's home, writes its own
files whole or not at all, and returns what there is to show. What all benchmarks do alike is in ``benchmarks.common``.
"""

from metacog_pipeline.benchmarks.metamedqa.stages.asking import import_answers
from metacog_pipeline.benchmarks.metamedqa.stages.benchmark import METAMEDQA, calibration
from metacog_pipeline.benchmarks.metamedqa.stages.construction import (
    CONSTRUCTION_VERSION,
    Built,
    build,
    construct,
    edit_table,
    fetch_sources,
    fictional_source,
    items_current,
    parent_source,
    selected_digest,
    selected_items,
)
from metacog_pipeline.benchmarks.metamedqa.stages.settings import (
    BENCHMARK,
    conditions,
    folder,
    settings,
    wording,
)

__all__ = [
    "BENCHMARK",
    "CONSTRUCTION_VERSION",
    "METAMEDQA",
    "Built",
    "build",
    "calibration",
    "conditions",
    "construct",
    "edit_table",
    "fetch_sources",
    "fictional_source",
    "folder",
    "import_answers",
    "items_current",
    "parent_source",
    "selected_digest",
    "selected_items",
    "settings",
    "wording",
]
