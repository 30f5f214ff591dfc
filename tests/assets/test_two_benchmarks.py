"""Two benchmarks in one study: each has its own runs; one switched off is neither asked nor shown."""

import pytest
from dagster import MultiPartitionKey

from metacog_pipeline.cli import main
from metacog_pipeline.study import load_study
from tests.studies import write_study


def test_only_the_benchmark_named_is_run(tmp_path, capfd, few_resamples):
    sets = {name: {"dataset": "sample", "limit": 4} for name in ("metamedqa", "selfknowledge")}
    study = write_study(tmp_path, {"name": "first", "provider": "simulated"}, benchmarks=sets)
    with pytest.raises(SystemExit) as ended:
        main(["run", str(study), "--benchmark", "metamedqa"])
    assert not ended.value.code, capfd.readouterr().err
    asked = load_study(study).home.transcripts
    assert [each.name for each in asked.iterdir() if each.is_dir()] == ["benchmark=metamedqa"]


def test_an_asset_of_a_benchmark_switched_off_since_refuses_to_ask(bench, simulated):
    bench.write(simulated("first"))
    assert bench.launch() == 0
    text = bench.path.read_text("utf-8").replace(
        "[benchmarks.metamedqa]", "[benchmarks.metamedqa]\nenabled = false"
    )
    text += '[benchmarks.signaldetection]\nenabled = true\ndataset = "sample"\n'
    bench.path.write_text(text, encoding="utf-8")
    from metacog_assets.definitions import defs

    done = defs.resolve_job_def("ask_metamedqa").execute_in_process(
        instance=bench.instance,
        partition_key=MultiPartitionKey({"model": "first", "run": "1"}),
        raise_on_error=False,
    )
    assert not done.success
    failures = [event for event in done.all_events if event.is_step_failure]
    assert "switched off" in str(failures[0].event_specific_data)
