"""Two models on the items both answered: is one better, and by how much.

Items are the unit: one is drawn with all its runs under both models, so what makes an item hard for everybody cancels.
P values are those of the bootstrap (twice the smaller share of resampled differences beyond zero, one draw added; never
below 2 / (draws + 1)), and up to 12 items those of all exchanges; Holm's correction is over all rows of one comparison. No
model is better on fewer than 6 items.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from metacog_pipeline.scoring.confidence_grid import CELLS, STATISTICS, Floats, cells_of
from metacog_pipeline.stats import exact, resampling
from metacog_pipeline.stats.estimate import OFTEN_UNDEFINED
from metacog_pipeline.stats.multiple import holm

N_BOOT = resampling.N_TESTED
FEW_ITEMS = 10

#: One row per benchmark, condition and measure: ``a`` minus ``b``. ``better`` names the model the data favour, if any.
PAIRED_SCHEMA = pl.Schema(
    {
        **dict.fromkeys(("benchmark", "condition", "measure", "a", "b"), pl.String),
        **dict.fromkeys(("value_a", "value_b", "difference", "low", "high", "p", "p_holm"), pl.Float64),
        **dict.fromkeys(("n_items", "n_a", "n_b"), pl.Int64),
        **dict.fromkeys(("better", "status"), pl.String),
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
        rows += [{**named, **row} for row in _compared(_shared(part, a, b), a, b, seed, n_boot)]
        stated = _shared(part.filter(pl.col("confidence").is_not_null()), a, b)
        rows += [{**named, **row} for row in _compared(stated, a, b, seed, n_boot, stated=True)]
    adjusted = holm([_p(row) for row in rows])
    for row, p in zip(rows, adjusted, strict=True):
        row["p_holm"] = p
        row["better"] = _better(row, a, b)
    return pl.DataFrame(rows, schema=PAIRED_SCHEMA)


def _p(row: dict[str, object]) -> float | None:
    found = row["p"]
    return found if isinstance(found, float) else None


def _shared(part: pl.DataFrame, a: str, b: str) -> pl.DataFrame:
    """Return the answers to items that both models answered."""
    both = part.group_by("cluster").agg(pl.col("model").n_unique()).filter(pl.col("model") == 2)
    return part.join(both.select("cluster"), on="cluster", how="semi").sort("model", "cluster", "run")


def _compared(
    part: pl.DataFrame, a: str, b: str, seed: int, n_boot: int, *, stated: bool = False
) -> list[dict[str, object]]:
    names = [name for name in STATISTICS if (name != "accuracy") == stated]
    if not part.height:
        return [_empty(name, "no item was answered by both") for name in names]
    placed = part if stated else part.with_columns(confidence=pl.lit(0.0))  # accuracy needs none
    cells = cells_of(placed) + CELLS * (part["model"] == b).to_numpy()
    patterns = resampling.patterns_of(part["cluster"].to_numpy(), cells, 2 * CELLS)
    totals = patterns.totals.astype(np.float64)[None]
    drawn = resampling.patterns(patterns, n_boot, resampling.stream("compare", seed))
    counted = {
        "n_items": patterns.n_items,
        "n_a": int(totals[0, :CELLS].sum()),
        "n_b": int(totals[0, CELLS:].sum()),
    }
    return [{**counted, **_difference(name, totals, drawn, patterns)} for name in names]


def _difference(name: str, totals: Floats, drawn: Floats, patterns: resampling.Patterns) -> dict[str, object]:
    n_items = patterns.n_items
    statistic = STATISTICS[name]
    value_a, value_b = float(statistic(totals[:, :CELLS])[0]), float(statistic(totals[:, CELLS:])[0])
    if not (np.isfinite(value_a) and np.isfinite(value_b)):
        undefined = "undefined: all correct or all wrong" if name == "auroc2" else "undefined"
        return _empty(name, undefined)
    spread = statistic(drawn[:, :CELLS]) - statistic(drawn[:, CELLS:])
    low, high = resampling.interval(spread)
    found: dict[str, object] = {
        "measure": name,
        "value_a": value_a,
        "value_b": value_b,
        "difference": value_a - value_b,
        "low": low,
        "high": high,
        "p": None,
        "status": "ok",
    }
    if n_items < 2 or low is None:
        why = OFTEN_UNDEFINED if n_items > 1 else f"too few items for an interval: {n_items}"
        return {**found, "low": None, "high": None, "status": why}
    if n_items <= exact.MOST_SWAPPED:
        items = np.repeat(patterns.counts, patterns.weights, axis=0).astype(np.float64)
        found["p"] = exact.paired_p(
            items[:, :CELLS], items[:, CELLS:], lambda each: statistic(each.sum(axis=1))
        )
    else:
        found["p"] = resampling.p_value(spread)
    if n_items < FEW_ITEMS:
        found["status"] = exact.few_items(n_items) or f"few items: {n_items}"
    return found


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
