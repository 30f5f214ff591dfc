"""The Bayesian fit of meta-d′ with d′ estimated (HMeta-d's single-subject model, Fleming 2017), as the source uses it.

It takes trials as independent, repeated runs of one item too, and is made of pooled runs only. Posteriors are kept in the
study's cache.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from metacog_pipeline.benchmark.contract import Benchmark, Group
from metacog_pipeline.benchmarks.signaldetection.grid import Counts, counts_of
from metacog_pipeline.benchmarks.signaldetection.measures.meta_d import no_meta_d
from metacog_pipeline.benchmarks.signaldetection.measures.posteriors import DRAWS, Kept, posterior
from metacog_pipeline.benchmarks.signaldetection.measures.type1 import over
from metacog_pipeline.stats import counts as stats_counts
from metacog_pipeline.stats.estimate import Estimate, unavailable

Bound = Benchmark[Any, Any, Any]
# Measure -> parameter of the posterior.
BAYES = {
    "d_bayes": "d1",
    "c_bayes": "c1",
    "meta_d_bayes": "meta_d",
    "m_ratio_bayes": "m_ratio",
    "m_ratio_median_bayes": "m_ratio_median",
}


@dataclass(frozen=True, slots=True)
class Fitted:
    """One model on one task with its posterior, or the reason it has none.

    ``n`` is the number of rated answers; ``why`` is None where there are draws.
    """

    dataset: str
    source: str
    task: str
    model: str
    n: int
    kept: Kept | None
    why: str | None = None

    @property
    def m_ratio(self) -> float:
        """Posterior mean of M-ratio, -inf without one."""
        value = None if self.kept is None else self.kept.estimates["m_ratio"].value
        return -math.inf if value is None else value


def folder_of(benchmark: Bound) -> Path:
    """Return where the posteriors of a study are kept; whoever deletes it loses time, nothing else."""
    return benchmark.context.cache("posteriors")


def fitted(benchmark: Bound, group: Group) -> Fitted:
    """Return the posterior of a group, or the reason its counts have none."""
    counts, names = counts_of(group), (group.dataset, group.source, group.task or "", group.model)
    why = no_meta_d(counts)
    if why is not None:
        return Fitted(*names, counts.n_rated, None, why)
    return fitted_counts(counts.rated, names, benchmark.context.seed, folder_of(benchmark))


def fitted_counts(
    table: stats_counts.Counts, names: tuple[str, str, str, str], seed: int, folder: Path, keep: int = DRAWS
) -> Fitted:
    """Return the posterior of raw counts of one data set, source, task and model; ``keep`` draws are kept in ``folder``."""
    kept = posterior(table, seed=seed, label="/".join(names), folder=folder, keep=keep)
    why = None if kept.converged else f"posterior {kept.status}: {kept.reason}"
    return Fitted(*names, int(table.n[0]), kept, why)


def bayes_estimates(benchmark: Bound, groups: Sequence[Group]) -> list[dict[str, Estimate]]:
    """Return the posterior means of every group."""
    return [_estimates(fitted(benchmark, group), counts_of(group)) for group in groups]


def _estimates(fit: Fitted, counts: Counts) -> dict[str, Estimate]:
    if fit.kept is None or fit.why is not None:
        return {name: unavailable(fit.n, "bayes, d' estimated", fit.why or "") for name in BAYES}
    taken = "; runs taken as independent" if counts.clustered else ""
    found = dict(fit.kept.estimates)
    # The median of a ratio to what may be 0 lies between two branches of the posterior, and may be any number as well.
    found["m_ratio_median"] = over(found["d1"], found["m_ratio_median"])
    return {
        name: replace(found[parameter], method=f"bayes, d' estimated; {found[parameter].method}{taken}")
        for name, parameter in BAYES.items()
    }
