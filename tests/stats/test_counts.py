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
        st.sampled_from([0, 1, None, np.nan, 2, -1, 0.5, True]),
        st.sampled_from([0, 1, None, 7, 1.0]),
        st.sampled_from([1, 2, 3, 4, 0, 5, None, np.nan, np.inf, -np.inf, 2.5]),
        st.integers(0, 3),
    ),
    max_size=60,
)


def by_hand(rows, ratings, cells):
    table = np.zeros((cells, 2, 2 * ratings))
    dropped = np.zeros(cells, dtype=int)
    for s, r, k, g in rows:
        if s in (0, 1) and r in (0, 1) and k in range(1, ratings + 1):
            table[g, int(s), ratings - int(k) if r == 0 else ratings + int(k) - 1] += 1
        else:
            dropped[g] += 1
    return table, dropped


@given(trials)
def test_trials_are_counted_in_the_order_of_the_evidence_and_bad_ones_are_dropped_and_counted(rows):
    parts = [np.array([row[i] for row in rows], dtype=object) for i in range(3)]
    groups = [row[3] for row in rows]
    table = counts_from_trials(*parts, 4, groups, cells=4)
    expected, dropped = by_hand(rows, 4, 4)
    assert (table.n_s1 == expected[:, 0]).all() and (table.n_s2 == expected[:, 1]).all()
    assert (table.dropped == dropped).all()
    assert table.n.sum() + table.dropped.sum() == len(rows)
    assert (table.hits + table.misses == table.n2).all()
    assert (table.false_alarms + table.correct_rejections == table.n1).all()


@given(trials)
def test_groups_are_the_tables_of_their_own_trials(rows):
    kept = [row for row in rows if row[3] == 2]
    whole = counts_from_trials(*[[row[i] for row in rows] for i in range(3)], 4, [r[3] for r in rows], 4)
    alone = counts_from_trials(*[[row[i] for row in kept] for i in range(3)], 4)
    one = whole.take(2)
    assert (one.n_s1 == alone.n_s1).all() and (one.n_s2 == alone.n_s2).all()
    assert one.dropped[0] == alone.dropped[0]


def test_masked_trials_are_missing_and_no_trials_are_an_empty_cell():
    table = counts_from_trials(np.ma.array([0, 1], mask=[True, False]), [0, 1], [1, 1], 2)
    assert (table.dropped.tolist(), table.n.tolist()) == ([1], [1])
    empty = counts_from_trials([], [], [], 2)
    assert (empty.cells, empty.n.tolist(), empty.dropped.tolist()) == (1, [0], [0])


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
