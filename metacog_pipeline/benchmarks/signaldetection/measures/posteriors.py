"""Posteriors of meta-d′, drawn once and kept: the same counts, seed and model are never sampled twice.

A file ``<folder>/<digest>.parquet`` holds draws of d₁, c₁, meta-d and M-ratio, `DRAWS` of them or as many as
asked for, evenly thinned, and the status, the estimates over all draws and what convergence looked like. The digest covers
counts, seed, label and the version of the model. A posterior that has not converged is kept too, without draws: its status
is its result.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from metacog_pipeline.benchmarks.signaldetection.grid import number
from metacog_pipeline.errors import SourceError
from metacog_pipeline.files import canonical_json, sha256_hex
from metacog_pipeline.stats.bayes.sampler import CONVERGED
from metacog_pipeline.stats.bayes.single import CHAINS, Posterior, bayes_metad
from metacog_pipeline.stats.counts import Counts
from metacog_pipeline.stats.estimate import Estimate
from metacog_pipeline.study.frames import mark_of, read_frame, write_frame

Floats = NDArray[np.float64]

MODEL_VERSION = "3"  # raised when the same counts and seed would give other draws
DRAWS = 4000
MOST_PER_CHAIN = 500
KEPT = ("d1", "c1", "meta_d", "m_ratio")
_ABOUT = "about"


@dataclass(frozen=True, slots=True)
class Kept:
    """What is kept of a posterior.

    ``status`` is ``converged``, or says with ``reason`` why there is no number. ``told`` are the fields of `estimates`:
    over all draws, ``d1``, ``c1``, ``meta_d``, ``m_ratio``, ``m_ratio_median``, ``m_diff``. ``draws`` are by name of
    `KEPT`, as far as they were needed, shape ``(keep,)``, and empty unless converged. ``convergence`` is ``rhat``
    (largest), ``ess_bulk`` and ``ess_tail`` (smallest) over all parameters, and ``draws`` before thinning.
    """

    status: str
    reason: str
    told: Mapping[str, Mapping[str, Any]]
    draws: Mapping[str, Floats]
    convergence: Mapping[str, float | int | None]

    @property
    def estimates(self) -> dict[str, Estimate]:
        """The estimates, made where they are asked for: who compares draws needs none."""
        return {name: Estimate(**values) for name, values in self.told.items()}

    @property
    def converged(self) -> bool:
        """Whether there are numbers."""
        return self.status == CONVERGED


def posteriors(
    cells: Sequence[tuple[str, Counts]],
    *,
    seed: int,
    folder: Path,
    keep: int = DRAWS,
    needed: Sequence[str] = KEPT,
) -> list[Kept]:
    """Return the posteriors of raw counts of cells from ``folder``, sampled and kept where they are not there.

    A cell is its label and its counts; with ``seed`` they determine the draws. Two cells with different labels share no
    random numbers. Of what is kept only the draws ``needed`` are read.
    """
    paths = []
    for label, table in cells:
        drawn_from = [MODEL_VERSION, keep, seed, label, table.n_s1.tolist(), table.n_s2.tolist()]
        paths.append(folder / f"{sha256_hex(canonical_json(drawn_from))}.parquet")
    read = {place: _read(path, needed) for place, path in enumerate(paths)}
    found = {place: kept for place, kept in read.items() if kept is not None}
    new = [place for place in range(len(cells)) if place not in found]
    # A few draws for each that is kept: thinning then loses little, and more would cost time without use; with
    # shorter chains the gate often asks for another round.
    per_chain = min(MOST_PER_CHAIN, -(-3 * keep // CHAINS))
    for place in new:
        label, table = cells[place]
        found[place] = kept = _kept(bayes_metad(table, seed=seed, label=label, draws=per_chain), keep)
        write_frame(_row(kept), paths[place], paths[place].stem)
    return [found[place] for place in range(len(cells))]


def _kept(found: Posterior, keep: int) -> Kept:
    rows = list(found.diagnostics.values())
    drawn = {name: found.draws[name].ravel() for name in KEPT if name in found.draws}
    size = len(drawn["d1"]) if drawn else 0
    thin = np.arange(keep) * size // keep  # chain after chain, evenly
    return Kept(
        found.status,
        found.reason,
        {name: asdict(estimate) for name, estimate in found.estimates().items()},
        {name: values[thin] for name, values in drawn.items()},
        {
            "rhat": number(max((row.rhat for row in rows), default=None)),
            "ess_bulk": number(min((row.ess_bulk for row in rows), default=None)),
            "ess_tail": number(min((row.ess_tail for row in rows), default=None)),
            "draws": size,
        },
    )


def _row(found: Kept) -> pl.DataFrame:
    about = {
        "status": found.status,
        "reason": found.reason,
        "estimates": found.told,
        "convergence": dict(found.convergence),
    }
    drawn = {name: [found.draws.get(name, np.empty(0))] for name in KEPT}
    return pl.DataFrame({_ABOUT: [canonical_json(about)], **drawn}, schema=_schema(KEPT))


def _schema(names: Sequence[str]) -> dict[str, pl.DataType]:
    return {_ABOUT: pl.String(), **dict.fromkeys(names, pl.List(pl.Float64()))}


def _read(path: Path, needed: Sequence[str]) -> Kept | None:
    """Return the posterior kept at ``path`` with the draws ``needed``; None where there is none, or it cannot be read."""
    if mark_of(path) != path.stem:
        return None
    try:
        row = read_frame(path).row(0, named=True)
    except SourceError:  # damaged: sampled again
        return None
    about = json.loads(row[_ABOUT])
    converged = about["status"] == CONVERGED
    draws = {name: np.array(row[name], dtype=np.float64) for name in needed} if converged else {}
    return Kept(about["status"], about["reason"], about["estimates"], draws, about["convergence"])
