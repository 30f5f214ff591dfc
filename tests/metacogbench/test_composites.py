"""Composites: means of means, undefined where a part is missing, spread with n - 1, rounding half away from zero."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metacog_pipeline.benchmarks.metacogbench.groups import (
    COMPOSITES,
    PARTS,
    TIER_MEASURES,
    composites,
    run_stats,
)
from metacog_pipeline.benchmarks.metacogbench.published import rounded
from tests.tables import every

RATES = st.floats(0, 1, allow_nan=False)
TIERS = tuple(TIER_MEASURES.values())


def test_the_printed_row_of_a_model_follows_from_its_tiers():
    found = composites({"t1a": 0.6, "t1b": 0.9, "t2a": 0.95, "t2b": 0.85, "t3": 0.8})
    assert found == pytest.approx({"ms": 0.75, "saf": 0.9, "cdtc": 0.8, "overall": (0.75 + 0.9 + 0.8) / 3})


@every(
    ("missing", "undefined"),
    [
        ("t1a", {"ms", "overall"}),
        ("t1b", {"ms", "overall"}),
        ("t2a", {"saf", "overall"}),
        ("t2b", {"saf", "overall"}),
        ("t3", {"cdtc", "overall"}),
    ],
)
@every("how", ["absent", "none"])
def test_a_missing_tier_leaves_what_rests_on_it_undefined(missing, undefined, how):
    tiers: dict[str, float | None] = dict.fromkeys(TIERS, 0.5)
    if how == "none":
        tiers[missing] = None
    else:
        del tiers[missing]
    found = composites(tiers)
    assert set(found) == set(COMPOSITES)
    assert {name for name, value in found.items() if value is None} == undefined
    assert {value for name, value in found.items() if name not in undefined} == {0.5}


@settings(max_examples=100)
@given(st.fixed_dictionaries(dict.fromkeys(TIERS, RATES)))
def test_composites_stay_between_their_parts_and_rise_with_each(tiers):
    found = composites(tiers)
    for name, parts in PARTS.items():
        values = [value for part in parts if (value := {**tiers, **found}[part]) is not None]
        value = found[name]
        assert value is not None and len(values) == len(parts)
        assert min(values) - 1e-12 <= value <= max(values) + 1e-12
    for tier in TIERS:
        more = composites({**tiers, tier: 1.0})
        assert all(more[name] >= found[name] - 1e-12 for name in COMPOSITES)  # type: ignore[operator]


def test_one_run_has_no_spread_and_none_has_nothing():
    assert run_stats([0.4]) == (0.4, None)
    assert run_stats([]) == (None, None)


@pytest.mark.parametrize(
    ("value", "digits", "shown"), [(0.0005, 3, 0.001), (-0.0005, 3, -0.001), (61.65, 1, 61.7), (2.5, 0, 3)]
)
def test_halves_are_rounded_away_from_zero(value, digits, shown):
    assert math.isclose(rounded(value, digits), shown)
