"""Running the steps of the construction for a study: asking where a step asks, and keeping what it made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from metacog_pipeline.benchmarks.common.files import Shown, read_frame, write_frame
from metacog_pipeline.benchmarks.medley.construction import steps, tables
from metacog_pipeline.benchmarks.medley.construction.designs import designer_tasks
from metacog_pipeline.benchmarks.medley.construction.files import write_items
from metacog_pipeline.benchmarks.medley.construction.layout import write_set
from metacog_pipeline.benchmarks.medley.construction.pool import pool_tasks
from metacog_pipeline.benchmarks.medley.construction.probes import draw_probes
from metacog_pipeline.benchmarks.medley.construction.roles import VERIFIERS
from metacog_pipeline.benchmarks.medley.construction.steps import Fact, Frames
from metacog_pipeline.benchmarks.medley.construction.verdicts import verification_tasks
from metacog_pipeline.benchmarks.medley.stages.generator_asking import Asked, ask_role, replies, stop
from metacog_pipeline.benchmarks.medley.stages.generator_checks import blocking
from metacog_pipeline.benchmarks.medley.stages.generator_marks import (
    ASKING,
    NEEDS,
    incomplete_will_do,
    mark,
    stage_path,
    words,
)
from metacog_pipeline.benchmarks.medley.stages.roles import roles
from metacog_pipeline.benchmarks.medley.stages.settings import generator_folder, made_folder, settings
from metacog_pipeline.querying.partition import Progress
from metacog_pipeline.querying.session import INTERRUPTED
from metacog_pipeline.querying.types import Task
from metacog_pipeline.study import Study

OnProgress = Callable[[Progress], None] | None


@dataclass(frozen=True, slots=True)
class Check:
    """Whether something that must hold does; ``facts`` are worth showing."""

    name: str
    passed: bool
    facts: Mapping[str, Fact]


@dataclass(frozen=True, slots=True)
class Made(Shown):
    """What a stage made; ``mark`` says from what, ``asked`` is how asking went in a stage that asks."""

    mark: str = ""
    checks: tuple[Check, ...] = ()
    asked: Asked | None = None


def instances_path(study: Study) -> Path:
    """Return where the finished instances are kept, in their order."""
    return generator_folder(study) / "instances.parquet"


def frames_of(study: Study, stage: str) -> dict[str, pl.DataFrame]:
    """Return what a stage reads."""
    paths = {needed.removeprefix("medley_"): stage_path(study, needed) for needed in NEEDS[stage]}
    return {name: read_frame(path) for name, path in paths.items()}


def make(study: Study, stage: str, on_progress: OnProgress = None) -> Made:
    """Run one stage on what the stages before it wrote, and write its own file."""
    frames, who = frames_of(study, stage), roles(study)
    asked = None
    if stage in ASKING:
        asked, said = _ask(study, stage, tasks_of(study, stage, frames), on_progress)
        made = {
            "medley_designs": lambda: steps.designs(frames, said),
            "medley_opinions": lambda: steps.opinions(frames, said, who.families),
            "medley_verification": lambda: steps.verification(frames, said),
        }[stage]()
    elif stage == "medley_seeds":
        made = steps.seeds(who.seeds)
    elif stage == "medley_gates":
        made = _gates(study, frames)
    else:
        made = _PURE[stage](frames)
    return _keep(study, stage, made, asked)


_PURE: Mapping[str, Callable[[Frames], steps.Made]] = {
    "medley_drafts": steps.drafts,
    "medley_disagreement": steps.disagreement,
    "medley_consensus": steps.consensus,
    "medley_panels": steps.panels,
}


def tasks_of(study: Study, stage: str, frames: Frames) -> list[Task]:
    """Return what is asked in a stage that asks."""
    if stage == "medley_designs":
        return designer_tasks(tables.seeds_of(frames["seeds"]), words())
    if stage == "medley_opinions":
        return pool_tasks(tables.drafts_of(frames["drafts"]), words())
    return verification_tasks(steps.to_verify(frames), words())


def _gates(study: Study, frames: Frames) -> steps.Made:
    """Evaluate the gates, and write the set beside them, also in the layout of the published data."""
    who, seed = roles(study), study.study.seed
    instances = steps.assembled(frames, who.dataset)
    probes = draw_probes(instances, seed)
    write_items(instances_path(study), instances)
    write_set(
        made_folder(study),
        instances,
        tables.verdicts_by_draft(frames["verification"]),
        [spec.name for spec in who.people[VERIFIERS]],
        probes=probes,
        difficulty=dict(frames["drafts"].select("draft_id", "tier").iter_rows()),
    )
    return steps.gates(
        frames,
        dataset=who.dataset,
        seed=seed,
        prompt_versions=words().versions,
        anonymised=settings(study).anonymise,
    )


def _keep(study: Study, stage: str, made: steps.Made, asked: Asked | None) -> Made:
    """Write what a stage made, with the mark of what it was made from.

    What must not be built on is never taken for up to date: the check that refused it must be met again.
    """
    checks = [Check(name, passed, facts) for name, (passed, facts) in made.checks.items()]
    if asked is not None:
        checks.insert(0, _answered(asked))
    refused = any(check.name in blocking(stage) and not check.passed for check in checks)
    made_from = "" if refused else mark(study, stage)
    write_frame(made.frame, stage_path(study, stage), made_from)
    return Made({"rows": made.frame.height, **made.facts}, made.frame, made_from, tuple(checks), asked)


def _ask(
    study: Study, stage: str, tasks: list[Task], on_progress: OnProgress
) -> tuple[Asked, dict[str, dict[str, list[str]]]]:
    """Ask what is not answered yet and return all that was said; raises where something has no answer."""
    who, role = roles(study), ASKING[stage]
    asked = ask_role(study, role, who, tasks, words().digest, on_progress)
    if asked.problems and (INTERRUPTED.is_set() or not incomplete_will_do(study)):
        raise stop(asked)
    return asked, replies(study, role, who, tasks)


def _answered(asked: Asked) -> Check:
    facts_of: dict[str, Fact] = {
        "answered": asked.answered,
        "of": asked.items,
        "problems": "; ".join(asked.problems),
    }
    return Check("all_was_answered", asked.answered == asked.items, facts_of)
