"""Item construction: steps, each kept with the digest of its inputs, and the models that help with them.

Answers of a model that helps are kept, planned and paid for like those of one that is measured, in a partition called
``<benchmark>_<role>`` with one run. They are an input of the step that asks it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from metacog_pipeline.asking.dry_run import current_answers
from metacog_pipeline.asking.endings import INTERRUPTED
from metacog_pipeline.asking.panel import Panelist, ask_each, together
from metacog_pipeline.asking.session import Partition, failure_recorded, query_partition, request_digest
from metacog_pipeline.asking.states import OnProgress, SessionResult
from metacog_pipeline.asking.types import Task
from metacog_pipeline.benchmark.bound import Bound
from metacog_pipeline.benchmark.contract import Inputs, Made, Role, Stage, Step
from metacog_pipeline.benchmark.item_files import items_path, read_rows, step_path, write_rows
from metacog_pipeline.errors import BudgetError, ProviderError, SourceError
from metacog_pipeline.files import canonical_json, sha256_hex
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.study.frames import mark_of, read_frame, write_frame


@dataclass(frozen=True, slots=True)
class KeptInputs:
    """The `contract.Inputs` of a step: what earlier steps left on disk, and what the models that help have answered."""

    benchmark: Bound

    def rows(self, step: str) -> Sequence[Any]:
        """Return the rows of an earlier step."""
        row = step_of(self.benchmark, step).writes
        assert row is not None, f"{self.benchmark.name}: step {step} writes no rows; read its frame"
        return read_rows(result_path(self.benchmark, step), row)

    def frame(self, step: str) -> pl.DataFrame:
        """Return the table of an earlier step."""
        return read_frame(result_path(self.benchmark, step))

    def answers(self, role: str) -> pl.DataFrame:
        """Return the kept answers of a role, model by model, without those to questions that are no longer asked."""
        frames = []
        for _, own, partition in helpers(self.benchmark):
            if own.name != role or not partition.folder.copy.exists():
                continue
            kept = current_answers(
                partition, own.modes, partial(own.tasks, self.benchmark, partition.spec, self)
            )
            frames.append(kept.with_columns(model=pl.lit(partition.spec.name)))
        return pl.concat(frames, how="diagonal_relaxed") if frames else pl.DataFrame()


# --- what is stale ------------------------------------------------------------------------------------------------------
def step_of(benchmark: Bound, name: str) -> Step:
    """Return the step called ``name``."""
    return next(each for each in benchmark.construction() if each.name == name)


def result_path(benchmark: Bound, name: str) -> Path:
    """Return where a step's result is kept: the last one's are the items."""
    if name == benchmark.construction()[-1].name:
        return items_path(benchmark.context.home, benchmark.name)
    return step_path(benchmark.context.home, benchmark.name, name)


def input_digest(benchmark: Bound, step: Step) -> str:
    """Return the digest of everything a step's result depends on: settings, what it reads, earlier steps, answers."""
    answered = []
    for own, _, partition in helpers(benchmark):
        if own.name == step.name:
            spec, noted = partition.spec, partition.manifest()
            when = noted.get("fingerprint"), noted.get("finished_at")
            answered.append([spec.name, spec.family, request_digest(spec), *when])
    depends: list[object] = [benchmark.versions[Stage.ITEMS], step.name, step.version]
    depends += [benchmark.settings.affecting(Stage.ITEMS), benchmark.context.seed]
    depends.append(step.inputs(benchmark) if step.inputs is not None else None)
    depends.append([mark_of(result_path(benchmark, name)) for name in step.needs])
    return sha256_hex(canonical_json([*depends, answered]))


def step_current(benchmark: Bound, step: Step) -> bool:
    """Whether a step's result is there and was made from what the study names now."""
    found = mark_of(result_path(benchmark, step.name))
    return found is not None and found == input_digest(benchmark, step)


def inputs_current(benchmark: Bound, step: Step) -> bool:
    """Whether everything a step reads of earlier ones is up to date."""
    return all(step_current(benchmark, step_of(benchmark, name)) for name in step.needs)


def stale_steps(benchmark: Bound) -> tuple[str, ...]:
    """Return the names of the steps that must run, in order: from the first stale one on, those that need it."""
    stale: list[str] = []
    for step in benchmark.construction():
        if set(step.needs) & set(stale) or not step_current(benchmark, step):
            stale.append(step.name)
    return tuple(stale)


def for_items(benchmark: Bound) -> set[str]:
    """Return the names of the steps the items are made by; others, such as the trial of judges, are not among them."""
    steps = benchmark.construction()
    found = {steps[-1].name}
    for step in reversed(steps):
        found |= set(step.needs) if step.name in found else set()
    return found


def items_current(benchmark: Bound) -> bool:
    """Whether the items on disk were made from what the study names now."""
    return for_items(benchmark).isdisjoint(stale_steps(benchmark))


