"""Measures of confidence: how long a million answers take, and how often their intervals hold the truth."""

import time
from collections.abc import Iterator

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import expit, logit

from metacog_pipeline.stats import calibration_line, selective
from metacog_pipeline.stats.auroc import auroc_statistic
from metacog_pipeline.stats.calibration import ece_statistic
from metacog_pipeline.stats.confidence_measures import of_trials
from metacog_pipeline.stats.recalibration import BINS, MAPS
from metacog_pipeline.stats.trials import Trials, trials

pytestmark = pytest.mark.bench

N, SAMPLES, DRAWS = 1_000_000, 300, 300
LEVELS = np.linspace(0.5, 1.0, 21)
CELLS = [(n, accuracy) for n in (100, 300, 1373) for accuracy in (0.75, 0.9, 0.97)]


@pytest.mark.parametrize(("whole", "runs"), [(True, 1), (False, 1), (True, 2), (False, 5)])
def test_a_million_answers_are_measured_in_two_seconds(whole, runs):
    rng = np.random.default_rng(0)
    confidence = rng.integers(0, 101, N) / 100 if whole else rng.random(N)
    correct = rng.random(N) < 0.3 + 0.6 * confidence
    items = None if runs == 1 else np.arange(N) % (N // runs)
    start = time.process_time()
    found = of_trials(trials(confidence, correct, items, stream=1))
    took = time.process_time() - start
    print(f"\n1e6 answers, {'percents' if whole else 'reals'}, {runs} runs: {took:.2f} s")
    assert all(each.status == "ok" for each in found.values())
    assert took < 2.0


def population(accuracy: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the share of each level and its share correct; overall ``accuracy``, AUROC2 about 0.7."""
    use = np.random.default_rng(11).dirichlet(np.full(len(LEVELS), 3.0))
    lean = np.linspace(-2, 2, len(LEVELS))
    shift = brentq(lambda a: float(use @ expit(a + lean)) - accuracy, -10, 10)
    return use, expit(shift + lean)


def truths(made: Trials, cells: np.ndarray) -> Iterator[tuple[str, float]]:
    """Yield the value of each measure in the population; after recalibration that of the maps this sample gave."""
    many = cells[None] * 1e9
    yield "aurc", selective.aurc_statistic(many)[0]
    yield "excess_aurc", selective.excess_aurc_statistic(many)[0]
    yield "prr", 2 * auroc_statistic(many)[0] - 1
    yield "calibration_in_the_large", float((np.repeat(LEVELS, 2) - np.tile([0, 1], len(LEVELS))) @ cells)
    x = logit(np.clip(LEVELS, calibration_line.CLIP, 1 - calibration_line.CLIP))
    yield "calibration_slope", calibration_line.logistic(x, many)[1][0]
    yield "ece_mass", calibration_line.mass_ece_statistic(LEVELS)(many)[0]
    used = np.isin(LEVELS, made.grouped)
    by_fold = made.folded
    weight = by_fold.sum(axis=1, keepdims=True) / by_fold.sum()
    mixed = (weight * cells.reshape(-1, 2)[used].ravel()).ravel()
    for name, mapped in MAPS.items():
        probability = mapped(made.grouped, by_fold.sum(axis=0) - by_fold).ravel()
        yield f"ece_{name}", ece_statistic(probability, BINS, "equal")(mixed[None])[0]
        loss = np.column_stack([probability**2, (1 - probability) ** 2]).ravel()
        yield f"brier_{name}", float(mixed @ loss / mixed.sum())


@pytest.mark.parametrize(("n", "accuracy"), CELLS)
def test_intervals_hold_the_truth(n, accuracy):
    rng = np.random.default_rng(n)
    use, right = population(accuracy)
    cells = np.column_stack([use * (1 - right), use * right]).ravel()
    held: dict[str, list[bool]] = {}
    for sample in range(SAMPLES):
        level = rng.choice(len(LEVELS), n, p=use)
        made = trials(LEVELS[level], rng.random(n) < right[level], stream=sample, n_draws=DRAWS)
        found = of_trials(made)
        for name, truth in truths(made, cells):
            each = found[name]
            if each.low is not None and each.high is not None and each.status == "ok":
                held.setdefault(name, []).append(each.low <= truth <= each.high)
    shares = {name: round(100 * float(np.mean(each)), 1) for name, each in held.items()}
    print(f"\nn {n}, accuracy {accuracy}: {shares} of {min(map(len, held.values()))}")
    assert all(share >= 85 for name, share in shares.items() if not name.startswith("ece_"))
