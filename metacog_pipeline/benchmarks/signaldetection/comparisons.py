"""Tests of the benchmark: those of the paper, and the paired ones that shared items allow.

=====================  ===========================================================================================
``bayes_optimality``   M-ratio of each model and task with 1                                    (contrasts)
``bayes_models``       posteriors of two models on one task                                     (contrasts)
``bayes_tasks``        posteriors of one model on two tasks                                     (contrasts)
``criterion_z``        c, d′, c′ of two risk conditions, conditions taken as independent        (criteria)
``criterion_paired``   the same with what the conditions share item by item                     (criteria)
``criterion_order``    whether c rises from S1 over none to S2, as predicted                    (criteria)
``models_paired``      two models on the same items: meta-d′, M-ratio, AUROC2, d′, c            (paired)
``mcnemar``            accuracy of two models on the same items, one run                        (paired)
=====================  ===========================================================================================

Unit of chance: the item with all its runs, except in the Bayesian families, which take trials as independent as the
paper does. Models that did not finish a condition of a task are left out there, and simulated ones never meet
measured ones.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

from metacog_pipeline.benchmarks.common.rows import table
from metacog_pipeline.benchmarks.signaldetection.contrasts.criteria import criterion_rows
from metacog_pipeline.benchmarks.signaldetection.contrasts.efficiency import bayes_rows
from metacog_pipeline.benchmarks.signaldetection.contrasts.paired import paired_rows
from metacog_pipeline.benchmarks.signaldetection.groups import count
from metacog_pipeline.benchmarks.signaldetection.measures.plain import N_BOOT
from metacog_pipeline.benchmarks.signaldetection.observe import BENCHMARK
from metacog_pipeline.benchmarks.signaldetection.prompts import RATINGS
from metacog_pipeline.benchmarks.signaldetection.rows import COMPARISON_SCHEMA

__all__ = ["COMPARISON_SCHEMA", "compare"]


def compare(
    observations: pl.DataFrame,
    *,
    seed: int,
    posteriors: Path,
    ratings: int = RATINGS,
    n_boot: int = N_BOOT,
) -> pl.DataFrame:
    """Return one row per test in `COMPARISON_SCHEMA`.

    Parameters
    ----------
    observations
        Rows of ``observe.OBSERVATION_SCHEMA`` of all models, runs, tasks and conditions.
    seed
        Of the bootstrap and of Bayesian fits that are not kept yet.
    posteriors
        The folder Bayesian fits are kept in.
    ratings
        Number of confidence levels K.
    n_boot
        Resamples of items in the paired comparisons of models.

    Notes
    -----
    ``difference`` is a minus b. ``p_adjusted`` and the adjusted interval: Bonferroni over all pairs of a measure within a
    data set and source for the criterion families, Holm over the pairs of a task, condition and measure for those of
    models. ``verdict`` is one of not_significant, significant, negligible, inconclusive, null where there is none.
    """
    found = [
        group for group in count(observations, by_run=False, ratings=ratings) if group.incomplete is None
    ]
    rows = [*bayes_rows(found, seed, posteriors), *criterion_rows(found), *paired_rows(found, seed, n_boot)]
    return table(BENCHMARK, rows, COMPARISON_SCHEMA)
