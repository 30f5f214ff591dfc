import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import norm

from metacog_pipeline.stats.counts import counts, padded
from metacog_pipeline.stats.type1 import (
    STATUSES,
    type1,
    type1_from_table,
)
from tests.tables import every

four = st.tuples(*[st.integers(1, 400)] * 4)
any_four = st.tuples(*[st.integers(0, 5)] * 4)
slopes = st.floats(0.5, 2)


def measures_of(z_h, z_f, s):
    d, c = z_h / s - z_f, -(z_h + z_f) / (1 + s)
    return {"d": d, "c": c, "c_prime": c / d, "ln_beta": math.log(s) + (z_f**2 - z_h**2) / 2}


@given(four, slopes)
def test_variances_are_the_gradient_of_the_measures_on_that_of_the_rates(cell, s):
    hits, misses, alarms, rejections = cell
    result = type1_from_table(*cell, s=s)
    p, q = hits / (hits + misses), alarms / (alarms + rejections)
    z = np.array([norm.ppf(p), norm.ppf(q)])
    assume(abs(z[0] / s - z[1]) > 0.05)
    n = np.array([hits + misses, alarms + rejections])
    spread = np.array([p, q]) * (1 - np.array([p, q])) / (n * norm.pdf(z) ** 2)
    for measure in ("d", "c", "c_prime", "ln_beta"):
        step = 1e-6
        slope = [
            (measures_of(*(z + move), s)[measure] - measures_of(*(z - move), s)[measure]) / (2 * step)
            for move in (np.array([step, 0]), np.array([0, step]))
        ]
        if measure == "ln_beta":  # flat where a rate is 1/2
            slope = np.maximum(np.abs(slope), np.sqrt(spread / 2))
        assert result.variance(measure)[0] == pytest.approx(
            (np.square(slope) * spread).sum(), rel=1e-4, abs=1e-9
        )
        assert getattr(result, measure)[0] == pytest.approx(measures_of(*z, s)[measure], rel=1e-7, abs=1e-9)
    assert result.cov_d_c[0] == pytest.approx((spread[1] - spread[0] / s) / (1 + s), rel=1e-7, abs=1e-9)


@given(any_four, st.sampled_from(["none", "pad", "loglinear", "half"]), slopes)
def test_every_number_that_is_missing_has_a_status_and_no_warning_is_raised(cell, correction, s):
    result = type1_from_table(*cell, correction, s)
    finite = all(math.isfinite(getattr(result, name)[0]) for name in ("d", "c", "c_prime", "ln_beta"))
    assert result.status[0] in STATUSES
    if result.status[0] == "ok":
        assert finite and math.isfinite(result.var_c_prime[0])
    for measure in ("d", "c", "c_prime", "ln_beta"):
        estimate = result.estimate(measure)
        assert estimate.value is not None or estimate.status != "ok"
        assert estimate.low is not None or estimate.status != "ok"


@given(four)
def test_padding_a_table_and_the_loglinear_correction_are_the_same(cell):
    hits, misses, alarms, rejections = cell
    table = counts([rejections, alarms], [misses, hits])
    one, two, three = type1(padded(table)), type1(table, "loglinear"), type1(table, "pad")
    for name in ("d", "c", "var_d", "var_c"):
        assert getattr(one, name)[0] == pytest.approx(getattr(two, name)[0])
        assert getattr(three, name)[0] == getattr(two, name)[0]
    assert [r.correction for r in (one, two, three)] == ["pad", "loglinear", "pad"]


@every(
    ("cell", "status", "d", "c"),
    [
        ((0, 0, 0, 0), "no_trials", math.nan, math.nan),
        ((3, 1, 0, 0), "no_s1_trials", math.nan, math.nan),
        ((0, 0, 1, 3), "no_s2_trials", math.nan, math.nan),
        ((4, 0, 4, 0), "undefined", math.nan, -math.inf),
        ((4, 0, 0, 4), "infinite", math.inf, math.nan),
        ((4, 0, 1, 3), "infinite", math.inf, -math.inf),
        ((2, 2, 2, 2), "zero_dprime", 0, 0),
        ((1, 3, 3, 1), "ok", -1.3489795, 0),
    ],
)
def test_degenerate_cells_say_what_they_are(cell, status, d, c):
    result = type1_from_table(*cell)
    assert result.status[0] == status
    assert result.d[0] == pytest.approx(d, nan_ok=True) and result.c[0] == pytest.approx(c, nan_ok=True)


def test_corrections_are_never_implicit_nor_applied_twice():
    table = counts([0, 5], [5, 0])
    assert math.isinf(type1(table).d[0]) and type1(table).correction == "none"
    for name in ("pad", "half", "loglinear"):
        with pytest.raises(ValueError, match="corrected already"):
            type1(padded(table), name)


def test_a_padded_empty_class_keeps_its_status():
    result = type1(padded(counts([0, 0, 0, 0], [1, 2, 3, 4])))
    assert math.isfinite(result.d[0]) and result.status[0] == "no_s1_trials"
    assert "S1" in result.estimate("d").status


def test_ln_beta_at_rates_of_one_half_has_an_interval():
    for correction in ("none", "loglinear", "half"):
        made = type1_from_table([5, 6], [5, 4], [5, 5], [5, 5], correction)
        for cell in (0, 1):
            found = made.estimate("ln_beta", cell)
            assert found.low < found.value < found.high and found.sem > 0.01 and found.status == "ok"
