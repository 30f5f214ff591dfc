"""Two benchmarks in one study: each has its own runs; one switched off is neither asked nor shown."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from metacog_pipeline.cli import main
from tests.studies import write_study

ROOT = Path(__file__).resolve().parents[2]


def write(folder: Path, *, metamedqa: bool, selfknowledge: bool) -> Path:
    sets = {
        "metamedqa": {"enabled": metamedqa, "dataset": "sample", "limit": 6},
        "selfknowledge": {"enabled": selfknowledge, "dataset": "sample", "limit": 4},
    }
    return write_study(folder, {"name": "first", "provider": "simulated"}, benchmarks=sets)


def metacog(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from metacog_pipeline.cli import main; main()", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)


@pytest.mark.proof
def test_each_benchmark_has_its_runs_and_one_switched_off_leaves_the_boards(tmp_path):
    study = write(tmp_path, metamedqa=True, selfknowledge=True)
    planned = metacog("plan", study)
    assert planned.returncode == 0, planned.stderr
    assert "selfknowledge" in planned.stdout and "metamedqa" in planned.stdout

    asked = metacog("run", study)
    assert asked.returncode == 0, asked.stderr
    assert "selfknowledge · first · run 1" in asked.stderr
    assert "everything is up to date" in metacog("run", study).stderr
    assert benchmarks_on_the_board(study) == {"metamedqa", "selfknowledge"}

    write(tmp_path, metamedqa=True, selfknowledge=False)
    again = metacog("run", study)
    assert again.returncode == 0, again.stderr
    assert "selfknowledge: first" not in again.stderr
    assert benchmarks_on_the_board(study) == {"metamedqa"}
    kept = tmp_path / "home" / "transcripts" / "benchmark=selfknowledge" / "model=first" / "run=1"
    assert (kept / "transcripts.parquet").exists()


def benchmarks_on_the_board(study: Path) -> set[str]:
    query = "select distinct benchmark from leaderboard where source <> 'published'"
    found = metacog("sql", "--study", study, "--format", "json", query)
    assert found.returncode == 0, found.stderr
    return {row["benchmark"] for row in json.loads(found.stdout)}


def test_only_the_benchmark_named_is_run(tmp_path, capfd):
    study = write(tmp_path, metamedqa=True, selfknowledge=True)
    with pytest.raises(SystemExit) as ended:
        main(["run", str(study), "--benchmark", "metamedqa"])
    said = capfd.readouterr().err
    assert not ended.value.code, said
    assert "selfknowledge: first" not in said


def test_an_asset_of_a_benchmark_switched_off_since_refuses_to_ask(bench, simulated):
    bench.write(simulated("first"))
    assert bench.launch() == 0
    text = bench.path.read_text("utf-8").replace(
        "[benchmarks.metamedqa]", "[benchmarks.metamedqa]\nenabled = false"
    )
    text += '[benchmarks.signaldetection]\nenabled = true\ndataset = "sample"\n'
    bench.path.write_text(text, encoding="utf-8")
    from dagster import MultiPartitionKey

    from metacog_assets.definitions import defs

    done = defs.resolve_job_def("ask_metamedqa").execute_in_process(
        instance=bench.instance,
        partition_key=MultiPartitionKey({"model": "first", "run": "1"}),
        raise_on_error=False,
    )
    assert not done.success
    failures = [event for event in done.all_events if event.is_step_failure]
    assert "switched off" in str(failures[0].event_specific_data)
