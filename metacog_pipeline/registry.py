"""Which benchmarks are installed: the entry points of the group ``metacog.benchmarks``. Nothing is imported to list them.

Of a package that names in ``PARTS`` the modules of its settings and board only these are loaded: to
validate a study file or to print a board takes no statistics. A package that cannot be used raises `BrokenPluginError`,
which names it; `study.load_study` goes on with the others.
"""

from __future__ import annotations

import contextlib
import functools
import pkgutil
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metacog_pipeline.errors import StudyError, suggestion

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "metacog.benchmarks"
COMMAND_GROUP = "metacog.commands"  # benchmark → click group of what only it has
_USABLE = "metacog_pipeline.conformance.usable"  # by name: it is above this module
_broken: dict[str, str] = {}  # by benchmark: a second import would run again what failed


class BrokenPluginError(StudyError):
    """The package of a benchmark cannot be imported or used; the message names it and says why."""


@functools.cache
def entries(group: str = GROUP) -> Mapping[str, list[EntryPoint]]:
    """Return the entry points by name, ours first; several of one name come from packages that claim it."""
    from importlib.metadata import entry_points  # a third of the time in which --help is printed

    found: dict[str, dict[str, EntryPoint]] = {}
    for each in sorted(entry_points(group=group), key=lambda entry: is_strange(entry.module)):
        found.setdefault(each.name, {}).setdefault(each.value, each)
    return {name: list(those.values()) for name, those in found.items()}


def names() -> tuple[str, ...]:
    """Return the names of the benchmarks that can be used, in alphabetical order; none of them is imported."""
    return tuple(sorted(entries().keys() - _broken.keys()))


def is_strange(module: str) -> bool:
    """Whether a module is of another package: what is in ours is held to the contract by tests."""
    return module.partition(".")[0] != "metacog_pipeline"


def is_ours(name: str) -> bool:
    """Whether benchmark ``name`` comes with this package; nothing is imported."""
    return not is_strange(_entry(name).module)


def command_names() -> list[str]:
    """Return the names of the commands that packages add."""
    found = set()  # read here: to import importlib.metadata takes a third of the time of ``metacog --help``
    for path in (path for each in sys.path for path in Path(each).glob("*.dist-info/entry_points.txt")):
        section = path.read_text("utf-8", "replace").partition(f"[{COMMAND_GROUP}]")[2].partition("\n[")[0]
        found |= {line.partition("=")[0].strip() for line in section.splitlines() if "=" in line}
    return sorted(found)


def load_command(name: str) -> Any:
    """Return a benchmark's command, imported now. Raises ``BrokenPluginError`` if it cannot be."""
    entry = entries(COMMAND_GROUP)[name][0]
    return _guarded(entry, entry.load)


@functools.cache
def load(name: str) -> Any:
    """Return the class of benchmark ``name`` (a subclass of ``benchmark.Benchmark``); its module is imported now.

    Raises ``StudyError`` if no installed package has such a benchmark, ``BrokenPluginError`` if its package is broken.
    """
    entry = _entry(name)
    found = _guarded(entry, entry.load)
    if is_strange(entry.module) and (faults := pkgutil.resolve_name(f"{_USABLE}:faults")(found, name)):
        raise _remembered(name, f"{_owned(entry)}: {'; '.join(faults)}")
    return found


def part(name: str, attribute: str) -> Any:
    """Return an attribute of the class of benchmark ``name``, such as ``Settings`` or ``board``. Raises as `load`.

    Where ``PARTS`` of the package names the attribute's module, the class is not imported.
    """
    entry = _entry(name)
    parts = getattr(_guarded(entry, lambda: import_module(entry.module)), "PARTS", {})
    if attribute not in parts:
        return getattr(load(name), attribute)
    return _guarded(entry, lambda: pkgutil.resolve_name(parts[attribute]))


def check(name: str, study: Any) -> None:
    """Raise ``BrokenPluginError`` where another package's benchmark declares what cannot be used in a study."""
    entry = _entry(name)
    if is_strange(entry.module) and (why := pkgutil.resolve_name(f"{_USABLE}:faults_in")(study, load(name))):
        raise BrokenPluginError(f"{_owned(entry)}: {why}")


def lazily(package: str, name: str, parts: Mapping[str, str]) -> Callable[[str], Any]:
    """Return a ``__getattr__`` for ``package`` that imports its benchmark ``name`` when it is asked for."""

    def find(asked: str) -> Any:
        if asked != name:
            raise AttributeError(f"module {package!r} has no attribute {asked!r}")
        return pkgutil.resolve_name(parts[name])

    return find


def _entry(name: str) -> EntryPoint:
    if name in _broken:
        raise BrokenPluginError(_broken[name])
    if name not in entries():
        near, known = suggestion(name, names()), ", ".join(names())
        raise StudyError(f'no benchmark is called "{name}"{near}; installed are: {known}')
    first, *others = entries()[name]
    if others and is_strange(first.module):  # a name of ours is ours, whoever else claims it
        owners = " and ".join(map(_owned, (first, *others)))
        raise _remembered(name, f"one name is claimed twice, by {owners}: uninstall or rename the other")
    return first


def _guarded(entry: EntryPoint, work: Callable[[], Any]) -> Any:
    """Return what ``work`` returns; any error names the package. What it prints is no output of the command."""
    try:
        with contextlib.redirect_stdout(sys.stderr):
            return work()
    except (KeyboardInterrupt, StudyError):
        raise
    except BaseException as error:  # another package may fail in any way, or end the process
        why = f"cannot be imported: {type(error).__name__}: {error}; correct or uninstall its package"
        raise _remembered(entry.name, f"{_owned(entry)} {why}") from None


def _remembered(name: str, why: str) -> BrokenPluginError:
    _broken[name] = why
    return BrokenPluginError(why)


def _owned(entry: EntryPoint) -> str:
    of = "" if entry.dist is None else f" of package {entry.dist.name} {entry.dist.version}"
    return f"benchmark {entry.name}{of} ({entry.value})"
