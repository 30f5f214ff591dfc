"""No interval of zero width is called ok, and what has no interval says why."""

import pytest

from metacog_pipeline.stats import agreement_many, coverage, type1
from metacog_pipeline.stats.auroc import auroc


def test_full_agreement_of_many_raters_has_no_interval_and_says_so():
    for found in (
        agreement_many.fleiss_kappa([[3, 0], [0, 3]]),
        agreement_many.fleiss_kappa([[3, 0], [0, 3]] * 20),
        agreement_many.krippendorff_alpha([[1, 2] * 10, [1, 2] * 10]),
        agreement_many.krippendorff_alpha([[1, 2, 3] * 5, [1, 2, 3] * 5]),
    ):
        assert found.value == pytest.approx(1.0)
        assert (found.low, found.high) == (None, None)
        assert found.status == agreement_many.NO_SPREAD
    one = agreement_many.fleiss_kappa([[3, 0], [3, 0]])
    assert (one.low, one.status) == (None, agreement_many.ONE_CATEGORY)
    some = agreement_many.fleiss_kappa([[3, 0], [0, 3], [2, 1], [3, 0]])
    assert some.low < some.high and some.status == "ok"


def test_ln_beta_at_rates_of_one_half_has_an_interval():
    for correction in ("none", "loglinear", "half"):
        made = type1.type1_from_table([5, 6], [5, 4], [5, 5], [5, 5], correction)
        for cell in (0, 1):
            found = made.estimate("ln_beta", cell)
            assert found.low < found.value < found.high and found.sem > 0.01 and found.status == "ok"


def test_areas_of_two_levels_are_marked_until_their_coverage_is_good():
    stated, right = [0.95] * 60 + [0.8] * 40, [1] * 55 + [0] * 5 + [1] * 25 + [0] * 15
    two, more = auroc(stated, right), auroc([*stated[:-1], 0.7], right)
    assert (two.method, more.method) == ("scaled score, two levels", "scaled score")
    assert auroc(stated * 2, right * 2, list(range(100)) * 2).method == "scaled score, two levels, clustered"
    few = coverage.low_n
    assert few("auroc2", two.method, two.value, two.low, two.n, 20) is True
    assert few("auroc2", more.method, more.value, more.low, more.n, 20) is False
    assert few("auroc2", two.method, two.value, two.low, 2000, coverage.LEAST_OF_TWO_LEVELS) is False
