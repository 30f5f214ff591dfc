"""A study with one benchmark that is asked, scored and published in this process."""

from metacog_pipeline.asking import construction, tasks
from metacog_pipeline.benchmark.bound import Bound, bound
from metacog_pipeline.leaderboard.build import build
from metacog_pipeline.leaderboard.status import write_status
from metacog_pipeline.scoring import cross_benchmark, files
from metacog_pipeline.study import Study
from tests.asking_in_process import ask


def scored(study: Study) -> Bound:
    """Ask the simulated models, score what they said, publish it, and return the benchmark."""
    study.prepare()
    benchmark = bound(study, study.enabled[0])
    construction.build(benchmark)
    for partition in tasks.partitions(benchmark):
        if partition.spec.provider == "simulated":
            ask(benchmark, partition)
            files.read(benchmark, partition)
            files.score(benchmark, partition)
    publish(benchmark)
    return benchmark


def publish(benchmark: Bound) -> None:
    """Build the board of the study of a scored benchmark."""
    study = benchmark.study
    files.pool(benchmark)
    files.compare(benchmark)
    cross_benchmark.publish(study)
    write_status(study)
    assert build(study.home).failures == {}
