"""The Launchpad of an asset that asks: a dry run, the first few questions, another lane."""

import os
from typing import Any

import pytest
from dagster import AssetKey, AssetRecordsFilter, DagsterInvalidConfigError

from metacog_assets import outcomes
from metacog_assets.definitions import defs
from metacog_assets.run_settings import Asking, Lane
from metacog_assets.sensors import sync_partitions
from metacog_assets.study_file import current_study
from metacog_pipeline.asking.session import Partition
from metacog_pipeline.asking.variables import LANE
from metacog_pipeline.errors import StudyError

KEY = AssetKey("metamedqa_transcripts")
ITEMS = 6


@pytest.fixture
def study(bench, http):
    """A study whose items are built and whose model, asked over HTTP, has not been asked."""
    bench.write(http("first"))
    current_study().prepare()
    sync_partitions(current_study(), bench.instance)
    run(bench, ["medqa", "glianorex", "edits", "fictional", "items"])
    return bench


def run(bench: Any, names: list[str], model: str = "first", **config: object) -> Any:
    """Run assets as the Launchpad does, with ``config`` for the one that asks ``model``."""
    asks = bool(config) or "transcripts" in names
    return defs.resolve_implicit_global_asset_job_def().execute_in_process(
        instance=bench.instance,
        partition_key=f"{model}|1" if asks else None,
        asset_selection=[AssetKey(f"metamedqa_{name}") for name in names],
        run_config={
            "loggers": {"console": {"config": {"log_level": "CRITICAL"}}},
            **({"ops": {"metamedqa_transcripts": {"config": config}}} if config else {}),
        },
        raise_on_error=False,
    )


def manifest(bench: Any) -> dict[str, object]:
    study = current_study()
    return dict(Partition(study, "metamedqa", study.model("first"), 1).manifest())


def test_a_dry_run_asks_nobody_makes_nothing_and_says_what_is_left(study, provider):
    done = run(study, ["transcripts"], dry_run=True)
    assert done.success and provider.calls == {} and manifest(study) == {}
    assert study.instance.get_latest_materialization_event(KEY) is None
    (check,) = done.get_asset_check_evaluations()
    assert not check.passed and check.metadata["first|1 calls to make"].value == ITEMS
    seen = study.instance.fetch_observations(
        AssetRecordsFilter(asset_key=KEY, asset_partitions=["first|1"]), limit=1
    ).records
    assert seen[0].asset_observation.metadata["calls to make"].value == ITEMS
    run(study, ["transcripts"], dry_run=True, limit=2)
    assert provider.calls == {}


def test_a_limit_asks_the_first_questions_and_the_rest_stays_to_be_asked(study, provider):
    assert run(study, ["transcripts"], limit=2).success
    assert provider.calls == {"first": 2}
    state = manifest(study)
    assert (state["state"], state["n_expected"], state["n_answered"]) == ("incomplete", ITEMS, 2)
    assert run(study, ["transcripts"], limit=1).success
    assert provider.calls == {"first": 2}, "what was begun is kept"
    assert run(study, ["transcripts"], limit=ITEMS + 5).success
    assert provider.calls == {"first": ITEMS} and manifest(study)["state"] == "complete"


def test_answers_of_a_limited_run_are_shown_with_their_coverage(study):
    run(study, ["transcripts"], limit=2)
    done = run(study, ["transcripts", "responses", "run_estimates"], limit=2)
    assert done.success and manifest(study)["n_answered"] == 2
    passed = {check.check_name: check.passed for check in done.get_asset_check_evaluations()}
    assert passed == {"answered": False, "complete_and_readable": True, "sound_and_covered": False}


@pytest.mark.parametrize("more", [{}, {"dry_run": True}])
@pytest.mark.parametrize("limit", [0, -3])
def test_a_limit_below_one_asks_nobody_and_one_line_says_what_to_give(study, provider, limit, more):
    done = run(study, ["transcripts"], limit=limit, **more)
    (failed,) = [event for event in done.all_events if event.is_step_failure]
    (told,) = outcomes.of_step(done, failed)
    assert told.reason.startswith(f"limit: {limit} (in the settings of this run): give 1 or more")
    assert (told.exit_code, failed.step_failure_data.error.cause) == (StudyError.exit_code, None)
    assert provider.calls == {}


def test_a_limit_that_is_no_number_is_refused_before_a_run(study, provider):
    with pytest.raises(DagsterInvalidConfigError, match="limit"):
        run(study, ["transcripts"], limit="all")
    assert provider.calls == {}


def test_a_run_that_the_study_has_no_more_is_named_and_nobody_is_asked(study, provider):
    done = defs.resolve_implicit_global_asset_job_def().execute_in_process(
        instance=study.instance,
        asset_selection=[KEY],
        tags={"dagster/partition": "first|2"},
        raise_on_error=False,
    )
    (failed,) = [event for event in done.all_events if event.is_step_failure]
    (told,) = outcomes.of_step(done, failed)
    assert "study.toml: first, run 2 is not part of the study (runs = 1): raise runs" in told.reason
    assert told.exit_code == StudyError.exit_code and provider.calls == {}


def test_a_renamed_model_is_not_asked_again_from_the_ui_and_is_by_a_command_that_says_so(
    study, http, provider
):
    price = {"price_in": 1.0, "price_out": 1.0}
    study.write(http("first", **price))
    assert run(study, ["transcripts"]).success and provider.calls == {"first": ITEMS}
    study.write({**http("first", **price), "name": "second"})
    sync_partitions(current_study(), study.instance)
    done = run(study, ["transcripts"], model="second")
    (failed,) = [event for event in done.all_events if event.is_step_failure]
    assert f'{ITEMS} answers of "first" are kept' in str(failed.step_failure_data.error)
    assert provider.calls == {"first": ITEMS}
    partition = Partition(current_study(), "metamedqa", current_study().model("second"), 1)
    assert 'name it "first" again' in str(partition.manifest()["message"]), "for the boards"
    assert study.launch() == 0, "metacog run --reask renamed has looked"
    assert provider.calls == {"first": 2 * ITEMS}


def test_the_lane_holds_for_the_run_alone(monkeypatch):
    monkeypatch.delenv(LANE, raising=False)
    with Asking(lane=Lane.batch).chosen_lane():
        assert os.environ[LANE] == "batch"
    assert LANE not in os.environ
    monkeypatch.setenv(LANE, "batch")
    with Asking(lane=Lane.online).chosen_lane():
        assert os.environ[LANE] == "online"
    with Asking().chosen_lane():
        assert os.environ[LANE] == "batch"
    assert os.environ[LANE] == "batch"
