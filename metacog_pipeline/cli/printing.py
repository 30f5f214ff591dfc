"""Output of a command: lines of text, or with ``--json`` one JSON value and nothing else on standard output."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from metacog_pipeline.leaderboard.output import Rows

# in the context: what is printed when the command ends
_FOUND = "metacog.json"


def json_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the option ``--json``."""
    more: Any = {"is_flag": True, "is_eager": True, "expose_value": False, "callback": _begin}
    return click.option("--json", help="Print one JSON value and nothing else.", **more)(command)


def format_option(*forms: str) -> Callable[..., Any]:
    """Give a command ``--format``, the parameter ``form``, and ``--json``, which is short for one of its values."""
    more: Any = {"type": click.Choice(forms), "default": forms[0], "callback": _chosen}
    option = click.option("--format", "form", help="How to print it.", **more)
    return lambda command: option(json_option(command))


def wanted() -> bool:
    """Whether ``--json`` is given."""
    return _found() is not None


# Every command says a thing once, in words and as data; which of them is printed is decided here.
def say(line: str = "", **found: object) -> None:
    """Print ``line``, nothing where it is empty; with ``--json`` keep ``found`` instead. Lists of one name are joined."""
    kept = _found()
    if kept is None:
        if line:
            click.echo(line)
        return
    for name, value in found.items():
        several = isinstance(value, list | tuple)
        kept[name] = [*kept.get(name, ()), *value] if several else value  # type: ignore[misc]


def table(name: str, rows: Rows) -> None:
    """Print rows as a table; with ``--json`` keep them as objects under ``name``."""
    from metacog_pipeline.leaderboard.output import objects, render

    if wanted():
        say("", **{name: objects(rows)})
    else:
        click.echo(render(rows, "table"), nl=False)


def records(found: Sequence[Mapping[str, object]], title: str) -> None:
    """Print objects of the same keys as a table, a column for each key; nothing with ``--json``."""
    from metacog_pipeline.leaderboard.output import Rows, to_table

    if not wanted():
        rows = Rows(tuple(found[0]), tuple(tuple(each.values()) for each in found)) if found else Rows((), ())
        click.echo(to_table(rows, title))


def value(found: object) -> None:
    """Print ``found`` as JSON at once."""
    from metacog_pipeline.leaderboard.output import plain

    if (kept := _found()) is not None:
        kept.clear()
    click.echo(json.dumps(plain(found), indent=1, allow_nan=False))


def flush() -> None:
    """Print what is kept now: the command goes on, and says no more."""
    if kept := _found():
        value(dict(kept))


def announce(line: str) -> None:
    """Print at once where a server listens: the last word of the line is its address."""
    say(line, address=line.rpartition(" ")[2])
    flush()


def next_step(*words: object) -> None:
    """Name the command that usually follows, on standard error: what a command prints can be piped on."""
    said = " ".join(shlex.quote(str(word)) for word in ("metacog", *words))
    if not wanted():
        click.echo(f"Next: {said}", err=True)
    # A command that has printed its one value says nothing more.
    elif _found():
        say(next=[said])


def _begin(context: click.Context, param: click.Parameter, given: bool) -> None:
    if given:
        context.meta[_FOUND] = {}
        context.call_on_close(flush)


def _chosen(context: click.Context, param: click.Parameter, form: str) -> str:
    return "json" if wanted() else form


def _found() -> dict[str, Any] | None:
    context = click.get_current_context(silent=True)
    found: dict[str, Any] | None = None if context is None else context.meta.get(_FOUND)
    return found
