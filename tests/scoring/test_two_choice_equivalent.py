"""meta-d′ of multiple-choice answers: what is fitted, and when there is no number."""

from __future__ import annotations

import numpy as np
import pytest

from metacog_pipeline.scoring.two_choice_equivalent import meta_d_estimates
from metacog_pipeline.stats.folded import fold
from metacog_pipeline.stats.observers import criteria_around, expected_counts
from metacog_pipeline.stats.resampling import Patterns
from metacog_pipeline.stats.resampling import patterns as resample


def table_of(d: float, m_ratio: float, n: int = 4000) -> np.ndarray:
    """Return level × (wrong, correct) of an unbiased observer, without noise."""
    low, high = criteria_around(m_ratio, 0.0, [0.35, 0.7, 1.1, 1.6])
    correct, wrong = expected_counts(d, m_ratio, 0.0, low, high, n).by_confidence
    return np.rint(np.column_stack([wrong[0], correct[0]])).astype(np.int64)


def test_an_unbiased_observer_is_recovered() -> None:
    (found,) = meta_d_estimates([table_of(1.6, 0.7)], [None])
    assert found["d_equivalent"].value == pytest.approx(1.6, abs=0.02)
    assert found["m_ratio"].value == pytest.approx(0.7, abs=0.03)
    assert found["m_ratio"].low < 0.7 < found["m_ratio"].high


def test_an_accuracy_below_one_half_gives_meta_d_but_no_ratio() -> None:
    table = np.array([[30, 5], [20, 8], [15, 10], [10, 12], [5, 15]])
    (found,) = meta_d_estimates([table], [None])
    assert found["m_ratio"].value is None and "one half" in found["m_ratio"].status
    assert found["meta_d"].value is not None


@pytest.mark.parametrize(
    "table",
    [np.zeros((5, 2)), [[0, 0]] * 4 + [[3, 9]], [[0, 9]] * 5, [[9, 0]] * 5],
    ids=["no answers", "one level", "all correct", "all wrong"],
)
def test_degenerate_tables_give_a_status_and_never_raise(table: object) -> None:
    (found,) = meta_d_estimates([np.asarray(table, dtype=np.int64)], [None])
    for name, estimate in found.items():
        assert estimate.value is not None or estimate.status != "ok", name
    assert found["m_ratio"].value is None or abs(found["m_ratio"].value) < 100


def test_runs_that_repeat_themselves_do_not_narrow_the_interval() -> None:
    once = table_of(1.4, 0.8, 600)
    cells = np.repeat(np.arange(10), once.ravel())
    single = Patterns(np.eye(10, dtype=np.int64), once.ravel())
    thrice = Patterns(3 * np.eye(10, dtype=np.int64), once.ravel())
    assert single.totals.sum() == len(cells)
    widths = []
    for patterns in (single, thrice):
        (found,) = meta_d_estimates([patterns.totals.reshape(5, 2)], [resample(patterns, 1000, 1)])
        widths.append(found["meta_d"].high - found["meta_d"].low)
    assert widths[1] == pytest.approx(widths[0], rel=0.1)


def test_groups_fitted_together_are_those_fitted_alone() -> None:
    tables = [table_of(1.6, 0.7), table_of(0.9, 1.1), np.zeros((5, 2), dtype=np.int64)]
    together = meta_d_estimates(tables, [None] * 3)
    for table, found in zip(tables, together, strict=True):
        (alone,) = meta_d_estimates([table], [None])
        for name in alone:
            assert alone[name].status == found[name].status
            if alone[name].value is not None:
                assert alone[name].value == pytest.approx(found[name].value, abs=1e-9)


def test_what_is_added_to_a_cell_is_said() -> None:
    (found,) = meta_d_estimates([table_of(1.0, 1.0)], [None])
    assert f"+ {1 / 10:g}" in found["meta_d"].method
    assert fold(table_of(1.0, 1.0)).n1[0] == fold(table_of(1.0, 1.0)).n2[0]
