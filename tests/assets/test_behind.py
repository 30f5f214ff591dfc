"""What the free sensor finds in the files: answers of a step that failed are scored, and the boards have its reason."""

import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from dagster import AssetKey, BetaWarning, build_sensor_context

from metacog_assets.automation import score_and_publish
from metacog_assets.behind import late
from metacog_assets.definitions import defs
from metacog_assets.sensors import sync_partitions
from metacog_assets.study_file import bound, current_study
from metacog_pipeline.asking import judging, tasks
from metacog_pipeline.asking.session import Partition, record_failure
from metacog_pipeline.benchmark.bound import bound as benchmark_of
from metacog_pipeline.errors import StudyError
from metacog_pipeline.llm.server.faults import FaultPlan
from metacog_pipeline.scoring import files
from metacog_pipeline.study import load_study
from metacog_pipeline.study.frames import read_frame, write_frame
from tests.assets.test_medley import run, write

QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
NUMBERS = {"metamedqa_responses", "metamedqa_run_estimates"}
ITEMS = 6
# Dagster's own tags of partitions
pytestmark = pytest.mark.filterwarnings("ignore:Non-compliant tag keys:DeprecationWarning")


@dataclass
class Ui:
    """A UI with its free sensor on, whose person materializes what asks."""

    bench: Any
    cursor: str | None = None

    def look(self) -> list[Any]:
        """Return the runs that one look asks for."""
        with (
            warnings.catch_warnings(action="ignore", category=BetaWarning),
            build_sensor_context(
                instance=self.bench.instance, repository_def=defs.get_repository_def(), cursor=self.cursor
            ) as context,
        ):
            found = score_and_publish.evaluate_tick(context)
        self.cursor = found.cursor
        return list(found.run_requests or ())

    def run(self, names: Sequence[AssetKey], partition: str | None = None, **tags: str) -> bool:
        job = defs.resolve_implicit_global_asset_job_def()
        return job.execute_in_process(
            instance=self.bench.instance,
            partition_key=partition,
            asset_selection=list(names),
            run_config=QUIET,
            tags=tags,
            raise_on_error=False,
        ).success

    def materialize(self, name: str, model: str) -> bool:
        return self.run([AssetKey(name)], f"{model}|1")

    def settle(self) -> list[tuple[str | None, set[str]]]:
        """Look, and run what is asked for, until nothing is; return the partition and the assets of each run."""
        done = []
        while requests := self.look():
            assert len(done) < 20, "it goes in a circle"
            for each in requests:
                done.append((each.partition_key, {key.path[-1] for key in each.asset_selection}))
                self.run(each.asset_selection, each.partition_key, **each.tags)
        return done


@pytest.fixture
def ui(bench, simulated):
    """A finished study of one simulated model in a UI that has come to rest."""
    bench.write(simulated("first"))
    assert bench.launch() == 0
    opened = Ui(bench)
    opened.settle()
    return opened


def add(ui: Ui, *models: dict[str, object]) -> None:
    """Add models to the study, as a person does in its file, until the boards name them."""
    ui.bench.write(*ui.bench.models, *models)
    sync_partitions(current_study(), ui.bench.instance)
    ui.settle()


def progress(ui: Ui, model: str) -> tuple[object, ...]:
    return ui.bench.sql(f"select state, message from progress where model = '{model}'")[0]


def coverage(ui: Ui, model: str) -> object:
    return ui.bench.sql(f"select max(coverage) from leaderboard where model = '{model}'")[0][0]


def test_a_model_that_cannot_be_asked_has_its_reason_on_the_boards_without_anything_else_being_made(ui, http):
    add(ui, http("keyless", api_key_env="METACOG_TEST_NO_SUCH_KEY"))
    assert progress(ui, "keyless")[0] == "missing"
    assert not ui.materialize("metamedqa_transcripts", "keyless")
    assert [each for each, _ in ui.settle()] == [None], "boards only, once"
    state, message = progress(ui, "keyless")
    assert state == "failed" and "METACOG_TEST_NO_SUCH_KEY" in str(message)
    assert coverage(ui, "keyless") == 0
    assert ui.settle() == [] and not ui.materialize("metamedqa_transcripts", "keyless")
    assert len(ui.settle()) == 1, "a second attempt has a time of its own"


