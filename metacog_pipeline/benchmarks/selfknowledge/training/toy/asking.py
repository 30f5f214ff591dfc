"""Both questions about people of the world, in one pass through the model, and what the answers are worth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from metacog_pipeline.benchmarks.selfknowledge.training.figures import D, estimates, shown
from metacog_pipeline.benchmarks.selfknowledge.training.rewards import outcome
from metacog_pipeline.benchmarks.selfknowledge.training.toy.world import DIRECT, META, NO, YES, World
from metacog_pipeline.leaderboard.output import Rows
from metacog_pipeline.stats.auroc import auroc
from metacog_pipeline.stats.estimate import Estimate


@dataclass(frozen=True, slots=True)
class Answers:
    """What a model said about people; arrays of their number.

    ``certainty`` is sigmoid(score of YES - score of NO), ``valid`` whether YES or NO was the first choice of all words.
    """

    correct: NDArray[np.bool_]
    yes: NDArray[np.bool_]
    certainty: NDArray[np.float64]
    valid: NDArray[np.bool_]


class Questionnaire:
    """Asks a model about a fixed list of people."""

    def __init__(self, world: World, rows: NDArray[np.int64]) -> None:
        both = np.stack([world.prompts(rows, DIRECT), world.prompts(rows, META)], axis=1)
        self._prompts, self._city = torch.from_numpy(both), torch.from_numpy(world.city[rows])
        self.size = len(rows)

    def __call__(
        self, model: nn.Module, positions: Sequence[int]
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return (correct, yes) of the people at ``positions`` of the list."""
        found = self.answers(model, positions)
        return found.correct, found.yes

    @torch.no_grad()
    def answers(self, model: nn.Module, positions: Sequence[int] | None = None) -> Answers:
        """Return everything said; about all people of the list without ``positions``."""
        at = slice(None) if positions is None else torch.as_tensor(positions)
        prompts = self._prompts[at]
        scores = model(prompts.reshape(-1, prompts.shape[-1])).view(len(prompts), 2, -1)
        direct, meta = scores[:, 0], scores[:, 1]
        lead, first = meta[:, YES] - meta[:, NO], meta.argmax(-1)
        return Answers(
            (direct.argmax(-1) == self._city[at]).numpy(),
            (lead > 0).numpy(),
            torch.sigmoid(lead).double().numpy(),
            ((first == YES) | (first == NO)).numpy(),
        )


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
