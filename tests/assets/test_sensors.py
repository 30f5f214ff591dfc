"""The partitions follow the study file while the UI is open."""

from typing import Any

from dagster import SensorResult, SkipReason, build_sensor_context

from metacog_assets.automation import study_models


def tick(bench: Any) -> SensorResult | SkipReason:
    with build_sensor_context(instance=bench.instance) as context:
        found = study_models(context)
    assert isinstance(found, SensorResult | SkipReason)
    if isinstance(found, SensorResult):
        for request in found.dynamic_partitions_requests or []:
            name, keys = request.partitions_def_name, request.partition_keys
            if type(request).__name__ == "AddDynamicPartitionsRequest":
                bench.instance.add_dynamic_partitions(name, list(keys))
            else:
                for key in keys:
                    bench.instance.delete_dynamic_partition(name, key)
    return found


def keys(bench: Any) -> set[str]:
    return set(bench.instance.get_dynamic_partitions("model"))


def test_models_of_the_study_become_partitions_once(bench):
    found = tick(bench)
    assert isinstance(found, SensorResult)
    assert keys(bench) == {"first", "second"}
    assert isinstance(tick(bench), SkipReason)


def test_an_added_and_a_retired_model_change_the_keys(bench, simulated):
    bench.launch()
    bench.write(simulated("second"), simulated("third"))
    found = tick(bench)
    assert isinstance(found, SensorResult)
    assert keys(bench) == {"second", "third"}
    assert isinstance(tick(bench), SkipReason)


def test_a_study_file_that_is_wrong_for_a_moment_changes_nothing_and_says_so(bench):
    tick(bench)
    whole = bench.path.read_text()
    bench.path.write_text(whole.replace('provider = "simulated"', 'provider = "oops"'))
    found = tick(bench)
    assert isinstance(found, SkipReason)
    assert "oops" in (found.skip_message or "")
    assert keys(bench) == {"first", "second"}
    bench.path.write_text(whole)
    assert isinstance(tick(bench), SkipReason)
