"""Staleness: a file is rebuilt when what it was made from changes, and when nothing changes nothing is."""

from dataclasses import replace

import pytest

from metacog_pipeline import registry
from metacog_pipeline.asking import tasks
from metacog_pipeline.asking.endings import REASK, UNUSABLE
from metacog_pipeline.leaderboard.status import partition_states
from metacog_pipeline.llm.types import Status
from metacog_pipeline.scoring import files, printed, staleness
from metacog_pipeline.transcripts.folder import read_manifest, write_manifest
from metacog_pipeline.transcripts.store import keep_whole, standing_answers
from tests.studies import asked


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    found = asked(registry.load("selfknowledge"), tmp_path_factory.mktemp("one"))
    for each in tasks.partitions(found):
        files.read(found, each)
        files.score(found, each)
    files.pool(found)
    files.compare(found)
    printed.write(found)
    return found


def changed(bench, seed=None, **settings):
    """The benchmark in the same home under another seed, or with other settings."""
    study = bench.study
    own = study.study if seed is None else study.study.model_copy(update={"seed": seed})
    table = study.benchmarks[bench.name].model_copy(update=settings)
    other = {"study": own, "benchmarks": {**study.benchmarks, bench.name: table}}
    return type(bench).of(study.model_copy(update=other))


def test_nothing_is_stale_where_nothing_changed(bench):
    found = staleness.stale(bench.study)
    assert not (found.steps or found.partitions or found.compared)
    assert found.leaderboard and found.report, "which were never built"


def test_another_seed_makes_the_numbers_stale_and_not_the_answers_that_were_read(bench):
    other = changed(bench, seed=bench.seed + 1)
    for each in tasks.partitions(other):
        assert staleness.free_stages(other, each) == ("run_estimates",)
    assert staleness.comparisons_stale(other)


def test_another_setting_of_reading_makes_the_responses_stale(bench):
    other = changed(bench, yes_no="strict")
    stages = {each.stages for each in staleness.stale(other.study).partitions}
    assert stages == {("responses", "run_estimates")}


def test_a_file_that_is_gone_makes_its_own_stage_stale(bench):
    one, two = tasks.partitions(bench)
    path = files.run_estimates_path(one)
    kept = path.read_bytes()
    path.unlink()
    try:
        found = staleness.stale(bench.study)
        assert [(each.partition, each.stages) for each in found.partitions] == [(one, ("run_estimates",))]
        assert not staleness.stale_stages(bench, two)
    finally:
        path.write_bytes(kept)


@pytest.fixture
def built(bench):
    """The study with a leaderboard and a report that were just made."""
    study = bench.study
    study.home.leaderboard.write_bytes(b"tables")
    study.home.page.parent.mkdir(parents=True, exist_ok=True)
    study.home.page.write_text("page")
    staleness.note_leaderboard(study, staleness.leaderboard_digest(study))
    with staleness.noted_report(study):
        pass
    yield study
    study.home.leaderboard.unlink(missing_ok=True)


def test_a_leaderboard_is_stale_where_it_is_damaged_and_a_report_where_its_leaderboard_is_another(built):
    assert not staleness.leaderboard_stale(built) and not staleness.report_stale(built)
    built.home.leaderboard.write_bytes(b"table?")
    assert staleness.leaderboard_stale(built) and not staleness.report_stale(built)
    staleness.note_leaderboard(built, staleness.leaderboard_digest(built))
    assert not staleness.leaderboard_stale(built) and staleness.report_stale(built)


def test_a_leaderboard_is_stale_where_a_model_says_more_of_itself(built):
    other = [each.model_copy(update={"family": "another"}) for each in built.models]
    assert staleness.leaderboard_stale(built.model_copy(update={"models": other}))


def test_answers_that_are_to_be_asked_again_make_every_stage_stale(bench, monkeypatch):
    one = tasks.partitions(bench)[0]
    [record, *_] = standing_answers(one.folder)
    keep_whole(one.folder, [replace(record, answer_id="0" * 64, status=Status.TRUNCATED, reasoning_tokens=9)])
    assert staleness.stale_stages(bench, one) == ()
    monkeypatch.setenv(REASK, UNUSABLE)
    assert staleness.stale_stages(bench, one) == staleness.every_stage(bench)


def test_a_partition_that_was_complete_for_other_questions_is_incomplete(bench):
    study, folder = bench.study, tasks.partitions(bench)[0].folder
    assert partition_states(study)[0].state == "complete"
    before = read_manifest(folder)
    write_manifest(folder, {**before, "fingerprint": "of other questions"})
    try:
        assert partition_states(study)[0].state == "incomplete"
    finally:
        write_manifest(folder, before)
