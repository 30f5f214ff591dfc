"""How long the statistics of a whole board take: 100 models × 10,000 items × 25 measures."""

import resource
import time

import numpy as np
import pytest

from metacog_pipeline.stats.auroc import auroc_from_patterns
from metacog_pipeline.stats.calibration import (
    brier_from_patterns,
    ece_estimate,
    level_probability,
)
from metacog_pipeline.stats.intervals import ratio as ratio_estimate
from metacog_pipeline.stats.resampling import patterns as resample
from metacog_pipeline.stats.resampling import patterns_of

pytestmark = pytest.mark.bench

MODELS, ITEMS, DRAWS = 100, 10_000, 1000
# A cell is kind of item (5) × choice (6) × level (5) × outcome (2); the last two are the cells of calibration.
KINDS, CHOICES, LEVELS = 5, 6, 5
CELLS = KINDS * CHOICES * LEVELS * 2
KIND, CHOICE, LEVEL, RIGHT = (axis.ravel() for axis in np.indices((KINDS, CHOICES, LEVELS, 2)))
ALL = np.ones(CELLS)


def simulate(runs=1):
    rng = np.random.default_rng(0)
    n = ITEMS * runs
    items = np.tile(np.arange(ITEMS), runs)
    kind = np.tile(rng.integers(0, KINDS, ITEMS), runs)
    models = []
    for _ in range(MODELS if runs == 1 else 5):
        correct = (rng.random(n) < 0.7).astype(int)
        level = np.clip(rng.integers(2, 6, n) + correct, 1, 5)
        models.append((items, kind, rng.integers(0, CHOICES, n), level, correct))
    return models


def measures():
    """Return the numerator and denominator of 22 ratio measures."""
    where = [ALL, *(1.0 * (LEVEL == 4), 1.0 * ((LEVEL == 2) | (LEVEL == 3)), 1.0 * (LEVEL < 2))]
    where += [1.0 * (k == KIND) for k in range(KINDS)]
    rows = [(RIGHT * w, w) for w in where]
    rows += [((LEVEL + 1) * w, w) for w in (ALL, 1.0 * RIGHT, 1.0 - RIGHT)]
    rows += [(1.0 * (c == CHOICE), ALL) for c in range(CHOICES)]
    rows += [
        (1.0 * (c == CHOICE) * (k == KIND), 1.0 * (k == KIND)) for c, k in ((4, 1), (5, 2), (4, 0), (5, 0))
    ]
    return rows


def one_model(items, kind, choice, level, correct, rows, seed):
    calibration = 2 * (level - 1) + correct
    cells = (kind * CHOICES + choice) * (2 * LEVELS) + calibration
    fine = patterns_of(items, cells, CELLS)
    estimates = [ratio_estimate(fine, *row) for row in rows]
    coarse = fine.collapse(np.arange(CELLS) % (2 * LEVELS), 2 * LEVELS)
    draws = resample(coarse, DRAWS, seed)
    p = level_probability(LEVELS)
    weight, right = np.repeat(np.arange(1.0, 6.0), 2), np.tile([0.0, 1.0], 5)
    estimates.append(ratio_estimate(coarse, weight * right, weight))
    estimates += [ece_estimate(coarse, p, draws), brier_from_patterns(coarse, p), auroc_from_patterns(coarse)]
    return estimates


def spent(function):
    before = time.process_time()
    result = function()
    return time.process_time() - before, result


def test_a_board_of_100_models_takes_less_than_a_second(record_property):
    models, rows = simulate(), measures()
    seconds, boards = spent(lambda: [one_model(*m, rows, i) for i, m in enumerate(models)])
    record_property("seconds", round(seconds, 3))
    print(f"\n{MODELS} models x {ITEMS} items x {len(boards[0])} measures: {seconds:.2f} s CPU")
    assert len(boards[0]) >= 25
    assert all(e.value is not None and e.low is not None for board in boards for e in board)
    assert seconds < 1.0


def test_ten_runs_of_every_item_stay_affordable(record_property):
    models, rows = simulate(runs=10), measures()
    seconds, _ = spent(lambda: [one_model(*m, rows, i) for i, m in enumerate(models)])
    record_property("seconds_per_model", round(seconds / len(models), 3))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"\n10 runs: {1000 * seconds / len(models):.0f} ms CPU a model, peak {peak:.0f} MB")
    assert seconds / len(models) < 3.0
