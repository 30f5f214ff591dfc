"""Staleness: a file is rebuilt when what it was made from changes, and when nothing changes nothing is."""

from typing import Any

import pytest

from metacog_pipeline import registry
from metacog_pipeline.asking import tasks
from metacog_pipeline.conformance import try_benchmark
from metacog_pipeline.scoring import files, printed, staleness


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    found: Any = try_benchmark(registry.load("selfknowledge"), tmp_path_factory.mktemp("one")).benchmark
    for each in tasks.partitions(found):
        files.read(found, each)
        files.score(found, each)
    files.pool(found)
    files.compare(found)
    printed.write(found)
    return found


def changed(bench, seed=None, **settings):
    """The benchmark in the same home under another seed, or with other settings."""
    study = bench.context.study
    own = study.study if seed is None else study.study.model_copy(update={"seed": seed})
    table = study.benchmarks[bench.name].model_copy(update=settings)
    other = {"study": own, "benchmarks": {**study.benchmarks, bench.name: table}}
    return type(bench).of(study.model_copy(update=other))


def test_nothing_is_stale_where_nothing_changed(bench):
    found = staleness.stale(bench.context.study)
    assert not (found.steps or found.waiting or found.partitions or found.compared)
    assert found.leaderboard and found.report, "which were never built"


def test_another_seed_makes_the_numbers_stale_and_not_the_answers_that_were_read(bench):
    other = changed(bench, seed=bench.context.seed + 1)
    for each in tasks.partitions(other):
        assert staleness.free_stages(other, each) == ("run_estimates",)
    assert staleness.comparisons_stale(other)


def test_another_setting_of_reading_makes_the_responses_stale(bench):
    other = changed(bench, yes_no="strict")
    stages = {each.stages for each in staleness.stale(other.context.study).partitions}
    assert stages == {("responses", "run_estimates")}


def test_a_file_that_is_gone_makes_its_own_stage_stale(bench):
    one, two = tasks.partitions(bench)
    path = files.run_estimates_path(one)
    kept = path.read_bytes()
    path.unlink()
    try:
        found = staleness.stale(bench.context.study)
        assert [(each.partition, each.stages) for each in found.partitions] == [(one, ("run_estimates",))]
        assert not staleness.stale_stages(bench, two)
    finally:
        path.write_bytes(kept)
