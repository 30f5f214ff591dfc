"""When is a difference one? Tests, intervals, and a region of practical equivalence (ROPE).

========  ===========================================================================================
verdicts  the interval rules (symmetric, HDI), the four verdicts of a ROPE, the Bonferroni Z test
draws     two sets of posterior draws: log ratio and difference; one set against optimality
shifts    criterion shifts between conditions from a table of type-1 measures, independent trials
========  ===========================================================================================
"""

from __future__ import annotations

from metacog_pipeline.stats.decisions.draws import Comparison, against_optimality, compare
from metacog_pipeline.stats.decisions.shifts import (
    Contrasts,
    CriterionShifts,
    condition_pairs,
    contrasts,
    criterion_shift,
)
from metacog_pipeline.stats.decisions.verdicts import ZTest, hdi, rope, symmetric_interval, z_test

__all__ = [
    "Comparison", "Contrasts", "CriterionShifts", "ZTest", "against_optimality", "compare",
    "condition_pairs", "contrasts", "criterion_shift", "hdi", "rope", "symmetric_interval", "z_test",
]  # fmt: skip
