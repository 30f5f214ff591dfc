"""Estimates from observations: every measure with its 95 % interval, or the reason it has none.

Failures: accuracy is over all answers; one without a readable response counts as wrong, and in nothing else. Items
without an answer (transport error, cut, not asked) make a run incomplete: its numbers are withheld, or, when incomplete
runs are allowed, computed without those items and labelled. A response without a readable confidence counts everywhere
except in the measures of confidence.

The item is the unit of chance: with one run every trial stands for itself; over several runs an item is resampled with
all of them. Sensitivity and criterion: :mod:`measures`. meta-d′ by maximum likelihood: :mod:`fits`. Pooled rows add the
Bayesian fit of the source (:mod:`posteriors`), which takes trials as independent, repeated runs too, as the source does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from metacog_pipeline.benchmarks.signaldetection.contrasts.efficiency import fitted
from metacog_pipeline.benchmarks.signaldetection.groups import Group, count
from metacog_pipeline.benchmarks.signaldetection.measures.information import (
    INFORMATION,
    information_estimates,
)
from metacog_pipeline.benchmarks.signaldetection.measures.meta_d import (
    LOG_M_RATIO,
    META_D,
    SIDES,
    meta_d_estimates,
    n_rated,
)
from metacog_pipeline.benchmarks.signaldetection.measures.plain import (
    N_BOOT,
    TYPE1,
    confidence_estimates,
    shares,
    type1_estimates,
)
from metacog_pipeline.benchmarks.signaldetection.prompts import CONFIDENCE, RATINGS
from metacog_pipeline.stats.estimate import Estimate, unavailable

Floats = NDArray[np.float64]
Found = dict[str, Estimate]

_TYPES: dict[str, pl.DataType | type[pl.DataType]] = {
    **dict.fromkeys(("benchmark", "dataset", "task", "condition", "model"), pl.String),
    "run": pl.Int32,
    "measure": pl.String,
    **dict.fromkeys(("estimate", "low", "high", "sem"), pl.Float64),
    **dict.fromkeys(("n", "n_failed", "n_unparsable"), pl.Int64),
    "coverage": pl.Float64,
    **dict.fromkeys(("method", "status", "source"), pl.String),
}
ESTIMATE_SCHEMA = pl.Schema(_TYPES)
SHARES = ("accuracy", "hit_rate", "false_alarm_rate", "coverage")
RATED = ("auroc2", "ece", "brier", "mean_confidence")
# Column of the table -> parameter of the posterior.
BAYES = {
    "d_bayes": "d1",
    "c_bayes": "c1",
    "meta_d_bayes": "meta_d",
    "m_ratio_bayes": "m_ratio",
    "m_ratio_median_bayes": "m_ratio_median",
}


def score(
    observations: pl.DataFrame,
    *,
    seed: int,
    allow_incomplete: bool = False,
    ratings: int = RATINGS,
    n_boot: int = N_BOOT,
) -> pl.DataFrame:
    """Return one row per dataset, task, condition, model, run and measure, in `ESTIMATE_SCHEMA`; no Bayesian fits.

    Parameters
    ----------
    observations
        Rows of ``observe.OBSERVATION_SCHEMA``: every selected item of every run, also those not asked.
    seed
        Of the bootstrap; the same seed gives the same bytes.
    allow_incomplete
        Give numbers for incomplete runs too, over the answered items, status ``incomplete: …``.
    ratings
        Number of confidence levels K.
    n_boot
        Resamples of items.
    """
    groups = count(observations, by_run=True, ratings=ratings)
    return _table(groups, seed, allow_incomplete, n_boot, None)


def pool(
    observations: pl.DataFrame,
    *,
    seed: int,
    posteriors: Path,
    allow_incomplete: bool = False,
    ratings: int = RATINGS,
    n_boot: int = N_BOOT,
) -> pl.DataFrame:
    """Return one row per dataset, task, condition, model and measure over all runs given; ``run`` is null.

    Parameters as in `score`, and ``posteriors``, the folder Bayesian fits are kept in. n counts observations.
    """
    groups = count(observations, by_run=False, ratings=ratings)
    return _table(groups, seed, allow_incomplete, n_boot, posteriors)


def _table(
    groups: Sequence[Group], seed: int, allow_incomplete: bool, n_boot: int, posteriors: Path | None
) -> pl.DataFrame:
    shown = [group for group in groups if allow_incomplete or group.incomplete is None]
    draws = [group.resampled(n_boot, seed) for group in shown]
    found: dict[int, Found] = {
        id(group): {**shares(group), **type1}
        for group, type1 in zip(shown, type1_estimates(shown, draws), strict=True)
    }
    asked = [place for place, group in enumerate(shown) if group.condition == CONFIDENCE]
    with_confidence, resampled = [shown[place] for place in asked], [draws[place] for place in asked]
    by_ml = meta_d_estimates(with_confidence, resampled)
    bits = information_estimates(with_confidence, resampled)
    for group, drawn, fit, told in zip(with_confidence, resampled, by_ml, bits, strict=True):
        found[id(group)] |= {**fit, **confidence_estimates(group, drawn), **told}
        if posteriors is not None:
            found[id(group)] |= _bayes(group, seed, posteriors)
    names = _names(posteriors is not None)
    rows = [row for group in groups for row in _rows(group, found.get(id(group)), names)]
    return pl.DataFrame(rows, schema=ESTIMATE_SCHEMA, orient="row")


def _names(with_bayes: bool) -> dict[bool, tuple[str, ...]]:
    """Return the measures of a group, by whether its condition asks for confidence."""
    plain = (*SHARES, *TYPE1)
    rated = (*META_D, LOG_M_RATIO, *SIDES, *RATED, *INFORMATION)
    return {False: plain, True: (*plain, *rated, *(BAYES if with_bayes else ()))}


def _bayes(group: Group, seed: int, folder: Path) -> Found:
    fit = fitted(group, seed, folder)
    n = n_rated(group)
    if fit.kept is None or fit.why is not None:
        return {name: unavailable(n, "bayes, d' estimated", fit.why or "") for name in BAYES}
    taken = "; runs taken as independent" if group.clustered else ""
    estimates = fit.kept.estimates
    return {
        name: replace(
            estimates[parameter], method=f"bayes, d' estimated; {estimates[parameter].method}{taken}"
        )
        for name, parameter in BAYES.items()
    }


def _rows(
    group: Group, found: Found | None, names: dict[bool, tuple[str, ...]]
) -> Iterator[tuple[object, ...]]:
    """Yield the finished rows of one group, measure by measure."""
    coverage = shares(group)["coverage"]
    for name in names[group.condition == CONFIDENCE]:
        shown = coverage if name == "coverage" else found[name] if found is not None else None
        if shown is None:
            shown = unavailable(group.asked - group.n_failed, "withheld", "")
        status = group.incomplete if group.incomplete and name != "coverage" else shown.status
        yield (
            *group.key,
            group.run,
            name,
            *(shown.value, shown.low, shown.high, shown.sem),
            *(shown.n, group.n_failed, group.n_unparsable),
            coverage.value,
            shown.method,
            status,
            group.source,
        )
