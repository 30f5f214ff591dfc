import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import norm

from metacog_pipeline.stats.folded import METHOD, fold, metad_of_correct_cells
from metacog_pipeline.stats.observers import criteria_around, expected_counts, simulate

tables = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), min_size=1, max_size=5).map(np.array)


def metad_of_correct(table, **options):
    array = np.asarray(table)
    return metad_of_correct_cells(array[None], **options)[0]


@given(tables)
def test_folding_keeps_every_answer_and_knows_no_side(table):
    folded = fold(table)
    right, wrong = folded.by_confidence
    assert right[0].tolist() == table[:, 1].tolist() and wrong[0].tolist() == table[:, 0].tolist()
    assert folded.n1[0] == folded.n2[0]
    assert (folded.n_s1 == folded.n_s2[:, ::-1]).all()


@given(tables)
def test_every_number_has_an_interval_or_a_status(table):
    found = metad_of_correct(table)
    assert list(found) == ["d", "meta_d", "m_ratio", "m_diff"]
    for estimate in found.values():
        assert estimate.method.startswith(METHOD) and estimate.n == table.sum()
        assert estimate.low is not None or estimate.status != "ok"


@given(tables)
def test_d_is_twice_the_z_of_the_accuracy(table):
    wrong, right = table.sum(axis=0)
    found = metad_of_correct(table)
    if wrong and right:
        accuracy = right / (wrong + right)
        assert found["d"].value == pytest.approx(2 * norm.ppf(accuracy), abs=1e-9)
        assert found["d"].sem == pytest.approx(
            2 * math.sqrt(accuracy * (1 - accuracy) / (wrong + right)) / norm.pdf(norm.ppf(accuracy))
        )
        assert (found["m_ratio"].value is None) or accuracy > 0.5
    else:
        assert found["d"].value is None and found["d"].status != "ok"


@pytest.mark.parametrize(("d", "ratio"), [(1.5, 0.8), (2.2, 1.1), (0.9, 0.4)])
def test_an_unbiased_observer_is_given_back(d, ratio):
    table = expected_counts(d, ratio, 0, *criteria_around(ratio, 0, [0.4, 0.8, 1.3]), 5000)
    right, wrong = table.by_confidence
    found = metad_of_correct(np.column_stack([wrong[0], right[0]]))
    assert found["d"].value == pytest.approx(d, abs=1e-6)
    assert found["meta_d"].value == pytest.approx(ratio * d, abs=1e-5)
    assert found["m_ratio"].value == pytest.approx(ratio, abs=1e-5)


def test_accuracy_of_one_half_or_less_has_meta_d_but_no_ratio():
    found = metad_of_correct([[40, 5], [20, 10], [10, 15]])
    assert found["d"].value < 0 and "one half or less" in found["d"].status
    assert found["meta_d"].value > 0 and found["meta_d"].status == "ok"
    for name in ("m_ratio", "m_diff"):
        assert found[name].value is None and "one half or less" in found[name].status


def test_bootstrap_intervals_are_about_those_of_the_delta_method_and_repeat():
    observers = simulate(1.6, 0.8, 0, *criteria_around(0.8, 0, [0.4, 0.9]), 1500, seed=3, cells=3)
    right, wrong = observers.by_confidence
    table = np.stack([wrong, right], axis=2)
    delta = metad_of_correct_cells(table)
    boot = metad_of_correct_cells(table, n_boot=600, seed=1)
    assert boot == metad_of_correct_cells(table, n_boot=600, seed=1)
    for one, other in zip(delta, boot, strict=True):
        for name in ("d", "meta_d", "m_ratio", "m_diff"):
            assert other[name].value == one[name].value
            assert other[name].sem == pytest.approx(one[name].sem, rel=0.2)
            assert "bootstrap of 600" in other[name].method and "delta" in one[name].method


@given(tables)
def test_padding_leaves_no_zero_cell_behind(table):
    wrong, right = table.sum(axis=0)
    assume(wrong != right and len(table) > 1)
    found = metad_of_correct(table, padding=0.5)
    assert found["d"].value is not None and found["meta_d"].value is not None
    assert all("counts + 0.5" in estimate.method for estimate in found.values())


@pytest.mark.parametrize("bad", [[1, 2], [[1, 2, 3]], [[-1, 2]], [[math.nan, 1]], np.zeros((0, 2))])
def test_what_is_no_table_of_wrong_and_correct_is_a_value_error(bad):
    with pytest.raises(ValueError, match=r"\w"):
        metad_of_correct_cells([bad])
