"""Statistics on plain arrays: the formulas of all numbers.

A function takes arrays (or n, mean, sd) and returns an `Estimate` or a frozen dataclass. Where there is no number a
``status`` says why; no NaN, warning or exception comes out of degenerate data. Wrong shapes, values out of range and
non-finite numbers are a ValueError. All that draws random numbers takes a seed; clusters are drawn by `resampling` alone.
Nothing here reads a file but its own tables, sees a data frame, knows a benchmark or prints.

Start with `estimate` (what a number is here), `resampling` (the unit of chance) and `intervals`; then the measure you need.

=====================  ==============================================================================
calibration, auroc     calibration error, Brier score and its parts; area under the type-2 ROC; roc: its points
confidence_measures    answers as counts with their resamples; risk against coverage
confidence_fit         tables of somebody else's trials: columns (confidence_columns), trials (_data), measures
agreement_many         Fleiss' kappa, Krippendorff's alpha
anova                  one-way ANOVA, Tukey-Kramer, Fisher's LSD; Cohen's d
ranks, ranksum         Spearman's correlation, many rows at once; Mann and Whitney's test
robust, pca            trimmed means, medians, resampled ranks of respondents; principal components
paired(_many), exact   models on the same items: McNemar, Cochran's Q; p of all exchanges of few items
counts, type1, type2   trials of a binary task with ratings; d', c, c', ln beta; rates and AUROC by confidence
yes_no                 yes/no × right/wrong: d'type2; meta_information: bits of confidence about correctness
metad, mafc, bayes     meta-d' and M-ratio by maximum likelihood, of two and of m alternatives; by Markov chains
decisions              practical equivalence, Z tests of a family, contrasts of draws, criterion shifts
observers, power       simulated observers; trials that a planned difference needs
=====================  ==============================================================================
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
