"""Self-knowledge: does a model know which questions it can answer?

Each question is asked twice, apart: for its answer, and whether the answer is known (ESMA, 2026, arXiv:2602.02605).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from metacog_pipeline import registry

if TYPE_CHECKING:
    from metacog_pipeline.benchmarks.selfknowledge.benchmark import SelfKnowledge as SelfKnowledge

#: Imported when asked for: a command that reads the study file or prints a board loads no statistics.
PARTS = {
    "SelfKnowledge": f"{__name__}.benchmark:SelfKnowledge",
    "Settings": f"{__name__}.settings:Settings",
    "board": f"{__name__}.report:BOARD",
    "read_row": f"{__name__}.imports:read_row",
}
__getattr__ = registry.lazily(__name__, "SelfKnowledge", PARTS)