def test_answers_kept_when_the_money_ends_are_scored_and_nobody_is_asked_for_the_rest(ui, http, provider):
    add(ui, http("poor", max_concurrency=1))
    provider.server.provider.use(FaultPlan(script=(None, None, None), rates={"quota": 1.0}))
    assert not ui.materialize("metamedqa_transcripts", "poor")
    asked = provider.calls["poor"]
    assert ("poor|1", NUMBERS) in ui.settle()
    assert ui.settle() == [] and provider.calls["poor"] == asked
    assert 0 < float(str(coverage(ui, "poor"))) < 1
    assert progress(ui, "poor")[0] == "failed"


def test_answers_kept_when_a_run_was_terminated_are_scored(ui, http, provider):
    add(ui, http("slow"))
    study = current_study()
    assert ui.materialize("metamedqa_transcripts", "slow")
    ui.settle()
    partition = Partition(study, "metamedqa", study.model("slow"), 1)
    record_failure(partition, "interrupted", ITEMS)  # as a session that is told to end leaves it
    assert ("slow|1", NUMBERS) in ui.settle()
    assert ui.settle() == [] and provider.calls["slow"] == ITEMS


def test_what_fails_while_it_catches_up_is_not_tried_in_a_circle(ui, http, monkeypatch):
    add(ui, http("odd"))
    study = current_study()
    assert ui.materialize("metamedqa_transcripts", "odd")
    with monkeypatch.context() as broken:
        broken.setattr(files, "read", _fails)
        runs = [names for each, names in ui.settle() if each == "odd|1"]
        assert runs == [NUMBERS, NUMBERS], "Dagster's own look, and once from the files"
        assert ui.settle() == []
    record_failure(Partition(study, "metamedqa", study.model("odd"), 1), "no key", ITEMS)
    assert ("odd|1", NUMBERS) in ui.settle(), "something newer is there"


def _fails(*_: Any) -> None:
    raise StudyError("it cannot be read")


def test_what_a_check_refused_is_not_passed_on(ui):
    partition = Partition(current_study(), "metamedqa", current_study().model("first"), 1)
    path = judging.responses_path(partition)
    write_frame(read_frame(path), path, "")  # as a file of the wrong length is kept
    assert late(bound("metamedqa"), partition) == ()


def test_a_home_that_was_copied_in_any_order_is_not_scored_again(ui):
    partition = Partition(current_study(), "metamedqa", current_study().model("first"), 1)
    os.utime(files.run_estimates_path(partition), (1, 1))
    os.utime(judging.responses_path(partition), (2, 2))
    assert ui.settle() == []


def test_numbers_and_boards_wait_for_runs_that_make_them_anyway(ui):
    study = current_study()
    record_failure(Partition(study, "metamedqa", study.model("first"), 1), "no key", ITEMS)
    job = defs.resolve_implicit_global_asset_job_def()
    selected = frozenset({AssetKey("metamedqa_transcripts")})
    asking = ui.bench.instance.create_run_for_job(
        job.get_subset(asset_selection=selected),
        asset_selection=selected,
        tags={"dagster/partition": "first|1"},
    )
    assert [each.partition_key for each in ui.look()] == [None], "the boards name the reason meanwhile"
    ui.bench.instance.report_run_canceled(asking)
    (numbers,) = ui.look()
    assert numbers.partition_key == "first|1"
    ui.bench.instance.create_run_for_job(
        job.get_subset(asset_selection=frozenset(numbers.asset_selection)),
        asset_selection=frozenset(numbers.asset_selection),
        tags=numbers.tags,
    )
    assert ui.look() == []


def test_numbers_do_not_wait_for_judges_that_failed(tmp_path):
    study = load_study(write(tmp_path, judges=["c"], conditions=["normal"]))
    run(study.path)
    benchmark = benchmark_of(study, "medley")
    partition = tasks.partitions(benchmark)[0]
    assert late(benchmark, partition) == ()
    kept, judged = judging.judged_as(partition), judging.judgements_path(study.home, partition)
    record_failure(kept, "the budget is used up", 1)
    os.utime(judged)  # some were judged, and read
    assert late(benchmark, partition) == ("run_estimates",)
    files.score(benchmark, partition)
    assert late(benchmark, partition) == ()
    record_failure(kept, "no key", 1)
    for path in (judged, files.run_estimates_path(partition)):
        path.unlink()  # nobody was ever judged
    assert late(benchmark, partition) == ("run_estimates",)
