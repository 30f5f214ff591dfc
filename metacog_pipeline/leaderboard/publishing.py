"""Boards of kept answers, published in this process; and what other hosts made, brought before it is used."""

from __future__ import annotations

from metacog_pipeline.asking import construction, judging, tasks
from metacog_pipeline.asking.session import Partition, query_partition
from metacog_pipeline.benchmark.bound import Bound, enabled
from metacog_pipeline.errors import StoreError, reason_of
from metacog_pipeline.leaderboard.build import BuildResult, build
from metacog_pipeline.leaderboard.status import write_status
from metacog_pipeline.scoring import cross_benchmark, files, printed, staleness
from metacog_pipeline.storage import derived
from metacog_pipeline.study import Study
from metacog_pipeline.transcripts.shared import refresh


def publish(study: Study, *, asking: bool = True) -> None:
    """Score what is kept and build the boards; what is current stays. StoreError where a table could not be made."""
    # Without ``asking`` no partition is opened that lacks answers.
    failed: list[str] = []
    for benchmark in enabled(study):
        construction.build(benchmark)
        for partition in tasks.partitions(benchmark):
            _score(benchmark, partition, asking)
        files.pool(benchmark)
        failed += files.compare(benchmark).failures
        try:
            printed.write(benchmark)
        except Exception as error:  # keeps nothing back that was measured
            failed.append(f"{benchmark.name}_published: {reason_of(error)}")
    _, faults = build_boards(study)
    derived.send(study.home)
    failed += [f"{what}: {reason}" for what, reason in faults.items()]
    if failed:
        raise StoreError(f"{len(failed)} tables could not be made: {failed[0]}")


def build_boards(study: Study) -> tuple[BuildResult, dict[str, str]]:
    """Build the leaderboard of what was scored; return also why tables are empty that failed."""
    faults: dict[str, str] = {}
    try:
        cross_benchmark.publish(study)
    except Exception as error:  # what is computed in addition must not hold back the boards
        faults["cross_benchmark"] = reason_of(error)
    built_from = staleness.leaderboard_digest(study)
    write_status(study)
    result = build(study.home)
    staleness.note_leaderboard(study, built_from)
    return result, faults | {f"leaderboard.{name}": reason for name, reason in result.failures.items()}


def _score(benchmark: Bound, partition: Partition, asking: bool) -> None:
    stale = staleness.stale_stages(benchmark, partition)
    if "transcripts" in stale and asking:
        todo, fingerprint = tasks.tasks(benchmark, partition.spec), tasks.fingerprint(benchmark, partition)
        query_partition(partition, todo, benchmark.modes(partition.spec), fingerprint=fingerprint)
    if "responses" in stale and files.has_answers(partition):
        files.read(benchmark, partition)
    if "judgements" in stale and judging.judged_as(partition).manifest():
        files.read_judgements(benchmark, partition)
    if stale and files.has_answers(partition):
        files.score(benchmark, partition)


def catch_up(study: Study) -> None:
    """Bring what other hosts kept, made and published into the home of a study with a store; else do nothing."""
    if study.deploy.store is not None:
        study.prepare()
        refresh(study.home)
        derived.bring(study.home)
