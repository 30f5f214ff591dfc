"""What is queued is worked off by the daemon's sensor: one run per model and run, nothing twice, boards at the end."""

from typing import Any

import pytest
from dagster import (
    AssetKey,
    AssetMaterialization,
    DagsterInstance,
    SensorResult,
    SkipReason,
    build_sensor_context,
)

from metacog_assets import following, queue_sensor
from metacog_assets import request as asked
from metacog_assets.automation import score_and_publish
from metacog_assets.launch import Launcher
from metacog_assets.queue_sensor import queued_study
from metacog_assets.request import Request
from metacog_assets.study_file import current_study
from metacog_pipeline.errors import StoreError
from tests.assets.conftest import model


def tick(bench: Any) -> SensorResult | SkipReason:
    with build_sensor_context(instance=bench.instance) as context:
        found = queued_study(context)
    assert isinstance(found, SensorResult | SkipReason)
    return found


def requested(bench: Any) -> list[Any]:
    found = tick(bench)
    return list(found.run_requests or ()) if isinstance(found, SensorResult) else []


def work(bench: Any, request: Any) -> bool:
    """Do what the daemon and a worker do with a request for a run."""
    from metacog_assets.definitions import defs

    return (
        defs.resolve_job_def(request.job_name)
        .execute_in_process(
            instance=bench.instance,
            partition_key=request.partition_key,
            asset_selection=request.asset_selection,
            tags=dict(request.tags),
            raise_on_error=False,
            run_config=request.run_config,
        )
        .success
    )


def queue(bench: Any, **options: Any) -> Request:
    request = Request(**options)
    current_study().prepare()
    following.detach(Launcher(current_study(), bench.instance, quiet=True), request)
    return request


def work_off(bench: Any) -> list[str]:
    """Let the sensor look and do what it asks for, until it asks for nothing; return the tasks in order."""
    tasks: list[str] = []
    while found := requested(bench):
        for each in found:
            tasks.append(each.tags[asked.TASK])
            work(bench, each)
    return tasks


def test_nothing_queued_starts_nothing(bench):
    assert "nothing is queued" in str(tick(bench))


def test_a_request_is_worked_off_one_run_per_model_and_run(bench):
    queue(bench)
    assert work_off(bench) == ["metamedqa items", "metamedqa first 1", "metamedqa second 1", "publish"]
    assert asked.read(bench.instance).done
    assert bench.sql("select count(*) from progress where state = 'complete'") == [(2,)]
    queue(bench)
    assert work_off(bench) == [], "what is there is not made again"
    assert asked.read(bench.instance).done


def test_part_of_a_study_can_be_queued(bench):
    queue(bench, models=("second",), runs=(1,))
    assert work_off(bench) == ["metamedqa items", "metamedqa second 1", "publish"]


def test_what_is_under_way_is_not_started_twice_and_its_tags_say_whose_account_it_is(bench):
    bench.write(model("first"), model("gpt", base_url="http://127.0.0.1:1/v1", api_key_env="A_KEY"))
    queue(bench)
    (items,) = requested(bench)
    work(bench, items)
    first, gpt = requested(bench)
    assert gpt.tags["metacog/account"] == "openai:127.0.0.1:A_KEY" and "metacog/account" not in first.tags
    run = bench.instance.create_run_for_job(_job(first.job_name), tags=dict(first.tags))
    assert [each.tags[asked.TASK] for each in requested(bench)] == [gpt.tags[asked.TASK]]
    bench.instance.report_run_canceled(run)
    assert len(requested(bench)) == 2, "what was cancelled before it began is asked for again"


def _job(name: str) -> Any:
    from metacog_assets.definitions import defs

    return defs.resolve_job_def(name)


def test_a_run_that_dagster_runs_again_counts_as_under_way(bench):
    bench.write(model("first"))
    queue(bench)
    (items,) = requested(bench)
    tags = {**items.tags, "dagster/will_retry": "true"}
    run = bench.instance.create_run_for_job(_job(items.job_name), tags=tags)
    bench.instance.report_run_failed(run)
    assert requested(bench) == []
    bench.instance.add_run_tags(run.run_id, {"dagster/auto_retry_run_id": "another"})
    assert len(requested(bench)) == 1


