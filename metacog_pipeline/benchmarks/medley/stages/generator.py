"""New instances, stage by stage: each reads what the one before wrote, and writes its own file whole or not at all.

seeds → designs → drafts → opinions → disagreement → consensus → panels → verification → gates

Designs, opinions and verification ask models; their answers are transcripts like any other, so a stage that is stopped
goes on where it was. Every file carries a mark of what it was made from. The set the study asks is kept beside the gates,
and once more in the layout of the published data.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from metacog_pipeline.benchmarks.common.files import mark_of, read_frame
from metacog_pipeline.benchmarks.medley.construction import steps, tables
from metacog_pipeline.benchmarks.medley.construction.files import read_items
from metacog_pipeline.benchmarks.medley.construction.gates import Gate
from metacog_pipeline.benchmarks.medley.items import Instance
from metacog_pipeline.benchmarks.medley.stages.generator_checks import CHECKS, blocking
from metacog_pipeline.benchmarks.medley.stages.generator_making import (
    Check,
    Made,
    OnProgress,
    frames_of,
    instances_path,
    make,
)
from metacog_pipeline.benchmarks.medley.stages.generator_marks import (
    ASKING,
    NEEDS,
    STAGES,
    VERSION,
    mark,
    stage_path,
)
from metacog_pipeline.benchmarks.medley.stages.roles import wanted
from metacog_pipeline.errors import MetacogError, SourceError, StudyError
from metacog_pipeline.study import Study

__all__ = [
    "ASKING",
    "CHECKS",
    "NEEDS",
    "STAGES",
    "VERSION",
    "Check",
    "Made",
    "Whole",
    "blocking",
    "generate",
    "read_whole",
    "refuse",
    "run_stage",
    "stale",
    "wanted",
]


@dataclass(frozen=True, slots=True)
class Whole:
    """The whole set that was made, its gates, and why drafts did not become instances."""

    instances: tuple[Instance, ...]
    gates: tuple[Gate, ...]
    left_out: Mapping[str, str]


def stale(study: Study) -> tuple[str, ...]:
    """Return the stages that must run, in order; none where the study makes no instances."""
    if not wanted(study):
        return ()
    try:
        for place, stage in enumerate(STAGES):
            if mark_of(stage_path(study, stage)) != mark(study, stage):
                return STAGES[place:]
    except MetacogError:  # the stage that runs into it says what is wrong
        return STAGES
    return () if instances_path(study).exists() else STAGES[-1:]


def generate(study: Study, on_progress: OnProgress = None) -> dict[str, Made]:
    """Run the stages that must run, for callers without Dagster.

    Raises
    ------
    ProviderError, BudgetError
        If somebody has not answered everything; what was answered is kept.
    SourceError
        If something does not hold that must hold before the next stage.
    """
    made = {}
    for stage in stale(study):
        made[stage] = run_stage(study, stage, on_progress)
        refuse(stage, made[stage])
    return made


def refuse(stage: str, made: Made) -> None:
    """Raise SourceError where what a stage made must not be built on."""
    for check in made.checks:
        if not check.passed and check.name in blocking(stage):
            said = ", ".join(f"{name} {value}" for name, value in check.facts.items())
            raise SourceError(f"{stage}: {check.name} does not hold ({said}); nothing is built on it")


def run_stage(study: Study, stage: str, on_progress: OnProgress = None) -> Made:
    """Run one stage and return what it made.

    Raises
    ------
    ProviderError, BudgetError
        As `generate`.
    StudyError
        If the study makes no instances.
    SourceError
        If a stage before has not run.
    """
    if not wanted(study):
        raise StudyError(f"{study.path.name}: the study makes no MEDLEY-BENCH instances; nobody was asked")
    for needed in NEEDS[stage]:
        if not stage_path(study, needed).exists():
            raise SourceError(f"{stage}: {needed} is not made yet; run `metacog run`, or build it in the UI")
    return make(study, stage, on_progress)


def read_whole(study: Study) -> Whole | None:
    """Return what was made; None where something must still run."""
    if not wanted(study) or stale(study):
        return None
    gates = tables.gates_of(read_frame(stage_path(study, STAGES[-1])))
    left_out = steps.left_out(frames_of(study, STAGES[-1]))
    return Whole(tuple(read_items(instances_path(study))), gates, left_out)
