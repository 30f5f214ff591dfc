"""What the two sensors ask for, tick by tick: one for what is free, one for what costs money."""

import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import dagster as dg
import pytest
from dagster import AssetKey, AssetMaterialization, BetaWarning, evaluate_automation_conditions

from metacog_assets.automation import ask_models, score_and_publish, stale_files
from metacog_assets.definitions import defs
from metacog_assets.partitions import ranges, sync_partitions
from metacog_assets.study_file import current_study

QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
QUESTIONS = {f"metamedqa_{step}" for step in ("medqa", "glianorex", "edits", "fictional", "items")}
ANSWERS = {"metamedqa_transcripts"}
NUMBERS = {"metamedqa_responses", "metamedqa_run_estimates"}
PARTITION = ANSWERS | NUMBERS
Requests = dict[str | None, set[str]]


@dataclass
class Daemon:
    """Evaluates the conditions as the daemon does, and pretends or really runs what is asked for."""

    bench: Any
    asking: bool = True  # whether somebody switched on the sensor that asks models
    cursors: dict[str, Any] = field(default_factory=dict)

    def tick(self) -> Requests:
        """Return what all sensors that are on ask for, by partition."""
        asked: Requests = {}
        for sensor in (score_and_publish, ask_models) if self.asking else (score_and_publish,):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", BetaWarning)
                result = evaluate_automation_conditions(
                    defs=defs,
                    instance=self.bench.instance,
                    asset_selection=sensor.asset_selection,
                    cursor=self.cursors.get(sensor.name),
                )
            self.cursors[sensor.name] = result.cursor
            for key in sensor.asset_selection.resolve(defs.resolve_asset_graph()):
                for partition in result.get_requested_partitions(key):
                    asked.setdefault(partition, set()).add(key.to_user_string())
        return asked

    def pretend(self, asked: Requests) -> None:
        """Report everything that was asked for as made."""
        for partition, names in asked.items():
            self.made(names, partition)

    def made(self, names: Iterable[str], partition: str | None = None) -> None:
        for name in names:
            key = AssetKey.from_user_string(name)
            self.bench.instance.report_runless_asset_event(AssetMaterialization(key, partition=partition))

    def run(self, names: Iterable[str], partition: str | None = None) -> bool:
        """Really run assets, as the daemon's run does."""
        tags = {}
        if partition:
            model, _, run = partition.partition("|")
            [(tags, _)] = ranges({(model, int(run))}, [model])
        keys = [AssetKey(name) for name in names]
        job = defs.resolve_implicit_job_def_def_for_assets(keys)
        assert job is not None
        result = job.execute_in_process(
            instance=self.bench.instance,
            tags=dict(tags),
            asset_selection=keys,
            run_config=QUIET,
            raise_on_error=False,
        )
        return result.success

    def stale(self) -> list[dg.RunRequest]:
        """Return what the sensor that looks at the files asks for, when it has found the same twice."""
        for _ in range(2):
            with dg.build_sensor_context(
                instance=self.bench.instance, cursor=self.cursors.get("stale")
            ) as context:
                found = stale_files(context)
            assert isinstance(found, dg.SensorResult), found
            self.cursors["stale"] = found.cursor
        return list(found.run_requests or ())


@pytest.fixture
def daemon(bench):
    study = current_study()
    study.prepare()
    sync_partitions(study, bench.instance)
    return Daemon(bench)


def test_what_is_missing_when_automation_starts_is_asked_for(daemon):
    first = daemon.tick()
    assert first[None] >= QUESTIONS
    assert set(first) == {None}, "nobody is asked before there are questions"
    daemon.pretend(first)
    second = daemon.tick()
    assert {key: names for key, names in second.items() if key} == {
        "first|1": ANSWERS,
        "second|1": ANSWERS,
    }
    daemon.pretend(second)
    assert {key: names for key, names in daemon.tick().items() if key} == {
        "first|1": NUMBERS,
        "second|1": NUMBERS,
    }


def test_without_the_sensor_that_asks_nobody_is_asked_and_all_else_follows_the_answers(daemon):
    daemon.asking = False
    daemon.pretend(daemon.tick())
    for _ in range(3):
        quiet = daemon.tick()
        assert not any(quiet.values()) or set(quiet) == {None}
        daemon.pretend(quiet)
    daemon.made(ANSWERS, "first|1")  # as a person does by one click
    asked = daemon.tick()
    assert asked["first|1"] == NUMBERS
    assert "second|1" not in asked
    daemon.pretend(asked)
    assert "leaderboard" in daemon.tick()[None]


def test_partitions_missing_beside_finished_ones_are_asked_for_at_the_first_tick(daemon):
    daemon.made(QUESTIONS)
    daemon.made(PARTITION, "first|1")
    assert {key: names for key, names in daemon.tick().items() if key} == {"second|1": ANSWERS}


