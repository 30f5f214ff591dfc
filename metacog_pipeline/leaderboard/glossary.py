"""What columns and measures mean: `glossary.toml`, `formulas.toml`, the comment of a SQL file, what benchmarks declare."""

from __future__ import annotations

import fnmatch
import functools
import tomllib
from collections.abc import Container, Iterable, Iterator, Mapping
from pathlib import Path

from metacog_pipeline import registry
from metacog_pipeline.benchmark.contract import Measure
from metacog_pipeline.scoring.comparisons import questions_of
from metacog_pipeline.scoring.estimates import measures_of
from metacog_pipeline.scoring.harmonised import DECLARED, PREFIX

_FOLDER = Path(__file__).parent
SHOWN = ("accuracy", "mean_confidence", "ece", "brier", "auroc2")  # what everybody reads of confidence


@functools.cache
def terms() -> Mapping[str, str]:
    """Return what a column means in every table, by its name: definition, unit, range and reference."""
    found: dict[str, str] = {}
    for name, entry in tomllib.loads((_FOLDER / "glossary.toml").read_text("utf-8")).items():
        also = [entry[key] for key in ("unit", "range", "reference") if key in entry]
        found[name] = f"{entry['definition']} ({'; '.join(also)})" if also else entry["definition"]
    return found


@functools.cache
def formulas() -> Mapping[str, Mapping[str, str]]:
    """Return formula and reference of measures that several benchmarks share, by measure."""
    return tomllib.loads((_FOLDER / "formulas.toml").read_text("utf-8"))


def meaning(own: Mapping[str, str], column: str) -> str | None:
    """Return what a column means by its table's ``own`` words, else in every table; None where it has no comment."""
    if said := own.get(column) or terms().get(column):
        return said
    patterns = sorted((name for name in own if "*" in name), key=len, reverse=True)
    return next((own[name] for name in patterns if fnmatch.fnmatchcase(column, name)), None)


def declared_measures(benchmarks: Iterable[str]) -> Iterator[tuple[object, ...]]:
    """Yield one row of the dataset ``measures`` per measure the benchmarks declare, and per one they share."""
    for benchmark in sorted({*benchmarks} & {*registry.names()}):
        own = registry.load(benchmark)
        shown = {name for column in own.board.columns for name in column.measures}
        shown |= {each.primary[1] for each in questions_of(own) if each.verdict is not None}
        shown |= {PREFIX + name for name in SHOWN}
        for measure in measures_of(own):
            yield _row(benchmark, measure.name, measure, measure.paper, shown)
        for measure in DECLARED:
            reference = formulas().get(measure.name, {}).get("reference")
            yield _row(benchmark, PREFIX + measure.name, measure, reference, shown)


def declared_questions(benchmarks: Iterable[str]) -> Iterator[tuple[object, ...]]:
    """Yield one row of the dataset ``questions`` per question of the verdict that the benchmarks are asked."""
    for benchmark in sorted({*benchmarks} & {*registry.names()}):
        asked = questions_of(registry.load(benchmark))
        yield from ((benchmark, q.verdict, q.asks, *q.primary) for q in asked if q.verdict is not None)


def _row(
    benchmark: str, name: str, measure: Measure, paper: str | None, shown: Container[str]
) -> tuple[object, ...]:
    words = (measure.label, measure.unit.value, paper or None, measure.words or None)
    detail = name not in shown and not measure.headline
    return (benchmark, name, *words, *measure.range, measure.higher_is_better, measure.headline, detail)
