"""What is no data is a ValueError of one line, whatever the statistic."""

import math
import re

import numpy as np
import pytest

from metacog_pipeline.stats import calibration, paired, power, ranks, resampling, robust
from metacog_pipeline.stats.agreement_many import fleiss_kappa, krippendorff_alpha
from metacog_pipeline.stats.anova import anova, cohen_d, fisher_lsd
from metacog_pipeline.stats.auroc import auroc
from metacog_pipeline.stats.bayes.single import bayes_metad
from metacog_pipeline.stats.confidence_measures import trials
from metacog_pipeline.stats.correlation import regression
from metacog_pipeline.stats.counts import Counts, check_correction, counts, padded
from metacog_pipeline.stats.decisions import compare, verdicts
from metacog_pipeline.stats.intervals import proportion, wilson_interval
from metacog_pipeline.stats.mafc.fit import fit as fit_mafc
from metacog_pipeline.stats.metad import fit_metad
from metacog_pipeline.stats.multiple import holm
from metacog_pipeline.stats.observers import expected_counts
from metacog_pipeline.stats.paired_many import paired_shares
from metacog_pipeline.stats.pca import pca
from metacog_pipeline.stats.resampling import Patterns, merge_patterns, patterns_of
from metacog_pipeline.stats.resampling.products import shared_draws
from metacog_pipeline.stats.type1 import type1_from_table
from metacog_pipeline.stats.type2 import bin_confidence
from metacog_pipeline.stats.yes_no import clipped_dprime, type2_dprime
from tests.tables import every

NAN, INF = math.nan, math.inf
TWO = Patterns(np.eye(2), np.array([1, 1]))
CELL = counts([1, 2, 3, 4], [4, 3, 2, 1])
DRAWS = np.random.default_rng(1).normal(1.0, 0.1, 4000)
OBSERVER = {"d": 1.0, "m_ratio": 1.0, "c": 0.0, "criteria_s1": [-0.5], "criteria_s2": [0.5], "n": 10}
IMPOSSIBLE = [
    {"d": NAN}, {"d": INF}, {"c": [0.1, 0.2], "d": [1, 2, 3]}, {"criteria_s1": [0.5]}, {"criteria_s2": [NAN]},
    {"n": NAN}, {"n": -1}, {"n": [1, 2]},
]  # fmt: skip
ANOVA = anova([2, 2], [1.5, 3.5], [0.7, 0.7])


# What the message says, as a pattern, and the calls.
REFUSED = {
    "": [
        lambda: fleiss_kappa([[-1, 2]]),
        lambda: krippendorff_alpha([1, 2, 3]),
        lambda: counts([1, 2], [1, 2, 3, 4]),
        lambda: check_correction("both"),
        *(lambda wrong=wrong: expected_counts(**{**OBSERVER, **wrong}) for wrong in IMPOSSIBLE),
        lambda: anova([3, 3], [1.0], [1.0, 1.0]),
        lambda: auroc([1, 2], [1]),
        lambda: calibration.ece([1.1], [1]),
        lambda: calibration.level_probability(1),
        lambda: regression([1, 2, 3], [1, 2]),
        lambda: verdicts(DRAWS, DRAWS, -0.1, DRAWS > 0),
        lambda: cohen_d(5, NAN, 1, 5, 0, 1),
        lambda: fit_mafc([[-1, 2]], [[1, 2]], 4),
        lambda: paired.mcnemar(-1, 2),
        lambda: paired.cochran_q([1, 0]),
        lambda: pca([1.0, 2.0]),
        lambda: proportion(3, 2),
        lambda: wilson_interval(0.5, 0),
        lambda: ranks.spearman_rows([[1.0, 2.0]], [[1.0]]),
        lambda: patterns_of([1, 2], [0], 2),
        lambda: Patterns(np.eye(2), np.array([1])),
        lambda: merge_patterns([[1, 2]], [1, 2]),
        lambda: resampling.patterns(TWO, 0, 1),
        lambda: resampling.weights(3, 5, -1),
        lambda: resampling.indices(0, 5, 1),
        lambda: robust.location([1.0, 2.0]),
        lambda: robust.resampled_locations([[1.0]], n_boot=0),
        lambda: type1_from_table(1, 2, 3, [1, 2]),
        lambda: bin_confidence([INF], 2),
        lambda: type2_dprime(3, 1, 2, 4),
    ],
    "power": [
        lambda wrong=wrong: power.approximate_trials(1.0, 1.0, 0.1, power=wrong) for wrong in (0.05, 1.0, NAN)
    ],
    "up to 5": [
        lambda wrong=wrong: power.approximate_trials(*wrong, 0.1)
        for wrong in ((0.0, 1.0), (NAN, 1.0), (9.0, 1.0), (4.0, 2.0))
    ],
    "nothing to detect": [lambda: power.approximate_trials(1.0, 1.0, 0.0)],
    "2 cells": [lambda: bayes_metad(Counts(np.ones((2, 4)), np.ones((2, 4))), seed=1)],
    "padded": [lambda: bayes_metad(padded(CELL), seed=1)],
    "draws": [
        lambda: bayes_metad(CELL, seed=1, draws=3),
        lambda: compare([1.0] * 10, DRAWS),
    ],
    r"more than 1e\+18": [lambda: bayes_metad(counts([1e100] * 4, [1e100] * 4), seed=1)],
    "rounds": [lambda: bayes_metad(CELL, seed=1, rounds=0)],
    "padded already": [lambda: fit_metad(padded(CELL), padding=0.1)],
    "alternatives are whole numbers from 2 to 10": [
        lambda wrong=wrong: fit_mafc([[1, 2]], [[2, 1]], wrong) for wrong in (1, 11, 3.5, NAN)
    ],
    r"outside 0\.\.1": [
        *(lambda wrong=wrong: holm([0.5, wrong]) for wrong in (-0.1, 1.1, NAN)),
    ],
    "below 0": [lambda: anova([3, 3], [1.0, 2.0], [1.0, -1.0])],
    "none of the 2 groups": [lambda: fisher_lsd(ANOVA, baseline=2)],
    "unknown edges": [lambda: calibration.bin_index([0.5], edges="level")],
    "amount to pad": [lambda: padded(counts([1, 2], [1, 2]), -1)],
    "discordant": [lambda: paired.mcnemar(2, 2, 3)],
    r"outside -1\.\.1": [lambda of=of: of(1.5, 10) for of in (ranks.fisher_interval, ranks.spearman_p)],
    "shape": [lambda: list(shared_draws(np.ones((2, 2)), [(0, 1)], 10, 1))],
    "more right answers": [lambda: paired_shares([[2, 1]], [[1, 1]], [(0, 1)])],
    "confidence": [
        lambda wrong=wrong: trials(wrong, [0, 1])
        for wrong in ([NAN, 1], [INF, 1], ["a", "b"], [1e200, 1], [[1, 2]])
    ],
    "lengths differ": [lambda: trials([1, 2, 3], [0, 1])],
    "only 0 and 1": [lambda: trials([1, 2], [0, 2])],
    "yes_correct": [lambda: clipped_dprime([3], [0], [2], [2])],
}


@every(("said", "call"), [(said, call) for said, calls in REFUSED.items() for call in calls])
def test_what_is_no_data_is_refused_in_one_line(said, call):
    with pytest.raises(ValueError) as refused:
        call()
    assert re.search(said or r"\w", str(refused.value)) and "\n" not in str(refused.value)
