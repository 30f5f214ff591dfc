"""What is compared: those tests of the paper, and the paired ones that shared items allow.

Unit of chance: the item with all its runs, except in the Bayesian families, which take trials as independent as the
paper does. Models that did not finish a condition of a task are left out there, save of ``models_paired`` and
``mcnemar``, which rest on the items both answered; simulated ones never meet measured ones. Every family corrects its own
p: Bonferroni over all pairs of a measure within a data set and source for the criterion families, Holm over the pairs of a
task, condition and measure for those of models.
"""

from __future__ import annotations

from metacog_pipeline.benchmark.contract import Contrast
from metacog_pipeline.benchmarks.signaldetection.contrasts import criteria, efficiency, paired

_WHERE = ("dataset", "source", "task", "condition", "family", "measure")
_ROPES = {"m_ratio": efficiency.ROPE_M_RATIO, "d": efficiency.ROPE_D, "c": criteria.ROPE}
_TOGETHER = ("dataset", "source", "family", "measure")
CONTRASTS = (
    Contrast(
        "bayes_optimality", efficiency.over_posteriors(efficiency.optimality), None, _TOGETHER, by_model=True,
        words="M-ratio of each model and task with 1, by its posterior.",
    ),
    Contrast(
        "bayes_models", efficiency.of_models, None, _TOGETHER, pairs=True,
        words="Posteriors of two models on one task.",
    ),
    Contrast(
        "bayes_tasks", efficiency.over_posteriors(efficiency.between_tasks), None, _TOGETHER, by_model=True,
        words="Posteriors of one model on two tasks.",
    ),
    Contrast(
        "criterion_z", criteria.independent, None, _TOGETHER, paper="table S2",
        words="c, d′, c′ of two risk conditions, conditions taken as independent.",
    ),
    Contrast(
        "criterion_paired", criteria.paired, None, _TOGETHER,
        words="The same with what the conditions share item by item.",
    ),
    Contrast(
        "criterion_order", criteria.order, None, _TOGETHER,
        words="Whether c rises from S1 over none to S2, as predicted.",
    ),
    Contrast(
        "models_paired", paired.differences, within=_WHERE, between_models=True, pairs=True, rope=_ROPES, version="3",
        words="Two models on the items both answered: meta-d′, M-ratio, AUROC2, d′, c.",
    ),
    Contrast(
        "mcnemar", paired.accuracy, within=_WHERE, pairs=True,
        words="Accuracy of two models on the items both answered, one run.",
    ),
)  # fmt: skip
