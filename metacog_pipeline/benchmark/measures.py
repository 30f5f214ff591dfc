"""What is measured and compared: declarations of numbers, of families of tests, and of the questions they answer."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import polars as pl

from metacog_pipeline.benchmark.groups import Group
from metacog_pipeline.stats.estimate import Estimate

#: What holds of every response that a number rests on: columns and their values, None for any value. A column of lists
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
    column, kind = pl.col(name), schema.get(name)
    if values is None:
        known = column.is_not_null()
        return known & column.is_not_nan() if kind in (pl.Float32, pl.Float64) else known
    if isinstance(kind, pl.List):
        return pl.any_horizontal(column.list.contains(value) for value in values).fill_null(False)
    return column.is_in(list(values)).fill_null(False)


# --- numbers ----------------------------------------------------------------------------------------------------------
class Unit(enum.StrEnum):
    """Units of measures."""

    SHARE = "share"
    SCORE = "score 0-1"
    SD = "standard deviations"
    BITS = "bits"
    COUNT = "count"
    RATIO = "ratio"
    RATING = "rating"


class HitRate(NamedTuple):
    """The measures without which a rate that saying yes more often raises must not be read."""

    false_alarms: str
    d_prime: str
    criterion: str


@dataclass(frozen=True, slots=True)
class Measure:
    """A definition of a number."""

    name: str
    label: str  # short, above a column
    # group → estimate; None where the group has nothing it is about, and for a measure of a `MeasureSet`
    compute: Callable[[Group], Estimate | None] | None = None
    unit: Unit = Unit.SHARE
    range: tuple[float | None, float | None] = (0.0, 1.0)  # a value outside is an error of the program
    higher_is_better: bool | None = True  # None where neither end is better
    headline: bool = False  # the one number of the benchmark that stands beside those of others
    paper: str = ""  # place in the paper
    words: str = ""  # the definition in one or two sentences
    conditions: Callable[[str], bool] = lambda condition: True  # under which it is computed
    # a column of the responses that counts what else must be answered (0/1), and where: (column, words)
    needs: tuple[str, str] | None = None
    # the responses it is about where those are not all of the group, as (column, its values): what is asked, answered and
    # readable is counted among them
    only: tuple[str, tuple[str, ...]] | None = None
    # the answers its value rests on where those are not all it is about; by default what ``compute`` says of itself
    rests_on: Where = ()
    shared: bool = False  # whether these are columns of the harmonised answers (`Benchmark.harmonise`)
    right: str = "correct"  # the column that says which answers are right
    withheld: bool = True  # whether an incomplete group has no value of it unless the study allows
    hit_rate: HitRate | None = None
    # scoring rule by condition, where it is not alike under all: {"json": "fields"}; columns of two are never compared
    bases: Mapping[str, str] = field(default_factory=dict)

    @property
    def basis(self) -> Where:
        """What holds of the answers its value rests on; nothing where those are all answers of the group."""
        declared: Where = self.rests_on or getattr(self.compute, "rests_on", ())
        return declared if self.only is None else (self.only, *declared)


@dataclass(frozen=True, slots=True)
class MeasureSet:
    """Measures that are cheaper or only possible together: meta-d′ of all groups, composites of tiers."""

    measures: tuple[Measure, ...]
    # compute(benchmark, groups) returns one mapping of names to estimates per group, in their order; a name it leaves out
    # has no row. By run it gets one partition at a time, pooled all models
    compute: Callable[[Any, Sequence[Group]], Sequence[Mapping[str, Estimate]]]


# --- tests ------------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Comparison:
    """One result of a test of a against b. Empty where there is no number; ``status`` says why."""

    family: str
    measure: str
    a: str | None = None
    b: str | None = None
    dataset: str | None = None
    task: str | None = None
    condition: str | None = None
    scoring: str | None = None
    model: str | None = None
    source: str | None = None
    value: float | None = None
    se: float | None = None
    low: float | None = None
    high: float | None = None
    low_adjusted: float | None = None
    high_adjusted: float | None = None
    statistic: float | None = None
    df1: float | None = None
    df2: float | None = None
    p: float | None = None
    p_adjusted: float | None = None
    effect_size: float | None = None
    verdict: str | None = None
    n: int = 0
    note: str | None = None
    status: str = "ok"
    # filled by the pipeline: size of the family, whether it answers a `Question` and which one of the verdict, whether its
    # interval rests on too few answers, and how many items a model it names was asked and did not answer
    n_tests: int = 0
    primary: bool = False
    question: str | None = None
    low_n: bool | None = None
    n_left_out: int | None = None


def lost_items(first: int, second: int, shared: int) -> str | None:
    """Return how many items of either side the other has no answer to; None where both answered the same."""
    if first == second == shared:
        return None
    return f"left out: {first - shared} items of a, {second - shared} of b that the other did not answer"


@dataclass(frozen=True, slots=True)
class Question:
    """A question to a benchmark's answers, and the one test that answers it."""

    asks: str
    primary: tuple[str, str]  # family and measure of the test
    # families that ask it in another way, besides other measures of the primary one
    secondary: tuple[str, ...] = ()
    # counted by n of the test: too few leave a verdict out (`stats.exact`)
    unit: Literal["items", "models"] = "items"
    # the question of the study's verdict that it answers (`leaderboard.verdict.QUESTIONS`)
    verdict: Literal["knows", "calibrated", "unanswerable", "judgement"] | None = None

    @property
    def families(self) -> tuple[str, ...]:
        """Every family that bears on it, the primary one first."""
        return (self.primary[0], *self.secondary)


@dataclass(frozen=True, slots=True)
class Contrast:
    """A definition of a family of tests over all groups, which are pooled over runs."""

    family: str  # rows of ``compute`` may carry another: a second test of the same pairs
    # compute(benchmark, groups) yields rows without ``p_adjusted`` and ``verdict``, unless it corrects by itself
    compute: Callable[..., Iterable[Comparison]]
    # over the rows that are equal in ``within``; None leaves rows as they are, a family without any ``p_adjusted`` by Holm
    correction: Literal["holm", "bonferroni"] | None = "holm"
    within: tuple[str, ...] = ("family", "measure")
    words: str = ""  # what is tested, in one sentence
    unit: Literal["items", "models"] = "items"  # as in `Question`
    # whether models are compared with each other, and under which conditions (empty: all): a model that lacks answers and
    # is in no row has one with the reason
    between_models: bool = False
    under: tuple[str, ...] = ()
    # whether a row rests on the models a and b alone: compute(benchmark, groups, pairs) yields the rows of these pairs;
    # where one fails, the others keep theirs. So do models where a row rests on its ``model`` alone
    pairs: bool = False
    by_model: bool = False
    # half widths of practical equivalence, by measure
    rope: Mapping[str, float] = field(default_factory=dict)
    version: str = "1"  # raised when the same responses would give other rows
    # columns, as (measure, condition), that rows compare: a class that compares columns of two bases cannot be declared
    compares: tuple[tuple[str, str], ...] = ()
