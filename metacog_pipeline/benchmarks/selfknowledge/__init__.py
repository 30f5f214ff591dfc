"""Self-knowledge: does a model know which questions it can answer?

"Fine-Tuning Language Models to Know What They Know" (ESMA, 2026), arXiv:2602.02605.
Each question is asked twice in separate contexts: for its answer, and whether the answer is known.

==============  ============================================================================================================
``benchmark``   the class: what it declares to the pipeline
``settings``    its table of the study file
``sources``     the published question sets and the authors' prompts: where they are, how they are read
``items``       the item, and the steps that make the items
``prompts``     the words
``rules``       the paper's rules of reading, literally
``read``        reading replies, and rows of answers made elsewhere
``measures``    d′ of type 2 and its criterion, abstention, curves
``contrasts``   tests between models, languages, and ways of asking
``published``   the printed numbers computed again from each other
``report``      the board, the figures, and the manifest of the paper
``simulated``   respondents of known accuracy, d′ and criterion
``training``    training a model to know what it knows
==============  ============================================================================================================
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
    "read_row": f"{__name__}.read:read_row",
}
__getattr__ = registry.lazily(__name__, "SelfKnowledge", PARTS)
