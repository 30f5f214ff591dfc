"""The partitions follow the study file while the UI is open."""

from typing import Any

from dagster import SkipReason, build_sensor_context

from metacog_assets.automation import study_models


def tick(bench: Any) -> str:
    with build_sensor_context(instance=bench.instance) as context:
        found = study_models(context)
    assert isinstance(found, SkipReason)
    return str(found.skip_message)


def keys(bench: Any) -> set[str]:
    return set(bench.instance.get_dynamic_partitions("model"))


def test_models_of_the_study_become_partitions_once(bench):
    assert "now" in tick(bench)
    assert keys(bench) == {"first", "second"}
    assert "now" not in tick(bench)


def test_an_added_and_a_retired_model_change_the_keys(bench, simulated):
    bench.launch()
    bench.write(simulated("second"), simulated("third"))
    assert "now" in tick(bench)
    assert keys(bench) == {"second", "third"}
    assert "now" not in tick(bench)


def test_a_study_file_that_is_wrong_for_a_moment_changes_nothing_and_says_so(bench):
    tick(bench)
    whole = bench.path.read_text()
    bench.path.write_text(whole.replace('provider = "simulated"', 'provider = "oops"'))
    assert "oops" in tick(bench)
    assert keys(bench) == {"first", "second"}
    bench.path.write_text(whole)
    assert "now" not in tick(bench)
