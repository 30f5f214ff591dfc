"""Item construction: steps, each kept with the digest of its inputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from metacog_pipeline.benchmark.bound import Bound
from metacog_pipeline.benchmark.contract import Made, Stage, Step
from metacog_pipeline.benchmark.item_files import items_path, read_rows, step_path, write_rows
from metacog_pipeline.errors import SourceError
from metacog_pipeline.files import canonical_json, sha256_hex
from metacog_pipeline.study.frames import mark_of, read_frame, write_frame


@dataclass(frozen=True, slots=True)
class KeptInputs:
    """The `contract.Inputs` of a step: what earlier steps left on disk."""

    benchmark: Bound

    def rows(self, step: str) -> Sequence[Any]:
        """Return the rows of an earlier step."""
        row = step_of(self.benchmark, step).writes
        assert row is not None, f"{self.benchmark.name}: step {step} writes no rows; read its frame"
        return read_rows(result_path(self.benchmark, step), row)

    def frame(self, step: str) -> pl.DataFrame:
        """Return the table of an earlier step."""
        return read_frame(result_path(self.benchmark, step))


# --- what is stale ------------------------------------------------------------------------------------------------------
def step_of(benchmark: Bound, name: str) -> Step:
    """Return the step called ``name``."""
    return next(each for each in benchmark.construction() if each.name == name)


def result_path(benchmark: Bound, name: str) -> Path:
    """Return where a step's result is kept: the last one's are the items."""
    if name == benchmark.construction()[-1].name:
        return items_path(benchmark.study.home, benchmark.name)
    return step_path(benchmark.study.home, benchmark.name, name)


def input_digest(benchmark: Bound, step: Step) -> str:
    """Return the digest of everything a step's result depends on: settings, what it reads, earlier steps."""
    depends: list[object] = [benchmark.versions[Stage.ITEMS], step.name, step.version]
    depends += [benchmark.settings.affecting(Stage.ITEMS), benchmark.seed]
    depends.append(step.inputs(benchmark) if step.inputs is not None else None)
    depends.append([mark_of(result_path(benchmark, name)) for name in step.needs])
    return sha256_hex(canonical_json(depends))


def step_current(benchmark: Bound, step: Step) -> bool:
    """Whether a step's result is there and was made from what the study names now."""
    found = mark_of(result_path(benchmark, step.name))
    return found is not None and found == input_digest(benchmark, step)


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


# --- running a step -----------------------------------------------------------------------------------------------------
def run_step(benchmark: Bound, step: Step) -> Made:
    """Make a step's result and keep it."""
    asset = f"{benchmark.name}_{step.name}"
    for name in step.needs:
        if not result_path(benchmark, name).exists():
            why = f"{benchmark.name}_{name} is not made yet; run `metacog run`, or build it in the UI"
            raise SourceError(f"{asset}: {why}")
    inputs = KeptInputs(benchmark)
    made = step.make(benchmark, inputs)
    digest, path = input_digest(benchmark, step), result_path(benchmark, step.name)
    if step.writes is not None:
        write_rows(path, made.rows, step.writes, digest)
        facts = {"rows": len(made.rows), **made.facts}
    else:  # a step that only brings sources home leaves a mark
        frame = pl.DataFrame({"made": [True]}) if made.frame is None else made.frame
        write_frame(frame, path, digest)
        facts = {"rows": frame.height, **made.facts}
    return replace(made, facts=facts)


def build(benchmark: Bound) -> Made | None:
    """Run every stale step the items are made by, in order, and return the last result; None where none was run."""
    result, wanted = None, for_items(benchmark)
    for step in (step_of(benchmark, name) for name in stale_steps(benchmark) if name in wanted):
        result = run_step(benchmark, step)
    return result
