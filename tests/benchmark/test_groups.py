"""Responses counted in combinations of coded columns."""

import numpy as np
import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from metacog_pipeline.benchmark.groups import counted, merged
from metacog_pipeline.stats import resampling

CODES = st.lists(st.tuples(*[st.sampled_from([None, 0, 1, 2])] * 3), min_size=1, max_size=40)


@settings(max_examples=100, deadline=None)
@given(CODES, st.booleans())
def test_combinations_are_counted_in_order_whatever_their_values(rows, few):
    values = [tuple(min(each, 1) if few and each is not None else each for each in row) for row in rows]
    columns = ["a", "b", "c"]
    frame = pl.DataFrame(values, schema=dict.fromkeys(columns, pl.Int8), orient="row")
    clusters = np.arange(len(rows)) // 2
    n = int(clusters.max()) + 1
    matrix, codes = counted(frame, columns, clusters, n)
    plain = [tuple(-1 if each is None else each for each in row) for row in values]
    combinations = sorted(set(plain))
    assert list(zip(*(codes[name].tolist() for name in columns), strict=True)) == combinations
    expected = np.zeros((n, len(combinations)), dtype=np.int64)
    for cluster, row in zip(clusters, plain, strict=True):
        expected[cluster, combinations.index(row)] += 1
    assert np.array_equal(matrix, expected)


def test_many_columns_are_counted_as_well():
    values = np.random.default_rng(1).integers(0, 2, (30, 45))
    names = [f"c{place}" for place in range(45)]
    matrix, codes = counted(pl.DataFrame(values, schema=names), names, np.arange(30), 30)
    made = np.column_stack([codes[name] for name in names])
    assert np.array_equal(matrix @ made, values)


def test_clusters_of_one_response_give_the_patterns_that_a_matrix_gives():
    values = np.random.default_rng(2).integers(0, 6, (200, 3))
    frame, names = pl.DataFrame(values, schema=["a", "b", "c"]), ["a", "b", "c"]
    clusters = np.random.default_rng(3).permutation(200)
    quick = merged(frame, names, clusters, 200)
    matrix, codes = counted(frame, names, clusters, 200)
    whole = resampling.merge_patterns(matrix, np.ones(200, dtype=np.int64))
    assert np.array_equal(quick.patterns.counts, whole.counts)
    assert np.array_equal(quick.patterns.weights, whole.weights)
    assert all(np.array_equal(quick.codes[name], codes[name]) for name in names)
