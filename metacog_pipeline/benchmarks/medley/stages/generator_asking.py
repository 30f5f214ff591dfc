"""Asking everybody of one role, one after another: each has a partition of its own, where answers are kept for ever.

Who has answered everything is not opened again. Who cannot be asked does not keep the others from answering.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import polars as pl

from metacog_pipeline.benchmarks.medley.construction import designs, pool, verdicts
from metacog_pipeline.benchmarks.medley.construction.roles import ANALYSTS, DESIGNERS, VERIFIERS, Roles
from metacog_pipeline.errors import BudgetError, MetacogError, ProviderError, StudyError
from metacog_pipeline.files import canonical_json, sha256_hex
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import Status
from metacog_pipeline.querying.asking import Tally
from metacog_pipeline.querying.partition import Progress, SessionResult
from metacog_pipeline.querying.planning import identities
from metacog_pipeline.querying.session import (
    INTERRUPTED,
    Partition,
    asked_as,
    query_partition,
    record_failure,
)
from metacog_pipeline.querying.types import Task
from metacog_pipeline.study import Study
from metacog_pipeline.transcripts.lock import PartitionBusyError
from metacog_pipeline.transcripts.parquet import FILE_NAME
from metacog_pipeline.transcripts.store import read_partition

#: Role → the benchmark its transcripts are kept under, and the calls one item may take.
PARTITIONS: Mapping[str, str] = {
    DESIGNERS: designs.BENCHMARK,
    ANALYSTS: pool.BENCHMARK,
    VERIFIERS: verdicts.BENCHMARK,
}
STEPS: Mapping[str, tuple[str, ...]] = {
    DESIGNERS: (designs.DESIGN,),
    ANALYSTS: pool.steps("text"),
    VERIFIERS: (verdicts.VERIFY,),
}
MODES = ("text",)
RUN = 1
_COLUMNS = ("answer_id", "item_id", "item_hash", "step", "status", "text", "started_at", "superseded")


@dataclass(slots=True)
class Asked:
    """How asking a role went: items times people, how many are answered, what it cost, and what went wrong.

    ``problems`` are lines, one per person with items that have no answer yet.
    """

    items: int = 0
    answered: int = 0
    failed: int = 0
    tally: Tally = field(default_factory=Tally)
    problems: list[str] = field(default_factory=list)
    exit_code: int = 0


def partition_of(study: Study, role: str, spec: ModelSpec) -> Partition:
    """Return where what somebody says in a role is kept."""
    return Partition(study, PARTITIONS[role], spec, RUN)


def noted(study: Study, role: str, people: Sequence[ModelSpec]) -> list[dict[str, object]]:
    """Return how far each of ``people`` is, as the manifests say: what a stage made of their answers depends on."""
    manifests = [partition_of(study, role, spec).manifest() for spec in people]
    return [
        {
            "name": spec.name,
            "family": spec.family,
            "asked_as": asked_as(spec),
            "complete": manifest.get("fingerprint") is not None,
            "fingerprint": manifest.get("fingerprint"),
            "finished_at": manifest.get("finished_at"),
        }
        for spec, manifest in zip(people, manifests, strict=True)
    ]


def ask_role(
    study: Study,
    role: str,
    who: Roles,
    tasks: Sequence[Task],
    words: str,
    on_progress: Callable[[Progress], None] | None = None,
) -> Asked:
    """Ask everybody of ``role`` what is not answered yet; ``words`` is the digest of the texts they are asked in."""
    people = who.people[role]
    total = Asked(items=len(tasks) * len(people))
    for place, spec in enumerate(people):
        partition = partition_of(study, role, spec)
        now = fingerprint_of(partition, tasks, words)
        if partition.manifest().get("fingerprint") == now:
            total.answered += len(tasks)
            continue
        if INTERRUPTED.is_set():
            _problem(total, spec, "interrupted before it was asked", ProviderError.exit_code)
            continue
        shown = None if on_progress is None else _overall(on_progress, total, place * len(tasks))
        try:
            outcome = query_partition(
                partition,
                tasks,
                MODES,
                fingerprint=now,
                respond=who.respondents.get((role, spec.name)),
                on_progress=shown,
            )
        except (BudgetError, ProviderError, StudyError) as error:
            record_failure(partition, str(error), len(tasks))
            _problem(total, spec, str(error), error.exit_code)
        except PartitionBusyError as error:  # another process asks; it will say how that went
            _problem(total, spec, str(error), error.exit_code)
        else:
            _add(total, spec, outcome)
    return total


def replies(study: Study, role: str, who: Roles, tasks: Sequence[Task]) -> dict[str, dict[str, list[str]]]:
    """Return {name: {item: texts}} of everybody of a role, without answers to questions that are no longer asked."""
    hashes = {task.item_id: task.item_hash for task in tasks}
    found: dict[str, dict[str, list[str]]] = {}
    for spec in who.people[role]:
        partition = partition_of(study, role, spec)
        if not (partition.folder / FILE_NAME).exists():
            found[spec.name] = {}
            continue
        frame = pl.DataFrame(pl.from_arrow(read_partition(partition.folder, _COLUMNS)))
        profile = partition.known_profile()
        if partition.manifest().get("state") != "complete" and profile is not None:
            frame = frame.filter(pl.col("answer_id").is_in(identities(partition, profile, tasks)))
        found[spec.name] = texts_of(frame, hashes, STEPS[role])
    return found


def texts_of(
    transcripts: pl.DataFrame, hashes: Mapping[str, str], steps: Sequence[str]
) -> dict[str, list[str]]:
    """Return {item: texts} of a model, steps in order, of two answers to one step the later first.

    Failed calls, superseded answers and answers to another text than that of ``hashes`` (item → hash) are left out.
    """
    frame = transcripts.filter(
        ~pl.col("superseded"), pl.col("status") != Status.FAILED.value, pl.col("step").is_in(list(steps))
    ).sort("started_at", descending=True, maintain_order=True)
    found: dict[str, list[str]] = {}
    for step in steps:
        rows = frame.filter(pl.col("step") == step).select("item_id", "item_hash", "text")
        for item, digest, text in rows.iter_rows():
            if hashes.get(item) == digest:
                found.setdefault(item, []).append(text)
    return found


def stop(asked: Asked) -> MetacogError:
    """Return the error for asking that did not get everywhere."""
    line = "; ".join(asked.problems)
    return BudgetError(line) if asked.exit_code == BudgetError.exit_code else ProviderError(line)


def fingerprint_of(partition: Partition, tasks: Sequence[Task], words: str) -> str:
    """Return the digest of everything the answers in a partition depend on."""
    items = [[task.item_id, task.item_hash] for task in tasks]
    return sha256_hex(canonical_json([items, words, asked_as(partition.spec), partition.seed]))


def _add(total: Asked, spec: ModelSpec, outcome: SessionResult) -> None:
    total.answered += outcome.answered
    total.failed += outcome.failed
    one = outcome.tally
    total.tally = replace(
        total.tally,
        calls=total.tally.calls + one.calls,
        reused=total.tally.reused + one.reused,
        failed_calls=total.tally.failed_calls + one.failed_calls,
        input_tokens=total.tally.input_tokens + one.input_tokens,
        output_tokens=total.tally.output_tokens + one.output_tokens,
        cost_usd=total.tally.cost_usd + one.cost_usd,
    )
    if outcome.stopped is not None:
        _problem(total, spec, outcome.stopped, outcome.exit_code)
    elif not outcome.complete:
        missing = outcome.tasks - outcome.answered
        _problem(total, spec, f"{missing} of {outcome.tasks} items have no answer yet; run again", 0)


def _problem(total: Asked, spec: ModelSpec, reason: str, exit_code: int) -> None:
    total.problems.append(f"{spec.name}: {reason}")
    total.exit_code = total.exit_code or exit_code


def _overall(
    on_progress: Callable[[Progress], None], total: Asked, before: int
) -> Callable[[Progress], None]:
    spent = total.tally.cost_usd

    def report(progress: Progress) -> None:
        cost = spent + progress.tally.cost_usd
        on_progress(Progress(before + progress.done, total.items, Tally(cost_usd=cost)))

    return report
