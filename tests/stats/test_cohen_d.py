import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import ttest_ind

from metacog_pipeline.stats.anova import cohen_d


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
