"""Statistics on plain arrays.

The formulas of all numbers: measures of accuracy, confidence and agreement, signal detection, meta-d′ by maximum
likelihood and Bayes, and the resampling of the intervals. A function takes arrays (or n, mean, sd) and returns a frozen
dataclass. Where there is no number a ``status`` says why; no NaN, warning or exception comes out of degenerate data. Wrong
shapes, values out of range and non-finite numbers are a ValueError. All that draws random numbers takes a seed.

It never reads a file, sees a data frame, knows a benchmark or prints; it needs NumPy and SciPy only (a test of imports
holds it to that). It never draws clusters but through `resampling`, and never makes a p value of draws but through
`resampling.p_value`. Examples in the docstrings are tests.

Start with `estimate` (what a number is here), `resampling` (the unit of chance) and `intervals`; then the measure you
need. Modules are imported, ``from metacog_pipeline.stats import resampling``, or functions from theirs.

=================  ==================================================================================
estimate           one number with its interval, or the reason there is none
intervals          the one family: shares, means, areas, errors and their differences, by name and source
resampling         clusters as the unit of chance: draws, percentiles, pairs, p values
calibration        the expected calibration error, Brier score, reliability
auroc, roc         area under the type-2 ROC curve; its points
trials             answers as counts with their resamples and folds: what the next four share
selective          risk against coverage: AURC, its excess, the prediction-rejection ratio, the curve
calibration_line   calibration in the large, calibration slope, the error over bins of equal mass
recalibration      calibration error and Brier score after cross-fitted Platt and isotonic maps
confidence_measures  all of these in one call
confidence_data     tables of somebody else's trials: columns (_columns), scales (_scale), measures (_fit)
agreement(_many)   Cohen's and Fleiss' kappa, Krippendorff's alpha
anova, effects     one-way ANOVA, Tukey-Kramer, Fisher's LSD; Cohen's d
ranks, ranksum     Spearman's correlation, many rows at once; Mann and Whitney's test
robust, pca        trimmed means, medians, resampled ranks of respondents; principal components
correlation        a straight line through two measures
paired, exact      models on the same items: McNemar, Cochran's Q; p of all exchanges of few items
multiple           Holm's and Bonferroni's corrections
counts             trials of a binary task with ratings -> counts; corrections, named and never implicit
type1, type2       d', c, c', ln beta with delta-method variances; rates and AUROC by confidence
type2_dprime       d'type2 and its companions from yes/no × correct/wrong; yes_no: the same with clipped rates
meta_information   the information of confidence about correctness in bits: meta-I, RMI
metad              meta-d' and M-ratio by maximum likelihood, many cells at once
mafc               the same for a choice among m: right or wrong and confidence are all it needs
bayes              meta-d' by Markov chains, of one cell (single) and of a group (group, population)
decisions          practical equivalence, Z tests of a family, contrasts of draws, criterion shifts
observers, power   simulated observers; trials that a planned difference of M-ratio, d' or criterion needs
=================  ==================================================================================
"""

from __future__ import annotations

import pkgutil
from importlib import import_module
from types import ModuleType


def __getattr__(name: str) -> ModuleType:
    """Import a module of the statistics when it is first named, as in ``stats.intervals.proportion(9, 10)``."""
    if name in __dir__():
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return the modules anybody may use."""
    return sorted(each.name for each in pkgutil.iter_modules(__path__) if not each.name.startswith("_"))
