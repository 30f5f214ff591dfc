"""What keeps a class from being used at all: it would break what all benchmarks share, study file, graph and tables."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from metacog_pipeline.benchmark.contract import Benchmark, Condition, Item, MeasureSet, Settings, Stage, Step
from metacog_pipeline.benchmark.schema import arrow_schema_of, schema_of
from metacog_pipeline.errors import MetacogError, one_line
from metacog_pipeline.scoring.estimates import measures_of
from metacog_pipeline.scoring.schemas import response_schema

NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
_WORDS = "lower-case letters, digits and underscores, at most 40"
#: Names of assets and folders that every benchmark has.
TAKEN = {
    "transcripts", "responses", "judgements", "run_estimates", "estimates", "comparisons", "published", "instruments",
    "models", "runs",
}  # fmt: skip


def faults(found: Any, name: str | None = None) -> list[str]:
    """Return what is wrong with a class and what to do about it, a line each; ``name`` is that of its entry point."""
    if not isinstance(found, type) or not issubclass(found, Benchmark):
        to_do = "let the entry point name a subclass of contract.Benchmark"
        return [f"{one_line(repr(found), 80)} is no benchmark; {to_do}"]
    if lacking := sorted(found.__abstractmethods__):
        return [f"{found.__name__} does not define {', '.join(lacking)}; define them on the class"]
    if lacking := [each for each in ("name", "Settings", "Item", "Response") if not hasattr(found, each)]:
        return [f"{found.__name__}.{', '.join(lacking)} is missing; set it on the class"]
    own = found.name
    said: list[str] = []
    if name is not None and own != name:
        said.append(f".name is {own!r}, its entry point is called {name!r}; make them the same")
    elif not _names(own):
        said.append(f".name is {own!r}; use {_WORDS}")
    for rule in (_columns, _tables, _measures):
        try:
            said += rule(found)
        except Exception as error:  # what a stranger's class declares may be anything
            said.append(f": its {rule.__name__.strip('_')} cannot be read ({type(error).__name__}: {error})")
    if missing := [stage.value for stage in Stage if not found.versions.get(stage)]:
        said.append(f".versions has no entry for {', '.join(missing)}; give one for each Stage")
    return [one_line(f"{found.__name__}{line}", 400) for line in said]


def faults_in(study: Any, found: Any) -> str | None:
    """Return what is wrong with what a class declares for a study and what to do about it; None where nothing is."""
    name = found.__name__
    try:
        benchmark = found.of(study)
        steps, conditions = benchmark.construction(), benchmark.conditions()
        if not steps or not all(isinstance(each, Step) for each in steps):
            return f"{name}.construction() returns no Steps; return at least the one that makes the items"
        if not all(isinstance(each, Condition) for each in conditions):
            return f"{name}.conditions() returns no Conditions; return one for each arm"
    except MetacogError:  # items or sources are not there yet: it is unknown
        return None
    except Exception as error:
        said = f"{type(error).__name__}: {error}; correct its package"
        return one_line(f"{name} cannot be asked what it does: {said}")
    for each, times in Counter(step.name for step in steps).items():
        if each in TAKEN or not _names(each) or times > 1:
            said = f"use {_WORDS}, no name twice and none that is taken"
            return f"{name}.construction(): a step is called {each!r}; {said}"
    return None


def _names(found: Any) -> bool:
    return isinstance(found, str) and NAME.fullmatch(found) is not None


def _columns(found: Any) -> Iterator[str]:
    """Yield what no file could hold: a class whose annotations make no columns."""
    for attribute, base in (("Settings", Settings), ("Item", Item)):
        kind = getattr(found, attribute)
        if not isinstance(kind, type) or not issubclass(kind, base):
            yield f".{attribute} is no subclass of contract.{attribute}; derive it"
    tables: list[tuple[Any, Any]] = [(schema_of, each.row) for each in found.tables]
    for schema, row in ((response_schema, found), (arrow_schema_of, found.Item), *tables):
        try:
            schema(row)
        except Exception as error:
            yield f": {error}" if isinstance(error, TypeError) else f": {type(error).__name__}: {error}"


def _tables(found: Any) -> Iterator[str]:
    for each, times in Counter(table.name for table in found.tables).items():
        if not _names(each):
            yield f".tables: {each!r} cannot name a table; use {_WORDS}"
        elif each in TAKEN:
            yield f".tables: every benchmark has its {each}; call the table otherwise"
        elif times > 1:
            yield f".tables: two tables are called {each}; rename one"


def _measures(found: Any) -> Iterator[str]:
    for each, times in Counter(measure.name for measure in measures_of(found)).items():
        if times > 1:
            yield f".measures: {each} is declared {times} times; rename or remove one"
    for each in found.measures:
        if not isinstance(each, MeasureSet) and each.compute is None:
            yield f".measures: {each.name} has no compute and is in no MeasureSet; give it one"
