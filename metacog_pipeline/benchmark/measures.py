"""What a measure declares: what it is, how it is computed, and which responses it rests on.

`Measure.rests_on` names them once: how many answers and items a number rests on, whether these are enough for its interval,
and what ``metacog show`` prints of them all follow from that.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import polars as pl

from metacog_pipeline.benchmark.groups import Group
from metacog_pipeline.stats.estimate import Estimate

#: Columns and their values, None for any value: what holds of every response that something rests on. A column of lists
#: holds one of the values.
Where = tuple[tuple[str, tuple[Any, ...] | None], ...]


def holds(where: Where, schema: Mapping[str, Any]) -> pl.Expr:
    """Return whether all of ``where`` holds of a response; ``schema`` are the columns there are.

    >>> rows = pl.DataFrame({"key": ["A", "F", "B"], "sure": [1, 2, None], "tags": [["x"], [], ["x", "y"]]})
    >>> rows.filter(holds((("key", ("A", "B")), ("sure", None)), rows.schema)).rows()
    [('A', 1, ['x'])]
    >>> rows.filter(holds((("tags", ("y", "z")),), rows.schema))["key"].to_list()
    ['B']
    """
    return pl.all_horizontal(pl.lit(True), *(_one_holds(name, values, schema) for name, values in where))


def _one_holds(name: str, values: tuple[Any, ...] | None, schema: Mapping[str, Any]) -> pl.Expr:
    if values is None:
        known = pl.col(name).is_not_null()
        return known & pl.col(name).is_not_nan() if schema.get(name) in (pl.Float32, pl.Float64) else known
    if isinstance(schema.get(name), pl.List):
        return pl.any_horizontal(pl.col(name).list.contains(value) for value in values).fill_null(False)
    return pl.col(name).is_in(list(values)).fill_null(False)


class Unit(enum.StrEnum):
    """Units of measures."""

    SHARE = "share"
    SCORE = "score 0-1"
    SD = "standard deviations"
    BITS = "bits"
    POINTS = "points"
    COUNT = "count"
    RATIO = "ratio"
    RATING = "rating"


def always(condition: str) -> bool:
    """Hold for every condition."""
    return True


class HitRate(NamedTuple):
    """What belongs to a rate that saying yes more often raises: names of its false alarms, d' and criterion."""

    false_alarms: str
    d_prime: str
    criterion: str


@dataclass(frozen=True, slots=True)
class Measure:
    """A definition of a number."""

    # name, label: on the tables; short, above a column
    name: str
    label: str
    # group → estimate; None where the group has nothing the measure is about. A measure of a `MeasureSet` has none.
    compute: Callable[[Group], Estimate | None] | None = None
    # unit, range: the range is held by a check: a value outside is an error of the program
    unit: Unit = Unit.SHARE
    range: tuple[float | None, float | None] = (0.0, 1.0)
    higher_is_better: bool | None = True  # none where neither end is better
    headline: bool = False  # the one number of the benchmark that stands beside those of others
    # paper, words: place in the paper; the definition in one or two sentences
    paper: str = ""
    words: str = ""
    conditions: Callable[[str], bool] = always  # under which it is computed
    # A column of the responses that counts what else must be answered (0/1), and where: (column, words)
    needs: tuple[str, str] | None = None
    # what it rests on where that is less than the whole response: column ``status_<part>`` says how that part ended,
    # and completeness and coverage are those of the part
    part: str | None = None
    # the responses it is about where those are not all of the group, as (column, its values); what is asked, answered
    # and readable is counted among them
    only: tuple[str, tuple[str, ...]] | None = None
    # what holds of the answers its value rests on, where those are not all it is about: columns and their values.
    # Where it is left out, what `compute` says of itself (a `share` knows which it is of).
    rests_on: Where = ()
    # whether these are columns of the harmonised answers (`Benchmark.harmonise`) instead of the responses
    shared: bool = False
    right: str = "correct"  # the column that says which answers are right
    # whether an incomplete group has no value of it unless the study allows; counts of what happened have one
    withheld: bool = True
    # the measures without which it must not be read, where saying yes more often raises it
    hit_rate: HitRate | None = None
    # by what a reply is scored under a condition, where that is not alike under all: ``{"json": "fields"}``. Columns
    # of different bases are never compared.
    bases: Mapping[str, str] = field(default_factory=dict)

    @property
    def basis(self) -> Where:
        """What holds of the answers its value rests on; nothing where those are all answers of the group."""
        declared: Where = self.rests_on or getattr(self.compute, "rests_on", ())
        return declared if self.only is None else (self.only, *declared)


@dataclass(frozen=True, slots=True)
class MeasureSet:
    """Measures that are cheaper or only possible together: meta-d′ of all groups, composites of tiers.

    ``compute(benchmark, groups)`` returns one mapping of names to estimates per group, in the order of the groups; a
    name it leaves out has no row. By run it gets one partition at a time, pooled all models.
    """

    measures: tuple[Measure, ...]
    compute: Callable[[Any, Sequence[Group]], Sequence[Mapping[str, Estimate]]]
