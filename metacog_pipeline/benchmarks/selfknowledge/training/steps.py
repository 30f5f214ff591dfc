"""Training as steps of a study, which are assets of the graph. The extra ``train`` is needed to run them, not to see
them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from metacog_pipeline.errors import StudyError
from metacog_pipeline.study import Study

_NEEDED = ("torch", "transformers", "safetensors")


@dataclass(frozen=True, slots=True)
class TrainingStep:
    """One stage of training a model on a benchmark's task; one asset of the group ``training`` where the study trains."""

    name: str
    says: str
    # run(study, done, report) makes or continues it and returns ``digest``, ``facts`` and ``table``. ``done`` is called
    # with the units that are finished; ``report`` before it with the figures of the last one: ``numbers()``, ``line()``
    run: Callable[[Any, Callable[[int], None] | None, Callable[[Any], None] | None], Any]
    # how many units there are; None where progress is not shown
    total: Callable[[Any], int] | None = None
    # names of earlier steps
    needs: tuple[str, ...] = ()


def chain(study: Study) -> Any:
    """Return the chain of a study; raise `StudyError` with what to install where the extra is missing."""
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        raise StudyError(
            f"training needs {', '.join(missing)}: install the extra `train`, metacog-pipeline[train]"
        )
    from metacog_pipeline.benchmarks.selfknowledge.training.chain import Chain

    return Chain(study)


def _base_units(study: Study) -> int:
    from metacog_pipeline.benchmarks.selfknowledge.training.small import STEPS

    return STEPS if chain(study).section.model is None else 0


def _patched(study: Study) -> int:
    section = chain(study).section
    return len(section.patch_top) + len(section.patch_bottom)


TRAINING = (
    TrainingStep(
        "esma_base",
        "The model before training: the folder the study names, or a small one that is trained here.",
        lambda study, done, tell: chain(study).make_base(done),
        _base_units,
    ),
    TrainingStep(
        "esma_taught",
        "The model after supervised training on the questions of `teach`.",
        lambda study, done, tell: chain(study).make_taught(done),
        lambda study: int(chain(study).teach_steps),
        needs=("esma_base",),
    ),
    TrainingStep(
        "esma_checkpoint",
        "The model after the evolution strategy, and its learning curve.",
        lambda study, done, tell: chain(study).make_checkpoint(done, tell),
        lambda study: int(chain(study).settings.generations),
        needs=("esma_taught",),
    ),
    TrainingStep(
        "esma_baselines",
        "Supervised and policy-gradient baselines, from the model that evolves.",
        lambda study, done, tell: chain(study).make_baselines(done),
        lambda study: int(chain(study).section.sft_steps),
        needs=("esma_taught",),
    ),
    TrainingStep(
        "esma_patching",
        "The evolved model with only the largest or smallest of its changes, on held-out questions.",
        lambda study, done, tell: chain(study).make_patching(done),
        _patched,
        needs=("esma_checkpoint",),
    ),
    TrainingStep(
        "esma_evaluation",
        "Every model on every question set, with intervals.",
        lambda study, done, tell: chain(study).make_evaluation(),
        needs=("esma_checkpoint", "esma_baselines", "esma_patching"),
    ),
)
