"""What lies in the folder of a user is never imported for what the program needs; a killed process ends with its signal."""

import os
import signal
import sys
from pathlib import Path

import pytest

from metacog_pipeline.cli import running
from metacog_pipeline.study import load_study

OURS = ("assets", "metacog_assets", "metacog_pipeline", "data")
NAMES = (*OURS, "dagster", "polars", "duckdb", "json", "random", "types")


def test_a_run_imports_nothing_from_the_folder_it_is_started_in(study, tmp_path, monkeypatch):
    for name in NAMES:
        (tmp_path / f"{name}.py").write_text("raise SystemExit('the wrong module')\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    code = "import json, random, polars, duckdb, metacog_assets, metacog_pipeline, dagster"
    assert running.call([sys.executable, "-c", code], running.environment_of(load_study(study), "quiet")) == 0


def test_the_ui_imports_nothing_from_the_folder_it_is_started_in(metacog, study, monkeypatch):
    started: list[list[str]] = []
    monkeypatch.setattr(os, "execve", lambda program, command, environment: started.append(command))
    monkeypatch.setattr(signal, "signal", lambda *given: None)
    assert metacog("ui", study, "--port", "0").code == 0
    (command,) = started
    # Dagster puts this folder in front of all others, and without it the one it is started in.
    folder = Path(command[command.index("--working-directory") + 1])
    assert folder == load_study(study).home.dagster
    assert not list(folder.glob("*.py"))


@pytest.mark.parametrize(("number", "code"), [(9, 137), (15, 143)])
def test_a_killed_process_ends_with_128_and_its_signal(number, code):
    kills_itself = f"import os; os.kill(os.getpid(), {number})"
    assert running.call([sys.executable, "-c", kills_itself], dict(os.environ)) == code
