"""Which benchmarks are installed: the entry points of the group ``metacog.benchmarks``. Nothing is imported to list them.

A benchmark of ours and one of a stranger's package are found the same way. Its module is imported only when a study
names it.
"""

from __future__ import annotations

import difflib
import functools
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from metacog_pipeline.errors import StudyError, one_line

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


@functools.cache
def load(name: str) -> Any:
    """Return the class of benchmark ``name`` (a subclass of ``benchmark.Benchmark``); its module is imported now.

    Raises
    ------
    StudyError
        If no installed package has such a benchmark, or its package cannot be imported.
    """
    if not names():
        raise StudyError(
            "no benchmark is installed: the package's entry points are missing; run `pip install -e .` in the checkout"
        )
    entry = _found().get(name)
    if entry is None:
        close = difflib.get_close_matches(name, names(), n=1, cutoff=0.5)
        meant = f' (did you mean "{close[0]}"?)' if close else ""
        raise StudyError(f"no benchmark is called {name!r}{meant}; installed are: {', '.join(names())}")
    try:
        return entry.load()
    except Exception as error:  # a stranger's package may fail in any way; the line says whose it is
        raise StudyError(
            one_line(
                f"benchmark {name} ({entry.value}) cannot be imported: {type(error).__name__}: {error}; "
                "mend or uninstall its package"
            )
        ) from error
