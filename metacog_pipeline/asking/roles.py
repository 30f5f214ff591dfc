"""Roles: models that help to make items, asked, planned and kept like those that are measured.

Their partition is called ``<benchmark>_<role>``, with one run. Their answers are an input of their construction step.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import polars as pl

from metacog_pipeline.asking import cost_estimate, endings, session
from metacog_pipeline.asking.dry_run import CostEstimate
from metacog_pipeline.asking.panel import Panelist, ask_each, together
from metacog_pipeline.asking.states import OnProgress, SessionResult, Tally
from metacog_pipeline.asking.types import Task
from metacog_pipeline.benchmark.bound import Bound
from metacog_pipeline.benchmark.contract import Inputs, Role, Step
from metacog_pipeline.benchmark.item_files import items_path, write_rows
from metacog_pipeline.errors import BudgetError, ProviderError, StudyError
from metacog_pipeline.files import canonical_json, sha256_hex
from metacog_pipeline.home import Home
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.transcripts.folder import PartitionBusyError
from metacog_pipeline.transcripts.store import answers_table

RUN = 1


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


def ask(benchmark: Bound, role: Role, inputs: Inputs, on_progress: OnProgress = None) -> SessionResult:
    """Ask every model of a role what is not answered yet; return how it went, all models together.

    Raises ``ProviderError``, ``BudgetError`` if a model has not answered everything, unless that will do; what was
    answered is kept.
    """
    panel = [
        Panelist(spec, role.tasks(benchmark, spec, inputs), role.modes) for spec in role.models(benchmark)
    ]
    found = ask_each(panel, partial(_ask_one, benchmark, role), on_progress)
    will_do = role.incomplete_will_do is not None and role.incomplete_will_do(benchmark)
    if will_do and not endings.INTERRUPTED.is_set():
        return together(found)
    problems = [(each.spec.name, one.stopped or _missing(one)) for each, one in found]
    if line := "; ".join(f"{name}: {why}" for name, why in problems if why):
        code = next((one.exit_code for _, one in found if one.exit_code), 0)
        raise BudgetError(line) if code == BudgetError.exit_code else ProviderError(line)
    return together(found)


def _ask_one(benchmark: Bound, role: Role, asked: Panelist, on_progress: OnProgress) -> SessionResult:
    """Ask one model, unless it has answered all; a partition that cannot be asked says so in its manifest."""
    partition, todo = partition_of(benchmark, role, asked.spec), asked.tasks
    now = fingerprint(benchmark, role, asked.spec, todo)
    if partition.manifest().get("fingerprint") == now:
        return SessionResult(len(todo), len(todo), 0, None, Tally())
    try:
        respond = None
        if asked.spec.provider == "simulated" and role.respondent is not None:
            respond = role.respondent(benchmark, asked.spec)
        return session.query_partition(
            partition, todo, role.modes, fingerprint=now, respond=respond, on_progress=on_progress
        )
    except PartitionBusyError as error:  # another process asks, and reports how that went
        return SessionResult(len(todo), 0, 0, None, Tally(), str(error), error.exit_code)
    except (BudgetError, ProviderError, StudyError) as error:
        session.record_failure(partition, str(error), len(todo))
        raise


def _missing(one: SessionResult) -> str | None:
    again = "; run again" if one.answered < one.tasks else ""
    return None if one.missing is None else f"{one.missing}{again}"


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
