"""Training as steps of a study. The extra ``train`` is needed to run them, not to see them."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

from metacog_pipeline.benchmark.contract import TrainingStep
from metacog_pipeline.errors import StudyError
from metacog_pipeline.study import Study


def _stage() -> Any:
    """Return the module that trains, or say what to install."""
    if find_spec("torch") is None or find_spec("transformers") is None:
        raise StudyError("training needs torch and transformers: install metacog-pipeline[train]")
    from metacog_pipeline.benchmarks.selfknowledge.training import stage

    return stage


def _base_units(study: Study) -> int:
    _stage()
    from metacog_pipeline.benchmarks.selfknowledge.training.toy.base import STEPS

    return STEPS


TRAINING = (
    TrainingStep(
        "esma_base",
        "The model before training: the toy's base, trained here, or the folder the study names.",
        lambda study, done, tell: _stage().make_base(study, done),
        _base_units,
    ),
    TrainingStep(
        "esma_checkpoint",
        "The model after the evolution strategy, and how it got there, generation by generation.",
        lambda study, done, tell: _stage().make_checkpoint(study, done, tell),
        lambda study: int(_stage().settings(study).generations),
        needs=("esma_base",),
        learning_curves=True,
    ),
    TrainingStep(
        "esma_evaluation",
        "Base and trained model on questions held out, with intervals.",
        lambda study, done, tell: _stage().make_evaluation(study),
        needs=("esma_checkpoint",),
    ),
)
