"""The posterior of one cell: what it yields, what it refuses, and whether hard cells converge."""

import dataclasses

import numpy as np
import pytest

from metacog_pipeline.stats.bayes.single import RATIO_UNSTABLE, bayes_metad
from metacog_pipeline.stats.counts import counts
from metacog_pipeline.stats.decisions import compare
from tests.tables import every

CLASSIC = ([36, 24, 17, 20, 10, 12, 9, 2], [1, 4, 10, 11, 19, 18, 28, 39])
# Two of five ratings are used with either response: c1 lies between cuts that the data push together.
SPARSE = ([1257, 2800, 8, 0, 0, 0, 0, 0, 386, 253], [10, 600, 2, 0, 0, 0, 0, 1, 1166, 3517])


def fit(cell, **options):
    return bayes_metad(counts(*cell), **{"seed": 1, **options})


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


def test_a_run_that_has_not_converged_yields_no_number():
    posterior = fit(SPARSE, draws=4, rounds=1)
    assert posterior.status == "not_converged" and not posterior.converged
    assert "R-hat" in posterior.reason or "ESS" in posterior.reason
    assert numbers(posterior) == []
    assert {e.status for e in posterior.estimates().values()} == {"not_converged"}
    assert posterior.diagnostics
    with pytest.raises(KeyError):
        posterior.draws["m_ratio"]


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


def test_a_mean_ratio_that_few_draws_rule_is_not_called_ok():
    """A handful of draws of d₁ below 0 among thousands is enough to make the mean ratio anything."""
    found = bayes_metad(counts([9, 0, 3, 0], [0, 3, 0, 9]), seed=1)
    assert 0 < (found.draws["d1"] <= 0).mean() < 0.01
    assert found.estimates()["m_ratio"].status == RATIO_UNSTABLE
