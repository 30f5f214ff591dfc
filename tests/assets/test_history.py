"""The history of runs: Dagster's own files, kept open, with the events that somebody reads."""

import os
import sqlite3

import pytest
from dagster import (
    AssetCheckResult,
    AssetCheckSpec,
    AssetKey,
    DagsterEventType,
    DagsterInstance,
    Definitions,
    In,
    MaterializeResult,
    Nothing,
    Out,
    ReexecutionOptions,
    asset,
    define_asset_job,
    execute_job,
    in_process_executor,
    job,
    op,
    reconstructable,
)
from dagster._core.definitions.asset_checks.asset_check_spec import AssetCheckKey
from dagster._core.storage.asset_check_execution_record import AssetCheckExecutionRecordStatus

from metacog_assets import history
from metacog_pipeline.files import shipped

HOLDS = AssetCheckKey(AssetKey("made"), "holds")


@asset(check_specs=[AssetCheckSpec("holds", asset="made")])
def made() -> MaterializeResult:
    return MaterializeResult(check_results=[AssetCheckResult(check_name="holds", passed=True)])


@asset(deps=[made])
def failing() -> None:
    raise ValueError("for a reason")


DEFINITIONS = Definitions([made, failing], jobs=[define_asset_job("all")])


MENDED = "METACOG_TEST_MENDED"


@op(out=Out(Nothing))
def first():
    """Hand on nothing, as our assets do: what they made lies in the home."""


@op(ins={"before": In(Nothing)})
def second():
    if MENDED not in os.environ:
        raise ValueError("not mended")


@job(executor_def=in_process_executor)
def two_steps() -> None:
    second(first())


@pytest.fixture
def home(tmp_path, monkeypatch):
    (tmp_path / "dagster.yaml").write_text(shipped("data", "dagster.yaml").read_text())
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
def instance(home):
    with DagsterInstance.get() as opened:
        assert isinstance(opened.event_log_storage, history.Events)
        yield opened


def run_all(instance: DagsterInstance) -> str:
    found = DEFINITIONS.resolve_job_def("all").execute_in_process(instance=instance, raise_on_error=False)
    return found.run_id


def stored(instance: DagsterInstance, run: str) -> set[DagsterEventType]:
    return {each.dagster_event_type for each in instance.all_logs(run) if each.is_dagster_event}


@pytest.mark.parametrize("brief", [True, False])
def test_what_was_made_checked_and_failed_is_stored_brief_or_not(instance, brief):
    instance.event_log_storage.brief = brief  # type: ignore[attr-defined]
    run = run_all(instance)
    kinds = stored(instance, run)
    assert {DagsterEventType.STEP_SUCCESS, DagsterEventType.STEP_FAILURE} <= kinds
    assert (DagsterEventType.STEP_OUTPUT in kinds) is not brief
    assert (DagsterEventType.ASSET_CHECK_EVALUATION_PLANNED in kinds) is not brief
    assert (DagsterEventType.ASSET_MATERIALIZATION_PLANNED in kinds) is not brief
    for name in ("made", "failing"):  # among the assets, where what is under way and what failed is looked up
        planned = instance.event_log_storage.get_latest_planned_materialization_info(AssetKey(name))
        assert planned is not None and planned.run_id == run
        (record,) = instance.get_asset_records([AssetKey(name)])
        assert record.asset_entry.last_run_id == run
    assert instance.get_latest_materialization_event(AssetKey("made")) is not None
    assert instance.get_latest_materialization_event(AssetKey("failing")) is None
    (check,) = instance.event_log_storage.get_asset_check_execution_history(HOLDS, limit=5)
    assert check.run_id == run and check.status == AssetCheckExecutionRecordStatus.SUCCEEDED
    (failure,) = [
        each for each in instance.all_logs(run) if each.dagster_event_type == DagsterEventType.STEP_FAILURE
    ]
    assert "for a reason" in str(failure.dagster_event)


