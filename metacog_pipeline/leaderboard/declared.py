"""What the benchmarks declare of their measures: names, units, ranges, the headline, and what each stands for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from metacog_pipeline import registry
from metacog_pipeline.benchmark.bound import Bound
from metacog_pipeline.benchmark.item_files import items_path
from metacog_pipeline.benchmark.schema import columns_with_words
from metacog_pipeline.leaderboard.glossary import formulas
from metacog_pipeline.scoring.calibration import PREFIX
from metacog_pipeline.scoring.estimates import measures_of
from metacog_pipeline.scoring.harmonised_measures import AMONG_PEOPLE, DECLARED


def first_condition(benchmark: Bound) -> str | None:
    """Return the condition the board of a benchmark opens with, as boards show it; None before that is known."""
    conditions = benchmark.conditions()
    parts = [conditions[0].name if conditions else None, benchmark.scorings[0]]
    if benchmark.grouped_by:
        if not items_path(benchmark.context.home, benchmark.name).exists():
            return None
        parts = [getattr(benchmark.items[0], "task", None), *parts]
    return " ".join(each for each in parts if each is not None) or None


def declared_measures(benchmarks: Iterable[str]) -> list[dict[str, object]]:
    """Return one row of the dataset ``measures`` per measure the benchmarks declare, and per one they share."""
    installed = set(registry.names())
    return [row for name in sorted(set(benchmarks) & installed) for row in _of(name)]


def words_of(benchmark: str, table: str) -> Mapping[str, str]:
    """Return what a benchmark says of the columns of a table of its own; nothing where its package is not installed."""
    if benchmark not in registry.names():
        return {}
    declared = registry.load(benchmark)
    rows = {"responses": declared.Response, **{each.name: each.row for each in declared.tables}}
    return columns_with_words(rows[table]) if table in rows else {}


def _of(benchmark: str) -> Iterator[dict[str, object]]:
    own = ((measure.name, measure, measure.paper) for measure in measures_of(registry.load(benchmark)))
    shared = (
        (PREFIX + measure.name, measure, formulas().get(measure.name, {}).get("reference"))
        for measure in (*DECLARED, *AMONG_PEOPLE)
    )
    for name, measure, paper in (*own, *shared):
        low, high = measure.range
        yield {
            "benchmark": benchmark,
            "measure": name,
            "label": measure.label,
            "unit": measure.unit.value,
            "min": low,
            "max": high,
            "higher_is_better": measure.higher_is_better,
            "headline": measure.headline,
            "trait": measure.trait,
            "paper": paper or None,
            "definition": measure.words or None,
        }
