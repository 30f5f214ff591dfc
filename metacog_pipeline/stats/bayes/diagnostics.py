"""Whether chains have converged, how many independent draws they are worth, and summaries of draws by name.

R̂ of rank-normalised and of folded split chains, bulk and tail effective sample sizes and Monte Carlo errors (Vehtari,
Gelman, Simpson, Carpenter & Bürkner 2021, *Bayesian Analysis* 16) are those of arviz-stats. What has none is NaN, and NaN
passes no threshold.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from metacog_pipeline.stats._arrays import Floats

Draws = Mapping[str, Floats]

LEAST_DRAWS = 4
NO_D = 1e-4  # replaces a d′ of exactly 0 under a ratio, as in HMeta-d
_AXES: dict[str, Any] = {"chain_axis": 0, "draw_axis": 1}


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """How far one parameter can be trusted: R̂ (the larger of both kinds), effective sample sizes."""

    rhat: float
    ess_bulk: float
    ess_tail: float


@dataclass(frozen=True, slots=True)
class Summary:
    """The posterior of one parameter, in its unit; ``hdi``: the narrowest interval of 95 % of the draws."""

    mean: float
    sd: float
    q025: float
    median: float
    q975: float
    hdi_low: float
    hdi_high: float
    mcse_mean: float
    mcse_q025: float
    mcse_q975: float
    rhat: float
    ess_bulk: float
    ess_tail: float


def with_ratios(parameters: Draws) -> dict[str, Floats]:
    """Return the draws with, for each ``meta_d…``, ``m_ratio…`` = meta-d / d₁ and ``m_diff…`` = meta-d - d₁."""
    result, d1 = dict(parameters), parameters["d1"]
    for suffix in ("", "_rs1", "_rs2"):
        if f"meta_d{suffix}" in parameters:
            meta = parameters[f"meta_d{suffix}"]
            result[f"m_ratio{suffix}"] = meta / np.where(d1 == 0, NO_D, d1)
            result[f"m_diff{suffix}"] = meta - d1
    return result


def _columns(draws: Draws) -> Iterator[tuple[list[str], Floats]]:
    """Yield the names of a parameter's elements, ``name[1]`` or ``name[3,2]``, and their draws ``(chains, draws, n)``."""
    for name, values in draws.items():
        places = np.ndindex(values.shape[2:])
        names = [name + (f"[{','.join(str(i + 1) for i in at)}]" if at else "") for at in places]
        yield names, values.reshape(*values.shape[:2], -1)


def _arviz() -> Any:  # it has no types
    from arviz_stats.base.array import array_stats  # late: it loads scipy.stats

    return array_stats


def diagnose(draws: Draws) -> dict[str, Diagnostic]:
    """Return the diagnostics of every scalar parameter, one parameter's elements at a time: all fill the memory."""
    return {
        name: Diagnostic(*map(float, row))
        for names, table in _columns(draws)
        for name, row in zip(names, np.stack(of_each(table), axis=1), strict=True)
    }


def of_each(draws: ArrayLike) -> tuple[Floats, Floats, Floats]:
    """Return R̂, bulk and tail effective numbers of draws of each parameter, ``(chains, draws, parameters)``."""
    array_stats = _arviz()
    table = np.asarray(draws, dtype=np.float64)
    found = np.full((3, table.shape[2]), np.nan)
    with np.errstate(all="ignore"):
        # A parameter that never moves, or is not finite, has no number: arviz-stats would warn or give one.
        moves = np.isfinite(np.ptp(table, axis=(0, 1))) & (np.ptp(table, axis=(0, 1)) > 0)
        if table.shape[1] >= LEAST_DRAWS and moves.any():
            own = table[:, :, moves]
            found[0, moves] = array_stats.rhat(own, **_AXES)
            found[1, moves] = array_stats.ess(own, **_AXES)
            found[2, moves] = array_stats.ess(own, **_AXES, method="tail", prob=(0.05, 0.95))
    return found[0], found[1], found[2]


def summarise(draws: Draws, known: Mapping[str, Diagnostic]) -> dict[str, Summary]:
    """Return the summary of every scalar parameter, given their diagnostics."""
    array_stats = _arviz()
    found: dict[str, Summary] = {}
    for names, table in _columns(draws):
        flat = table.reshape(-1, len(names))
        ends = np.quantile(flat, (0.025, 0.5, 0.975), axis=0)
        with np.errstate(all="ignore"):
            errors = [array_stats.mcse(table, **_AXES)]
            errors += [array_stats.mcse(table, **_AXES, method="quantile", prob=p) for p in (0.025, 0.975)]
        shortest = array_stats.hdi(flat, 0.95, axis=0).T
        trust = np.array([[known[name].rhat, known[name].ess_bulk, known[name].ess_tail] for name in names]).T
        rows = np.stack([flat.mean(axis=0), flat.std(axis=0, ddof=1), *ends, *shortest, *errors, *trust])
        found |= {name: Summary(*map(float, row)) for name, row in zip(names, rows.T, strict=True)}
    return found
