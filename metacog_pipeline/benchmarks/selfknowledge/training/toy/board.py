"""What models do on people they were not trained on, with 95 % intervals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from metacog_pipeline.benchmarks.selfknowledge.training.display import shown
from metacog_pipeline.benchmarks.selfknowledge.training.figures import D, estimates
from metacog_pipeline.benchmarks.selfknowledge.training.rewards import outcome
from metacog_pipeline.benchmarks.selfknowledge.training.toy.asking import Answers
from metacog_pipeline.leaderboard.read import Rows
from metacog_pipeline.stats.auroc import auroc
from metacog_pipeline.stats.estimate import Estimate

AUROC, ACCURACY = "auroc2", "accuracy"
MEASURES = (D, AUROC, ACCURACY, "raw_alignment", "yes_ratio")


def measured(answers: Answers) -> dict[str, Estimate]:
    """Return every measure; d'type2 with the log-linear correction and its delta-method interval."""
    found = estimates(outcome(answers.correct, answers.yes))
    found[AUROC] = auroc(answers.certainty, answers.correct.astype(np.int64))
    return {name: found[name] for name in MEASURES}


def board(models: Sequence[tuple[str, Answers]]) -> Rows:
    """Return one row per model, each number with its interval."""
    rows = []
    for name, answers in models:
        found = measured(answers)
        rows.append((name, len(answers.correct), *(shown(found[measure]) for measure in MEASURES)))
    return Rows(("model", "n", *MEASURES), tuple(rows))
