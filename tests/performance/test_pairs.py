"""Pairs of models: all of a hundred at once, and what tests between models without a difference find."""

import time
from itertools import combinations

import numpy as np
import pytest

from metacog_pipeline.stats import resampling
from metacog_pipeline.stats._arrays import ratio
from metacog_pipeline.stats.auroc import auroc_statistic
from metacog_pipeline.stats.paired_many import paired_shares
from metacog_pipeline.stats.resampling.products import shared_draws
from tests.performance import null_studies

pytestmark = pytest.mark.bench

MODELS, ITEMS, DRAWS = 100, 10_000, 1_000
#: Studies per benchmark: those whose pairs are fitted take minutes.
STUDIES = {"metamedqa": 200, "medley": 100, "selfknowledge": 60, "metacogbench": 60, "signaldetection": 40}


def differences(drawn, statistic):
    """Return the differences of each pair in every resample, (pairs, draws); a side is measured once for all its pairs."""
    sides = ([side.once("drawn", lambda own: statistic(own.drawn)) for side in pair.sides] for pair in drawn)
    return np.stack([one - two for one, two in sides])


def test_all_pairs_of_a_hundred_models_and_ten_thousand_items(figure):
    rng = np.random.default_rng(0)
    hits = (rng.random((ITEMS, MODELS)) < 0.7).astype(np.int64)
    asked, pairs = np.ones_like(hits), list(combinations(range(MODELS), 2))
    start = time.process_time()
    shares = paired_shares(hits, asked, pairs)

    def share(totals):
        return ratio(totals[:, 0], totals[:, 1])

    drawn = shared_draws(np.stack([hits, asked], axis=2), pairs, DRAWS, 1)
    ends = resampling.intervals(differences(drawn, share))
    taken = time.process_time() - start
    assert np.isfinite(ends).all() and np.isfinite(shares.p).all() and len(ends) == 4950
    figure(
        f"difference, p and interval ({DRAWS:,} resamples) of all 4,950 pairs of {MODELS} models on {ITEMS:,} items",
        "< 1.5 s CPU", f"{taken:.2f} s", taken < 1.5,
    )  # fmt: skip


def test_auroc_of_all_pairs_from_the_same_draws(figure):
    rng = np.random.default_rng(0)
    tables = np.zeros((ITEMS, MODELS, 10), dtype=np.int64)
    cells = rng.integers(0, 10, (ITEMS, MODELS))
    np.put_along_axis(tables, cells[:, :, None], 1, axis=2)
    start = time.process_time()
    drawn = shared_draws(tables, combinations(range(MODELS), 2), DRAWS, 1)
    ends = resampling.intervals(differences(drawn, auroc_statistic))
    taken = time.process_time() - start
    assert np.isfinite(ends).all()
    figure("the same for AUROC2 of 5 ratings, intervals only", "none", f"{taken:.2f} s CPU", True)


@pytest.mark.parametrize("name", STUDIES)
def test_models_without_a_difference_are_told_apart_in_at_most_one_study_of_twenty(name, tmp_path, figure):
    studies = STUDIES[name]
    found, pairs = null_studies.share(null_studies.makers(tmp_path)[name], studies)
    most = null_studies.at_most(studies)
    figure(
        f"{name}: studies of {null_studies.MODELS} models without a difference in which some pair of {pairs} differs",
        f"5 % (at most {most} of {studies} by chance)", f"{found} of {studies}", found <= most,
    )  # fmt: skip
