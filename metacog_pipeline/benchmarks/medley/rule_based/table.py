"""All computed measures of a batch in one table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from metacog_pipeline.benchmarks.medley.rule_based import extras, tier1, tier2, tier3
from metacog_pipeline.benchmarks.medley.rule_based.batch import Batch
from metacog_pipeline.benchmarks.medley.rule_based.options import Options
from metacog_pipeline.benchmarks.medley.rule_based.panel import Bools, Floats

MINIMAL_PROBE = extras.instruction_dependence_gap.__name__
ALWAYS = {**tier1.MEASURES, **tier2.MEASURES, **tier3.MEASURES, **extras.MEASURES}
COMPUTED = (*ALWAYS, *tier3.WITH_ANALYSTS, MINIMAL_PROBE)


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Measures of N instances.

    Attributes
    ----------
    names
        The M measures.
    values
        Shape ``(N, M)``, finite; 0 where absent.
    present
        Shape ``(N, M)``: whether the instance has the measure.
    """

    names: tuple[str, ...]
    values: Floats
    present: Bools

    def column(self, name: str) -> tuple[Floats, Bools]:
        """Return values and presence of one measure; all absent where the table does not have it."""
        if name not in self.names:
            return np.zeros(len(self.values)), np.zeros(len(self.values), dtype=bool)
        place = self.names.index(name)
        return self.values[:, place], self.present[:, place]

    def row(self, place: int) -> dict[str, float]:
        """Return the measures of one instance, absent ones left out."""
        kept = self.present[place]
        return {
            name: float(value)
            for name, value, here in zip(self.names, self.values[place], kept, strict=True)
            if here
        }


def computed(batch: Batch, options: Options) -> Table:
    """Return every computed measure, each in 0..1.

    The two that compare with analysts are absent where no analyst is shown, the one of the minimal probe where it was
    not made.
    """
    n = len(batch.a)
    columns, present = [], []
    with_analysts, everywhere = batch.n_analysts > 0, np.ones(n, dtype=bool)
    for measures, here in ((ALWAYS, everywhere), (tier3.WITH_ANALYSTS, with_analysts)):
        for measure in measures.values():
            columns.append(measure(batch, options))
            present.append(here)
    columns.append(extras.instruction_dependence_gap(batch, options))
    present.append(batch.has_minimal)
    shown = np.column_stack(present) if n else np.zeros((0, len(COMPUTED)), dtype=bool)
    values = np.column_stack(columns) if n else np.zeros((0, len(COMPUTED)))
    return Table(COMPUTED, np.where(shown, values, 0.0), shown)


def judged_table(judged: Sequence[object] | None, names: tuple[str, ...], n: int) -> Table:
    """Return judge grades, one mapping (or None) per instance, as a table.

    Names that are not listed are passed over, and what is no finite number counts as absent.

    Raises
    ------
    ValueError
        When there are not ``n`` of them.
    """
    if judged is None:
        return Table(names, np.zeros((n, len(names))), np.zeros((n, len(names)), dtype=bool))
    given = list(judged)
    if len(given) != n:
        raise ValueError(f"{len(given)} judgements for {n} instances: one (or None) for each is needed")
    values = np.array([[_grade(one, name) for name in names] for one in given], dtype=np.float64)
    values = values.reshape(n, len(names))
    present = ~np.isnan(values)
    return Table(names, np.where(present, values, 0.0), present)


def joined(first: Table, second: Table) -> Table:
    """Return the measures of two tables over the same instances."""
    return Table(
        (*first.names, *second.names),
        np.hstack([first.values, second.values]),
        np.hstack([first.present, second.present]),
    )


def _grade(one: object, name: str) -> float:
    value = one.get(name) if isinstance(one, Mapping) else None
    if isinstance(value, int | float) and abs(value) <= 1e6:
        return float(value)
    return np.nan
