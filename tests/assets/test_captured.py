"""What a step prints is kept for the UI and shown where its run was started."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from dagster import DagsterInstance
from dagster._core.instance.ref import compute_logs_directory

from metacog_assets.captured import LOOKS_EVERY_S, Captured, copied
from metacog_pipeline.files import shipped


@pytest.fixture
def printed(tmp_path):
    """Yield a stream with a file of its own, and how to read what went there."""
    path = tmp_path / "printed"
    with path.open("w") as stream:
        yield stream, path.read_text


def _child(stream, line):
    subprocess.run([sys.executable, "-c", f"print({line!r})"], stdout=stream, check=True)


def test_the_last_line_of_a_process_is_shown_and_kept_in_its_order(tmp_path, printed):
    stream, shown = printed
    kept = tmp_path / "kept"
    print("before", file=stream)
    with copied(stream, str(kept)):
        _child(stream, "first")
        print("second", file=stream, flush=True)
        _child(stream, "last")
    print("after", file=stream)
    stream.flush()
    assert kept.read_text() == "first\nsecond\nlast\n"
    assert shown() == "before\nfirst\nsecond\nlast\nafter\n"


def test_what_another_run_of_the_step_printed_is_not_shown_again(tmp_path, printed):
    stream, shown = printed
    for line in ("once", "twice"):
        with copied(stream, str(tmp_path / "kept")):
            print(line, file=stream)
    assert shown() == (tmp_path / "kept").read_text() == "once\ntwice\n"


def test_lines_are_kept_where_nobody_reads_them(tmp_path):
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as stream:
        with copied(stream, str(tmp_path / "kept")):
            print("a line", file=stream)
        assert (tmp_path / "kept").read_text() == "a line\n"
        os.dup2(os.open(os.devnull, os.O_WRONLY), writing)  # so that it can be closed


@pytest.mark.parametrize("stream", [None, "in memory"])
def test_a_stream_without_a_file_is_left_alone(tmp_path, stream, capsys):
    with copied(sys.stdout if stream else None, str(tmp_path / "kept")):
        print("seen")
    assert capsys.readouterr().out == "seen\n" and (tmp_path / "kept").read_text() == ""


def test_they_lie_where_dagster_keeps_them_by_default(tmp_path, monkeypatch):
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path))
    (tmp_path / "dagster.yaml").write_text(shipped("data", "dagster.yaml").read_text())
    with DagsterInstance.get() as instance:
        manager = instance.compute_log_manager
        assert isinstance(manager, Captured)
        with manager.capture_logs(["run", "compute_logs", "step"]):
            assert not manager.is_capture_complete(["run", "compute_logs", "step"])
        found = Path(manager.get_log_metadata(["run", "compute_logs", "step"]).stderr_location)
        assert found == Path(compute_logs_directory(str(tmp_path)), "run", "compute_logs", "step.err")
        assert found.exists() and manager.is_capture_complete(["run", "compute_logs", "step"])


def test_what_is_printed_is_shown_while_the_step_runs(tmp_path, printed):
    stream, shown = printed
    with copied(stream, str(tmp_path / "kept")):
        print("under way", file=stream, flush=True)
        for _ in range(40):
            if shown():
                break
            subprocess.run(["sleep", str(LOOKS_EVERY_S)], check=True)
        assert shown() == "under way\n"
