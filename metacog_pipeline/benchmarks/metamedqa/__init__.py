"""MetaMedQA: does a model know when no listed choice is right, and when a question cannot be answered?

Maxime Griot, Coralie Hemptinne, Jean Vanderdonckt, Demet Yuksel: "Large Language Models lack essential metacognition
for reliable medical reasoning", Nature Communications 16:642 (2025). doi:10.1038/s41467-024-55628-6.
Reproduces Table 3 (accuracy by confidence) and Table 4 (prompt conditions).

Read in this order: ``benchmark`` (the class), ``items`` (what is asked), ``prompts`` (in which words), ``asking`` (in
which calls), ``read`` (what a reply says), ``measures``, ``contrasts`` (between models and conditions).
``simulated`` answers instead of a model, ``importing`` reads answers collected elsewhere, ``construction`` builds the
set from its sources.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from metacog_pipeline import registry

if TYPE_CHECKING:
    from metacog_pipeline.benchmarks.metamedqa.benchmark import MetaMedQA as MetaMedQA

#: Imported when asked for: a command that reads the study file or prints a board loads no statistics.
PARTS = {
    "MetaMedQA": f"{__name__}.benchmark:MetaMedQA",
    "Settings": f"{__name__}.settings:Settings",
    "board": f"{__name__}.board:BOARD",
    "read_row": f"{__name__}.read:read_row",
}
__getattr__ = registry.lazily(__name__, "MetaMedQA", PARTS)
