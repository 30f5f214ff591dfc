"""What keeps a class from being used at all: it would break what all benchmarks share, study file, graph and tables."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from metacog_pipeline.benchmark.contract import Benchmark, Condition, Item, MeasureSet, Settings, Stage, Step
from metacog_pipeline.benchmark.schema import arrow_schema_of
from metacog_pipeline.errors import MetacogError, one_line, reason_of
from metacog_pipeline.scoring.estimates import measures_of
from metacog_pipeline.scoring.schemas import response_schema

NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
_WORDS = "lower-case letters, digits and underscores, at most 40, no name twice and none that is taken"
_DECLARED = ("name", "title", "paper", "Settings", "Item", "Response")
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
    if lacking := [each for each in _DECLARED if not hasattr(found, each)]:
        return [f"{found.__name__}.{', '.join(lacking)} is missing; set it on the class"]
    said = [f".name is {each!r}; use {_WORDS}" for each in _misnamed([found.name])]
    if name not in (None, found.name):
        said = [f".name is {found.name!r}, its entry point is called {name!r}; make them the same"]
    try:
        for line in _unfit(found):
            said.append(line)
    except Exception as error:  # what a stranger's class declares may be anything
        said.append(f" cannot be read ({type(error).__name__}: {error})")
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
        return one_line(f"{name} cannot be asked what it does: {reason_of(error)}; correct its package")
    if wrong := _misnamed([step.name for step in steps]):
        return f"{name}.construction(): a step is called {wrong[0]!r}; use {_WORDS}"
    return None


def _misnamed(names: Sequence[Any]) -> list[Any]:
    """Return the names that cannot be those of assets, files and tables."""
    fit = [each for each in names if isinstance(each, str) and NAME.fullmatch(each) and each not in TAKEN]
    return [each for each in names if fit.count(each) != 1]


def _unfit(found: Any) -> Iterator[str]:
    """Yield what no file, table or graph could hold; an annotation that makes no column raises."""
    for attribute, base in (("Settings", Settings), ("Item", Item)):
        kind = getattr(found, attribute)
        if not isinstance(kind, type) or not issubclass(kind, base):
            yield f".{attribute} is no subclass of contract.{attribute}; derive it"
    for each in _misnamed([table.name for table in found.tables]):
        yield f".tables: one is called {each!r}; use {_WORDS}"
    for each, times in Counter(measure.name for measure in measures_of(found)).items():
        if times > 1:
            yield f".measures: {each} is declared {times} times; rename or remove one"
    for each in found.measures:
        if not isinstance(each, MeasureSet) and each.compute is None:
            yield f".measures: {each.name} has no compute and is in no MeasureSet; give it one"
    response_schema(found)
    for row in (found.Item, *(each.row for each in found.tables)):
        arrow_schema_of(row)
