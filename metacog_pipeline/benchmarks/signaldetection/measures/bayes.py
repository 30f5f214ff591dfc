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
from metacog_pipeline.benchmarks.signaldetection.grid import Counts, all_counts
from metacog_pipeline.benchmarks.signaldetection.measures.meta_d import untold
from metacog_pipeline.benchmarks.signaldetection.measures.posteriors import DRAWS, KEPT, Kept, posteriors
from metacog_pipeline.stats import counts as stats_counts
from metacog_pipeline.stats._arrays import Floats
from metacog_pipeline.stats.estimate import Estimate, unavailable
from metacog_pipeline.stats.identifiability import gated

Bound = Benchmark[Any, Any, Any]
Cell = tuple[tuple[str, str, str, str], stats_counts.Counts]  # (data set, source, task, model), raw counts
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
    def has_draws(self) -> bool:
        """Whether it has draws to compare."""
        return self.kept is not None and self.why is None

    def drawn(self, name: str) -> Floats:
        """Return the draws of a parameter; only where there are some."""
        assert self.kept is not None
        return self.kept.draws[name]

    @property
    def m_ratio(self) -> float:
        """Posterior mean of M-ratio, -inf without one."""
        value = None if self.kept is None else self.kept.estimates["m_ratio"].value
        return -math.inf if value is None else value


def folder_of(benchmark: Bound) -> Path:
    """Return where the posteriors of a study are kept; whoever deletes it loses time, nothing else."""
    return benchmark.context.cache("posteriors")


def fitted(benchmark: Bound, groups: Sequence[Group], needed: Sequence[str] = KEPT) -> list[Fitted]:
    """Return the posterior of each group, with draws of the parameters ``needed``, or the reason its counts have none."""
    found: dict[int, Fitted] = {}
    cells: dict[int, Cell] = {}
    every = all_counts(groups)
    for place, (group, counts, (_, why)) in enumerate(zip(groups, every, untold(every), strict=True)):
        names = (group.dataset, group.source, group.task or "", group.model)
        if why is not None:
            found[place] = Fitted(*names, counts.n_rated, None, why)
        else:
            cells[place] = names, counts.rated
    fits = fitted_counts(list(cells.values()), benchmark.context.seed, folder_of(benchmark), needed=needed)
    found |= dict(zip(cells, fits, strict=True))
    return [found[place] for place in range(len(groups))]


def fitted_counts(
    cells: Sequence[Cell], seed: int, folder: Path, keep: int = DRAWS, needed: Sequence[str] = KEPT
) -> list[Fitted]:
    """Return the posterior of each cell, with draws of ``needed``; ``keep`` draws of it are kept in ``folder``."""
    labelled = [("/".join(names), table) for names, table in cells]
    return [
        Fitted(
            *names,
            int(table.n[0]),
            kept,
            None if kept.converged else f"posterior {kept.status}: {kept.reason}",
        )
        for (names, table), kept in zip(
            cells, posteriors(labelled, seed=seed, folder=folder, keep=keep, needed=needed), strict=True
        )
    ]


def bayes_estimates(benchmark: Bound, groups: Sequence[Group]) -> list[dict[str, Estimate]]:
    """Return the posterior means of every group."""
    fits, counts = fitted(benchmark, groups), all_counts(groups)
    return [_estimates(fit, own) for fit, own in zip(fits, counts, strict=True)]


def _estimates(fit: Fitted, counts: Counts) -> dict[str, Estimate]:
    if fit.kept is None or fit.why is not None:
        return {name: unavailable(fit.n, "bayes, d' estimated", fit.why or "") for name in BAYES}
    taken = "; runs taken as independent" if counts.clustered else ""
    found = dict(fit.kept.estimates)
    # The median of a ratio to what may be 0 lies between two branches of the posterior, and may be any number as well.
    for name in ("m_ratio", "m_ratio_median"):
        found[name] = gated(found[name], found["d1"].low, found["d1"].high)
    return {
        name: replace(found[parameter], method=f"bayes, d' estimated; {found[parameter].method}{taken}")
        for name, parameter in BAYES.items()
    }
