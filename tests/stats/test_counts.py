import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from metacog_pipeline.stats.counts import (
    corrected_rate,
    counts,
    counts_from_trials,
    padded,
)

trials = st.lists(
    st.tuples(
        st.sampled_from([0, 1, np.nan, 2, -1, 0.5]),
        st.sampled_from([0, 1, 7, 1.0]),
        st.sampled_from([1, 2, 3, 4, 0, 5, np.nan, 2.5]),
        st.integers(0, 3),
    ),
    max_size=60,
)


@given(trials)
def test_trials_are_counted_in_the_order_of_the_evidence_and_bad_ones_are_not(rows):
    parts = [[row[i] for row in rows] for i in range(4)]
    table = counts_from_trials(*parts[:3], 4, np.array(parts[3], dtype=np.int64), cells=4)
    expected = np.zeros((4, 2, 8))
    for s, r, k, g in rows:
        if s in (0, 1) and r in (0, 1) and k in range(1, 5):
            expected[g, int(s), 4 - int(k) if r == 0 else 3 + int(k)] += 1
    assert (table.n_s1 == expected[:, 0]).all() and (table.n_s2 == expected[:, 1]).all()
    assert (table.hits + table.misses == table.n2).all()
    assert (table.false_alarms + table.correct_rejections == table.n1).all()


vectors = st.integers(1, 6).flatmap(
    lambda k: st.tuples(*[st.lists(st.integers(0, 50), min_size=2 * k, max_size=2 * k)] * 2)
)


@given(vectors)
def test_padding_adds_one_trial_per_class_and_half_a_trial_to_each_outcome(pair):
    raw = counts(*pair)
    more = padded(raw)
    assert more.correction == "pad" and more.pad == 1 / (2 * raw.ratings)
    assert np.allclose(more.n1 - raw.n1, 1) and np.allclose(more.n2 - raw.n2, 1)
    assert np.allclose(more.hits - raw.hits, 0.5) and np.allclose(more.false_alarms - raw.false_alarms, 0.5)
    assert (raw.correction, raw.pad) == ("none", 0)
    assert padded(raw, 0) is raw


def test_each_correction_is_what_it_says():
    successes, n = np.array([0.0, 3.0, 10.0, 0.0]), np.array([10.0, 10.0, 10.0, 0.0])
    assert np.allclose(corrected_rate(successes, n, "none")[0], [0, 0.3, 1, np.nan], equal_nan=True)
    assert np.allclose(corrected_rate(successes, n, "half")[0], [0.05, 0.3, 0.95, np.nan], equal_nan=True)
    for name in ("pad", "loglinear"):
        rate, size = corrected_rate(successes, n, name)
        assert np.allclose(rate, [0.5 / 11, 3.5 / 11, 10.5 / 11, 0.5]) and np.allclose(size, n + 1)
