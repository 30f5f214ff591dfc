"""The list of commands is quick: no command is imported to print it, and it says what there is."""

import subprocess
import sys

import click
import pytest

from metacog_pipeline.cli import COMMANDS, cli

HEAVY = ("scipy", "numpy", "polars", "pyarrow", "duckdb", "httpx", "pydantic", "dagster")


@pytest.mark.parametrize("argument", ["--help", "--version"])
def test_help_and_version_import_nothing_heavy(argument):
    code = (
        "import sys\nfrom metacog_pipeline.cli import main\n"
        f"try:\n    main([{argument!r}])\nexcept SystemExit:\n    pass\n"
        f"print('LOADED', [name for name in {HEAVY!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.splitlines()[-1] == "LOADED []", done.stdout + done.stderr


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_listed_command_is_there_under_its_name(name):
    context = click.Context(cli)
    command = cli.get_command(context, name)
    assert isinstance(command, click.Command)
    assert command.name == name
    assert command.help


def test_a_command_there_is_not_is_none():
    assert cli.get_command(click.Context(cli), "xylophone") is None
