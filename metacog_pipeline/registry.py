"""Which benchmarks are installed: the entry points of the group ``metacog.benchmarks``. Nothing is imported to list them.

A benchmark of ours and one of a stranger's package are found the same way. Its module is imported only when a study
names it. A package that says in ``PARTS`` where the settings and the board of its class stand has these read without the
rest: to validate a study file or to print a board takes no statistics.

A stranger's package that cannot be used is left out of the study that names it, with one line; see `study.left_out`.
"""

from __future__ import annotations

import contextlib
import functools
import pkgutil
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from metacog_pipeline.errors import StudyError, suggestion

GROUP = "metacog.benchmarks"
COMMAND_GROUP = "metacog.commands"  # benchmark → click group of what only it has
_OURS = "metacog_pipeline"
# Looked up when a package is broken or a stranger's: they need what stands above this module.
_USABLE, _LEFT_OUT = "metacog_pipeline.scoring.usable", "metacog_pipeline.study.left_out"


@functools.cache
def _all(group: str = GROUP) -> Mapping[str, tuple[EntryPoint, ...]]:
    """Return the entry points by name, ours first; several of one name are of packages that claim it."""
    found: dict[str, dict[str, EntryPoint]] = {}
    for each in sorted(entry_points(group=group), key=lambda entry: is_strange(entry.module)):
        found.setdefault(each.name, {}).setdefault(each.value, each)
    return {name: tuple(those.values()) for name, those in found.items()}


@functools.cache
def _found(group: str = GROUP) -> dict[str, EntryPoint]:
    return {name: those[0] for name, those in _all(group).items()}


def is_strange(module: str) -> bool:
    """Whether a module is of another package: what is in ours is held to the contract by tests."""
    return module.partition(".")[0] != _OURS


def commands() -> tuple[str, ...]:
    """Return the names of the installed benchmarks that have commands of their own; none is imported."""
    return tuple(sorted(_found(COMMAND_GROUP)))


def load_command(name: str) -> Any:
    """Return the command of benchmark ``name``, imported now. Raises ``StudyError`` if it cannot be."""
    entry = _found(COMMAND_GROUP)[name]
    return _run(entry, entry.load)


def names() -> tuple[str, ...]:
    """Return the names of the installed benchmarks, in alphabetical order; none of them is imported.

    A stranger's that was found to be broken counts as not installed.
    """
    return tuple(sorted(_found().keys() - _unusable.keys()))


def package_of(name: str) -> str:
    """Return the top-level module benchmark ``name`` comes in; nothing is imported."""
    return _entry(name).module.partition(".")[0]


def is_ours(name: str) -> bool:
    """Whether benchmark ``name`` comes with this package; nothing is imported."""
    return not is_strange(_entry(name).module)


