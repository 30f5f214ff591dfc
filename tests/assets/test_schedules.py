"""The example of monthly re-runs: off until someone turns it on, and one run a month."""

from datetime import UTC, datetime
from typing import Any

from dagster import DefaultScheduleStatus, RunRequest, SkipReason, build_schedule_context

from metacog_assets.definitions import defs
from metacog_assets.schedules import monthly_rerun
from metacog_assets.sensors import sync_partitions
from metacog_assets.study_file import current_study

WHEN = datetime(2026, 3, 1, 6, tzinfo=UTC)


def tick(bench: Any) -> Any:
    sync_partitions(current_study(), bench.instance)
    with build_schedule_context(instance=bench.instance, scheduled_execution_time=WHEN) as context:
        return monthly_rerun(context)


def test_it_is_off_until_someone_turns_it_on():
    (only,) = defs.schedules or ()
    assert only.name == "monthly_rerun" and only.default_status is DefaultScheduleStatus.STOPPED


def test_each_month_asks_the_next_run_of_each_model(bench_on_disk, simulated):
    bench = bench_on_disk
    bench.write(simulated("first"), simulated("second"), runs=3)
    requests = tick(bench)
    assert {(each.partition_key, each.run_key) for each in requests} == {
        ("first|1", "2026-03-01 first 1"),
        ("second|1", "2026-03-01 second 1"),
    }
    assert all(isinstance(each, RunRequest) for each in requests)
    assert bench.launch(models=["first"], runs=[1]) == 0
    assert {str(each.partition_key) for each in tick(bench)} == {"first|2", "second|1"}


def test_when_all_is_asked_it_says_what_to_do(bench_on_disk, simulated):
    bench = bench_on_disk
    bench.write(simulated("first"))
    assert bench.launch() == 0
    found = tick(bench)
    assert isinstance(found, SkipReason) and "raise runs" in str(found.skip_message)


def test_a_study_file_that_cannot_be_read_stops_nothing(bench_on_disk, simulated):
    bench = bench_on_disk
    bench.write(simulated("first"))
    sync_partitions(current_study(), bench.instance)
    bench.path.write_text("[study", encoding="utf-8")
    with build_schedule_context(instance=bench.instance, scheduled_execution_time=WHEN) as context:
        assert isinstance(monthly_rerun(context), SkipReason)
