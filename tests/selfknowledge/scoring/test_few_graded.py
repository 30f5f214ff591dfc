"""The areas of two models under the type-2 ROC on few items: p is that of all exchanges of items between them."""

import numpy as np
import polars as pl
import pytest

from metacog_pipeline.stats import exact
from metacog_pipeline.stats.auroc import auroc


def area(level, right):
    found = auroc(level, right).value
    return np.nan if found is None else found


@pytest.mark.parametrize("n", [6, 8, 12])
def test_up_to_twelve_items_the_difference_of_areas_has_the_p_of_all_exchanges(n, rows, scoring):
    right = [1] * (n // 2) + [0] * (n - n // 2)
    one, two = np.linspace(0.9, 0.1, n).round(3), np.roll(np.linspace(0.1, 0.9, n).round(3), 1)
    frames = [
        rows(right, [1] * n, confidence=level.tolist(), model=name)
        for name, level in (("a", one), ("b", two))
    ]
    (row,) = scoring.compare(pl.concat(frames)).filter(family="models_paired", measure="auroc2").to_dicts()
    moved = np.array(
        [
            area(np.where(swap, two, one), right) - area(np.where(swap, one, two), right)
            for swap in exact.exchanges(n)
        ]
    )
    assert row["value"] == pytest.approx(moved[0]) and row["low"] < row["value"]
    assert row["p"] == pytest.approx(np.mean(np.abs(moved) >= abs(moved[0]) - 1e-9))
    assert row["p"] >= 2 / 2**n and exact.NOTE in row["note"]


def test_items_without_a_graded_yes_are_not_counted_among_the_twelve(rows, scoring):
    n, graded = 30, 8
    right = [1, 0] * (n // 2)
    levels = [
        np.where(np.arange(n) < graded, each, np.nan)
        for each in (np.linspace(0.2, 0.9, n), np.tile([0.3, 0.8, 0.6], n // 3))
    ]
    frames = [
        rows(right, [1] * n, confidence=[None if np.isnan(each) else float(each) for each in own], model=name)
        for name, own in zip("ab", levels, strict=True)
    ]
    (row,) = scoring.compare(pl.concat(frames)).filter(family="models_paired", measure="auroc2").to_dicts()
    assert exact.NOTE in row["note"] and row["p"] >= 2 / 2**graded


def test_more_items_have_the_p_of_the_interval(observer, scoring):
    both = pl.concat([observer(40, 0.5, 0.5, 1), observer(40, 0.5, 1.5, 2, model="beta")])
    (row,) = scoring.compare(both).filter(family="models_paired", measure="auroc2").to_dicts()
    assert "p of the interval" in row["note"]
