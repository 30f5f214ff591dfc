"""Simulated respondents have the values they are made with; coverage counts intervals that hold them; the rule of low_n."""

from metacog_pipeline.stats import coverage
from metacog_pipeline.stats.estimate import Estimate, unavailable
from tests.proofs import respondents


def test_an_interval_without_ends_covers_nothing_and_is_counted_apart():
    none = unavailable(9, "wilson", "no")
    found = respondents.covered(
        0.5, [none, None, Estimate(0.4, 0.4, 0.5, 9, "m"), Estimate(0.4, 0.3, 0.4, 9, "m")]
    )
    assert (found.held, found.samples, found.without, found.percent) == (1, 4, 2, 50.0)
    assert respondents.covered(0.5, [none]).percent is None


def test_low_n_follows_from_the_measured_table(monkeypatch):
    assert all(each > 0 for each in coverage.least().values())
    known = {
        ("accuracy", False): 3.0, ("auroc2", False): 10.0, ("auroc2", True): 30.0, ("brier", False): float("inf"),
        ("trimmed_mean", False): 60.0, ("meta_information", False): 20.0, ("m_ratio", False): 5.0,
    }  # fmt: skip
    monkeypatch.setattr(coverage, "least", lambda: known)
    few = coverage.low_n
    assert few("accuracy", "wilson", 0.97, 0.9, 100, None) is False
    assert few("hit_rate", "wilson", 0.98, 0.9, 100, 50) is True  # of its own rarer kind: 2
    assert few("auroc2", "scaled score", 0.8, 0.7, 100, 9) is True
    assert few("harmonised_auroc2", "scaled score", 0.8, 0.7, 100, 10) is False
    assert few("auroc2", "scaled score, clustered", 0.8, 0.7, 100, 10, several=True) is True
    assert few("brier", "two-point score", 0.1, 0.05, 5000, 2000) is True
    assert few("auroc2", "scaled score", 0.8, None, 100, 9) is None
    assert few("mms", "trimmed_mean, item bootstrap", 0.8, 0.7, 59, 2000, several=True) is True
    assert few("mms", "trimmed_mean, item bootstrap", 0.8, 0.7, 60, None, several=True) is False
    assert few("information", "plug-in, less its mean excess", 0.2, 0.1, 100, 10) is True


def test_fewer_answers_than_the_smallest_cell_are_marked_whatever_the_measure():
    few = coverage.low_n
    assert few("accuracy", "wilson", 0.5, 0.3, coverage.FEWEST - 1, None) is True
    assert few("accuracy", "wilson", 0.5, 0.3, coverage.FEWEST, None) is False
    assert few("d", "delta, correction none", 1.0, -0.1, 19, 9) is True


def test_the_error_of_a_simulation_is_no_matter_of_few_answers():
    assert coverage.low_n("ece_pre_excess_p", f"drawn, {coverage.MONTE_CARLO}", 0.4, 0.3, 5, None) is False


def test_an_interval_whose_coverage_was_not_measured_does_not_look_certain():
    few = coverage.low_n
    assert few("unheard_of", "magic", 0.8, 0.7, 100, 9) is True
    assert few("m_ratio_bayes", "bayes, d' estimated; posterior mean", 0.8, 0.7, 5000, 2000) is True
    assert few("brier", "two-point score", 0.1, 0.05, 5000, None) is True  # nothing says how many were wrong
    assert few("unheard_of", "magic", 0.8, None, 100, 9) is None


def test_the_nearest_cell_is_that_of_as_many_answers_and_of_the_rarer_kind():
    found = coverage.nearest("brier", "two-point score", 0.1, 240, 45)
    assert (found.measure, found.n, found.accuracy, found.runs) == ("brier", 200, 0.8, 1)
    found = coverage.nearest("brier", "two-point score, clustered", 0.1, 600, 120, several=True)
    assert (found.measure, found.n, found.accuracy, found.runs) == ("brier", 200, 0.8, 3)
    assert coverage.nearest("unheard_of", "magic", 0.8, 100, 9) is None
