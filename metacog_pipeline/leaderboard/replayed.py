"""Boards of a study in which nobody is asked, made in this process: answers are there already, only numbers are made."""

from __future__ import annotations

from metacog_pipeline.asking import construction, tasks
from metacog_pipeline.benchmark.bound import enabled
from metacog_pipeline.errors import StoreError
from metacog_pipeline.leaderboard.build import build
from metacog_pipeline.leaderboard.status import note_board, write_status
from metacog_pipeline.leaderboard.texts import grow_texts
from metacog_pipeline.querying.session import query_partition
from metacog_pipeline.scoring import cross_benchmark, files
from metacog_pipeline.study import Study, digests


def asks_nobody(study: Study) -> bool:
    """Whether every model of a study is replayed, and nobody judges or helps."""
    return all(each.provider == "replay" for each in study.askable)


def publish(study: Study) -> None:
    """Score what was imported and build the boards; what is current stays as it is. StoreError where a test failed."""
    failed: list[str] = []
    for benchmark in enabled(study):
        if not construction.items_current(benchmark):
            construction.build(benchmark)
        for partition in tasks.partitions(benchmark):
            stale = files.stale(benchmark, partition)
            if "transcripts" in stale:
                fingerprint = tasks.fingerprint(benchmark, partition)
                todo = tasks.tasks(benchmark, partition.spec)
                query_partition(partition, todo, benchmark.modes(partition.spec), fingerprint=fingerprint)
            if "responses" in stale and files.has_answers(partition):
                files.read(benchmark, partition)
            if stale and files.has_answers(partition):
                files.score(benchmark, partition)
        files.pool(benchmark)
        failed += files.compare(benchmark).failures
    cross_benchmark.publish(study)
    write_status(study)
    build(study.home.path)
    grow_texts(study.home.path)
    note_board(study)
    digests.note(study.home)
    if failed:
        raise StoreError(f"{len(failed)} tables could not be made: {failed[0]}")
