"""What a fit must keep whatever the counts: invariances, statuses, and that its maximum is one."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metacog_pipeline.stats.counts import Counts, counts
from metacog_pipeline.stats.metad import REASONS, fit_metad
from metacog_pipeline.stats.observers import expected_counts
from tests.tables import every


@st.composite
def tables(draw, least=1):
    k = draw(st.integers(2, 5))
    bins = st.lists(st.integers(least, 200), min_size=2 * k, max_size=2 * k)
    return counts(draw(bins), draw(bins))


def same(first, second, tolerance=1e-6):
    np.testing.assert_allclose(first, second, rtol=tolerance, atol=tolerance)


@settings(max_examples=30, deadline=None)
@given(tables())
def test_swapping_the_stimuli_mirrors_the_fit(table):
    fit = fit_metad(table, conditional=True)
    swapped = fit_metad(Counts(table.n_s2[:, ::-1], table.n_s1[:, ::-1]), conditional=True)
    assert swapped.status[0] == fit.status[0]
    same(swapped.d1, fit.d1)
    same(swapped.c1, -fit.c1)
    if fit.ok[0]:
        same(swapped.log_likelihood, fit.log_likelihood, 1e-9)
        same(swapped.meta_d1, fit.meta_d1)
        same(swapped.t2c_rs1, -fit.t2c_rs2[:, ::-1], 1e-5)
        assert swapped.rs1.status[0] == fit.rs2.status[0]
        same(swapped.rs1.meta_da, fit.rs2.meta_da, 1e-5)


@settings(max_examples=30, deadline=None)
@given(tables(), st.integers(0, 9))
def test_an_unused_rating_changes_nothing(table, where):
    """A column of zeros for both stimuli may be anywhere on its side, the outermost place included."""
    k = table.ratings
    low, high = where % (k + 1), k + where % (k + 1)
    wide = [np.insert(np.insert(row[0], high, 0), low, 0) for row in (table.n_s1, table.n_s2)]
    fit, wider = fit_metad(table), fit_metad(counts(*wide))
    assert wider.status[0] == fit.status[0]
    if fit.ok[0]:
        same(wider.meta_d1, fit.meta_d1)
        same(wider.log_likelihood, fit.log_likelihood, 1e-9)


@settings(max_examples=30, deadline=None)
@given(tables(least=0))
def test_no_neighbouring_meta_d_is_more_likely(table):
    """The maximum is global: no fit that starts from another cell's answer finds a higher likelihood."""
    fit = fit_metad(table)
    if not fit.ok[0]:
        return
    from metacog_pipeline.stats.metad.likelihood import by_side, collapse, evaluate, problem_of
    from metacog_pipeline.stats.metad.search import climb

    grid = np.linspace(-9.9, 9.9, 67)
    one = problem_of(collapse(by_side(table)), fit.d1, fit.c1, fit.s)
    many = one.take(np.zeros(len(grid), dtype=np.int64))
    with np.errstate(all="ignore"):
        found = climb(many, grid / many.unit, fixed_x=True)
        value = evaluate(many, found.x, found.log_width).value * table.n
    assert np.nanmax(value) <= fit.log_likelihood[0] + 1e-7 * (1 + abs(fit.log_likelihood[0]))
    assert fit.gradient[0] < 1e-9


# A fit takes as long for ten tables as for one: few examples of many.
@settings(max_examples=5, deadline=None)
@given(
    st.integers(1, 5).flatmap(
        lambda k: st.lists(
            st.tuples(
                *[
                    st.lists(
                        st.sampled_from([0, 0, 0, 1, 2, 0.5, 7, 100, 1e9]), min_size=2 * k, max_size=2 * k
                    )
                ]
                * 2
            ),
            min_size=3,
            max_size=6,
        )
    ),
    st.sampled_from([None, 0.0, 0.1]),
)
def test_any_counts_give_a_status_and_never_a_warning(cells, padding):
    table = counts([first for first, _ in cells], [second for _, second in cells])
    fit = fit_metad(table, padding=padding, conditional=True)
    assert set(fit.status) <= set(REASONS)
    assert np.isfinite(fit.meta_d1[fit.ok]).all()
    assert np.isfinite(fit.m_ratio[fit.ok]).all()
    assert (np.abs(fit.meta_d1[fit.ok]) <= 10).all()
    assert (fit.gradient[fit.ok] < 1e-8).all()  # 1e9 answers beside one leave the last step an error of 1e-9
    for side in (fit.rs1, fit.rs2):
        np.testing.assert_array_equal(np.isfinite(side.meta_da), side.status == "ok")


