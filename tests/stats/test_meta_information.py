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
