import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metacog_pipeline.stats.multiple import holm

p_values = st.lists(st.one_of(st.none(), st.floats(0, 1)), max_size=20)


def test_holm_worked_by_hand():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx((0.03, 0.06, 0.06, 0.02))


@given(p_values)
def test_holm_keeps_order_never_lowers_and_stays_below_bonferroni(raw):
    adjusted = holm(raw)
    known = [(p, q) for p, q in zip(raw, adjusted, strict=True) if p is not None]
    assert [q is None for q in adjusted] == [p is None for p in raw]
    assert all(p <= q <= min(1.0, len(known) * p) or math.isclose(q, len(known) * p) for p, q in known)
    assert [q for _, q in sorted(known)] == sorted(q for _, q in known)
