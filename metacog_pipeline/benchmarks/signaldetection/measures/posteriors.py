"""Posteriors of meta-d′, drawn once and kept: the same counts, seed and model are never sampled twice.

A file ``<folder>/<digest>.parquet`` holds draws of d₁, c₁, meta-d and M-ratio, `DRAWS` of them or as many as asked for,
evenly thinned, and in its metadata the status, the estimates over all draws and what convergence looked like. The digest
covers counts, seed, label and the version of the model. A posterior that has not converged is kept too, without draws:
its status is its result. Whoever deletes the folder loses time, nothing else.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from metacog_pipeline.benchmarks.signaldetection.grid import number
from metacog_pipeline.files import canonical_json, replacing, sha256_hex
from metacog_pipeline.stats.bayes.gate import CONVERGED
from metacog_pipeline.stats.bayes.single import CHAINS, Posterior, bayes_metad
from metacog_pipeline.stats.counts import Counts
from metacog_pipeline.stats.estimate import Estimate

Floats = NDArray[np.float64]

MODEL_VERSION = "3"  # raised when the same counts and seed would give other draws
DRAWS = 4000
MOST_PER_CHAIN = 500
KEPT = ("d1", "c1", "meta_d", "m_ratio")
_ABOUT = "metacog_posterior"


@dataclass(frozen=True, slots=True)
class Kept:
    """What is kept of a posterior.

    ``status`` is ``converged``, or says with ``reason`` why there is no number. ``estimates`` over all draws are ``d1``,
    ``c1``, ``meta_d``, ``m_ratio``, ``m_ratio_median``, ``m_diff``; ``draws`` are by name of `KEPT`, shape ``(keep,)``, and
    empty unless converged. ``convergence`` is ``rhat`` (largest), ``ess_bulk`` and ``ess_tail`` (smallest) over all
    parameters, and ``draws`` before thinning.
    """

    status: str
    reason: str
    estimates: Mapping[str, Estimate]
    draws: Mapping[str, Floats]
    convergence: Mapping[str, float | int | None]

    @property
    def converged(self) -> bool:
        """Whether there are numbers."""
        return self.status == CONVERGED


def posterior(table: Counts, *, seed: int, label: str, folder: Path, keep: int = DRAWS) -> Kept:
    """Return the posterior of raw counts of one cell from ``folder``, sampled and kept where it is not there.

    ``seed`` and ``label`` determine the draws with the counts; two cells with different labels share no random numbers.
    """
    drawn_from = [MODEL_VERSION, keep, seed, label, table.n_s1.tolist(), table.n_s2.tolist()]
    path = folder / f"{sha256_hex(canonical_json(drawn_from))}.parquet"
    found = _read(path, keep)
    if found is None:
        # A few draws for each that is kept: thinning then loses little, and more would cost time without use; with
        # shorter chains the gate often asks for another round.
        per_chain = min(MOST_PER_CHAIN, -(-3 * keep // CHAINS))
        found = _kept(bayes_metad(table, seed=seed, label=label, draws=per_chain), keep)
        _write(found, path)
    return found


def _kept(found: Posterior, keep: int) -> Kept:
    rows = list(found.diagnostics.values())
    drawn = {name: found.draws[name].ravel() for name in KEPT if name in found.draws}
    size = len(drawn["d1"]) if drawn else 0
    thin = np.arange(keep) * size // keep  # chain after chain, evenly
    return Kept(
        found.status,
        found.reason,
        found.estimates(),
        {name: values[thin] for name, values in drawn.items()},
        {
            "rhat": number(max((row.rhat for row in rows), default=None)),
            "ess_bulk": number(min((row.ess_bulk for row in rows), default=None)),
            "ess_tail": number(min((row.ess_tail for row in rows), default=None)),
            "draws": size,
        },
    )


def _write(found: Kept, path: Path) -> None:
    about = {
        "status": found.status,
        "reason": found.reason,
        "estimates": {name: asdict(estimate) for name, estimate in found.estimates.items()},
        "convergence": dict(found.convergence),
    }
    frame = pl.DataFrame({name: found.draws.get(name, np.empty(0)) for name in KEPT})
    with replacing(path) as temporary:
        frame.write_parquet(temporary, metadata={_ABOUT: canonical_json(about)})


def _read(path: Path, keep: int) -> Kept | None:
    """Return what is kept at ``path``; None where nothing whole is there."""
    try:
        about = json.loads(pl.read_parquet_metadata(path)[_ABOUT])
        frame = pl.read_parquet(path, glob=False, hive_partitioning=False)
        estimates = {name: Estimate(**values) for name, values in about["estimates"].items()}
        draws = {name: frame[name].to_numpy() for name in KEPT} if frame.height else {}
        found = Kept(about["status"], about["reason"], estimates, draws, about["convergence"])
    except (OSError, pl.exceptions.PolarsError, KeyError, TypeError, ValueError):
        return None
    whole = frame.height == (keep if found.converged else 0) and all(
        np.isfinite(values).all() for values in draws.values()
    )
    return found if whole else None
