"""From two sources of sentences to the items of the three tasks.

==============  ======================================================================================
``deletion``    the word "the": where it stands, and taking one out
``tasks``       drawing and building the items of A, B and C: pure functions
``invariants``  what must hold for built items, checked against the sources
``files``       items on disk
``pipeline``    from a home's sources, or the shipped sample, to built items
==============  ======================================================================================

Two things give task C away to a reader who knows them, and are part of the published construction: after a deletion
white space is tidied, so a space before a comma or two spaces in a row survive in unchanged texts only; and a deleted
"The" at the start leaves a sentence that begins with a small letter.
"""

from metacog_pipeline.benchmarks.signaldetection.construction.files import (
    ITEMS_SCHEMA,
    items_path,
    read_items,
    write_items,
)
from metacog_pipeline.benchmarks.signaldetection.construction.pipeline import (
    CONSTRUCTION_VERSION,
    DATASETS,
    construct,
    input_digests,
    needed_sources,
)
from metacog_pipeline.benchmarks.signaldetection.construction.tasks import (
    build,
    build_task_a,
    build_task_b,
    build_task_c,
)

__all__ = [
    "CONSTRUCTION_VERSION",
    "DATASETS",
    "ITEMS_SCHEMA",
    "build",
    "build_task_a",
    "build_task_b",
    "build_task_c",
    "construct",
    "input_digests",
    "items_path",
    "needed_sources",
    "read_items",
    "write_items",
]
