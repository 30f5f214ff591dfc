"""Parameter recovery of meta-d' over a grid of simulated observers: bias, and how often intervals hold the truth."""

import itertools
from collections import defaultdict

import numpy as np
import pytest

from metacog_pipeline.stats.metad import bootstrap_metad
from metacog_pipeline.stats.observers import simulate

pytestmark = pytest.mark.bench


D, RATIO, C, TRIALS, RATINGS = (0.8, 1.6, 2.4), (0.5, 0.8, 1.1), (0.0, 0.4), (200, 500, 2000), (3, 4, 6)
OBSERVERS, REPLICATES = 13, 300
QUANTITIES = ("da", "meta_da", "m_ratio")


def recover() -> tuple[dict[tuple[int, str], list[tuple[float, float, float, float]]], int, int]:
    """Return (truth, value, low, high) by (trials, quantity), the observers, and those without an interval."""
    found: dict[tuple[int, str], list[tuple[float, float, float, float]]] = defaultdict(list)
    grid = list(itertools.product(D, RATIO, C, TRIALS, RATINGS))
    missing = 0
    for seed, (d, ratio, c, n, k) in enumerate(grid):
        steps = np.arange(1, k) * 1.6 / k
        table = simulate(
            d, ratio, c, ratio * c - steps[::-1], ratio * c + steps, n, seed=seed, cells=OBSERVERS
        )
        truth = {"da": d, "meta_da": d * ratio, "m_ratio": ratio}
        for row in bootstrap_metad(table, REPLICATES, seed, padding=1 / (2 * k)):
            for name in QUANTITIES:
                entry = row[name]
                if entry.value is None or entry.low is None or entry.high is None:
                    missing += 1
                    continue
                found[n, name].append((truth[name], entry.value, entry.low, entry.high))
    return found, len(grid) * OBSERVERS, missing


def test_recovery_of_two_thousand_observers(figure):
    found, observers, missing = recover()
    assert observers >= 2000
    print(f"\n{'trials':>7} {'quantity':>9} {'n':>5} {'bias':>8} {'sd':>7} {'coverage':>8}")
    covered = {}
    for (n, name), rows in sorted(found.items()):
        truth, value, low, high = np.array(rows).T
        covered[n, name] = float(((low <= truth) & (truth <= high)).mean())
        error = value - truth
        print(
            f"{n:>7} {name:>9} {len(rows):>5} {error.mean():>8.4f} {error.std():>7.4f} {covered[n, name]:>8.3f}"
        )
        assert abs(error.mean()) < 0.03 + 3 * error.std() / np.sqrt(len(rows))
    assert missing <= 0.01 * observers * len(QUANTITIES)
    low, high = min(covered.values()), max(covered.values())
    figure(
        f"coverage of nominal 95 % intervals (d', meta-d', M-ratio; 200 to 2,000 trials), {observers:,} observers",
        "90 to 97 %",
        f"{100 * low:.1f} to {100 * high:.1f} %",
        low >= 0.90 and high <= 0.97,
    )
