"""Two models on the items both answered: is one better, and by how much.

Items are the unit: one counts with all its runs under both models, so what makes an item hard for everybody cancels.
Differences of accuracy and AUROC2 have the interval and the p of their two score intervals and what the items make of both
(`stats.two_intervals`): resamples of few errors cover too little. The others have those of the bootstrap (p twice the
smaller share of resampled differences beyond zero, one draw added; never below 2 / (draws + 1)). The p of accuracy, where
both answered every item as often, and every p up to 12 items is that of all exchanges. Where a p of 0.05 or more has an
interval that just leaves out 0, the interval is drawn to 0. Holm's correction is over all rows of one comparison. No model
is better on fewer than 6 items.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import polars as pl

from metacog_pipeline.scoring.confidence_grid import STATISTICS, Floats, cells_at
from metacog_pipeline.scoring.pair_sides import BY_SCORE, Answers, Side, drawn, paired_sides
from metacog_pipeline.stats import exact, measured_coverage, resampling, two_intervals
from metacog_pipeline.stats.estimate import OFTEN_UNDEFINED
from metacog_pipeline.stats.multiple import holm

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
        Rows of `schemas.HARMONISED` of at least these two models. Accuracy is of all readable answers, the other
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
class Model:
    """What one model answered, for all its pairs: right or wrong, and what has a confidence with it."""

    every: Answers
    stated: Answers

    @classmethod
    def of(cls, answers: pl.DataFrame) -> Model:
        """Return the model whose ``answers``, rows of `schemas.HARMONISED`, are given."""
        item = answers["cluster"].to_numpy()
        right = answers["correct"].to_numpy().astype(np.int64)
        confidence = answers["confidence"].cast(pl.Float64).to_numpy()
        stated = ~np.isnan(confidence)
        cell = cells_at(confidence[stated], right[stated])
        return cls(Answers.of(item, right), Answers.of(item[stated], cell))


def differences(one: Model, two: Model, *, seed: int, n_boot: int = N_BOOT) -> list[dict[str, object]]:
    """Return a row per measure of ``one`` minus ``two``, of answers to one set of items."""
    made = _compared(paired_sides(one.every, two.every), seed, n_boot)
    stated = paired_sides(one.stated, two.stated)
    if made[0].get("n_items") and not stated[0].n_items:
        return made + [_empty(name, UNSTATED) for name in STATISTICS if name != "accuracy"]
    return made + _compared(stated, seed, n_boot, stated=True)


def _p(row: dict[str, object]) -> float | None:
    found = row["p"]
    return found if isinstance(found, float) else None


def _compared(
    sides: tuple[Side, Side], seed: int, n_boot: int, *, stated: bool = False
) -> list[dict[str, object]]:
    names = [name for name in STATISTICS if (name != "accuracy") == stated]
    n_items = sides[0].n_items
    if not n_items:
        return [_empty(name, "no item was answered by both") for name in names]
    counted = {"n_items": n_items, "n_a": int(sides[0].totals.sum()), "n_b": int(sides[1].totals.sum())}
    draws = partial(drawn, sides, resampling.stream("compare", seed), n_boot)
    return [_marked({**counted, **_difference(name, sides, draws)}, sides) for name in names]


def _marked(row: dict[str, object], sides: tuple[Side, Side]) -> dict[str, object]:
    """Return the row with whether it rests on too few right or wrong answers of either model."""
    answers = np.stack([side.totals.reshape(-1, 2).sum(axis=0) for side in sides])  # model × (wrong, right)
    several = int(answers.sum()) > 2 * sides[0].n_items
    name, low = f"difference_{row['measure']}", row["low"]
    found = low if isinstance(low, float) else None
    few = measured_coverage.low_n(name, "paired", found, found, 0, int(answers.min()), several=several)
    return {**row, "low_n": few}


def _difference(
    name: str, sides: tuple[Side, Side], draws: Callable[[str], tuple[Floats, Floats]]
) -> dict[str, object]:
    n_items = sides[0].n_items
    value_a, value_b = (side.value(name) for side in sides)
    if not (np.isfinite(value_a) and np.isfinite(value_b)):
        undefined = "undefined: all correct or all wrong" if name == "auroc2" else "undefined"
        return _empty(name, undefined)
    if name in BY_SCORE:
        (low, high, p), why = _by_score(name, sides)
    else:
        of_a, of_b = draws(name)
        (low, high, p), why = resampling.interval_and_p(of_a - of_b), OFTEN_UNDEFINED
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
        statistic = STATISTICS[name]
        first, second = (side.of_items.astype(np.float64) for side in sides)
        found["p"] = exact.paired_p(first, second, lambda each: statistic(each.sum(axis=1)))
    if n_items < FEW_ITEMS:
        found["status"] = exact.few_items(n_items) or f"few items: {n_items}"
    return found


def _by_score(
    name: str, sides: tuple[Side, Side]
) -> tuple[tuple[float | None, float | None, float | None], str]:
    """Return the interval and the p that follow from the score intervals of the two models, or why there are none."""
    (of_a, first), (of_b, second) = (side.by_score(name) for side in sides)
    spread = float(np.sqrt((first @ first) * (second @ second)))
    correlation = float(first @ second) / spread if spread > 0 else 0.0
    why = of_b.status if of_a.low is not None else of_a.status
    one, two = (side.of_items for side in sides)
    low, high, p = two_intervals.difference(of_a, of_b, correlation, int((one != two).any(axis=1).sum()))
    if name == "accuracy" and p is not None and np.array_equal(one.sum(axis=1), two.sum(axis=1)):
        p = exact.sum_p((one - two)[:, 1::2].sum(axis=1))
    if low is not None and high is not None and p is not None and p >= _ALPHA:
        low, high = min(low, 0.0), max(high, 0.0)  # what the items do not tell from 0 reaches 0
    return (low, high, p), why


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