def test_a_new_model_asks_for_its_own_partition_and_then_the_boards(daemon, simulated):
    daemon.bench.launch()
    for _ in range(3):
        daemon.pretend(daemon.tick())
    daemon.bench.write(simulated("first"), simulated("second"), simulated("third"))
    sync_partitions(current_study(), daemon.bench.instance)
    assert daemon.tick() == {"third|1": ANSWERS}
    assert daemon.run(ANSWERS, "third|1")
    asked = daemon.tick()
    assert asked["third|1"] == NUMBERS
    assert daemon.run(NUMBERS, "third|1")
    boards = daemon.tick()
    assert set(boards) == {None}
    assert {"metamedqa_comparisons", "leaderboard"} <= boards[None]
    assert daemon.run(boards[None])
    assert daemon.tick() == {}, "what one run has done is not asked for again"
    assert len(daemon.bench.sql("select distinct model from leaderboard where source <> 'published'")) == 3


def test_a_partition_that_failed_waits_for_a_person_and_holds_up_no_board(daemon, simulated, http):
    daemon.bench.write(simulated("first"), http("second", api_key_env="METACOG_TEST_NO_SUCH_KEY"))
    assert daemon.run(QUESTIONS)
    assert daemon.tick() | {None: set()} == {"first|1": ANSWERS, "second|1": ANSWERS, None: set()}
    assert daemon.run(ANSWERS, "first|1")
    assert not daemon.run(ANSWERS, "second|1")
    asked = daemon.tick()
    assert {key: names for key, names in asked.items() if key} == {"first|1": NUMBERS}
    daemon.pretend({None: asked.get(None, set())})
    daemon.tick()
    assert daemon.run(NUMBERS, "first|1")
    boards = daemon.tick()
    assert set(boards) == {None}
    assert "leaderboard" in boards[None]
    assert daemon.run(boards[None])
    assert dict(daemon.bench.sql("select model, state from progress")) == {
        "first": "complete",
        "second": "failed",
    }
    for _ in range(3):
        later = daemon.tick()
        assert set(later) <= {None}
        daemon.pretend(later)


def test_new_answers_are_parsed_and_scored(daemon):
    daemon.made(QUESTIONS)
    for partition in ("first|1", "second|1"):
        daemon.made(PARTITION, partition)
    for _ in range(3):
        daemon.pretend(daemon.tick())
    daemon.made(["metamedqa_transcripts"], "second|1")
    asked = daemon.tick()
    assert asked["second|1"] == NUMBERS
    assert "first|1" not in asked


def test_new_questions_are_parsed_again_but_nobody_is_asked_by_itself(daemon):
    daemon.made(QUESTIONS)
    for partition in ("first|1", "second|1"):
        daemon.made(PARTITION, partition)
    for _ in range(3):
        daemon.pretend(daemon.tick())
    daemon.made(["metamedqa_items"])
    asked = daemon.tick()
    assert all("metamedqa_transcripts" not in names for names in asked.values())


def test_everything_complete_before_automation_was_switched_on_still_makes_the_board(daemon):
    daemon.made(QUESTIONS)
    for partition in ("first|1", "second|1"):
        daemon.made(PARTITION, partition)
    asked = [daemon.tick(), daemon.tick()]
    assert any("leaderboard" in each.get(None, set()) for each in asked)


def test_what_was_answered_before_a_step_failed_is_scored_once_and_the_board_says_why(daemon, http, provider):
    from tests.provider.faults import FaultPlan

    daemon.bench.write(http("first"))
    assert daemon.bench.launch() == 0
    daemon.bench.write(http("first"), http("second", max_concurrency=1), limit=12)
    sync_partitions(current_study(), daemon.bench.instance)
    assert daemon.run(["metamedqa_items"])
    provider.server.provider.use(FaultPlan(rates={"unauthorized": 0.5}))
    assert not daemon.run(ANSWERS, "second|1")
    numbers = daemon.stale()
    assert {str(each.partition_key) for each in numbers} >= {"second|1"}
    for each in numbers:
        assert daemon.run(
            [key.to_user_string() for key in each.asset_selection or ()], str(each.partition_key)
        )
    [boards] = daemon.stale()
    assert boards.partition_key is None
    assert daemon.run([key.to_user_string() for key in boards.asset_selection or ()])
    assert daemon.bench.sql("select state from progress where model = 'second'") == [("failed",)]
    assert daemon.stale() == [], "nothing is asked for twice"


def test_what_fails_at_a_state_of_the_files_is_not_tried_again_at_it(daemon):
    assert daemon.bench.launch() == 0
    daemon.bench.write(seed=1)
    [request, *_] = daemon.stale()
    started = daemon.bench.instance.create_run_for_job(
        defs.resolve_job_def("ask_metamedqa"), tags={"dagster/run_key": str(request.run_key)}
    )
    daemon.bench.instance.report_run_failed(started)
    assert request.run_key not in [each.run_key for each in daemon.stale()]
