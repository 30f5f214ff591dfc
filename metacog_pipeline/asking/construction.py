"""Item construction: steps, each kept with the digest of its inputs, so that only stale ones run again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from metacog_pipeline.asking import roles
from metacog_pipeline.asking.session import request_digest
from metacog_pipeline.asking.states import OnProgress, SessionResult
from metacog_pipeline.benchmark.bound import Bound
from metacog_pipeline.benchmark.contract import Checked, Made, Stage, Step
from metacog_pipeline.benchmark.item_files import as_frame, items_path, read_rows, step_path, write_rows
from metacog_pipeline.errors import SourceError
from metacog_pipeline.files import canonical_json, sha256_hex
from metacog_pipeline.study.frames import mark_of, read_frame, write_frame


@dataclass(frozen=True, slots=True)
class StepResult:
    """The result of a step to show: figures, a table to preview, its checks."""

    facts: Mapping[str, Any]
    frame: pl.DataFrame
    checks: Mapping[str, Checked]
    digest: str
    asked: SessionResult | None = None


@dataclass(frozen=True, slots=True)
class KeptInputs:
    """The `contract.Inputs` of a step: what earlier steps left on disk."""

    benchmark: Bound

    def rows(self, step: str) -> Sequence[Any]:
        """Return the rows of an earlier step."""
        writes = step_of(self.benchmark, step).writes
        if writes is None:
            raise TypeError(f"{self.benchmark.name}: step {step} writes no rows; read its frame")
        return read_rows(result_path(self.benchmark, step), writes)

    def frame(self, step: str) -> pl.DataFrame:
        """Return the table of an earlier step."""
        return read_frame(result_path(self.benchmark, step))

    def answers(self, role: str) -> pl.DataFrame:
        """Return the kept answers of a role to what it is asked now."""
        owner = next(own for _, own in roles.roles(self.benchmark) if own.name == role)
        return roles.answers(self.benchmark, owner, self)


def step_of(benchmark: Bound, name: str) -> Step:
    """Return the step called ``name``."""
    return next(each for each in benchmark.construction() if each.name == name)


def result_path(benchmark: Bound, name: str) -> Path:
    """Return where a step's result is kept: the last one's are the items."""
    if name == benchmark.construction()[-1].name:
        return items_path(benchmark.context.home, benchmark.name)
    return step_path(benchmark.context.home, benchmark.name, name)


def made_from(benchmark: Bound, step: Step) -> str:
    """Return the digest of everything a step's result depends on: settings, what it reads, earlier steps, answers."""
    settings = benchmark.settings.affecting(Stage.ITEMS)
    read = step.inputs(benchmark) if step.inputs is not None else None
    earlier = [mark_of(result_path(benchmark, name)) for name in step.needs]
    depends = [
        benchmark.versions[Stage.ITEMS],
        step.name,
        step.version,
        settings,
        benchmark.context.seed,
        read,
    ]
    return sha256_hex(canonical_json([*depends, earlier, _answered(benchmark, step)]))


def step_current(benchmark: Bound, step: Step) -> bool:
    """Whether a step's result is there and was made from what the study names now."""
    found = mark_of(result_path(benchmark, step.name))
    return found is not None and found == made_from(benchmark, step)


def stale_steps(benchmark: Bound) -> tuple[str, ...]:
    """Return the names of the steps that must run, in order: from the first stale one on, those that need it."""
    stale: list[str] = []
    for step in benchmark.construction():
        if set(step.needs) & set(stale) or not step_current(benchmark, step):
            stale.append(step.name)
    return tuple(stale)


def for_items(benchmark: Bound) -> set[str]:
    """Return the names of the steps the items are made by; the others, as the trial of judges, stand beside them."""
    steps = benchmark.construction()
    found = {steps[-1].name}
    for step in reversed(steps):
        found |= set(step.needs) if step.name in found else set()
    return found


def items_current(benchmark: Bound) -> bool:
    """Whether the items on disk were made from what the study names now."""
    return for_items(benchmark).isdisjoint(stale_steps(benchmark))