def part(name: str, attribute: str) -> Any:
    """Return attribute ``Settings`` or ``board`` of benchmark ``name``; the rest is loaded only if it must be.

    Raises ``StudyError`` as `load` does; but the ``Settings`` of a stranger's package that is broken are those of a
    benchmark that is left out.
    """
    entry = _entry(name)

    def named() -> Any:
        place = getattr(import_module(entry.module), "PARTS", {}).get(attribute)
        return None if place is None else pkgutil.resolve_name(place)

    try:
        found = _usable(entry, named)
        if found is None:
            found = getattr(load(name), attribute)
            if attribute == "Settings" and _has_owner(entry):
                found = pkgutil.resolve_name(f"{_LEFT_OUT}:tried")(
                    found, functools.partial(_faults_in, entry)
                )
    except StudyError as error:
        if attribute == "Settings" and _has_owner(entry):
            return pkgutil.resolve_name(f"{_LEFT_OUT}:settings")(str(error))
        raise
    if attribute == "Settings" and (said := _clash(name)) is not None:
        pkgutil.resolve_name(f"{_LEFT_OUT}:tell")(said)
    return found


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

    Raises ``StudyError`` if no installed package has such a benchmark, or its package cannot be imported or used.
    """
    entry = _entry(name)

    def checked() -> Any:
        found = _run(entry, entry.load)
        if _has_owner(entry) and (faults := pkgutil.resolve_name(f"{_USABLE}:faults")(found, entry.name)):
            raise StudyError(f"{_owned(entry)}: {'; '.join(faults)}")  # ours are held to it by tests
        return found

    return _usable(entry, checked)


def installed() -> Mapping[str, tuple[EntryPoint, ...]]:
    """Return the entry points by name; several of one name where packages claim the same."""
    return _all()


def _faults_in(entry: EntryPoint, study: Any) -> str | None:
    why = pkgutil.resolve_name(f"{_USABLE}:faults_in")(study, load(entry.name))
    return None if why is None else f"{_owned(entry)}: {why}"


# Strangers' benchmarks and why: to import again what failed would run it again.
_unusable: dict[str, str] = {}


def _usable(entry: EntryPoint, load: Callable[[], Any]) -> Any:
    """Return what ``load`` returns; StudyError, the same each time, where the benchmark cannot be used."""
    if not _has_owner(entry):
        return _run(entry, load)
    if entry.name not in _unusable:
        try:
            if (clash := _clash(entry.name)) is not None:
                raise StudyError(clash)
            return _run(entry, load)
        except StudyError as error:
            _unusable[entry.name] = str(error)
    raise StudyError(_unusable[entry.name])


def _run(entry: EntryPoint, load: Callable[[], Any]) -> Any:
    """Return what ``load`` returns; StudyError names the package that failed."""
    try:
        with aside():
            return load()
    except (KeyboardInterrupt, StudyError):
        raise
    except BaseException as error:  # a stranger's package may fail in any way, or end the process
        said = f"cannot be imported: {type(error).__name__}: {error}; mend or uninstall its package"
        raise StudyError(f"{_owned(entry)} {said}") from (error if isinstance(error, Exception) else None)


def _has_owner(entry: EntryPoint) -> bool:
    """Whether an entry point is of a stranger's distribution, which can then be named."""
    return is_strange(entry.module) and entry.dist is not None


def _owned(entry: EntryPoint) -> str:
    dist = entry.dist
    of = "" if dist is None else f" of package {dist.name} {dist.version}"
    return f"benchmark {entry.name}{of} ({entry.value})"


def _clash(name: str) -> str | None:
    """Return what to do about packages that claim one name; None where there is one."""
    those = _all().get(name, ())
    if len(those) < 2:
        return None
    owners = " and ".join(_owned(each).partition(f"benchmark {name} of ")[2] or each.value for each in those)
    used = (
        "none of them can be used"
        if is_strange(those[0].module)
        else "the one that comes with metacog is used"
    )
    return f"benchmark {name} is claimed by {owners}: {used}; uninstall or rename the other"


_spoken = threading.Lock()
_depth = 0
_out: Any = None


@contextlib.contextmanager
def aside() -> Iterator[None]:
    """Have what a benchmark's package prints go to standard error: standard output is that of the command.

    Whoever comes first turns it and whoever leaves last turns it back: threads may be in here side by side.
    """
    global _depth, _out
    with _spoken:
        if _depth == 0:
            _out, sys.stdout = sys.stdout, sys.stderr
        _depth += 1
    try:
        yield
    finally:
        with _spoken:
            _depth -= 1
            if _depth == 0:
                sys.stdout = _out


def _entry(name: str) -> EntryPoint:
    if not _found():
        raise StudyError(
            "no benchmark is installed: the package's entry points are missing; run `pip install -e .` in the checkout"
        )
    entry = _found().get(name)
    if entry is None:
        raise StudyError(
            f'no benchmark is called "{name}"{suggestion(name, names())}; installed are: {", ".join(names())}'
        )
    return entry
