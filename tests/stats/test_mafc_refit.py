"""Resamples fitted from the sample's own maximum are those fitted from nowhere."""

import numpy as np
import pytest

from metacog_pipeline.stats import resampling
from metacog_pipeline.stats.mafc import refit as refits
from metacog_pipeline.stats.mafc.fit import fit
from metacog_pipeline.stats.mafc.intervals import Cell
from metacog_pipeline.stats.mafc.likelihood import evaluate, pack, solved
from metacog_pipeline.stats.mafc.refit import refit
from metacog_pipeline.stats.mafc.search import criteria

CELLS = [
    ([40, 60, 90, 160, 300], [60, 50, 40, 30, 20], 4),  # clearly above chance
    ([300, 160, 90, 60, 40], [20, 30, 40, 50, 60], 4),  # confidence turned round
    ([50, 50, 50, 50], [16, 18, 17, 15], 5),  # meta-d' near zero
    ([0, 2, 40, 60], [1, 1, 1, 0], 2),  # few errors: resamples at a boundary
]


@pytest.mark.parametrize(("right", "wrong", "m"), CELLS)
def test_a_refit_from_the_sample_is_the_fit_of_the_resample(right, wrong, m):
    own = np.array([right], float), np.array([wrong], float)
    drawn = resampling.table(np.hstack(own), 300, 1)[:, 0]
    again = drawn[:, None, : len(right)], drawn[:, None, len(right) :]
    cold = fit(*again, np.full((300, 1), m))
    warm = refit(*again, [m], fit(own[0][None], own[1][None], m), own)
    for name, tolerance in (("d", 1e-8), ("meta_d", 1e-4), ("m_ratio", 1e-4)):
        expected, made = getattr(cold, name), getattr(warm, name)
        known = np.isfinite(expected)
        assert (known == np.isfinite(made)).all()
        np.testing.assert_allclose(made[known], expected[known], rtol=tolerance, atol=tolerance)


def mixed(answers, quality, seed, draws=200):
    """Return right and wrong answers to questions of 2 to 10 alternatives, (9, 12), and resamples of them."""
    rng = np.random.default_rng(seed)
    m, ok = rng.integers(0, 9, answers), rng.random(answers) < 0.75
    rating = np.clip(np.round(rng.normal(5 + quality * ok, 2.5, answers)), 0, 11).astype(int)
    counts = np.bincount((m * 12 + rating) * 2 + ok, minlength=9 * 12 * 2).astype(float)
    drawn = rng.multinomial(answers, counts / answers, draws).astype(float).reshape(draws, 9, 12, 2)
    own = counts.reshape(9, 12, 2)
    return (own[..., 1], own[..., 0]), (drawn[..., 1], drawn[..., 0])


MIXED = [
    (20_000, 2.0),  # every rating is used in every resample
    (400, 2.0),  # ratings and whole strata fall out
    (3000, -2.0),  # confidence turned round
    (1000, 0.0),  # meta-d' near zero
]


@pytest.mark.parametrize(("answers", "quality"), MIXED)
def test_of_mixed_alternatives_a_refit_is_the_fit_of_the_resample(answers, quality):
    own, again = mixed(answers, quality, 3, 60)
    m = np.arange(2, 11)
    sample = fit(own[0][None], own[1][None], m[None])
    cold, warm = fit(*again, np.tile(m, (60, 1))), refit(*again, m, sample, own)
    for name, tolerance in (("d", 1e-8), ("meta_d", 1e-4), ("m_ratio", 1e-4)):
        expected, made = getattr(cold, name), getattr(warm, name)
        known = np.isfinite(expected)
        assert (known == np.isfinite(made)).all()
        assert (expected[~known & ~np.isnan(expected)] == made[~known & ~np.isnan(expected)]).all()
        np.testing.assert_allclose(made[known], expected[known], rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(("answers", "quality"), MIXED[:3])
def test_of_mixed_alternatives_nearly_no_resample_is_fitted_from_nowhere(answers, quality, monkeypatch):
    own, again = mixed(answers, quality, 4)
    m = np.arange(2, 11)
    sample = fit(own[0][None], own[1][None], m[None])
    cold, exact = [], []
    searched, solved = refits._searched, refits._exact
    monkeypatch.setattr(
        refits, "_searched", lambda right, *more: cold.append(len(right)) or searched(right, *more)
    )
    monkeypatch.setattr(
        refits, "_exact", lambda right, *more: exact.append(len(right)) or solved(right, *more)
    )
    refit(*again, m, sample, own)
    assert sum(cold) <= 2
    assert sum(exact) == 0


@pytest.mark.proof
def test_no_matrix_of_all_criteria_of_several_strata_is_made(monkeypatch):
    _, again = mixed(400, 0.0, 5)
    monkeypatch.setattr(np.linalg, "solve", None)
    found = fit(*again, np.tile(np.arange(2, 11), (len(again[0]), 1)))
    assert np.isfinite(found.se_meta_d).all()


def test_the_bands_are_the_hessian_and_their_solution_is_that_of_the_matrix():
    (right, wrong), _ = mixed(3000, 2.0, 6)
    problem = pack(right[None], wrong[None], np.arange(2, 11)[None])
    zeta, d = criteria(problem, np.array([1.0])), np.array([1.0])
    found = evaluate(problem, zeta, d)
    step = 1e-5
    for place in (0, 12, 98, 99):
        moved = np.zeros(100)
        moved[place] = step
        at = [
            evaluate(problem, zeta + sign * moved[:-1].reshape(zeta.shape), d + sign * moved[-1]).gradient[0]
            for sign in (1, -1)
        ]
        np.testing.assert_allclose(
            (at[0] - at[1]) / (2 * step), found.hessian[0][place], rtol=1e-4, atol=1e-2
        )
    made = solved(-found.bands, found.gradient, 9)[0]
    np.testing.assert_allclose(made, np.linalg.solve(-found.hessian[0], found.gradient[0]), rtol=1e-9)


def test_criteria_are_found_where_newton_steps_go_to_and_fro():
    right = [
        498,
        708,
        764,
        1081,
        827,
        1293,
        1124,
        770,
        1226,
        1357,
        1415,
        904,
        1396,
        1304,
        1644,
        1109,
        1318,
        1452,
        1366,
        1622,
    ]
    wrong = [
        1089,
        775,
        647,
        648,
        449,
        527,
        424,
        268,
        352,
        328,
        253,
        178,
        245,
        228,
        214,
        130,
        141,
        100,
        79,
        50,
    ]
    around = Cell(right, wrong, 4).m_ratio_interval()
    assert around.low < around.value < around.high < around.low + 0.2