@contextmanager
def with_items(benchmark: Bound, built: Callable[[Bound], AbstractContextManager[Bound]]) -> Iterator[Bound]:
    """Give the benchmark with current items: its own, else the longest there may be, else those that ``built`` builds.

    The longest stand for items that models must help to make first: a plan prices them, and asks nobody.
    """
    if items_current(benchmark):
        yield benchmark
        return
    with roles.items_at_most(benchmark) as planned:
        if planned is not None:
            yield planned
            return
    with built(benchmark) as made:
        yield made


def untried(benchmark: Bound, needs: Sequence[str]) -> str | None:
    """Return why judges may not grade yet: a step that judging ``needs`` is stale; None where all are current."""
    for name in needs:
        if not step_current(benchmark, step_of(benchmark, name)):
            made = f"{benchmark.name}_{name}"
            return (
                f"{made} is not made yet: judges are tried before they grade; run `metacog run` again, or in the UI "
                f"materialize {made} and then {benchmark.name}_judgements"
            )
    return None


def run_step(benchmark: Bound, step: Step, on_progress: OnProgress = None) -> StepResult:
    """Make a step's result and keep it, after asking the models that help with it.

    Raises ``SourceError`` where a step before has not run, or a blocking check fails: nothing is kept then. Raises
    ``ProviderError``, ``BudgetError`` if a model that helps has not answered everything; what was answered is kept.
    """
    for name in step.needs:
        if not result_path(benchmark, name).exists():
            raise SourceError(
                f"{benchmark.name}_{step.name}: {benchmark.name}_{name} is not made yet; run `metacog run`, or build it "
                "in the UI"
            )
    inputs = KeptInputs(benchmark)
    asked = None if step.asks is None else roles.ask(benchmark, step.asks, inputs, on_progress)
    made = step.make(benchmark, inputs)
    frame = _frame(step, made)
    if missing := set(step.checks) - set(made.checks):
        raise TypeError(f"{benchmark.name}_{step.name}: no result for check {', '.join(sorted(missing))}")
    for name, check in step.checks.items():
        if check.blocking and not made.checks[name].passed:
            why = "; ".join(f"{key}: {value}" for key, value in made.checks[name].facts.items())
            raise SourceError(
                f"{benchmark.name}_{step.name}: check {name} failed ({check.says}): {why[:400]}"
            )
    mark = made_from(benchmark, step)
    path = result_path(benchmark, step.name)
    if step.writes is not None:
        write_rows(path, made.rows, step.writes, mark)
    else:
        write_frame(frame, path, mark)
    facts = {"rows": len(made.rows) or frame.height, **made.facts}
    if asked is not None:
        facts |= {"asked": asked.tasks, "answered": asked.answered, "cost_usd": asked.tally.cost_usd}
    shown = made.preview if made.preview is not None else frame
    return StepResult(facts, shown, dict(made.checks), mark, asked)


def build(benchmark: Bound) -> StepResult:
    """Run every stale step the items are made by, in order, and return the items' result."""
    result, wanted = None, for_items(benchmark)
    todo = [name for name in stale_steps(benchmark) if name in wanted]
    for name in todo or (benchmark.construction()[-1].name,):
        result = run_step(benchmark, step_of(benchmark, name))
    assert result is not None
    return result


def _frame(step: Step, made: Made) -> pl.DataFrame:
    if made.frame is not None:
        return made.frame
    if step.writes is None:
        return pl.DataFrame({"made": [True]})  # a step that only brings sources home leaves a mark
    return as_frame(made.rows[:20], step.writes)


def _answered(benchmark: Bound, step: Step) -> list[Any]:
    """Return when the models that help with a step last answered."""
    if step.asks is None:
        return []
    role = step.asks
    noted = [(spec, roles.partition_of(benchmark, role, spec).manifest()) for spec in role.models(benchmark)]
    return [
        [spec.name, spec.family, request_digest(spec), each.get("fingerprint"), each.get("finished_at")]
        for spec, each in noted
    ]
