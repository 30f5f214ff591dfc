"""What cannot be printed, written or meant is one line; whoever stops reading ends a command without a fault."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import metacog_pipeline as mp
from metacog_pipeline.cli.starting import row_of
from metacog_pipeline.errors import StudyError

HELP = [sys.executable, "-m", "metacog_pipeline", "init", "--help"]
FULL = Path("/dev/full")


@pytest.mark.skipif(not FULL.exists(), reason="there is no /dev/full here")
def test_an_output_that_takes_nothing_is_one_line():
    with FULL.open("w") as full:
        ended = subprocess.run(HELP, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    said = "metacog: standard output: No space left on device; free space, or check the path\n"
    assert (ended.returncode, ended.stderr) == (1, said)


def test_who_stops_reading_ends_a_command_without_a_fault():
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as nobody:
        ended = subprocess.run(HELP, stdout=nobody, stderr=subprocess.PIPE, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_a_place_that_cannot_be_written_is_one_line(metacog, study, tmp_path):
    ended = metacog("train", "toy", study / "x")
    assert ended.code == 1
    assert ended.err.strip() == f"metacog: {study}: File exists; free space, or check the path"


@pytest.mark.parametrize("said", ["@cf/meta/llama-3", "claude@20240620", "m@sha256"])
def test_a_model_name_may_hold_an_at_sign(said):
    assert row_of(f"openai:{said}").model == said


def test_next_commands_can_be_pasted(metacog, tmp_path):
    path = tmp_path / "my study (2).toml"
    ended = metacog("init", path, "--model", "simulated", "--benchmark", "metamedqa")
    assert f"metacog doctor '{path}'" in ended.err


@pytest.mark.parametrize("path", [None, 3, b"study.toml"])
def test_what_is_no_path_is_a_mistake_of_one_line(path):
    with pytest.raises(StudyError, match="give the path of a study file"):
        mp.open_study(path)
