"""A run is taken for nothing to do only where no file it depends on differs from when a run found nothing to do."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from metacog_pipeline.cli import cli, running
from metacog_pipeline.study import load_study, unchanged

STUDY = """
[study]
name = "t"
home = "home"
[[models]]
name = "sim"
provider = "simulated"
[benchmarks.metamedqa]
dataset = "sample"
wording = "words.toml"
"""


@pytest.fixture
def noted(tmp_path):
    """A study that names a file, with a home in which a run has noted that nothing was to be done."""
    path = tmp_path / "study.toml"
    path.write_text(STUDY, encoding="utf-8")
    (tmp_path / "words.toml").write_text("a = 1", encoding="utf-8")
    study = load_study(path)
    study.prepare()
    (study.home.items / "metamedqa.parquet").write_bytes(b"items")
    (study.home.dagster / "history").mkdir()
    (study.home.dagster / "history" / "runs.db").write_bytes(b"runs")
    unchanged.note(study, unchanged.state_of(study))
    return path


def test_nothing_has_changed_while_every_file_is_as_it_was(noted):
    study = load_study(noted)
    assert unchanged.holds(study)
    study.prepare()  # what every command does
    (study.home.dagster / "history" / "runs.db").write_bytes(b"a run of the UI that made nothing")
    assert unchanged.holds(study)


CHANGES: dict[str, Callable[[Path], object]] = {
    "the study file is written again": lambda f: (f / "study.toml").write_text(STUDY + "# a word", "utf-8"),
    "a file the study names": lambda f: (f / "words.toml").write_text("a = 2", "utf-8"),
    "a file the study names is gone": lambda f: (f / "words.toml").unlink(),
    "a file of the home, of the same length": lambda f: (f / "home/items/metamedqa.parquet").write_bytes(b"ITEMS"),
    "a file of the home is gone": lambda f: (f / "home/items/metamedqa.parquet").unlink(),
    "a file more": lambda f: (f / "home/transcripts/journal.jsonl").write_text("{}", "utf-8"),
    "only the time of a file": lambda f: os.utime(f / "home/items/metamedqa.parquet", (1, 1)),
    "another history of runs": lambda f: (f / "home/dagster/history/runs.db").unlink(),
    "the note is damaged": lambda f: (f / "home/study" / unchanged.NOTE).write_bytes(b"\xff\x00"),
}  # fmt: skip


@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_any_change_makes_a_run_look_for_itself(noted, change):
    CHANGES[change](noted.parent)
    assert not unchanged.holds(load_study(noted))


def test_a_note_that_cannot_be_written_is_none(noted):
    study = load_study(noted)
    (study.home.status / unchanged.NOTE).unlink()
    (study.home.status / unchanged.NOTE).mkdir()
    unchanged.note(study, unchanged.state_of(study))
    assert not unchanged.holds(study)


def test_a_changed_program_makes_a_run_look_for_itself(noted, tmp_path, monkeypatch):
    monkeypatch.setattr(unchanged, "shipped", lambda *parts: tmp_path / "elsewhere")
    assert not unchanged.holds(load_study(noted))


def test_a_home_of_more_files_than_are_looked_at_is_never_taken_for_unchanged(noted, monkeypatch):
    monkeypatch.setattr(unchanged, "MOST_FILES", 3)
    study = load_study(noted)
    assert unchanged.state_of(study) is None
    assert not unchanged.holds(study)


def test_links_that_lead_nowhere_or_in_circles_end(noted):
    home = noted.parent / "home"
    (home / "items" / "lost").symlink_to(home / "nowhere")
    study = load_study(noted)
    unchanged.note(study, unchanged.state_of(study))
    assert unchanged.holds(study)
    (home / "items" / "round").symlink_to(home)
    assert unchanged.state_of(study) is None


def test_a_run_with_nothing_to_do_starts_no_process(noted, monkeypatch):
    def started(*arguments: object, **how: object) -> None:
        raise AssertionError("a process was started")

    monkeypatch.setattr(running.subprocess, "Popen", started)
    done = CliRunner().invoke(cli, ["run", str(noted)])
    assert done.exit_code == 0, done.output
    assert done.output == "everything is up to date; nothing was asked\n"
    assert CliRunner().invoke(cli, ["run", str(noted), "--quiet"]).output == ""
    for again in ("--force", "--reask=unusable"):
        assert isinstance(CliRunner().invoke(cli, ["run", str(noted), again]).exception, AssertionError)
    wrong = CliRunner().invoke(cli, ["run", str(noted), "--model", "nobody"])
    assert "nobody" in str(wrong.exception)
