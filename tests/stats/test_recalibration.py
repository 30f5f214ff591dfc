"""Recalibration on folds of items: each map against another computation, and no item on both sides."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import expit, logit

from metacog_pipeline.stats.calibration import ece
from metacog_pipeline.stats.confidence_measures import of_trials
from metacog_pipeline.stats.recalibration import platt, recalibrated
from metacog_pipeline.stats.trials import FOLDS, trials


def measures(*answers, probability=True, **drawn):
    return of_trials(trials(*answers, **drawn), probability=probability)


LEVELS = np.array([0.5, 0.6, 0.7, 0.8, 0.9, 1.0])
TABLES = st.lists(st.integers(0, 9), min_size=12, max_size=12).filter(sum)


def pooled(shares, weights):
    """Return the rising steps nearest to ``shares``: neighbours that fall are pooled, again and again."""
    blocks = [[share, weight, 1] for share, weight in zip(shares, weights, strict=True)]
    place = 0
    while place < len(blocks) - 1:
        (a, n, i), (b, m, j) = blocks[place : place + 2]
        if a <= b:
            place += 1
            continue
        blocks[place : place + 2] = [[(a * n + b * m) / (n + m), n + m, i + j]]
        place = max(place - 1, 0)
    return np.concatenate([np.full(size, share) for share, _, size in blocks])


@given(TABLES)
@settings(max_examples=50, deadline=None)
def test_platts_map_maximises_the_likelihood_of_his_targets(cells):
    table = np.array(cells, dtype=float)
    wrong, right = table[0::2], table[1::2]
    x = logit(np.clip(LEVELS, 0.005, 0.995))
    high, low = (right.sum() + 1) / (right.sum() + 2), 1 / (wrong.sum() + 2)
    target = right * high + wrong * low

    def loss(at):
        z = at[0] + at[1] * x
        return float((wrong + right) @ np.logaddexp(0, z) - target @ z)

    (found,) = platt(LEVELS, table[None])
    z = logit(np.clip(found, 1e-12, 1 - 1e-12))
    reached = float((wrong + right) @ np.logaddexp(0, z) - target @ z)
    assert reached <= minimize(loss, [0.0, 0.0], method="BFGS").fun + 1e-6


def by_hand(confidence, correct, fold, score):
    """Return the score of answers each of which is mapped by what the other folds say, the map fitted afresh."""
    mapped = np.empty(len(confidence))
    levels = np.unique(confidence)
    for each in np.unique(fold):
        here, there = fold == each, fold != each
        at = np.searchsorted(levels, confidence[there])
        shares = np.array(
            [correct[there][at == i].mean() if (at == i).any() else np.nan for i in range(len(levels))]
        )
        used = ~np.isnan(shares)
        steps = pooled(shares[used], np.bincount(at, minlength=len(levels))[used])
        mapped[here] = np.interp(confidence[here], levels[used], steps)
    if score == "brier":
        return ((mapped - correct) ** 2).mean()
    return ece(np.clip(mapped, 0, 1), correct, 10).value


def test_cross_fitted_scores_are_those_of_folds_worked_one_by_one():
    rng = np.random.default_rng(7)
    item = np.repeat(np.arange(60), 3)
    confidence = rng.choice([0.5, 0.6, 0.75, 0.9, 1.0], 180)
    correct = (rng.random(180) < confidence - 0.2).astype(int)
    made = trials(confidence, correct, item, stream=5, n_draws=50)
    found = recalibrated(made)
    fold = (np.random.Generator(np.random.PCG64(5)).permutation(60) % FOLDS)[item]
    for score in ("brier", "ece"):
        expected = by_hand(confidence, correct, fold, score)
        assert found[f"{score}_isotonic"].value == pytest.approx(expected, abs=1e-9)


def test_all_answers_to_an_item_are_in_one_fold_and_the_folds_hang_on_the_seed_alone():
    item = np.repeat(np.arange(40), 4)
    rng = np.random.default_rng(8)
    once, again = (
        trials(rng.random(160).round(1), rng.integers(0, 2, 160), item, stream=3, n_draws=10)
        for _ in range(2)
    )
    assert once.folded.sum(axis=1).tolist() == again.folded.sum(axis=1).tolist() == [32.0] * FOLDS
    counts = once.patterns.counts.reshape(len(once.patterns.counts), FOLDS, -1).sum(axis=2)
    assert ((counts > 0).sum(axis=1) == 1).all()


def test_over_confidence_that_is_only_a_scale_goes_and_noise_stays():
    rng = np.random.default_rng(9)
    truth = rng.uniform(0.3, 0.9, 6000)
    correct = rng.random(6000) < truth
    stretched = expit(3 * logit(truth) + 1)  # log odds three times too large: a scale
    found = measures(stretched, correct, stream=1)
    before = ece(stretched, correct, 10).value
    assert before > 0.15 and found["ece_platt"].value < 0.03 and found["ece_isotonic"].value < 0.03
    assert found["calibration_slope"].low < 1 / 3 < found["calibration_slope"].high
    noise = measures(rng.random(6000), correct, stream=1)
    assert noise["brier_platt"].value == pytest.approx(correct.mean() * (1 - correct.mean()), abs=0.003)


def test_many_items_with_several_answers_are_drawn_in_groups_that_tell_the_same_error():
    rng = np.random.default_rng(10)
    item = np.tile(np.arange(4500), 2)
    confidence = np.tile(rng.choice([0.5, 0.7, 0.9], 4500), 2)
    correct = np.tile(rng.random(4500) < confidence[:4500], 2)
    twice = measures(confidence, correct, item, stream=1, n_draws=400)
    once = measures(confidence[:4500], correct[:4500], stream=1, n_draws=400)
    for name in ("aurc", "calibration_in_the_large", "calibration_slope", "brier_platt"):
        assert twice[name].sem == pytest.approx(once[name].sem, rel=0.15), name
