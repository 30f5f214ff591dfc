"""Self-knowledge: does a model know which questions it can answer?

"Fine-Tuning Language Models to Know What They Know" (ESMA, 2026), arXiv:2602.02605.
Each question is asked twice in separate contexts: for its answer, and whether the answer is known. Reproduces the
layout of Tables 1 to 7 (d′ of type 2, raw alignment, failure ratios of yes and no).

Read in this order: ``items`` (what is asked), ``prompts`` (in which words), ``benchmark`` (in which calls), ``read``
(whether an answer is right, said to be known, withheld), ``rules`` (the paper's rules of that, literally), ``certainty``
(how sure a yes is), ``response`` (one row per item and condition), ``measures``, ``contrasts``, ``curves``.
``simulated`` answers instead of a model, ``sources`` fetches the published question sets, ``construction`` reads them and
the shipped facts.
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
    "board": f"{__name__}.board:BOARD",
    "read_row": f"{__name__}.read:read_row",
}
__getattr__ = registry.lazily(__name__, "SelfKnowledge", PARTS)
