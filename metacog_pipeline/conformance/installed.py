"""Whether a class has a name of its own among the benchmarks that are installed; it need not be installed itself."""

from __future__ import annotations

import operator
import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from typing import Any

from metacog_pipeline import registry


def misnamed(benchmark: Any) -> list[str]:
    """Return what is wrong with the name of a class, given the entry points there are, a line each."""
    return list(_misnamed(benchmark))


def _misnamed(benchmark: Any) -> Iterator[str]:
    own = f"{benchmark.__name__}.name is {benchmark.name!r}"
    for name, those in registry.entries().items():
        for each in those:
            if name != benchmark.name and _named(each) is benchmark:
                yield f"{own}, its entry point is called {name!r}; make them the same"
            if name == benchmark.name and not _akin(each, benchmark):
                owner = each.dist.name if each.dist is not None else each.module
                yield f"{own}, a benchmark of {owner} has that name; choose another"


def _named(entry: EntryPoint) -> Any:
    """Return what an entry point names; nothing where its module is not imported: it is none of this class then."""
    try:
        return operator.attrgetter(entry.attr)(sys.modules[entry.module])
    except (KeyError, AttributeError):
        return None


def _akin(entry: EntryPoint, benchmark: Any) -> bool:
    """Whether an entry point is of the package of a class or of one it derives from."""
    package = entry.module.partition(".")[0]
    if package == __name__.partition(".")[0]:  # what all benchmarks derive from stands there as well
        return _named(entry) in benchmark.__mro__
    return package in {each.__module__.partition(".")[0] for each in benchmark.__mro__}
