"""The posterior of one cell: what it yields, what it refuses, and whether hard cells converge."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metacog_pipeline.stats.bayes.single import RATIO_UNSTABLE, bayes_metad
from metacog_pipeline.stats.counts import counts
from metacog_pipeline.stats.decisions import compare
from tests.tables import every

CLASSIC = ([36, 24, 17, 20, 10, 12, 9, 2], [1, 4, 10, 11, 19, 18, 28, 39])
# Two of five ratings are used with either response: c1 lies between cuts that the data push together.
SPARSE = ([1257, 2800, 8, 0, 0, 0, 0, 0, 386, 253], [10, 600, 2, 0, 0, 0, 0, 1, 1166, 3517])

HARD = {
    "12 trials": ([2, 2, 1, 1, 0, 0], [0, 1, 0, 2, 1, 2]),
    "ratings unused next to c1": SPARSE,
    "perfect": ([50, 20, 0, 0, 0, 0], [0, 0, 0, 0, 25, 45]),
    "confidence separates errors": ([500, 0, 0, 0, 20, 0], [0, 20, 0, 0, 0, 500]),
    "chance": ([30, 20, 20, 30, 22, 18], [28, 22, 21, 29, 20, 20]),
    "below chance": ([5, 10, 10, 20, 25, 30], [30, 25, 18, 12, 9, 6]),
    "one response only": ([0, 0, 0, 30, 20, 10], [0, 0, 0, 10, 20, 30]),
    "two ratings": ([40, 20, 10, 5], [8, 12, 20, 50]),
    "eleven ratings": (
        [9, 8, 7, 6, 5, 5, 4, 4, 3, 3, 2] + [2] * 11,
        [1] * 11 + [2, 2, 3, 3, 4, 5, 6, 7, 8, 9, 9],
    ),
    "four trials": ([1, 0, 0, 1], [0, 1, 1, 0]),
    "a class in one bin": (
        [0] * 13 + [5000, 0, 0],
        [54, 9, 37, 31, 28, 21, 36, 55, 14, 5, 115, 37, 39, 45, 18, 32],
    ),
    "fractions": ([36.5, 24.25, 17, 20, 10, 12, 9, 2.5], [1.5, 4, 10, 11, 19, 18, 28, 39.75]),
}


def fit(cell, **options):
    return bayes_metad(counts(*cell), **{"seed": 1, **options})


def each(*names, **options):
    """Fit hard cells."""
    return [bayes_metad(counts(*HARD[name]), seed=1, rounds=2, **options) for name in names]


@pytest.fixture(scope="module")
def alike():
    """The classic example, under a second name, with one more trial, and mirrored."""
    more, mirrored = (CLASSIC[0], [*CLASSIC[1][:-1], 40]), (CLASSIC[1][::-1], CLASSIC[0][::-1])
    cells = {"": CLASSIC, "second": CLASSIC, "more": more, "mirrored": mirrored}
    labels = ["second" if name == "second" else "" for name in cells]
    fits = [fit(cell, label=label) for cell, label in zip(cells.values(), labels, strict=True)]
    return dict(zip(cells, fits, strict=True))


@pytest.fixture(scope="module")
def classic(alike):
    return alike[""]


@pytest.fixture(scope="module")
def hard():
    return dict(zip(HARD, each(*HARD), strict=True))


def numbers(posterior):
    """Return every number a caller could take for a result."""
    estimates = posterior.estimates().values()
    return (
        [e.value for e in estimates if e.value is not None]
        + list(posterior.summary())
        + list(posterior.draws)
    )


def test_the_classic_example_has_the_known_posterior(classic):
    assert classic.status == "converged" and classic.reason == ""
    rows = classic.summary()
    for name, mean in (("d1", 1.4832), ("c1", -0.0780), ("meta_d", 1.4090), ("m_ratio", 0.9625)):
        assert rows[name].mean == pytest.approx(mean, abs=0.01)
    assert set(rows) == {
        *("d1", "c1", "meta_d", "m_ratio", "log_m_ratio", "m_diff"),
        *(f"t2c_rs{side}[{j}]" for side in (1, 2) for j in (1, 2, 3)),
    }
    for row in rows.values():
        assert row.q025 < row.median < row.q975 and row.hdi_low < row.median < row.hdi_high
        assert row.hdi_high - row.hdi_low < (row.q975 - row.q025) * 1.02
        assert row.rhat < 1.01 and min(row.ess_bulk, row.ess_tail) > 2000
        assert 0 < row.mcse_mean < 0.02 * row.sd and 0 < row.mcse_q975 < 0.05 * row.sd
        assert all(np.isfinite(value) for value in dataclasses.astuple(row))


@pytest.mark.parametrize(
    "options", [{"draws": 4, "warmup": 0, "rounds": 1}, {"draws": 20, "warmup": 0, "chains": 4, "rounds": 2}]
)
def test_a_run_that_has_not_converged_yields_no_number(options):
    posterior = fit(SPARSE, **options)
    assert posterior.status == "not_converged" and not posterior.converged
    assert "R-hat" in posterior.reason or "ESS" in posterior.reason
    assert numbers(posterior) == []
    assert {e.status for e in posterior.estimates().values()} == {"not_converged"}
    assert posterior.diagnostics and posterior.unconverged_draws  # to look at
    with pytest.raises(KeyError):
        posterior.draws["m_ratio"]


@pytest.mark.proof
def test_hard_cells_converge_in_the_first_rounds(hard):
    for name, posterior in hard.items():
        assert posterior.status == "converged", (name, posterior.reason)
        assert all(e.value is not None for e in posterior.estimates().values()), name


@every(
    ("cell", "status"),
    [
        (([0, 0, 0, 0], [1, 2, 3, 4]), "undefined_type1"),
        (([1, 2, 3, 4], [0, 0, 0, 0]), "undefined_type1"),
        (([0, 0, 0, 0], [0, 0, 0, 0]), "undefined_type1"),
        (([20, 0, 0, 8], [10, 0, 0, 30]), "unidentified"),
        (([20, 8], [10, 30]), "unidentified"),
    ],
)
def test_cells_that_say_nothing_about_meta_d_have_a_status_a_reason_and_no_number(cell, status):
    posterior = fit(cell)
    assert posterior.status == status and posterior.reason
    assert numbers(posterior) == []
    assert {e.status for e in posterior.estimates().values()} == {status}


def test_cells_fitted_with_one_seed_share_no_random_numbers(classic, alike):
    others = [alike["second"], fit(CLASSIC, seed=2), alike["more"]]
    for other in others:
        together = np.corrcoef(classic.draws["m_ratio"].ravel(), other.draws["m_ratio"].ravel())[0, 1]
        assert abs(together) < 0.05
        assert compare(classic.draws["m_ratio"], other.draws["m_ratio"]).differs is False


@settings(max_examples=4)
@given(st.integers(2, 6), st.integers(0, 10**6))
def test_any_counts_give_a_status_and_numbers_only_with_convergence(k, seed):
    rng = np.random.default_rng(seed)
    few = {"draws": 150, "warmup": 150, "rounds": 1}
    for _ in range(3):
        table = counts(*rng.poisson(rng.gamma(0.4, 10, 2 * k), (2, 2 * k)))
        posterior = bayes_metad(table, seed=1, **few)
        assert posterior.status in ("converged", "not_converged", "undefined_type1", "unidentified")
        assert bool(numbers(posterior)) == posterior.converged == (posterior.reason == "")
        assert all(np.isfinite(value).all() for value in posterior.draws.values())


def test_a_mean_ratio_that_few_draws_rule_is_not_called_ok():
    """A handful of draws of d₁ below 0 among thousands is enough to make the mean ratio anything."""
    found = bayes_metad(counts([9, 0, 3, 0], [0, 3, 0, 9]), seed=1)
    assert 0 < (found.draws["d1"] <= 0).mean() < 0.01
    assert found.estimates()["m_ratio"].status == RATIO_UNSTABLE
