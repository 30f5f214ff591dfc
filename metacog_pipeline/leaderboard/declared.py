"""What the benchmarks declare of their measures: names, units, which one sums the benchmark up, what each stands for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from metacog_pipeline.across.traits import OWN
from metacog_pipeline.leaderboard.columns import board_of

# Until a benchmark declares its measures itself: the one it is summed up by, and the condition its board opens with.
_HEADLINES: Mapping[str, tuple[str, str]] = {
    "metamedqa": ("accuracy", "baseline"),
    "signaldetection": ("m_ratio", "A confidence"),
    "medley": ("mms", "normal reference"),
    "metacogbench": ("overall", "free"),
    "selfknowledge": ("d_type2", "dual"),
}


def first_condition(benchmark: str) -> str | None:
    """Return the condition the board of ``benchmark`` opens with, as boards show it; None where it does not say."""
    return _HEADLINES[benchmark][1] if benchmark in _HEADLINES else None


def declared_measures(benchmarks: Iterable[str]) -> list[dict[str, object]]:
    """Return one row of the dataset ``measures`` per measure the benchmarks declare."""
    return [row for name in sorted(set(benchmarks)) for row in _of(name)]


def _of(benchmark: str) -> Iterator[dict[str, object]]:
    labels = {column.measure: column.short for column in board_of(benchmark).columns}
    traits = {trait.measure: trait for trait in OWN if trait.benchmark == benchmark}
    headline = _HEADLINES[benchmark][0] if benchmark in _HEADLINES else None
    for measure in sorted({*labels, *traits, *([headline] if headline else [])}):
        trait = traits.get(measure)
        yield {
            "benchmark": benchmark,
            "measure": measure,
            "label": labels.get(measure),
            "headline": measure == headline,
            "trait": trait.trait if trait else None,
        }