def test_a_table_that_is_there_is_looked_for_once(instance, monkeypatch):
    events = instance.event_log_storage
    looked: list[str] = []
    look = history.SqliteEventLogStorage.has_table
    monkeypatch.setattr(
        history.SqliteEventLogStorage, "has_table", lambda self, name: looked.append(name) or look(self, name)
    )
    for _ in range(2):
        assert events.has_table("event_logs") and not events.has_table("nothing")
    assert looked == ["event_logs", "nothing", "nothing"]


def test_a_check_that_never_ran_stays_planned(instance):
    instance.event_log_storage.brief = True  # type: ignore[attr-defined]
    job = DEFINITIONS.resolve_job_def("all")
    instance.create_run_for_job(job, asset_selection=frozenset({AssetKey("made"), AssetKey("failing")}))
    (check,) = instance.event_log_storage.get_asset_check_execution_history(HOLDS, limit=5)
    assert check.status == AssetCheckExecutionRecordStatus.PLANNED


def test_a_failed_brief_run_is_tried_again_from_its_failure(instance, monkeypatch):
    instance.event_log_storage.brief = True  # type: ignore[attr-defined]
    whole = reconstructable(two_steps)
    with execute_job(whole, instance=instance, raise_on_error=False) as before:
        assert not before.success
    monkeypatch.setenv(MENDED, "1")
    again = ReexecutionOptions.from_failure(before.run_id, instance)
    with execute_job(whole, instance=instance, reexecution_options=again) as after:
        assert after.success
        started = {each.step_key for each in after.all_events if each.is_step_start}
    assert started == {"second"}


def test_another_dagster_reads_the_same_files(home):
    with DagsterInstance.get() as ours:
        run = run_all(ours)
    assert not list((home / "history").rglob("*-wal"))  # closed: everything is in the files
    (home / "dagster.yaml").write_text("telemetry: {enabled: false}\n")
    with DagsterInstance.get() as plain:
        assert not isinstance(plain.event_log_storage, history.Events)
        assert [each.run_id for each in plain.get_runs()] == [run]
        older = run_all(plain)
    (home / "dagster.yaml").write_text(shipped("data", "dagster.yaml").read_text())
    with DagsterInstance.get() as ours:
        assert {each.run_id for each in ours.get_runs()} == {run, older}
        assert DagsterEventType.STEP_OUTPUT in stored(ours, older)


def test_few_files_of_runs_are_open_at_once(instance, monkeypatch):
    monkeypatch.setattr(history, "MOST_OPEN", 2)
    runs = [run_all(instance) for _ in range(3)]
    assert len(instance.event_log_storage._engines) <= 2  # type: ignore[attr-defined]
    assert all(DagsterEventType.STEP_FAILURE in stored(instance, run) for run in runs)


def test_a_write_waits_for_no_disk_and_keeps_the_file_whole(instance, home):
    run = run_all(instance)
    with instance.event_log_storage.run_connection(run) as connection:
        asked = [
            connection.exec_driver_sql(f"pragma {name}").scalar() for name in ("journal_mode", "synchronous")
        ]
    assert asked == ["wal", 1]
    with sqlite3.connect(home / "history" / "runs" / f"{run}.db") as other:  # readers are not kept out
        assert other.execute("select count(*) from event_logs").fetchone()[0] > 0


def test_wiping_leaves_nothing_open(instance):
    run = run_all(instance)
    instance.event_log_storage.wipe()
    assert instance.all_logs(run) == []
    assert run_all(instance) != run


def test_a_process_ended_while_it_made_the_tables_leaves_a_home_that_opens(home):
    with DagsterInstance.from_config(str(home)):
        pass
    with sqlite3.connect(home / "history" / "runs" / "index.db") as file:
        tables = [name for (name,) in file.execute("select name from sqlite_master where type = 'table'")]
        assert "dynamic_partitions" in tables
        for name in set(tables) - {"event_logs"}:
            file.execute(f'drop table "{name}"')
    with DagsterInstance.from_config(str(home)) as instance:
        instance.add_dynamic_partitions("models", ["one"])
        assert instance.get_dynamic_partitions("models") == ["one"]
        assert instance.event_log_storage.has_secondary_index("asset_key_table")
