"""Whether counts tell anything about meta-d' is decided on the counts as they are, in one place, whatever is padded."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metacog_pipeline.benchmark.groups import merged
from metacog_pipeline.benchmarks.signaldetection.measures import CODED, Trials, meta_d_estimates, with_cells
from metacog_pipeline.stats import identifiability, metad
from metacog_pipeline.stats.confidence_fit import Cells, fit_cells
from metacog_pipeline.stats.counts import counts, padded
from metacog_pipeline.stats.mafc.efficiency import Choices, efficiency
from metacog_pipeline.stats.mafc.fit import fit

#: Counts of a yes/no task that say nothing of meta-d': nR_S1, nR_S2, status.
SILENT = {
    "the same confidence always": ([40, 0, 0, 10], [12, 0, 0, 38], "unidentified"),
    "one confidence for each response": ([40, 0, 10, 0], [12, 0, 38, 0], "unidentified"),
    "two ratings of right answers only": ([20, 20, 10, 0], [0, 0, 38, 0], "unidentified"),
    "all right": ([30, 20, 0, 0], [0, 0, 20, 30], "all_correct"),
    "all wrong": ([0, 0, 20, 30], [30, 20, 0, 0], "all_wrong"),
    "nothing": ([0, 0, 0, 0], [0, 0, 0, 0], "empty"),
    "four errors": ([30, 20, 1, 1], [1, 1, 20, 30], "few_errors"),
    "four right": ([1, 1, 20, 30], [30, 20, 1, 1], "few_errors"),
    "every error less sure than any right answer": ([30, 0, 9, 0], [0, 9, 0, 30], "boundary_up"),
}
CASES = pytest.mark.parametrize(("n_s1", "n_s2", "status"), SILENT.values(), ids=list(SILENT))


@CASES
@pytest.mark.parametrize("pad", [None, 0.25, 0.5, 1.0])
def test_no_padding_makes_a_number_of_counts_that_tell_none(n_s1, n_s2, status, pad):
    found = metad.fit_metad(counts(n_s1, n_s2), padding=pad)
    assert found.withheld == [identifiability.REASONS[status]]


@CASES
def test_a_fit_of_any_table_withholds_them(n_s1, n_s2, status):
    (found,) = fit_cells(Cells(counts(n_s1, n_s2)))
    for name in ("meta_d", "m_ratio", "m_diff"):
        assert found[name].value is None and found[name].status == identifiability.REASONS[status]


@CASES
def test_the_scores_of_signal_detection_withhold_them(n_s1, n_s2, status):
    found = meta_d_estimates(group(n_s1, n_s2))
    for name, estimate in found.items():
        assert estimate.value is None and estimate.status not in ("", "ok"), name


@CASES
def test_a_choice_among_m_is_decided_by_the_same_function(n_s1, n_s2, status):
    right, wrong = (side[0] for side in identifiability.by_response(*arrays(n_s1, n_s2)))
    two_strata = fit(right[None], wrong[None], [[2, 2]])
    allowed = {status} if status != "few_errors" else {"ok", "no_sensitivity"}
    assert str(two_strata.status[0]) in allowed
    found = efficiency(Choices(right, wrong, np.array([2, 4])))
    for name in ("meta_d_mafc", "m_ratio_mafc"):
        assert found[name].value is None and found[name].status != "ok"


@given(st.lists(st.integers(0, 12), min_size=8, max_size=8), st.floats(0.01, 2.0))
@settings(max_examples=30, deadline=None)
def test_what_was_padded_takes_no_part_in_the_decision(cells, amount):
    table = counts(cells[:4], cells[4:])
    assert identifiability.reasons_of(padded(table, amount)) == identifiability.reasons_of(table)


def test_five_errors_that_overlap_with_right_answers_are_enough():
    table = counts([30, 20, 2, 1], [1, 1, 20, 30])
    assert metad.fit_metad(table, padding=0.25).withheld == [""]


def arrays(n_s1, n_s2):
    return np.array([n_s1], float), np.array([n_s2], float)


def group(n_s1, n_s2):
    said, level = np.repeat([0, 1], 2), np.array([2, 1, 1, 2])
    numbers = np.concatenate([n_s1, n_s2])
    columns = {
        "stimulus": np.repeat([0, 1], 4),
        "response": np.tile(said, 2),
        "confidence": np.tile(level, 2),
    }
    rows = with_cells(pl.DataFrame({name: np.repeat(own, numbers) for name, own in columns.items()}), 2)
    return Trials(2, merged(rows, CODED, np.arange(rows.height), rows.height), 1)