# --- running a step -----------------------------------------------------------------------------------------------------
def run_step(benchmark: Bound, step: Step, on_progress: OnProgress = None) -> Made:
    """Make a step's result and keep it, after asking the models that help with it; facts say how that went.

    Raises ``SourceError`` where a step before has not run, or a blocking check fails: nothing is kept then. Raises
    ``ProviderError``, ``BudgetError`` if a model that helps has not answered everything; what was answered is kept.
    """
    asset = f"{benchmark.name}_{step.name}"
    for name in step.needs:
        if not result_path(benchmark, name).exists():
            why = f"{benchmark.name}_{name} is not made yet; run `metacog run`, or build it in the UI"
            raise SourceError(f"{asset}: {why}")
    inputs = KeptInputs(benchmark)
    asked = None if step.asks is None else _ask(benchmark, step.asks, inputs, on_progress)
    made = step.make(benchmark, inputs)
    for name, check in step.checks.items():
        if check.blocking and not made.checks[name].passed:
            why = "; ".join(f"{key}: {value}" for key, value in made.checks[name].facts.items())
            raise SourceError(f"{asset}: check {name} failed ({check.says}): {why[:400]}")
    digest, path = input_digest(benchmark, step), result_path(benchmark, step.name)
    if step.writes is not None:
        write_rows(path, made.rows, step.writes, digest)
        facts = {"rows": len(made.rows), **made.facts}
    else:  # a step that only brings sources home leaves a mark
        frame = pl.DataFrame({"made": [True]}) if made.frame is None else made.frame
        write_frame(frame, path, digest)
        facts = {"rows": frame.height, **made.facts}
    if asked is not None:
        facts |= {"asked": asked.tasks, "answered": asked.answered, "cost_usd": asked.tally.cost_usd}
    return replace(made, facts=facts)


def build(benchmark: Bound, *, free: bool = False) -> Made | None:
    """Run every stale step the items are made by, in order, and return the last result; None where none was run.

    With ``free`` only up to the first step that asks a model which is not simulated.
    """
    result, wanted = None, for_items(benchmark)
    for step in (step_of(benchmark, name) for name in stale_steps(benchmark) if name in wanted):
        helping = step.asks.models(benchmark) if step.asks is not None else ()
        if free and any(spec.provider != "simulated" for spec in helping):
            break
        result = run_step(benchmark, step)
    return result


# --- models that help ---------------------------------------------------------------------------------------------------
def helpers(benchmark: Bound) -> Iterator[tuple[Step, Role, Partition]]:
    """Yield where the answers of every model that helps are kept, with the step and the role, in the order of asking."""
    for step in benchmark.construction():
        if (role := step.asks) is not None:
            for spec in role.models(benchmark):
                yield step, role, _partition(benchmark, role, spec)


def _partition(benchmark: Bound, role: Role, spec: ModelSpec) -> Partition:
    return Partition(benchmark.context.study, f"{benchmark.name}_{role.name}", spec, 1)


def fingerprint(benchmark: Bound, role: Role, partition: Partition, tasks: Sequence[Task]) -> str:
    """Return the digest of everything the answers of a model that helps depend on."""
    words = role.prompt_digest(benchmark) if role.prompt_digest is not None else None
    items = [[task.item_id, task.item_hash] for task in tasks]
    return sha256_hex(canonical_json([items, words, request_digest(partition.spec), partition.seed]))


def _ask(benchmark: Bound, role: Role, inputs: Inputs, on_progress: OnProgress) -> SessionResult:
    """Ask every model of a role what is not answered yet; return how it went, all models together.

    Raises ``ProviderError``, ``BudgetError`` if one has not answered everything, unless that will do.
    """
    panel = [
        Panelist(spec, role.tasks(benchmark, spec, inputs), role.modes) for spec in role.models(benchmark)
    ]
    found = ask_each(panel, partial(_ask_one, benchmark, role), on_progress)
    result = together(found)
    enough = role.incomplete_will_do is not None and role.incomplete_will_do(benchmark)
    problems = [
        (each.spec.name, one.stopped or (one.missing and f"{one.missing}; run again")) for each, one in found
    ]
    line = "; ".join(f"{name}: {why}" for name, why in problems if why)
    if line and (INTERRUPTED.is_set() or not enough):
        raise (BudgetError if result.exit_code == BudgetError.exit_code else ProviderError)(line)
    return result


def _ask_one(benchmark: Bound, role: Role, asked: Panelist, on_progress: OnProgress) -> SessionResult:
    """Ask one model; a partition that cannot be asked says so in its manifest."""
    partition, respond = _partition(benchmark, role, asked.spec), None
    if asked.spec.provider == "simulated" and role.respondent is not None:
        respond = role.respondent(benchmark, asked.spec)
    now = fingerprint(benchmark, role, partition, asked.tasks)
    with failure_recorded(partition, lambda: len(asked.tasks)):
        return query_partition(
            partition, asked.tasks, role.modes, fingerprint=now, respond=respond, on_progress=on_progress
        )
