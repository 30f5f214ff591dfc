"""What the automation sensor asks for, tick by tick."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import pytest
from dagster import AssetKey, AssetMaterialization, BetaWarning, evaluate_automation_conditions

from assets.definitions import defs
from assets.sensors import sync_partitions
from assets.study_file import current_study

QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
QUESTIONS = {"medqa_source", "glianorex_source", "metamedqa_edits", "metamedqa_items"}
PARTITION = {"metamedqa_transcripts", "metamedqa_observations", "metamedqa_estimates"}
OFFICIAL = "leaderboard/board_official"
Requests = dict[str | None, set[str]]


@dataclass
class Daemon:
    """Evaluates the conditions as the daemon does, and pretends or really runs what is asked for."""

    bench: Any
    cursor: Any = None

    def tick(self) -> Requests:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", BetaWarning)
            result = evaluate_automation_conditions(
                defs=defs, instance=self.bench.instance, cursor=self.cursor
            )
        self.cursor = result.cursor
        asked: Requests = {}
        for key in defs.resolve_asset_graph().get_all_asset_keys():
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
def daemon(bench: Any) -> Daemon:
    study = current_study()
    study.home.prepare()
    sync_partitions(study, bench.instance)
    return Daemon(bench)


def test_what_is_missing_when_automation_starts_is_asked_for(daemon: Daemon) -> None:
    first = daemon.tick()
    assert first[None] >= QUESTIONS
    assert set(first) == {None}, "nobody is asked before there are questions"
    daemon.pretend(first)
    second = daemon.tick()
    assert {key: names for key, names in second.items() if key} == {
        "first|1": PARTITION,
        "second|1": PARTITION,
    }


def test_partitions_missing_beside_finished_ones_are_asked_for_at_the_first_tick(daemon: Daemon) -> None:
    daemon.made(QUESTIONS)
    daemon.made(PARTITION, "first|1")
    assert {key: names for key, names in daemon.tick().items() if key} == {"second|1": PARTITION}


def test_a_new_model_asks_for_its_own_partition_and_then_the_boards(daemon: Daemon, simulated: Any) -> None:
    daemon.bench.launch()
    for _ in range(3):
        daemon.pretend(daemon.tick())
    daemon.bench.write(simulated("first"), simulated("second"), simulated("third"))
    sync_partitions(current_study(), daemon.bench.instance)
    asked = daemon.tick()
    assert asked == {"third|1": PARTITION}
    assert daemon.run(asked["third|1"], "third|1")
    boards = daemon.tick()
    assert set(boards) == {None}
    assert {"metamedqa_comparisons", "leaderboard/board", "leaderboard/board_partitions", OFFICIAL} <= boards[
        None
    ]
    assert daemon.run(boards[None])
    assert daemon.tick() == {}, "what one run has done is not asked for again"
    assert len(daemon.bench.sql("select distinct model from board_official")) == 3


def test_a_partition_that_failed_waits_for_a_person_and_holds_up_only_the_official_board(
    daemon: Daemon, simulated: Any, http: Any
) -> None:
    daemon.bench.write(simulated("first"), http("second", api_key_env="METACOG_TEST_NO_SUCH_KEY"))
    assert daemon.run(QUESTIONS)
    asked = daemon.tick()
    assert daemon.run(asked["first|1"], "first|1")
    assert not daemon.run(asked["second|1"], "second|1")
    boards = daemon.tick()
    assert set(boards) == {None}
    assert "leaderboard/board" in boards[None]
    assert OFFICIAL not in boards[None]
    assert daemon.run(boards[None])
    assert dict(daemon.bench.sql("select model, state from board_partitions")) == {
        "first": "complete",
        "second": "failed",
    }
    for _ in range(3):
        later = daemon.tick()
        assert set(later) <= {None}
        daemon.pretend(later)


def test_several_partitions_answered_between_two_ticks_are_scored_once(daemon: Daemon) -> None:
    daemon.made(QUESTIONS)
    asked = daemon.tick()
    for partition in ("first|1", "second|1"):
        assert asked[partition] == PARTITION
    daemon.pretend({None: asked.get(None, set())})
    daemon.run(QUESTIONS)
    daemon.tick()
    for partition in ("first|1", "second|1"):
        assert daemon.run(PARTITION, partition)
    assert set(daemon.tick()) == {None}


def test_answers_that_come_while_a_board_is_made_reach_the_next_board(daemon: Daemon) -> None:
    daemon.made(QUESTIONS)
    daemon.made(PARTITION, "first|1")
    daemon.pretend({None: daemon.tick().get(None, set())})
    daemon.pretend(daemon.tick())
    daemon.tick()
    daemon.made(PARTITION, "first|1")
    board = daemon.tick()[None]
    daemon.made(board)  # the board is made, and then, before the next tick, another partition is answered
    daemon.made(PARTITION, "second|1")
    assert "leaderboard/board" in daemon.tick()[None]


def test_new_answers_are_parsed_and_scored(daemon: Daemon) -> None:
    daemon.made(QUESTIONS)
    for partition in ("first|1", "second|1"):
        daemon.made(PARTITION, partition)
    for _ in range(3):
        daemon.pretend(daemon.tick())
    daemon.made(["metamedqa_transcripts"], "second|1")
    asked = daemon.tick()
    assert asked["second|1"] == {"metamedqa_observations", "metamedqa_estimates"}
    assert "first|1" not in asked


def test_new_questions_are_parsed_again_but_nobody_is_asked_by_itself(daemon: Daemon) -> None:
    daemon.made(QUESTIONS)
    for partition in ("first|1", "second|1"):
        daemon.made(PARTITION, partition)
    for _ in range(3):
        daemon.pretend(daemon.tick())
    daemon.made(["metamedqa_items"])
    asked = daemon.tick()
    assert all("metamedqa_transcripts" not in names for names in asked.values())


def test_everything_complete_before_automation_was_switched_on_still_makes_the_board_official(
    daemon: Daemon,
) -> None:
    daemon.made(QUESTIONS)
    for partition in ("first|1", "second|1"):
        daemon.made(PARTITION, partition)
    asked = [daemon.tick(), daemon.tick()]
    assert any(OFFICIAL in each.get(None, set()) for each in asked)