def test_a_model_that_fails_is_named_and_does_not_stop_the_others(bench, capsys):
    dead = model("dead", base_url="http://127.0.0.1:1/v1", api_key_env="NOT_SET_ANYWHERE")
    bench.write(model("first"), dead)
    queue(bench)
    tasks = work_off(bench)
    assert tasks.count("metamedqa dead 1") <= 4 and tasks[-1] == "publish"
    code = following.watch(Launcher(current_study(), bench.instance))
    said = capsys.readouterr().err
    assert code != 0 and "dead" in said and "1 of 2 model runs complete" in said


def test_a_broken_study_file_is_said_and_waited_for(bench):
    queue(bench)
    text = bench.path.read_text()
    bench.path.write_text(text + "[[models]]\n")
    assert "models[2].name: missing" in str(tick(bench))
    assert "models[2].name: missing" in asked.read(bench.instance).note
    bench.path.write_text(text)
    assert len(requested(bench)) == 1 and asked.read(bench.instance).note == ""


def test_another_daemon_goes_on_where_the_first_was(bench):
    queue(bench)
    (items,) = requested(bench)
    work(bench, items)
    work(bench, requested(bench)[0])
    queue_sensor._LOOKS.clear()
    assert [each.tags[asked.TASK] for each in requested(bench)] == ["metamedqa second 1"]


@pytest.mark.filterwarnings(
    "ignore:Non-compliant tag keys:DeprecationWarning"
)  # Dagster's own tags of partitions
def test_nothing_is_scored_or_published_a_second_time_beside_a_request(bench):
    from metacog_assets.definitions import defs

    bench.write(model("first"))
    cursor = None

    def look():
        nonlocal cursor
        with build_sensor_context(
            instance=bench.instance, repository_def=defs.get_repository_def(), cursor=cursor
        ) as context:
            found = score_and_publish.evaluate_tick(context)
        cursor = found.cursor
        return [{key.path[-1] for key in each.asset_selection or ()} for each in found.run_requests or ()]

    assert any("metamedqa_items" in each for each in look()), "without a request the sensor does it"
    queue(bench)
    while wanted := requested(bench):
        assert look() == []
        assert all(work(bench, each) for each in wanted)
    assert asked.read(bench.instance).done and look() == []
    kept = current_study().home.transcripts / "benchmark=metamedqa" / "model=first" / "run=1"
    bench.instance.report_runless_asset_event(
        AssetMaterialization(AssetKey("metamedqa_transcripts"), partition="first|1")
    )
    assert kept.is_dir() and any("metamedqa_responses" in each for each in look()), (
        "what comes later is scored"
    )


def test_watching_without_a_request_says_so(bench, capsys):
    current_study().prepare()
    assert following.watch(Launcher(current_study(), bench.instance)) == 0
    assert "nothing is queued" in capsys.readouterr().err


def test_a_dagster_home_that_is_read_only_is_opened(tmp_path, monkeypatch):
    from metacog_assets import command

    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path / "absent"))
    monkeypatch.setattr(DagsterInstance, "get", DagsterInstance.ephemeral)
    with command._instance() as instance:
        assert instance.is_ephemeral


def test_what_a_lost_store_or_worker_cut_short_is_tried_again_later(bench, monkeypatch):
    bench.write(model("first"))
    queue(bench)
    (items,) = requested(bench)
    work(bench, items)
    (asking,) = requested(bench)
    with monkeypatch.context() as away:
        away.setattr("metacog_assets.work.query_partition", _away)
        work(bench, asking)
    assert requested(bench) == [], "not at once"
    monkeypatch.setattr(queue_sensor, "LOST_S", -1.0)
    queue_sensor._LOOKS.clear()
    (again,) = requested(bench)
    assert again.tags[asked.TASK] == asking.tags[asked.TASK] and "transcripts" in again.tags[asked.STAGES]
    run = bench.instance.create_run_for_job(_job(again.job_name), tags=dict(again.tags))
    bench.instance.report_run_failed(run)  # its worker is gone
    (again,) = requested(bench)
    assert "transcripts" in again.tags[asked.STAGES]
    assert work(bench, again)
    (boards,) = requested(bench)
    assert boards.tags[asked.TASK] == "publish" and work(bench, boards)
    assert requested(bench) == []
    assert following.watch(Launcher(current_study(), bench.instance, quiet=True)) == 0


def _away(*_: Any, **__: Any) -> None:
    raise StoreError("cannot write the store")
