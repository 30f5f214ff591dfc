"""Which benchmarks are installed: the entry points of the group ``metacog.benchmarks``. Nothing is imported to list them.

A benchmark of ours and one of a stranger's package are found the same way. Its module is imported only when a study
names it. A package that says in ``PARTS`` where the settings and the board of its class stand has these read without the
rest: to validate a study file or to print a board takes no statistics.
"""

from __future__ import annotations

import functools
import pkgutil
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from metacog_pipeline.errors import StudyError, one_line, suggestion

GROUP = "metacog.benchmarks"
COMMAND_GROUP = "metacog.commands"  # benchmark → click group of what only it has


@functools.cache
def _found(group: str = GROUP) -> dict[str, EntryPoint]:
    return {each.name: each for each in entry_points(group=group)}


def commands() -> tuple[str, ...]:
    """Return the names of the installed benchmarks that have commands of their own; none is imported."""
    return tuple(sorted(_found(COMMAND_GROUP)))


def load_command(name: str) -> Any:
    """Return the command of benchmark ``name``, imported now."""
    return _found(COMMAND_GROUP)[name].load()


def names() -> tuple[str, ...]:
    """Return the names of the installed benchmarks, in alphabetical order; none of them is imported."""
    return tuple(sorted(_found()))


def package_of(name: str) -> str:
    """Return the top-level module benchmark ``name`` comes in; nothing is imported."""
    return _entry(name).module.partition(".")[0]


def part(name: str, attribute: str) -> Any:
    """Return attribute ``Settings`` or ``board`` of benchmark ``name``; the rest is loaded only if it must be.

    Raises ``StudyError`` as `load` does.
    """
    entry = _entry(name)
    try:
        place = getattr(import_module(entry.module), "PARTS", {}).get(attribute)
        found = None if place is None else pkgutil.resolve_name(place)
    except Exception as error:  # a stranger's package may fail in any way; the line says whose it is
        raise _broken(entry, error) from error
    return getattr(load(name), attribute) if found is None else found


def lazily(package: str, name: str, parts: Mapping[str, str]) -> Callable[[str], Any]:
    """Return a ``__getattr__`` for ``package`` that imports its benchmark ``name`` when it is asked for."""

    def find(asked: str) -> Any:
        if asked != name:
            raise AttributeError(f"module {package!r} has no attribute {asked!r}")
        return pkgutil.resolve_name(parts[name])

    return find


@functools.cache
def load(name: str) -> Any:
    """Return the class of benchmark ``name`` (a subclass of ``benchmark.Benchmark``); its module is imported now.

    Raises ``StudyError`` if no installed package has such a benchmark, or its package cannot be imported.
    """
    entry = _entry(name)
    try:
        return entry.load()
    except Exception as error:  # a stranger's package may fail in any way; the line says whose it is
        raise _broken(entry, error) from error


def _entry(name: str) -> EntryPoint:
    if not names():
        raise StudyError(
            "no benchmark is installed: the package's entry points are missing; run `pip install -e .` in the checkout"
        )
    entry = _found().get(name)
    if entry is None:
        raise StudyError(
            f'no benchmark is called "{name}"{suggestion(name, names())}; installed are: {", ".join(names())}'
        )
    return entry


def _broken(entry: EntryPoint, error: Exception) -> StudyError:
    return StudyError(
        one_line(
            f"benchmark {entry.name} ({entry.value}) cannot be imported: {type(error).__name__}: {error}; "
            "mend or uninstall its package"
        )
    )
