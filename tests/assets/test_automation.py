"""What happens by itself while the UI is open, tick by tick: what costs nothing follows the files; nobody is asked."""

from dataclasses import dataclass
from typing import Any

import dagster as dg
import pytest

from metacog_assets.definitions import defs
from metacog_assets.partitions import ranges, sync_partitions
from metacog_assets.sensors import score_and_publish
from metacog_assets.study_file import current_study
from tests.provider.faults import FaultPlan

QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
QUESTIONS = {
    f"metamedqa/{step}" for step in ("medqa", "screened", "glianorex", "edits", "fictional", "items")
}
ANSWERS = {"metamedqa/transcripts"}
NUMBERS = {"metamedqa/responses", "metamedqa/run_estimates"}
BOARDS = {"metamedqa/comparisons", "leaderboard", "report"}


@dataclass
class Daemon:
    """Ticks the sensor as the daemon does, and runs what it requests."""

    bench: Any

    def tick(self) -> dict[str | None, set[str]]:
        """Return what the sensor requests, by partition, without running it."""
        return {
            each.partition_key: {key.to_user_string() for key in each.asset_selection or ()}
            for each in self._evaluated().run_requests or ()
        }

    def follow(self) -> list[set[str]]:
        """Run what the sensor requests until that is nothing; return the assets of each run."""
        done = []
        while requests := self._evaluated().run_requests:
            assert len(done) < 30, "the sensor does not come to rest"
            for each in requests:
                names = {key.to_user_string() for key in each.asset_selection or ()}
                self.run(names, each.partition_key, {"dagster/run_key": str(each.run_key)})
                done.append(names)
        return done

    def run(self, names: set[str], partition: str | None = None, more: dict[str, str] | None = None) -> bool:
        """Run assets, as the daemon's run does; return whether all went well."""
        tags: dict[str, str] = {}
        if partition:
            model, _, run = partition.partition("|")
            [(found, _)] = ranges({(model, int(run))}, [model])
            tags = dict(found)
        keys = [dg.AssetKey.from_user_string(name) for name in names]
        job = defs.resolve_implicit_job_def_def_for_assets(keys)
        assert job is not None
        return job.execute_in_process(
            instance=self.bench.instance,
            tags={**tags, **(more or {})},
            asset_selection=keys,
            run_config=QUIET,
            raise_on_error=False,
        ).success

    def said(self) -> str:
        """Return why the sensor skips."""
        with dg.build_sensor_context(instance=self.bench.instance) as context:
            found = score_and_publish(context)
        assert isinstance(found, dg.SkipReason), found
        return str(found.skip_message)

    def _evaluated(self) -> dg.SensorResult:
        with dg.build_sensor_context(instance=self.bench.instance) as context:
            found = score_and_publish(context)
        return found if isinstance(found, dg.SensorResult) else dg.SensorResult()


@pytest.fixture
def daemon(bench):
    current_study().prepare()
    sync_partitions(current_study(), bench.instance)
    return Daemon(bench)


def models(bench: Any) -> set[str]:
    return set(bench.instance.get_dynamic_partitions("model"))


def test_items_are_built_nobody_is_asked_and_a_model_that_a_person_asked_stands_on_the_board(daemon):
    assert daemon.tick() == {None: QUESTIONS}
    assert daemon.run(QUESTIONS)
    assert all(not names & ANSWERS for names in daemon.follow())
    assert daemon.run(ANSWERS, "first|1")  # as a person does by one click
    assert daemon.tick() == {"first|1": NUMBERS}
    assert daemon.follow() == [NUMBERS, BOARDS]
    assert daemon.tick() == {}, "what one run has done is not asked for again"
    coverage = "select model, estimate from leaderboard where measure = 'coverage' order by model"
    assert daemon.bench.sql(coverage) == [("first", 1.0), ("second", 0.0)]


def test_a_new_model_has_a_partition_at_the_next_tick_and_a_retired_one_leaves(daemon, simulated):
    daemon.bench.launch()
    assert models(daemon.bench) == {"first", "second"}
    daemon.bench.write(simulated("second"), simulated("third"))
    assert daemon.tick() == {None: BOARDS}, "boards listed other models"
    assert models(daemon.bench) == {"second", "third"}
    assert daemon.run(ANSWERS, "third|1")
    assert daemon.follow() == [NUMBERS, BOARDS]
    found = daemon.bench.sql("select distinct model from leaderboard where source <> 'published'")
    assert {name for (name,) in found} == {"second", "third"}
    daemon.bench.write(limit=8)
    assert daemon.follow() == [BOARDS], "new questions make boards stale, and nobody is asked them"


def test_what_was_answered_before_a_step_failed_is_scored_and_the_board_says_why(daemon, http, provider):
    daemon.bench.write(http("first"))
    assert daemon.bench.launch() == 0
    daemon.bench.write(http("first"), http("second", max_concurrency=1), limit=12)
    daemon.follow()
    provider.server.provider.use(FaultPlan(rates={"unauthorized": 0.5}))
    assert not daemon.run(ANSWERS, "second|1")
    assert daemon.follow() == [NUMBERS, BOARDS]
    assert daemon.bench.sql("select state from progress where model = 'second'") == [("failed",)]
    assert daemon.tick() == {}, "nothing is asked for twice"


def test_what_fails_at_a_state_of_the_files_is_not_tried_again_at_it_and_holds_up_nothing(
    daemon, monkeypatch
):
    assert daemon.bench.launch() == 0
    daemon.bench.write(seed=1)
    assert {"metamedqa/run_estimates"} in daemon.tick().values()
    with monkeypatch.context() as patch:
        patch.setattr("metacog_assets.stages.files.score", lambda *given: 1 / 0)
        patch.setattr("metacog_assets.stages.files.read", lambda *given: 1 / 0)
        daemon.follow()
    assert daemon.tick() == {}


def test_partitions_under_way_are_left_alone_and_a_run_over_several_keeps_everything_waiting(daemon):
    assert daemon.run(QUESTIONS)
    assert daemon.run(ANSWERS, "first|1") and daemon.run(ANSWERS, "second|1")
    job, instance = defs.resolve_job_def("ask_metamedqa"), daemon.bench.instance
    one = instance.create_run_for_job(job, tags={"dagster/partition": "first|1"})
    assert daemon.tick() == {"second|1": NUMBERS}
    instance.create_run_for_job(job)
    assert "under way" in daemon.said()
    assert one.run_id


def test_a_study_file_that_is_wrong_for_a_moment_changes_nothing_and_says_so(daemon):
    daemon.tick()
    whole = daemon.bench.path.read_text()
    daemon.bench.path.write_text(whole.replace('provider = "simulated"', 'provider = "oops"'))
    assert "oops" in daemon.said()
    assert models(daemon.bench) == {"first", "second"}
