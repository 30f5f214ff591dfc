"""meta-d' of m alternatives: what must hold whatever the counts are."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

from metacog_pipeline.stats.mafc import accuracy as type1
from metacog_pipeline.stats.mafc import fit, intervals, table
from tests.tables import every

COUNTS = st.lists(st.integers(0, 40), min_size=2, max_size=6)


def ideal_counts(m, d, meta, cuts=(1.2, 0.5, -0.2, -1.0), n=1e6):
    """Expected counts of an observer of sensitivity d whose confidence is that of one of sensitivity meta."""
    zeta = np.array(cuts)
    lift = table.table().lift(np.array([m]), zeta, np.array([meta]))[0]
    share = float(type1.accuracy(d, m))

    def shares(above):
        return -np.diff(np.concatenate([[1.0], above, [0.0]]))

    return n * share * shares(special.ndtr(zeta + lift)), n * (1 - share) * shares(special.ndtr(zeta))


@every("m", range(2, 11))
def test_an_ideal_observer_has_an_m_ratio_of_one(m):
    right, wrong = ideal_counts(m, 1.5, 1.5)
    found = fit.fit([right], [wrong], m)
    assert found.m_ratio[0] == pytest.approx(1.0, abs=1e-5)
    assert intervals.eta(right, wrong, m).value == pytest.approx(1.0, abs=1e-5)


@given(COUNTS, COUNTS, st.integers(2, 10))
@settings(max_examples=30, deadline=None)
def test_every_count_ends_in_a_number_or_in_a_reason(right, wrong, m):
    k = min(len(right), len(wrong))
    found = fit.fit([right[:k]], [wrong[:k]], m)
    status = found.status[0]
    assert status in fit.REASONS
    assert math.isfinite(found.m_ratio[0]) == (status == "ok")
    ratio = intervals.Cell(right[:k], wrong[:k], m).m_ratio_interval()
    if status == "ok":
        assert ratio.low <= ratio.value <= ratio.high
    area = intervals.auroc2_interval(right[:k], wrong[:k])
    assert math.isnan(area.value) or 0 <= area.low <= area.value <= area.high <= 1


def test_strata_of_an_ideal_observer_have_a_ratio_of_one_and_pooled_they_do_not():
    parts = [ideal_counts(m, 1.5, 1.5) for m in (2, 10)]
    right, wrong = (np.stack([part[side] for part in parts]) for side in (0, 1))
    assert fit.fit([right], [wrong], [[2, 10]]).m_ratio[0] == pytest.approx(1.0, abs=1e-4)
    pooled = fit.fit([right.sum(axis=0)], [wrong.sum(axis=0)], 6).m_ratio[0]
    assert abs(pooled - 1) > 0.03


@every(("m", "d"), [(2, 1.7), (5, 0.3), (5, 1.7), (10, 3.0)])
def test_the_table_is_the_roc_of_who_draws_evidence_and_states_the_posterior(m, d):
    n, rng = 100_000, np.random.default_rng(m)
    evidence = rng.standard_normal((n, m))
    evidence[:, 0] += d
    said, right = evidence.max(axis=1), evidence.argmax(axis=1) == 0
    assert right.mean() == pytest.approx(float(type1.accuracy(d, m)), abs=4e-3)
    posterior = np.exp(d * said - special.logsumexp(d * evidence, axis=1))
    for share in (0.1, 0.4, 0.8):
        cut = np.quantile(posterior[~right], 1 - share)
        zeta = special.ndtri([share])
        lift = table.table().lift(np.array([m]), zeta, np.array([d]))[0]
        seen = (posterior[right] > cut).mean()
        error = np.hypot(
            0.5 / np.sqrt(right.sum()), 1.5 / np.sqrt((~right).sum())
        )  # of the cut, at the curve's slope
        assert special.ndtr(zeta + lift)[0] == pytest.approx(seen, abs=4 * error), share


def test_criteria_are_found_where_newton_steps_go_to_and_fro():
    right = "498 708 764 1081 827 1293 1124 770 1226 1357 1415 904 1396 1304 1644 1109 1318 1452 1366 1622"
    wrong = "1089 775 647 648 449 527 424 268 352 328 253 178 245 228 214 130 141 100 79 50"
    counts = ([int(n) for n in side.split()] for side in (right, wrong))
    around = intervals.Cell(*counts, 4).m_ratio_interval()
    assert around.low < around.value < around.high < around.low + 0.2
