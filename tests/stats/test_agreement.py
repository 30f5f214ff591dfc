import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metacog_pipeline.stats.agreement import cohen_kappa

ratings = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc")), min_size=1, max_size=60)


def test_kappa_of_the_table_worked_out_by_fleiss_cohen_and_everitt():
    # Published example: 200 cases, kappa 0.429, standard error 0.054 (variance 0.002885).
    pairs = np.repeat(np.indices((3, 3)).reshape(2, 9), [106, 10, 4, 22, 28, 10, 2, 12, 6], axis=1)
    estimate = cohen_kappa(*pairs)
    assert estimate.value == pytest.approx(0.429, abs=0.0005)
    assert estimate.sem**2 == pytest.approx(0.002885, abs=2e-6)


@given(ratings)
def test_the_raters_may_be_swapped_and_the_categories_renamed(rows):
    a, b = zip(*rows, strict=True)
    one, swapped = cohen_kappa(a, b), cohen_kappa(b, a)
    renamed = cohen_kappa([{"a": 2, "b": 0, "c": 1}[x] for x in a], [{"a": 2, "b": 0, "c": 1}[x] for x in b])
    for other in (swapped, renamed):
        assert other.value == pytest.approx(one.value)
        assert other.status == one.status
        assert other.sem == pytest.approx(one.sem, abs=1e-7)


@given(ratings)
def test_kappa_stays_in_its_range_with_1_only_for_full_agreement(rows):
    a, b = zip(*rows, strict=True)
    estimate = cohen_kappa(a, b)
    if estimate.value is None:
        assert a == b and len(set(a)) == 1
    else:
        assert -1 <= estimate.value <= 1
        assert (estimate.value > 1 - 1e-12) == (a == b)


def test_degenerate_ratings_say_why():
    assert cohen_kappa([], []).status == "no items"
    assert cohen_kappa(["x", "x"], ["x", "x"]).status == "one category used by both"
    lone = cohen_kappa(["x"], ["y"])
    assert (lone.value, lone.low, lone.status) == (0.0, None, "single item")
    full = cohen_kappa([1, 2, 3, 1], [1, 2, 3, 1])
    assert full.value == 1.0 and full.high == 1.0
