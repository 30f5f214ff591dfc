import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats as scipy_stats
from scipy.stats import ttest_ind

from metacog_pipeline.stats.anova import anova, cohen_d, fisher_lsd, tukey_kramer

number = st.floats(-100, 100).map(lambda x: round(x, 3))
samples = st.lists(st.lists(number, min_size=2, max_size=15), min_size=2, max_size=6)


def of_samples(data):
    spreads = [0.0 if len(set(each)) < 2 else np.std(each, ddof=1) for each in data]
    return anova([len(each) for each in data], [np.mean(each) if each else 0.0 for each in data], spreads)


def spread(data):
    return any(max(sample) - min(sample) > 0.01 for sample in data)


@given(samples)
def test_f_and_p_are_scipys_from_data_and_from_summaries(data):
    assume(spread(data))
    theirs = scipy_stats.f_oneway(*data)
    ours = of_samples(data)
    assert ours.f == pytest.approx(theirs.statistic, rel=1e-6, abs=1e-9)
    if not math.isnan(theirs.pvalue):  # theirs, where F is rounded to just below 0
        assert ours.p == pytest.approx(theirs.pvalue, rel=1e-6, abs=1e-12)
    assert (ours.df_between, ours.df_error) == (len(data) - 1, sum(map(len, data)) - len(data))


@given(samples)
def test_with_two_groups_lsd_tukey_and_f_say_the_same(data):
    assume(spread(data[:2]))
    result = of_samples(data[:2])
    (lsd,), (tukey,) = fisher_lsd(result), tukey_kramer(result)
    assert lsd.p == pytest.approx(result.p, rel=1e-7, abs=1e-12)
    assert lsd.statistic**2 == pytest.approx(result.f, rel=1e-7, abs=1e-12)
    assert tukey.p == pytest.approx(result.p, rel=1e-6, abs=1e-9)
    assert tukey.statistic == pytest.approx(math.sqrt(2) * abs(lsd.statistic))


def test_groups_without_spread_or_items_say_so():
    flat = of_samples([[1, 1], [2, 2]])
    assert (flat.f, flat.p, flat.status) == (None, None, "no spread within groups")
    assert tukey_kramer(flat)[0].status == fisher_lsd(flat)[0].status == "no spread within groups"
    assert tukey_kramer(flat)[0].difference == -1.0
    same = of_samples([[1, 1], [1, 1]])
    assert (same.f, same.status) == (None, "no spread within groups")
    assert of_samples([[1, 2, 3]]).status == "fewer than two groups with items"
    assert of_samples([[1, 2], []]).status == "fewer than two groups with items"
    assert of_samples([]).status == "fewer than two groups with items"
    lone = of_samples([[1], [2]])
    assert (lone.status, lone.ms_error) == ("no group with two items", None)
    assert tukey_kramer(lone)[0].status == "no group with two items"


def test_pairs_of_many_groups_bring_no_warning_of_the_integral(recwarn):
    mean = np.full(300, 0.5)
    mean[1] += 0.0382  # SciPy warns here
    [pair] = tukey_kramer(anova(np.full(300, 80), mean, np.full(300, 0.1)), [(0, 1)])
    assert pair.p == pytest.approx(1) and not recwarn


def cohen_d_from_data(a, b):
    return cohen_d(len(a), np.mean(a), np.std(a, ddof=1), len(b), np.mean(b), np.std(b, ddof=1))


sample = st.lists(st.integers(-20, 20), min_size=2, max_size=20)


@given(sample, sample)
def test_d_is_the_t_statistic_without_the_sample_sizes(a, b):
    assume(len(set(a)) > 1 and len(set(b)) > 1)
    t = ttest_ind(a, b).statistic
    expected = t * math.sqrt(1 / len(a) + 1 / len(b))
    assert cohen_d_from_data(a, b).value == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_where_there_is_no_effect_size_the_status_says_why():
    assert cohen_d(0, 0, 0, 5, 1, 1).status == "no items"
    assert cohen_d(1, 0, 0, 1, 1, 0).status == "fewer than three items"
    assert cohen_d(5, 1, 0, 5, 0, 0).status == "no spread within groups"
    assert cohen_d(1, 2.0, math.nan, 2, 0.0, 1.0).value == pytest.approx(2.0)
