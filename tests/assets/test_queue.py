"""What is queued is worked off by the daemon's sensor: one run per model and run, nothing twice, boards at the end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from dagster import DagsterInstance, SensorResult, SkipReason, build_sensor_context

from metacog_assets import following, queue_sensor
from metacog_assets import request as asked
from metacog_assets.launch import Launcher
from metacog_assets.queue_sensor import queued_study
from metacog_assets.request import Request
from metacog_assets.study_file import current_study
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
    current_study().home.prepare()
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


def test_nothing_queued_starts_nothing(bench: Any) -> None:
    assert "nothing is queued" in str(tick(bench))


def test_a_request_is_worked_off_one_run_per_model_and_run(bench: Any) -> None:
    queue(bench)
    assert work_off(bench) == ["metamedqa items", "metamedqa first 1", "metamedqa second 1", "publish"]
    assert asked.read(bench.instance).done
    assert bench.sql("select count(*) from progress where state = 'complete'") == [(2,)]
    queue(bench)
    assert work_off(bench) == [], "what is there is not made again"
    assert asked.read(bench.instance).done


def test_part_of_a_study_can_be_queued(bench: Any) -> None:
    queue(bench, models=("second",), runs=(1,))
    assert work_off(bench) == ["metamedqa items", "metamedqa second 1", "publish"]


def test_what_is_under_way_is_not_started_twice_and_its_tags_say_whose_account_it_is(bench: Any) -> None:
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


def test_a_run_that_dagster_runs_again_counts_as_under_way(bench: Any) -> None:
    bench.write(model("first"))
    queue(bench)
    (items,) = requested(bench)
    tags = {**items.tags, "dagster/will_retry": "true"}
    run = bench.instance.create_run_for_job(_job(items.job_name), tags=tags)
    bench.instance.report_run_failed(run)
    assert requested(bench) == []
    bench.instance.add_run_tags(run.run_id, {"dagster/auto_retry_run_id": "another"})
    assert len(requested(bench)) == 1


def test_a_model_that_fails_is_named_and_does_not_stop_the_others(bench: Any, capsys: Any) -> None:
    dead = model("dead", base_url="http://127.0.0.1:1/v1", api_key_env="NOT_SET_ANYWHERE")
    bench.write(model("first"), dead)
    queue(bench)
    tasks = work_off(bench)
    assert tasks.count("metamedqa dead 1") <= 4 and tasks[-1] == "publish"
    code = following.watch(Launcher(current_study(), bench.instance))
    said = capsys.readouterr().err
    assert code != 0 and "dead" in said and "1 of 2 model runs complete" in said


def test_a_broken_study_file_is_said_and_waited_for(bench: Any) -> None:
    queue(bench)
    text = bench.path.read_text()
    bench.path.write_text(text + "[[models]]\n")
    assert "models[2].name: missing" in str(tick(bench))
    assert "models[2].name: missing" in asked.read(bench.instance).note
    bench.path.write_text(text)
    assert len(requested(bench)) == 1 and asked.read(bench.instance).note == ""


def test_another_daemon_goes_on_where_the_first_was(bench: Any) -> None:
    queue(bench)
    (items,) = requested(bench)
    work(bench, items)
    work(bench, requested(bench)[0])
    queue_sensor._LOOKS.clear()
    assert [each.tags[asked.TASK] for each in requested(bench)] == ["metamedqa second 1"]


def test_watching_without_a_request_says_so(bench: Any, capsys: Any) -> None:
    current_study().home.prepare()
    assert following.watch(Launcher(current_study(), bench.instance)) == 0
    assert "nothing is queued" in capsys.readouterr().err


def test_a_dagster_home_that_is_read_only_is_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from metacog_assets import command

    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path / "absent"))
    monkeypatch.setattr(DagsterInstance, "get", DagsterInstance.ephemeral)
    with command._instance() as instance:
        assert instance.is_ephemeral
