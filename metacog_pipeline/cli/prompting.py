"""The prompt of ``metacog sql``: one statement after another, each ended by a semicolon, with a history."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path

import click

from metacog_pipeline.errors import MetacogError
from metacog_pipeline.home import Home

HISTORY = "sql_history"  # in the home of the study
_KEPT = 1000  # lines of history
_ENDS = ("exit", "quit", ".exit", ".quit", r"\q")


def prompt(home: Home, answer: Callable[[str], str]) -> None:
    """Read statements and print what ``answer`` returns for each, until the input ends or ``exit``.

    A mistake is one line, after which the prompt goes on. Lines are edited and remembered where Python has readline.
    """
    history = home / HISTORY
    readline = _readline(history)
    click.echo("One SELECT at a time, ended by ; (show tables; describe leaderboard; exit ends)")
    said: list[str] = []
    while True:
        try:
            line = input("...  " if said else "sql> ")
        except EOFError:
            click.echo()
            break
        except KeyboardInterrupt:  # forgets what was typed, as other prompts do
            click.echo()
            said = []
            continue
        if not said and line.strip().rstrip(";").lower() in _ENDS:
            break
        said.append(line)
        if not line.rstrip().endswith(";"):
            said = said if "".join(said).strip() else []
            continue
        query, said = "\n".join(said).strip().rstrip(";"), []
        if query.strip():
            try:
                click.echo(answer(query), nl=False)
            except MetacogError as error:
                click.echo(f"metacog: {error}", err=True)
    if readline is not None:
        with contextlib.suppress(OSError):  # a home that cannot be written loses the history only
            readline(history)


def _readline(history: Path) -> Callable[[Path], None] | None:
    """Load the history into readline; return what saves it, None where there is no readline."""
    try:
        import readline
    except ImportError:
        return None
    with contextlib.suppress(OSError):
        readline.read_history_file(history)
    readline.set_history_length(_KEPT)
    return readline.write_history_file