@every(
    ("n_s1", "n_s2", "status"),
    [
        ([30, 20, 10, 0, 0, 0], [0, 0, 0, 9, 22, 29], "undefined_type1"),
        ([30, 20, 10, 3, 1, 0], [0, 0, 0, 9, 22, 29], "undefined_type1"),
        ([0, 0, 0, 0, 0, 0], [3, 7, 8, 12, 27, 89], "undefined_type1"),
        ([0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0], "undefined_type1"),
        ([0, 80, 0, 0, 21, 0], [0, 15, 0, 0, 90, 0], "unidentified"),
        ([80, 25], [18, 77], "unidentified"),
        ([25, 25, 25, 25], [25, 25, 25, 25], "zero_dprime"),
        ([10, 20, 30, 40], [10, 20, 30, 40], "zero_dprime"),
        ([90, 0, 0, 10], [0, 12, 0, 88], "boundary"),
        ([50, 40, 9, 1, 0, 0], [0, 0, 1, 9, 40, 50], "boundary"),
        ([10, 20, 40, 30], [35, 30, 20, 15], "ok"),
        ([0, 90, 10, 0], [12, 0, 0, 88], "ok"),
        # Newton's steps leave the ridge: |c| is many times |d|, or all but some answers are in two ratings.
        ([308, 12, 43, 37], [306, 13, 36, 45], "ok"),
        ([130, 201, 69, 0], [135, 200, 64, 1], "ok"),
    ],
)
def test_degenerate_counts_are_named(n_s1, n_s2, status):
    fit = fit_metad(counts(n_s1, n_s2))
    assert fit.status[0] == status
    if status not in ("ok", "boundary"):
        assert math.isnan(fit.meta_d1[0])
        assert math.isnan(fit.m_ratio[0])


@every("ratings", [2, 3, 7, 11])
@every("pad", [0.1, 1 / 6, 0.05])
def test_equal_rates_are_a_zero_whatever_the_rounding_of_padded_sums(ratings, pad):
    row = np.arange(2 * ratings) ** 2 + 1.0
    assert fit_metad(counts(row, row), padding=pad).status[0] == "zero_dprime"
    assert fit_metad(counts(row, row), padding=pad).d1[0] == 0


def test_a_flat_profile_up_to_the_end_is_a_boundary_not_an_estimate():
    """One error only, at the highest rating: the likelihood levels off and never comes down."""
    fit = fit_metad(counts([0, 10, 0, 1], [0, 9, 10, 20]))
    assert fit.status[0] == "boundary"
    assert fit.meta_d1[0] == -10
    assert math.isnan(fit.se_meta_d[0])


@every("ratio", [-0.5, 0.2, 0.8, 1.0, 1.3])
@every(("d", "c"), [(1.2, 0.3), (0.02, 0.8), (-0.9, 0.2), (2.5, -1.0)])
def test_exact_expectations_give_the_parameters_back(d, c, ratio):
    """Near d = 0 with a criterion away from it as well, where meta-d' itself is tiny."""
    middle = ratio * c
    steps = np.array([0.4, 0.9, 1.5])
    fit = fit_metad(expected_counts(d, ratio, c, middle - steps[::-1], middle + steps, 10_000))
    assert fit.status[0] == "ok"
    same(fit.m_ratio, ratio, 1e-5)
    same(fit.t2c_rs2[0], middle + steps, 1e-5)


def test_standard_errors_are_those_of_repeated_experiments():
    from tests.observers import simulate

    steps = np.array([0.4, 0.9, 1.5])
    many = fit_metad(simulate(1.5, 0.8, 0.3, 0.24 - steps[::-1], 0.24 + steps, 4000, seed=3, cells=1500))
    for values, error in (
        (many.meta_da, many.se_meta_d_total),
        (many.m_ratio, many.se_m_ratio),
        (many.m_diff, many.se_m_diff),
    ):
        assert np.median(error) == pytest.approx(values.std(), rel=0.07)
    assert (many.se_meta_d <= many.se_meta_d_total).all()
