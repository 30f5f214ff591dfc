"""What the two sensors ask for, tick by tick: one for what is free, one for what costs money."""

import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import dagster as dg
import pytest
from dagster import AssetKey, AssetMaterialization, BetaWarning, evaluate_automation_conditions

from metacog_assets.automation import FOLLOW_WHAT_IS_WHOLE, ask_models, score_and_publish
from metacog_assets.definitions import defs
from metacog_assets.sensors import sync_partitions
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
        result = defs.resolve_implicit_global_asset_job_def().execute_in_process(
            instance=self.bench.instance,
            partition_key=partition,
            asset_selection=[AssetKey.from_user_string(name) for name in names],
            run_config=QUIET,
            raise_on_error=False,
        )
        return result.success


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
    assert "leaderboard/leaderboard" in daemon.tick()[None]


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
    assert "leaderboard/progress" in asked[None], "calls and states of partitions changed already"
    daemon.pretend({None: asked[None]})
    boards = daemon.tick()
    assert set(boards) == {None}
    assert {"metamedqa_comparisons", "leaderboard/leaderboard"} <= boards[None]
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
    assert daemon.run(NUMBERS, "first|1")
    daemon.pretend({None: asked.get(None, set())})
    boards = daemon.tick()
    assert set(boards) == {None}
    assert "leaderboard/leaderboard" in boards[None]
    assert daemon.run(boards[None])
    assert dict(daemon.bench.sql("select model, state from progress")) == {
        "first": "complete",
        "second": "failed",
    }
    for _ in range(3):
        later = daemon.tick()
        assert set(later) <= {None}
        daemon.pretend(later)


def test_several_partitions_answered_between_two_ticks_are_scored_once(daemon):
    daemon.made(QUESTIONS)
    daemon.run(QUESTIONS)
    daemon.pretend({None: daemon.tick().get(None, set())})
    for partition in ("first|1", "second|1"):
        assert daemon.run(PARTITION, partition)
    assert set(daemon.tick()) == {None}


def test_answers_that_come_while_a_board_is_made_reach_the_next_board(daemon):
    daemon.made(QUESTIONS)
    daemon.made(PARTITION, "first|1")
    daemon.pretend({None: daemon.tick().get(None, set())})
    daemon.pretend(daemon.tick())
    daemon.tick()
    daemon.made(PARTITION, "first|1")
    board = daemon.tick()[None]
    daemon.made(board)  # the board is made, and then, before the next tick, another partition is answered
    daemon.made(PARTITION, "second|1")
    assert "leaderboard/leaderboard" in daemon.tick()[None]


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
    assert any("leaderboard/leaderboard" in each.get(None, set()) for each in asked)


def test_no_judge_is_asked_about_answers_that_stopped_early():
    runs = dg.StaticPartitionsDefinition(["1", "2"])
    fails = {"1"}

    @dg.asset(partitions_def=runs)
    def transcripts(context: dg.AssetExecutionContext) -> None:
        if context.partition_key in fails:
            raise dg.Failure("the money ended")

    @dg.asset(partitions_def=runs, deps=[transcripts])
    def responses() -> None: ...

    @dg.asset(partitions_def=runs, deps=[responses], automation_condition=FOLLOW_WHAT_IS_WHOLE)
    def judgements() -> None: ...

    own = dg.Definitions(assets=[transcripts, responses, judgements])
    cursor = None

    def look() -> set[Any]:
        nonlocal cursor
        found = evaluate_automation_conditions(
            defs=own, instance=instance, asset_selection=dg.AssetSelection.all(), cursor=cursor
        )
        cursor = found.cursor
        return set(found.get_requested_partitions(judgements.key))

    def run(asset: dg.AssetsDefinition, run: str) -> None:
        job = own.resolve_implicit_global_asset_job_def()
        job.execute_in_process(
            instance=instance,
            asset_selection=[asset.key],
            partition_key=run,
            run_config=QUIET,
            raise_on_error=False,
        )

    with dg.DagsterInstance.ephemeral() as instance:
        assert look() == set()
        for each in ("1", "2"):
            run(transcripts, each)
            run(responses, each)  # what was answered is scored
        assert look() == {"2"}
        run(responses, "1")
        assert "1" not in look(), "nor when it is scored again"
        fails.clear()
        run(transcripts, "1")  # a person went on with it
        run(responses, "1")
        assert "1" in look()
