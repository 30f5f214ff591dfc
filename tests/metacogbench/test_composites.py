"""Composites: means of means, undefined where a part is missing, spread with n - 1, rounding half away from zero."""

import math

from metacog_pipeline.benchmarks.metacogbench.groups import COMPOSITES, TIER_MEASURES, composites, run_stats
from metacog_pipeline.benchmarks.metacogbench.published import rounded
from tests.tables import every

TIERS = tuple(TIER_MEASURES.values())


@every(
    ("missing", "undefined"),
    [("t1a", {"ms"}), ("t1b", {"ms"}), ("t2a", {"saf"}), ("t2b", {"saf"}), ("t3", {"cdtc"})],
)
def test_a_missing_tier_leaves_what_rests_on_it_undefined(missing, undefined):
    absent = {name: 0.5 for name in TIERS if name != missing}
    for tiers in (absent, {**absent, missing: None}):
        found = composites(tiers)
        assert {name for name, value in found.items() if value is None} == {*undefined, "overall"}
        assert set(found) == set(COMPOSITES) and {*found.values()} == {0.5, None}


def test_one_run_has_no_spread_and_none_has_nothing():
    assert run_stats([0.4]) == (0.4, None)
    assert run_stats([]) == (None, None)


@every(
    ("value", "digits", "shown"), [(0.0005, 3, 0.001), (-0.0005, 3, -0.001), (61.65, 1, 61.7), (2.5, 0, 3)]
)
def test_halves_are_rounded_away_from_zero(value, digits, shown):
    assert math.isclose(rounded(value, digits), shown)
