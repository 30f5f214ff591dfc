"""The list of commands is quick: no command is imported to print it, and it says what there is."""

import json
import os
import re
import subprocess
import sys
from importlib import import_module

import click
import pytest
from click.shell_completion import BashComplete
from click.testing import CliRunner

from metacog_pipeline import registry
from metacog_pipeline.cli import COMMANDS, REMOVED, cli, main
from metacog_pipeline.errors import StudyError
from tests.logs.conftest import FIXTURES
from tests.studies import write_study
from tests.tables import every


@pytest.mark.parametrize("argument", ["--help", "--version"])
def test_help_and_version_import_nothing_heavy(argument):
    loaded = loaded_by(
        f"from metacog_pipeline.cli import main\ntry:\n    main([{argument!r}])\nexcept SystemExit:\n    pass"
    )
    assert not {"duckdb", "pydantic", *TOO_MUCH} & set(loaded)
    assert not [name for name in loaded if name.startswith("metacog_pipeline.benchmarks.")]


@every(
    ("typed", "found"),
    [
        ("metacog s", ["status", "show", "sql", "serve"]),
        ("metacog board --format j", ["json"]),
        ("metacog exp", ["export"]),  # explain and explore were removed
    ],
)
def test_commands_options_and_choices_are_completed(typed, found):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COMP_WORDS", typed)
        patch.setenv("COMP_CWORD", str(len(typed.split(" ")) - 1))
        told = BashComplete(cli, {}, "metacog", "_METACOG_COMPLETE").complete()
    assert [line.partition(",")[2] for line in told.splitlines()] == found


@pytest.mark.parametrize(("given", "found"), [(None, "1"), ("3", "3")])
def test_matrices_take_one_thread_unless_more_are_asked_for(monkeypatch, given, found):
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", given or "")
    if given is None:
        monkeypatch.delenv("OPENBLAS_NUM_THREADS")
    with pytest.raises(SystemExit):
        main(["xylophone"])
    assert os.environ["OPENBLAS_NUM_THREADS"] == found


def test_commands_are_listed_in_groups_and_the_daily_ones_come_first():
    told = CliRunner().invoke(cli, ["--help"]).output
    listed = re.findall(r"^  ([a-z]+)  +[A-Z]", told, re.MULTILINE)
    assert listed == [*COMMANDS, "train"]
    assert listed[:7] == ["init", "doctor", "plan", "run", "board", "report", "import"]


@every("name", sorted(REMOVED))
def test_a_removed_command_answers_with_what_to_use_instead(metacog, name):
    result = metacog(name, "study.toml", "--json")
    result.refused_in_one_line(f'"{name}" was removed')
    assert result.code == 2
    named = re.findall(r"metacog (\w+)", REMOVED[name])
    assert set(named) <= set(COMMANDS)


TOO_MUCH = ("dagster", "scipy", "numpy", "polars", "pyarrow", "httpx", "aiohttp", "torch", "ray")


def loaded_by(code):
    code += "\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_a_study_file_is_read_and_its_board_printed_without_a_statistic(tmp_path):
    names = ("medley", "metacogbench", "metamedqa", "selfknowledge", "signaldetection")
    sim = {"name": "sim", "provider": "simulated"}
    file = write_study(tmp_path, sim, benchmarks={key: {} for key in names})
    loaded = loaded_by(
        "from pathlib import Path\n"
        "import metacog_pipeline.cli, metacog_pipeline.cli.boards\n"
        "from metacog_pipeline.leaderboard.printing import board_of\n"
        f"study = metacog_pipeline.cli.boards.opened(Path({str(file)!r}))\n"
        "assert len(study.enabled) == 5 and all(board_of(name).legend for name in study.enabled)"
    )
    assert not set(TOO_MUCH) & set(loaded)


def test_a_log_is_brought_to_its_board_without_http_and_without_dagster(tmp_path):
    command = ["import", str(FIXTURES / "small.eval"), "--study", str(tmp_path / "study.toml"), "--quiet"]
    loaded = loaded_by(
        "from metacog_pipeline.cli import main\n"
        f"try:\n    main({command!r})\nexcept SystemExit as ended:\n    assert not ended.code"
    )
    unused = {"dagster", "sqlalchemy", "httpx", "aiohttp", "pyarrow.dataset"}
    assert unused & set(loaded) == set()
    assert (tmp_path / "study-home" / "leaderboard.duckdb").exists()


def test_a_package_of_a_benchmark_that_names_no_parts_is_loaded_whole(monkeypatch):
    from importlib.metadata import EntryPoint
    from types import ModuleType, SimpleNamespace

    package = ModuleType("somebody_elses")
    package.Theirs = SimpleNamespace(Settings="settings", board="board")  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "somebody_elses", package)
    entry = EntryPoint("theirs", "somebody_elses:Theirs", registry.GROUP)
    monkeypatch.setattr(registry, "entries", lambda group=registry.GROUP: {"theirs": [entry]})
    monkeypatch.setattr(registry, "is_strange", lambda module: False)
    monkeypatch.setattr(registry, "_broken", {})
    registry.load.cache_clear()
    assert registry.part("theirs", "Settings") == "settings"
    package.PARTS = {"board": "somebody_elses:lost"}  # type: ignore[attr-defined]
    with pytest.raises(StudyError, match=r"benchmark theirs .* cannot be imported"):
        registry.part("theirs", "board")


@every("name", registry.names())
def test_the_parts_a_package_names_are_those_of_its_class(name):
    found = registry.load(name)
    assert registry.part(name, "Settings") is found.Settings
    assert registry.part(name, "board") is found.board
    package = import_module(found.__module__.rpartition(".")[0])
    assert getattr(package, found.__name__) is found
    assert not hasattr(package, "nothing_of_the_kind")


def test_there_are_at_most_18_commands_with_110_options():
    context = click.Context(cli)
    commands = [cli.get_command(context, name) for name in cli.list_commands(context)]
    assert not any(isinstance(each, click.Group) for each in commands)
    options = [one for each in commands for one in each.params if isinstance(one, click.Option)]
    assert len(commands) <= 18 and len(options) <= 110


def test_a_package_cannot_take_the_name_of_a_command_of_today_or_before(monkeypatch):
    monkeypatch.setattr(registry, "command_names", lambda: ["board", "explain", "own"])
    assert cli.list_commands(click.Context(cli)) == [*COMMANDS, "own"]
