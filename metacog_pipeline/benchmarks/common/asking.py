"""From items to the kept answers of one partition."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

import polars as pl

from metacog_pipeline.benchmarks.common.benchmark import Benchmark
from metacog_pipeline.benchmarks.common.item_files import ItemT
from metacog_pipeline.errors import MetacogError
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.querying.partition import Progress, SessionResult
from metacog_pipeline.querying.planning import identities
from metacog_pipeline.querying.session import Partition, query_partition, record_failure
from metacog_pipeline.querying.types import Ask, Task
from metacog_pipeline.transcripts.lock import PartitionBusyError
from metacog_pipeline.transcripts.store import read_partition


def item_tasks(
    asked: Mapping[str, Iterable[ItemT]], ask_item: Callable[[ItemT, str, str, Ask], Awaitable[None]]
) -> list[Task]:
    """Return one task per condition and item asked under it, in the order of ``asked``.

    ``ask_item(item, condition, mode, ask)`` asks the steps of one.
    """
    hashes: dict[str, str] = {}

    def task(item: ItemT, condition: str) -> Task:
        async def run(ask: Ask, mode: str) -> None:
            await ask_item(item, condition, mode, ask)

        if item.item_id not in hashes:
            hashes[item.item_id] = item.item_hash
        return Task(item.item_id, hashes[item.item_id], condition, run)

    return [task(item, condition) for condition, items in asked.items() for item in items]


def mode_ladder(spec: ModelSpec, modes: tuple[str, ...]) -> tuple[str, ...]:
    """Return the answer modes to try, best first; a mode that is none of ``modes`` means the whole ladder."""
    if spec.answer_mode in modes:
        return (spec.answer_mode,)
    return ("text",) if spec.provider == "simulated" else modes


def query(
    benchmark: Benchmark,
    partition: Partition,
    todo: Sequence[Task],
    on_progress: Callable[[Progress], None] | None = None,
) -> SessionResult:
    """Ask what the partition lacks. Raises StoreError, BudgetError or ProviderError when that cannot start."""
    respond = None
    if partition.spec.provider == "simulated":
        respond = benchmark.respondent(partition.study, partition.spec)
    return query_partition(
        partition,
        todo,
        benchmark.modes(partition.spec),
        fingerprint=benchmark.fingerprint(partition),
        respond=respond,
        on_progress=on_progress,
    )


def write_failure(benchmark: Benchmark, partition: Partition, error: MetacogError) -> None:
    """Note in the partition's manifest why it could not be asked, so that the boards can name it.

    Nothing is noted while another process asks it: that one will say how it went.
    """
    if not isinstance(error, PartitionBusyError):
        record_failure(partition, str(error), benchmark.expected_rows(partition.study))


def imported_files(partition: Partition) -> list[tuple[str, int]]:
    """Return the journals of a replayed model: what they hold is all its answers depend on."""
    return sorted((path.name, path.stat().st_size) for path in partition.folder.glob("journal-*.jsonl"))


def transcript_preview(partition: Partition) -> pl.DataFrame:
    """Return a few answers to look at."""
    columns = ["item_id", "condition", "step", "status", "text", "latency_s"]
    return pl.DataFrame(pl.from_arrow(read_partition(partition.folder, columns).slice(0, 20)))


def asked_now(benchmark: Benchmark, partition: Partition) -> pl.DataFrame:
    """Return the partition's transcripts without answers to questions that are worded otherwise now.

    A complete partition has marked those itself. In one that stopped early, items not reached yet still hold their
    old answers, which must not be mixed with the new ones.
    """
    frame = pl.DataFrame(pl.from_arrow(read_partition(partition.folder)))
    profile = partition.known_profile()
    if partition.manifest().get("state") == "complete" or profile is None or profile.mode == "import":
        return frame
    now = identities(partition, profile, benchmark.tasks(partition.study, partition.spec))
    return frame.filter(pl.col("answer_id").is_in(now))
