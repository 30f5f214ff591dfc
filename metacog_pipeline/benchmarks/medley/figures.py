"""The figures of MEDLEY-BENCH from the files of estimates and comparisons, for whoever has no leaderboard yet.

The page draws the same figures from the leaderboard, with published models beside them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import polars as pl

from metacog_pipeline.benchmarks.medley.report import ABILITIES, POINTS, TIERS
from metacog_pipeline.report.figures import Point, intervals
from metacog_pipeline.report.maps import heat_map, plane

Values = Mapping[str, Mapping[str, Point]]  # model → measure → value


def medley_figures(estimates: Path) -> dict[str, str]:
    """Return figures as SVG by title: cognitive map, ipsative heat map, rank intervals, tier scatter.

    Parameters
    ----------
    estimates
        ``<home>/estimates/medley``, with ``models/*.parquet`` and ``comparisons/comparisons.parquet``.

    Notes
    -----
    Simulated observers and models have figures of their own. What has no values yet has no figure.
    """
    files = sorted((estimates / "models").glob("*.parquet"))
    found = estimates / "comparisons" / "comparisons.parquet"
    if not files or not found.exists():
        return {}
    pooled = pl.concat([pl.read_parquet(path, glob=False, hive_partitioning=False) for path in files])
    compared = pl.read_parquet(found, glob=False, hive_partitioning=False)
    worlds = {
        "models": pl.col("source") != "simulated",
        "simulated observers": pl.col("source") == "simulated",
    }
    return {
        f"{title}, {world}": drawn
        for world, own in worlds.items()
        for title, drawn in _drawn(pooled.filter(own), compared.filter(own))
    }


def _drawn(pooled: pl.DataFrame, compared: pl.DataFrame) -> Iterator[tuple[str, str]]:
    values = _values(pooled)
    told = compared.filter(family="character").select("model", "verdict")
    behaves = dict(told.iter_rows())
    points = [
        (model, str(behaves.get(model) or "not told"), own["adversarial_delta"], own["stripped_delta"])
        for model, own in values.items()
        if {"adversarial_delta", "stripped_delta"} <= own.keys()
    ]
    if points:
        yield (
            "cognitive map",
            plane(points, x="change, inverted consensus", y="change, weak analysts", axes_at_zero=True),
        )
    abilities = [f"ipsative_{name}" for name in ABILITIES]
    rows = [
        (model, [own[name].value if name in own else None for name in abilities])
        for model, own in values.items()
        if own.keys() & set(abilities)
    ]
    if rows:
        columns = [name.replace("_", "-") for name in ABILITIES]
        yield "ipsative heat map", heat_map(rows, columns=columns, name="Abilities within each model")
    ranks = [
        (str(model), Point(value, low, high))
        for model, value, low, high in compared.filter(
            pl.col("family") == "rank", pl.col("value").is_not_null()
        )
        .sort("value", "model")
        .select("model", "value", "low", "high")
        .iter_rows()
    ]
    if ranks:
        yield "rank intervals", intervals(ranks, x="rank by MMS")
    for other in ("t1", "t3"):
        pairs = [
            (model, "normal", own["t2"], own[other])
            for model, own in values.items()
            if {"t2", other} <= own.keys()
        ]
        if pairs:
            yield (
                f"tier scatter, {other.upper()} against T2",
                plane(pairs, x=TIERS["t2"], y=TIERS[other], axes_at_zero=False),
            )


def _values(pooled: pl.DataFrame) -> Values:
    """Return what has a value, in points; changes from whichever condition they are of, all else under normal."""
    wanted = pooled.filter(
        pl.col("estimate").is_not_null(),
        (pl.col("condition") == "normal") | (pl.col("measure") == pl.col("condition") + "_delta"),
    ).sort("model", "measure")
    found: dict[str, dict[str, Point]] = {}
    for model, measure, *ends in wanted.select("model", "measure", "estimate", "low", "high").iter_rows():
        value, low, high = (None if end is None else POINTS * end for end in ends)
        found.setdefault(model, {})[measure] = Point(value or 0.0, low, high)
    return found
