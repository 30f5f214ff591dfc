import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from metacog_pipeline.stats.anova import anova, fisher_lsd, tukey_kramer

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


# Pairs i < j: difference and p of scipy.stats.tukey_hsd 1.x, which integrates for some 10 ms a pair.
TUKEY = [
    (
        [[1.2, 3.4, 2.2], [4.1, 5.0, 3.3, 4.4], [2.0, 2.5]],
        [(-1.93333333333, 0.0492594811732), (0.0166666666667, 0.99972790056), (1.95, 0.0752845794375)],
    ),
    (
        [[-3.0, 1.0, 0.5, 2.0], [0.0, 0.25], [5.0, 4.0, 6.5], [-1.0, -2.0, 3.0, 0.0, 1.5]],
        [
            (0.0, 1.0), (-5.04166666667, 0.0203943178703), (-0.175, 0.99887953137),
            (-5.04166666667, 0.0522433742658), (-0.175, 0.999420415218), (4.86666666667, 0.0193121484823),
        ],
    ),
    (
        [[1, 1, 0, 1, 0, 1], [0, 0, 1, 0], [1, 1, 1, 1, 1, 0, 1]],
        [(0.416666666667, 0.363330936542), (-0.190476190476, 0.740271096716), (-0.607142857143, 0.122877915304)],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("data", "theirs"), TUKEY)
def test_tukey_kramer_is_scipys_for_unequal_groups(data, theirs):
    for pair, (difference, p) in zip(tukey_kramer(of_samples(data)), theirs, strict=True):
        assert pair.p == pytest.approx(p, abs=1e-8)
        assert pair.difference == pytest.approx(difference, abs=1e-9)


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
