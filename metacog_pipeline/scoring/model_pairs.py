"""Two models on the items both answered: is one better, and by how much.

Items are the unit: one counts with all its runs under both models, so what makes an item hard for everybody cancels.
Differences of accuracy and AUROC2 have the interval and the p of their two score intervals and what the items make of both
(`stats.two_intervals`): resamples of few errors cover too little. The others have those of the bootstrap (p twice the
smaller share of resampled differences beyond zero, one draw added; never below 2 / (draws + 1)). Up to 12 items every p is
that of all exchanges. Holm's correction is over all rows of one comparison. No model is better on fewer than 6 items.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from metacog_pipeline.scoring.confidence_grid import CELLS, STATISTICS, Drawn, Floats, Ints, cells_of
from metacog_pipeline.stats import exact, measured_coverage, resampling, two_intervals
from metacog_pipeline.stats.auroc import auroc_from_patterns, influences
from metacog_pipeline.stats.estimate import OFTEN_UNDEFINED, Estimate
from metacog_pipeline.stats.multiple import holm
from metacog_pipeline.stats.resampling import Patterns

N_BOOT = resampling.N_TESTED
FEW_ITEMS = 10
UNSTATED = "no item was answered with a confidence by both"

#: One row per benchmark, condition and measure: ``a`` minus ``b``. ``better`` names the model the data favour, if any;
#: ``low_n`` is true where either has fewer right or wrong answers than the interval was seen to hold with.
PAIRED_SCHEMA = pl.Schema(
    {
        **dict.fromkeys(("benchmark", "condition", "measure", "a", "b"), pl.String),
        **dict.fromkeys(("value_a", "value_b", "difference", "low", "high", "p", "p_holm"), pl.Float64),
        **dict.fromkeys(("n_items", "n_a", "n_b"), pl.Int64),
        **dict.fromkeys(("better", "status"), pl.String),
        "low_n": pl.Boolean,
    }
)
_LOWER_IS_BETTER = ("ece", "brier")
_NEITHER = ("mean_confidence",)  # more of it is no merit
_ALPHA = 0.05


def paired(answers: pl.DataFrame, a: str, b: str, *, seed: int, n_boot: int = N_BOOT) -> pl.DataFrame:
    """Return the comparison of ``a`` and ``b`` in `PAIRED_SCHEMA`.

    Parameters
    ----------
    answers
        Rows of ``harmonised.HARMONISED`` of at least these two models. Accuracy is of all readable answers, the other
        measures of those with a stated confidence.
    """
    rows: list[dict[str, object]] = []
    of_two = answers.filter(pl.col("model").is_in([a, b]))
    for (benchmark, _, condition), part in sorted(
        of_two.partition_by("benchmark", "dataset", "condition", as_dict=True).items(),
        key=lambda each: str(each[0]),
    ):
        named = {"benchmark": benchmark, "condition": condition, "a": a, "b": b}
        one, two = (Model.of(part.filter(pl.col("model") == name)) for name in (a, b))
        rows += [{**named, **row} for row in differences(one, two, seed=seed, n_boot=n_boot)]
    adjusted = holm([_p(row) for row in rows])
    for row, p in zip(rows, adjusted, strict=True):
        row["p_holm"] = p
        row["better"] = _better(row, a, b)
    return pl.DataFrame(rows, schema=PAIRED_SCHEMA)


@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """Answers of one model to one set of items: ``items`` in order, and by answer the place of its item and its cell."""

    items: Ints
    item: Ints
    cell: Ints


@dataclass(frozen=True, slots=True, eq=False)
class Model:
    """What one model answered, for all its pairs: right or wrong, and what has a confidence with it."""

    every: Answers
    stated: Answers

    @classmethod
    def of(cls, answers: pl.DataFrame) -> Model:
        """Return the model whose ``answers``, rows of ``harmonised.HARMONISED``, are given."""
        stated = answers.filter(pl.col("confidence").is_not_null())
        return cls(_answers(answers.with_columns(confidence=pl.lit(0.0))), _answers(stated))


def _answers(frame: pl.DataFrame) -> Answers:
    items, item = np.unique(frame["cluster"].to_numpy(), return_inverse=True)
    return Answers(items, item, cells_of(frame))


def differences(one: Model, two: Model, *, seed: int, n_boot: int = N_BOOT) -> list[dict[str, object]]:
    """Return a row per measure of ``one`` minus ``two``, of answers to one set of items."""
    shared, stated = _shared(one.every, two.every), _shared(one.stated, two.stated)
    made = _compared(shared, seed, n_boot)
    if len(shared) and not len(stated):
        return made + [_empty(name, UNSTATED) for name in STATISTICS if name != "accuracy"]
    return made + _compared(stated, seed, n_boot, stated=True)


def _p(row: dict[str, object]) -> float | None:
    found = row["p"]
    return found if isinstance(found, float) else None


def _shared(one: Answers, two: Answers) -> Ints:
    """Return how often each item that both answered stands in each cell of either, items × 2 `CELLS`."""
    if np.array_equal(one.items, two.items):
        n, places = len(one.items), (one.item, two.item)
    else:
        both, *at = np.intersect1d(one.items, two.items, assume_unique=True, return_indices=True)
        n = len(both)
        new = [np.full(len(each.items), -1) for each in (one, two)]
        for numbers, there in zip(new, at, strict=True):
            numbers[there] = np.arange(n)
        places = (new[0][one.item], new[1][two.item])
    flat = [
        (item * 2 * CELLS + cell + side * CELLS)[item >= 0]
        for side, (item, cell) in enumerate(zip(places, (one.cell, two.cell), strict=True))
    ]
    return np.bincount(np.concatenate(flat), minlength=n * 2 * CELLS).reshape(n, 2 * CELLS)


def _compared(table: Ints, seed: int, n_boot: int, *, stated: bool = False) -> list[dict[str, object]]:
    names = [name for name in STATISTICS if (name != "accuracy") == stated]
    if not len(table):
        return [_empty(name, "no item was answered by both") for name in names]
    patterns = resampling.merge_patterns(table, np.ones(len(table), dtype=np.int64))
    totals = patterns.totals.astype(np.float64)[None]
    drawn = None  # an interval by score needs no resamples
    if not set(names) <= set(_BY_SCORE):
        drawn = _drawn(patterns, n_boot, seed)
    counted = {
        "n_items": patterns.n_items,
        "n_a": int(totals[0, :CELLS].sum()),
        "n_b": int(totals[0, CELLS:].sum()),
    }
    return [_marked({**counted, **_difference(name, totals, drawn, patterns)}, totals[0]) for name in names]


def _drawn(patterns: Patterns, n_boot: int, seed: int) -> tuple[Drawn, Drawn]:
    """Return resamples of either model; those of all cells would be these with zeros between."""
    used = np.flatnonzero(patterns.counts.any(axis=0))
    narrow = Patterns(patterns.counts[:, used], patterns.weights)
    totals = resampling.patterns(narrow, n_boot, resampling.stream("compare", seed))
    first = int(np.searchsorted(used, CELLS))
    return Drawn(used[:first], totals[:, :first]), Drawn(used[first:] - CELLS, totals[:, first:])


def _marked(row: dict[str, object], totals: Floats) -> dict[str, object]:
    """Return the row with whether it rests on too few right or wrong answers of either model."""
    sides = totals.reshape(2, -1, 2).sum(axis=1)  # model × (wrong, right)
    several = int(totals.sum()) > 2 * int(str(row["n_items"]))
    name, low = f"difference_{row['measure']}", row["low"]
    found = low if isinstance(low, float) else None
    few = measured_coverage.low_n(name, "paired", found, found, 0, int(sides.min()), several=several)
    return {**row, "low_n": few}


def _difference(
    name: str, totals: Floats, drawn: tuple[Drawn, Drawn] | None, patterns: Patterns
) -> dict[str, object]:
    n_items = patterns.n_items
    statistic = STATISTICS[name]
    value_a, value_b = float(statistic(totals[:, :CELLS])[0]), float(statistic(totals[:, CELLS:])[0])
    if not (np.isfinite(value_a) and np.isfinite(value_b)):
        undefined = "undefined: all correct or all wrong" if name == "auroc2" else "undefined"
        return _empty(name, undefined)
    if drawn is None or name in _BY_SCORE:
        (low, high, p), why = _by_score(name, patterns)
    else:
        spread = drawn[0].of(name) - drawn[1].of(name)
        (low, high), p, why = resampling.interval(spread), resampling.p_value(spread), OFTEN_UNDEFINED
    found: dict[str, object] = {
        "measure": name,
        "value_a": value_a,
        "value_b": value_b,
        "difference": value_a - value_b,
        "low": low,
        "high": high,
        "p": p,
        "status": "ok",
    }
    if n_items < 2 or low is None:
        few = why if n_items > 1 else f"too few items for an interval: {n_items}"
        return {**found, "low": None, "high": None, "p": None, "status": few}
    if n_items <= exact.MOST_SWAPPED:
        items = np.repeat(patterns.counts, patterns.weights, axis=0).astype(np.float64)
        found["p"] = exact.paired_p(
            items[:, :CELLS], items[:, CELLS:], lambda each: statistic(each.sum(axis=1))
        )
    if n_items < FEW_ITEMS:
        found["status"] = exact.few_items(n_items) or f"few items: {n_items}"
    return found


def _by_score(name: str, patterns: Patterns) -> tuple[tuple[float | None, float | None, float | None], str]:
    """Return the interval and the p that follow from the score intervals of the two models, or why there are none."""
    sides = [Patterns(patterns.counts[:, at : at + CELLS], patterns.weights) for at in (0, CELLS)]
    estimate, influence = _BY_SCORE[name]
    first, second = (influence(each) for each in sides)
    weights = patterns.weights.astype(np.float64)
    spread = float(np.sqrt((weights @ first**2) * (weights @ second**2)))
    correlation = float(weights @ (first * second)) / spread if spread > 0 else 0.0
    of_a, of_b = (estimate(each) for each in sides)
    why = of_b.status if of_a.low is not None else of_a.status
    return two_intervals.difference(of_a, of_b, correlation), why


def _share(patterns: Patterns) -> Estimate:
    return resampling.ratio(patterns, _RIGHT, np.ones(CELLS))


def _of_share(patterns: Patterns) -> Floats:
    """Return how far each pattern moves the share of right answers, but for a factor."""
    right, answers = patterns.by_pattern(_RIGHT), patterns.by_pattern(np.ones(CELLS))
    moved: Floats = right - answers * float(patterns.weights @ right) / float(patterns.weights @ answers)
    return moved


_RIGHT = np.tile([0.0, 1.0], CELLS // 2)
#: Measures with a score interval of their own: the estimate of one model, and how far each pattern of items moves it.
_BY_SCORE: Mapping[str, tuple[Callable[[Patterns], Estimate], Callable[[Patterns], Floats]]] = {
    "accuracy": (_share, _of_share),
    "auroc2": (auroc_from_patterns, lambda patterns: influences(patterns.counts, patterns.totals)),
}


def _empty(name: str, status: str) -> dict[str, object]:
    return {
        "measure": name,
        **dict.fromkeys(("value_a", "value_b", "difference", "low", "high", "p"), None),
        "status": status,
    }


def _better(row: dict[str, object], a: str, b: str) -> str | None:
    p, difference, measure = row["p_holm"], row["difference"], row["measure"]
    n = row.get("n_items")
    if not isinstance(n, int) or exact.few_items(n) is not None:
        return None
    if measure in _NEITHER or not isinstance(p, float) or not isinstance(difference, float) or p >= _ALPHA:
        return None
    return a if (difference > 0) != (measure in _LOWER_IS_BETTER) else b
