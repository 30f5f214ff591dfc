import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit
from scipy.stats import norm

from metacog_pipeline.stats.counts import counts
from metacog_pipeline.stats.meta_information import entropy_bits, ideal_information, meta_information
from tests.tables import every

vectors = st.integers(1, 5).flatmap(
    lambda k: st.tuples(*[st.lists(st.integers(0, 20), min_size=2 * k, max_size=2 * k)] * 2)
)


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
    x = np.linspace(-d / 2 - 12, d / 2 + 12, 200_001)
    density = (norm.pdf(x, d / 2) + norm.pdf(x, -d / 2)) / 2
    left = np.trapezoid(density * entropy_bits(expit(d * x), expit(-d * x)), x)
    truth = entropy_bits(norm.cdf(d / 2), norm.sf(d / 2)) - left
    assert ideal_information([d, -d]) == pytest.approx([truth, truth], rel=1e-8)


def test_the_entropy_of_a_split_is_in_bits():
    assert entropy_bits(np.array([1.0, 3, 0, 0]), np.array([1.0, 1, 5, 0])) == pytest.approx(
        [1.0, 2 - 0.75 * np.log2(3), 0.0, np.nan], nan_ok=True
    )
