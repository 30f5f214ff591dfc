import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import expit
from scipy.stats import norm

from metacog_pipeline.stats.counts import counts
from metacog_pipeline.stats.meta_information import ideal_information, meta_information
from tests.tables import every

vectors = st.integers(1, 5).flatmap(
    lambda k: st.tuples(*[st.lists(st.integers(0, 20), min_size=2 * k, max_size=2 * k)] * 2)
)


def entropy(*shares):
    return -sum(share * math.log2(share) for share in shares if share > 0)


def by_hand(n_s1, n_s2):
    """Mutual informations from H(X) + H(Y) - H(X, Y), trial kinds listed one by one."""
    k, n = len(n_s1) // 2, sum(n_s1) + sum(n_s2)
    kinds = []
    for stimulus, side in enumerate((n_s1, n_s2)):
        for i, number in enumerate(side):
            response, rating = int(i >= k), (k - i if i < k else i - k + 1)
            kinds.append((stimulus, response, rating, int(stimulus == response), number / n))

    def information(first, second):
        tables = ({}, {}, {})
        for kind in kinds:
            for table, key in zip(
                tables, (first(kind), second(kind), (first(kind), second(kind))), strict=True
            ):
                table[key] = table.get(key, 0) + kind[4]
        return entropy(*tables[0].values()) + entropy(*tables[1].values()) - entropy(*tables[2].values())

    return (
        information(lambda x: x[3], lambda x: x[2]),
        information(lambda x: x[3], lambda x: x[1:3]),
        information(lambda x: x[0], lambda x: x[1:3]),
    )


@given(vectors)
def test_informations_are_sums_of_entropies_and_never_negative(pair):
    result = meta_information(counts(*pair))
    if sum(pair[0]) + sum(pair[1]) == 0:
        assert result.status_rmi[0] == "no items" and math.isnan(result.meta_i[0])
        return
    found = [result.meta_i[0], result.meta_i_signed[0], result.i_src[0]]
    assert found == pytest.approx(by_hand(*pair), abs=1e-12)
    assert 0 <= found[0] <= found[1] + 1e-12 <= result.h_accuracy[0] + 2e-12


@given(vectors)
def test_swapping_stimuli_merging_unused_ratings_and_more_of_the_same_change_nothing(pair):
    k = len(pair[0]) // 2
    base = meta_information(counts(*pair))
    swapped = meta_information(counts(pair[1][::-1], pair[0][::-1]))
    wider = meta_information(counts(*([*side[:k], 0, 0, *side[k:]] for side in pair)))
    more = meta_information(counts(*(np.multiply(3, side) for side in pair)))
    for name in ("meta_i", "meta_i_signed", "i_src", "h_accuracy", "meta_i1r", "meta_i2r", "rmi"):
        for other in (swapped, wider, more):
            assert getattr(other, name)[0] == pytest.approx(
                getattr(base, name)[0], rel=1e-6, abs=1e-12, nan_ok=True
            )


def test_ratings_that_tell_all_and_ratings_that_tell_nothing_lie_at_the_ends():
    knowing = meta_information(counts([90, 5, 10, 2], [2, 10, 5, 90]))
    perfect = meta_information(counts([60, 30, 0, 0, 10, 0, 0, 0], [0, 0, 0, 10, 0, 0, 30, 60]))
    blank = meta_information(counts([30, 30, 10, 10], [10, 10, 30, 30]))
    assert perfect.meta_i2r[0] == pytest.approx(1)
    assert blank.meta_i_signed[0] == pytest.approx(0, abs=1e-14)
    assert 0 < knowing.meta_i2r[0] < 1


@every("d", [0.3, 1, 2, 3.5, 5, 7])
def test_the_ideal_observer_is_integrated_to_many_digits(d):
    right, wrong = norm.cdf(d / 2), norm.sf(d / 2)

    def density(x):
        return norm.pdf(x, d / 2) + norm.pdf(x, -d / 2)

    def divergence(x):
        p, q = expit(d * x), expit(-d * x)
        return density(x) * (p * math.log2(p / right) + q * math.log2(q / wrong))

    def left(x):
        return density(x) * entropy(expit(d * x), expit(-d * x))

    edges = [0, 0.25 / max(d, 1), 1 / max(d, 1), 3 / max(d, 1), d / 2 + 1 + 3 / max(d, 1), d / 2 + 8]
    truth, uncertain = (
        sum(quad(f, a, b, epsabs=1e-14, epsrel=1e-11, limit=200)[0] for a, b in pairwise(edges))
        for f in (divergence, left)
    )
    assert ideal_information([d, -d]) == pytest.approx([truth, truth], rel=1e-8)
    assert truth == pytest.approx(entropy(right, wrong) - uncertain, abs=1e-10)
