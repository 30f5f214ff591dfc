"""Roles: models that help to make items, asked, planned and kept like those that are measured.

Their partition is called ``<benchmark>_<role>``, with one run. Their answers are an input of their construction step.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from metacog_pipeline.asking import cost_estimate, endings, session
from metacog_pipeline.asking.dry_run import CostEstimate
from metacog_pipeline.asking.states import Progress, SessionResult, Tally
from metacog_pipeline.asking.types import Task
from metacog_pipeline.benchmark.bound import Bound
from metacog_pipeline.benchmark.contract import Inputs, Role, Step
from metacog_pipeline.benchmark.item_files import items_path, write_rows
from metacog_pipeline.errors import BudgetError, ProviderError, StudyError
from metacog_pipeline.files import canonical_json, sha256_hex
from metacog_pipeline.home import Home
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.transcripts.lock import PartitionBusyError
from metacog_pipeline.transcripts.store import answers_table

OnProgress = Callable[[Progress], None] | None
RUN = 1


@dataclass(slots=True)
class RoleResult:
    """How asking a role went: items × models, how many are answered, what it cost, and what went wrong.

    ``problems`` are lines, one per model with items that have no answer yet.
    """

    items: int = 0
    answered: int = 0
    failed: int = 0
    tally: Tally = field(default_factory=Tally)
    problems: list[str] = field(default_factory=list)
    exit_code: int = 0


@dataclass(frozen=True, slots=True)
class RolePartition:
    """The partition of a model that helps: how many answers it needs, and the digest of what they depend on."""

    partition: session.Partition
    expected: int
    fingerprint: str


def roles(benchmark: Bound) -> Iterator[tuple[Step, Role]]:
    """Yield the steps that ask, with whom, in order."""
    for step in benchmark.construction():
        if step.asks is not None:
            yield step, step.asks


def partition_of(benchmark: Bound, role: Role, spec: ModelSpec) -> session.Partition:
    """Return where the answers of a model in a role are kept."""
    return session.Partition(benchmark.context.study, f"{benchmark.name}_{role.name}", spec, RUN)


def fingerprint(benchmark: Bound, role: Role, spec: ModelSpec, tasks: Sequence[Task]) -> str:
    """Return the digest of everything the answers of a model depend on."""
    partition = partition_of(benchmark, role, spec)
    words = role.worded_by(benchmark) if role.worded_by is not None else None
    items = [[task.item_id, task.item_hash] for task in tasks]
    return sha256_hex(canonical_json([items, words, session.request_digest(spec), partition.seed]))


def ask(benchmark: Bound, role: Role, inputs: Inputs, on_progress: OnProgress = None) -> RoleResult:
    """Ask every model of a role what is not answered yet.

    Raises ``ProviderError``, ``BudgetError`` if a model has not answered everything, unless that will do; what was
    answered is kept.
    """
    total = RoleResult()
    for spec in role.models(benchmark):
        todo = role.tasks(benchmark, spec, inputs)
        total.items += len(todo)
        _ask_one(benchmark, role, spec, todo, total, on_progress)
    will_do = role.incomplete_will_do is not None and role.incomplete_will_do(benchmark)
    if total.problems and (endings.INTERRUPTED.is_set() or not will_do):
        line = "; ".join(total.problems)
        raise BudgetError(line) if total.exit_code == BudgetError.exit_code else ProviderError(line)
    return total


def answers(benchmark: Bound, role: Role, inputs: Inputs) -> pl.DataFrame:
    """Return the kept answers of a role, model by model, without those to questions that are no longer asked."""
    frames = []
    for spec in role.models(benchmark):
        partition = partition_of(benchmark, role, spec)
        if not partition.folder.copy.exists():
            continue
        kept = pl.DataFrame(pl.from_arrow(answers_table(partition.folder))).filter(~pl.col("superseded"))
        profile = partition.known_profile()
        if partition.manifest().get("state") != "complete" and profile is not None:
            now = cost_estimate.identities(
                partition, profile, role.modes, role.tasks(benchmark, spec, inputs)
            )
            kept = kept.filter(pl.col("answer_id").is_in(now))
        frames.append(kept.with_columns(model=pl.lit(spec.name)))
    return pl.concat(frames, how="diagonal_relaxed") if frames else pl.DataFrame()


def partitions(benchmark: Bound, current: Mapping[str, bool], kept: Inputs) -> list[RolePartition]:
    """Return the partition of every model that helps; it needs 0 answers before that can be known.

    ``current`` says of each construction step whether its result is up to date, ``kept`` reads them.
    """
    found = []
    for step, role in roles(benchmark):
        known = all(current[name] for name in step.needs)
        for spec in role.models(benchmark):
            todo = role.tasks(benchmark, spec, kept) if known else ()
            digest = fingerprint(benchmark, role, spec, todo)
            found.append(RolePartition(partition_of(benchmark, role, spec), len(todo), digest))
    return found


def left_to_ask(
    benchmark: Bound, current: Mapping[str, bool], kept: Inputs
) -> Iterator[tuple[str, ModelSpec, CostEstimate]]:
    """Yield (name of the transcripts, model, what is left to ask) in the order of asking; simulated ones are free.

    A step that is not made yet is taken to be as long as it may be.
    """
    for step, role in roles(benchmark):
        known = all(current[name] for name in step.needs)
        inputs = kept if known or role.at_most is None else role.at_most(benchmark)
        for spec in role.models(benchmark):
            if spec.provider != "simulated":
                partition = partition_of(benchmark, role, spec)
                todo = role.tasks(benchmark, spec, inputs)
                left = cost_estimate.left_to_ask(partition, spec, todo, role.modes, partition.known_profile())
                yield partition.benchmark, spec, left


@contextmanager
def items_at_most(benchmark: Bound) -> Iterator[Bound | None]:
    """Give the benchmark with the longest items there may be, in a temporary folder; None if no paid model makes them."""
    asked = [role for _, role in roles(benchmark) if role.at_most is not None]
    if not any(spec.provider != "simulated" for role in asked for spec in role.models(benchmark)):
        yield None
        return
    last = benchmark.construction()[-1]
    rows = asked[-1].at_most(benchmark).rows(last.name)  # type: ignore[misc]
    with tempfile.TemporaryDirectory(prefix="metacog-plan-") as home:
        write_rows(items_path(Home(Path(home)), benchmark.name), rows, benchmark.Item, "")
        yield in_home(benchmark, home)


def in_home(benchmark: Bound, home: str) -> Bound:
    """Return the benchmark of the same study in another home, without its budget."""
    study = benchmark.context.study
    own = study.study.model_copy(update={"home": home, "budget_usd": None})
    found: Bound = type(benchmark).of(study.model_copy(update={"study": own}))
    return found


def _ask_one(
    benchmark: Bound,
    role: Role,
    spec: ModelSpec,
    todo: Sequence[Task],
    total: RoleResult,
    on_progress: OnProgress,
) -> None:
    partition = partition_of(benchmark, role, spec)
    now = fingerprint(benchmark, role, spec, todo)
    if partition.manifest().get("fingerprint") == now:
        total.answered += len(todo)
        return
    if endings.INTERRUPTED.is_set():
        _problem(total, spec, "interrupted before it was asked", ProviderError.exit_code)
        return
    try:
        respond = None
        if spec.provider == "simulated" and role.respondent is not None:
            respond = role.respondent(benchmark, spec)
        shown = (
            None
            if on_progress is None
            else _overall(on_progress, total, len(todo), len(role.models(benchmark)))
        )
        done = session.query_partition(
            partition, todo, role.modes, fingerprint=now, respond=respond, on_progress=shown
        )
    except (BudgetError, ProviderError, StudyError) as error:
        session.record_failure(partition, str(error), len(todo))
        _problem(total, spec, str(error), error.exit_code)
    except PartitionBusyError as error:  # another process asks, and reports how that went
        _problem(total, spec, str(error), error.exit_code)
    else:
        _add(total, spec, done)


def _add(total: RoleResult, spec: ModelSpec, done: SessionResult) -> None:
    total.answered += done.answered
    total.failed += done.failed
    total.tally.add(done.tally)
    if done.stopped is not None:
        _problem(total, spec, done.stopped, done.exit_code)
    elif not done.complete:
        again = "; run again" if done.answered < done.tasks else ""
        _problem(total, spec, f"{done.missing}{again}", 0)


def _problem(total: RoleResult, spec: ModelSpec, reason: str, exit_code: int) -> None:
    total.problems.append(f"{spec.name}: {reason}")
    total.exit_code = total.exit_code or exit_code


def _overall(
    on_progress: Callable[[Progress], None], total: RoleResult, todo: int, models: int
) -> Callable[[Progress], None]:
    before, spent = total.items - todo, total.tally.cost_usd

    def report(progress: Progress) -> None:
        cost = spent + progress.tally.cost_usd
        on_progress(Progress(before + progress.done, todo * models, Tally(cost_usd=cost)))

    return report
