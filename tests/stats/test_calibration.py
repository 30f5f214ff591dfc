import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metacog_pipeline.stats.calibration import (
    brier,
    brier_from_patterns,
    confidence_cells,
    ece,
    ece_estimate,
    level_probability,
    level_use,
    reliability,
    reliability_bins,
)
from metacog_pipeline.stats.resampling import Patterns, patterns_of
from metacog_pipeline.stats.resampling import patterns as resample


def ece_from_counts(table, probability):
    cells = np.asarray(table)
    items = Patterns(np.eye(cells.size, dtype=int), cells.ravel())
    return ece_estimate(items, probability, resample(items, 20, 1))


answers = st.lists(st.tuples(st.integers(1, 5), st.booleans()), min_size=1, max_size=80)
tables = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), min_size=5, max_size=5)


def test_the_two_mappings_of_five_levels():
    assert level_probability(5).tolist() == [0, 0.25, 0.5, 0.75, 1]
    assert level_probability(5, "c/L").tolist() == pytest.approx([0.2, 0.4, 0.6, 0.8, 1])
    with pytest.raises(ValueError, match="unknown mapping"):
        level_probability(5, "c")


def test_ece_of_a_table_worked_by_hand():
    table = [[0, 0], [0, 0], [5, 5], [0, 0], [2, 8]]
    assert ece_from_counts(table, level_probability(5)).value == pytest.approx(0.1)
    assert ece_from_counts(table, level_probability(5, "c/L")).value == pytest.approx(0.5 * 0.1 + 0.5 * 0.2)


@given(tables)
def test_ece_lies_in_0_and_1_and_copies_of_the_data_leave_it(table):
    table = np.array(table)
    estimate = ece_from_counts(table, level_probability(5))
    if table.sum() == 0:
        assert (estimate.value, estimate.status) == (None, "no items")
        return
    assert 0 <= estimate.value <= 1
    assert ece_from_counts(3 * table, level_probability(5)).value == pytest.approx(estimate.value)


@given(tables)
def test_swapping_right_and_wrong_and_turning_the_scale_leaves_ece(table):
    table, p = np.array(table), level_probability(5)
    swapped = ece_from_counts(table[:, ::-1], 1 - p)
    assert swapped.value == pytest.approx(ece_from_counts(table, p).value, abs=1e-12)


@given(answers)
def test_levels_give_the_same_ece_as_arrays_in_five_bins_that_separate_them(rows):
    level, correct = map(np.array, zip(*rows, strict=True))
    p = level_probability(5, "c/L")
    table = np.bincount(confidence_cells(level, correct), minlength=10).reshape(5, 2)
    assert ece(p[level - 1], correct, bins=5).value == pytest.approx(
        ece_from_counts(table, p).value, abs=1e-12
    )


def test_bins_are_open_below_and_closed_above_and_0_joins_the_first():
    bins = reliability_bins([0.0, 0.1, 0.1000001, 0.3, 1.0], [1, 0, 1, 1, 1], bins=10)
    assert [b.accuracy.n for b in bins] == [2, 1, 1, 0, 0, 0, 0, 0, 0, 1]
    assert bins[3].accuracy.status == "no items" and bins[3].confidence is None
    assert bins[0].confidence == pytest.approx(0.05)
    assert (bins[2].low, bins[2].high) == (0.2, pytest.approx(0.3))


def test_a_reliability_diagram_of_levels_has_one_bin_per_level():
    bins = reliability([[1, 1], [0, 0], [3, 1]], [0, 0.5, 1])
    assert [b.accuracy.value for b in bins] == [0.5, None, 0.25]
    assert [b.confidence for b in bins] == [0.0, None, 1.0]


@given(answers)
def test_brier_is_the_same_from_answers_and_from_patterns(rows):
    level, correct = map(np.array, zip(*rows, strict=True))
    p = level_probability(5)
    direct = brier(p[level - 1], correct)
    patterns = patterns_of(np.arange(len(rows)), confidence_cells(level, correct), 10)
    counted = brier_from_patterns(patterns, p)
    assert counted.value == pytest.approx(direct.value, abs=1e-12)
    assert (counted.n, counted.status) == (direct.n, direct.status)
    if direct.sem is not None:
        assert counted.sem == pytest.approx(direct.sem, abs=1e-12)


@given(tables, st.integers(0, 5))
def test_the_bootstrap_interval_of_ece_holds_its_value_and_stays_inside_0_and_1(table, seed):
    patterns = Patterns(np.eye(10, dtype=int), np.array(table).ravel())
    estimate = ece_estimate(patterns, level_probability(5), resample(patterns, 100, seed))
    if patterns.n_items >= 2:
        assert 0 <= estimate.low <= estimate.value <= estimate.high <= 1
    else:
        assert estimate.low is None and estimate.status in {"no items", "single item"}


def test_level_use_says_when_confidence_teaches_nothing():
    assert level_use([[0, 0], [3, 5]]).informative is False
    mixed = level_use([[1, 0], [1, 2]])
    assert (mixed.levels_used, mixed.commonest_share, mixed.informative) == (2, 0.75, True)
    nothing = level_use([[0, 0]])
    assert (nothing.levels_used, nothing.commonest_share, nothing.informative) == (0, None, False)


def test_nothing_gives_no_number():
    assert ece([], []).status == "no items"
    assert brier([], []).status == "no items"
    assert ece([0.5], [1]).value == 0.5


@pytest.mark.parametrize(
    "call",
    [
        lambda: confidence_cells([0], [1]),
        lambda: confidence_cells([6], [1]),
        lambda: confidence_cells([1.5], [1]),
        lambda: confidence_cells([1], [2]),
        lambda: confidence_cells([1, 2], [1]),
        lambda: ece([1.1], [1]),
        lambda: ece([0.5], [1, 0]),
        lambda: ece([0.5], [1], bins=0),
        lambda: brier([-0.1], [1]),
        lambda: ece_from_counts([[1, 2, 3]], [0.5]),
        lambda: ece_from_counts([[1, 2]], [0.5, 1]),
        lambda: ece_from_counts([[1, 2]], [1.5]),
        lambda: ece_from_counts([[-1, 2]], [0.5]),
        lambda: level_probability(1),
    ],
)
def test_wrong_shapes_and_ranges_are_value_errors(call):
    with pytest.raises(ValueError, match=r"\w"):
        call()
