"""Disagreement depends on how labels are shared out, not on which labels they are."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metacog_pipeline.benchmarks.medley.construction.disagreement import (
    count_sets,
    counts_behind,
    disagreement,
)
from metacog_pipeline.benchmarks.medley.construction.ratings import label_counts, ranks
from tests.tables import every

LARGEST = 0.42281
tables = st.lists(st.integers(0, 40), min_size=5, max_size=5)


def by_definition(counts: list[int]) -> float:
    """Mean over raters of the divergence between a rater's label and the mean of all."""
    total = sum(counts)
    mean = np.array(counts) / total
    value = 0.0
    for place, count in enumerate(counts):
        one = np.eye(5)[place]
        middle = (one + mean) / 2
        parts = [
            p * np.log(p / m) for dist in (one, mean) for p, m in zip(dist, middle, strict=True) if p > 0
        ]
        value += count * 0.5 * sum(parts)
    return float(value / total)


@settings(max_examples=150)
@given(tables)
def test_closed_form_is_the_definition(counts):
    expected = by_definition(counts) if sum(counts) >= 2 else 0.0
    assert disagreement(counts) == pytest.approx(expected, abs=1e-12)


@settings(max_examples=100)
@given(tables, st.randoms(use_true_random=False), st.integers(2, 5))
def test_order_of_labels_and_size_of_the_pool_do_not_matter(counts, shuffle, times):
    mixed = list(counts)
    shuffle.shuffle(mixed)  # type: ignore[attr-defined]
    value = disagreement(counts)
    assert disagreement(mixed) == pytest.approx(value, abs=1e-12) and 0 <= value <= LARGEST + 1e-5
    if sum(counts) >= 2:
        assert disagreement([times * n for n in counts]) == pytest.approx(value, abs=1e-12)


def test_range_runs_from_agreement_to_five_equal_shares():
    assert disagreement([9, 0, 0, 0, 0]) == 0
    assert disagreement([4, 4, 4, 4, 4]) == pytest.approx(LARGEST, abs=1e-5)
    assert disagreement([0, 0, 1, 0, 0]) == disagreement([0] * 5) == 0


def test_many_claims_at_once_are_the_same_as_one_by_one():
    table = np.array([[1, 2, 3, 4, 5], [0, 0, 7, 0, 0], [0] * 5, [1, 1, 0, 0, 0]])
    assert disagreement(table).tolist() == [float(disagreement(row)) for row in table]
    assert disagreement(table.reshape(2, 2, 5)).shape == (2, 2)
    assert disagreement(np.zeros((0, 5))).shape == (0,)


@every("wrong", [[1, 2, 3], 4, [[1, 2]], [1, 2, 3, 4, -1], [np.nan] * 5, [np.inf, 0, 0, 0, 0]])
def test_counts_that_are_none_are_refused_in_one_line(wrong):
    with pytest.raises(ValueError, match="label counts") as caught:
        disagreement(wrong)  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)


@settings(max_examples=60)
@given(st.lists(st.integers(0, 6), min_size=5, max_size=5).filter(lambda c: 2 <= sum(c) <= 16))
def test_counts_are_found_again_from_their_value(counts):
    found = counts_behind(float(disagreement(counts)), sum(counts))
    assert tuple(sorted(counts, reverse=True)) in found


def test_count_sets_are_all_ways_to_share_out():
    assert {tuple(row) for row in count_sets(3)} == {(3, 0, 0, 0, 0), (2, 1, 0, 0, 0), (1, 1, 1, 0, 0)}
    assert counts_behind(0.1, 0) == counts_behind(0.1, 10_000) == counts_behind(0.9, 8) == []


def test_labels_are_counted_by_exact_spelling_and_missing_ones_left_out():
    rated = [{"C1": "high", "C2": "High"}, {"C1": "very_low"}, None, {"C1": "high", "C2": "nonsense"}]
    assert label_counts(ranks(rated, ["C1", "C2", "C3"])).tolist() == [
        [1, 0, 0, 2, 0],
        [0, 0, 2, 0, 0],
        [0, 0, 0, 0, 0],
    ]
