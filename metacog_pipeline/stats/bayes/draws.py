"""Posterior draws by name: what is derived from them, how they are summed up, and their layout for other tools."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from metacog_pipeline.stats._arrays import Floats
from metacog_pipeline.stats.bayes import diagnostics
from metacog_pipeline.stats.decisions import hdi

Draws = Mapping[str, Floats]

NO_D = 1e-4  # stands in for a d′ of exactly 0 under a ratio, as in HMeta-d
QUANTILES = (0.025, 0.5, 0.975)
SUFFIXES = ("", "_rs1", "_rs2")


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """How far one parameter can be trusted: R̂ (the larger of both kinds), effective sample sizes."""

    rhat: float
    ess_bulk: float
    ess_tail: float


@dataclass(frozen=True, slots=True)
class Summary:
    """The posterior of one parameter, in its unit."""

    mean: float
    sd: float
    median: float
    q025: float
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
    """Return the parameters with, for each ``meta_d…``, ``m_ratio…`` = meta-d / d₁ and ``m_diff…`` = meta-d - d₁.

    Draw by draw; a d₁ of exactly 0 counts as 1e-4 under the ratio. Where d₁ is 0 in every draw (it was fixed there)
    there is no ratio.
    """
    result = dict(parameters)
    d1 = parameters["d1"]
    for suffix in SUFFIXES:
        meta = parameters.get(f"meta_d{suffix}")
        if meta is not None:
            if bool(d1.any()):
                result[f"m_ratio{suffix}"] = meta / np.where(d1 == 0, NO_D, d1)
            result[f"m_diff{suffix}"] = meta - d1
    return result


def columns(draws: Draws) -> Iterator[tuple[str, Floats]]:
    """Yield every scalar parameter and its draws ``(chains, draws)``; a vector's elements as ``name[1]``, ``name[2]``, …"""
    for name, values in draws.items():
        if values.ndim == 2:
            yield name, values
        else:
            for j in range(values.shape[2]):
                yield f"{name}[{j + 1}]", values[:, :, j]


def moving_columns(draws: Draws) -> tuple[list[str], Floats]:
    """Return the names, and the draws ``(chains, draws, names)``, of the parameters that are not held at one value."""
    moving = [(name, values) for name, values in columns(draws) if bool((values != values.flat[0]).any())]
    return [name for name, _ in moving], np.stack([values for _, values in moving], axis=2)


def diagnose(draws: Draws) -> dict[str, Diagnostic]:
    """Return the diagnostics of every parameter that is not held at one value."""
    names, table = moving_columns(draws)
    rows = np.stack(diagnostics.of_each(table), axis=1)
    return {name: Diagnostic(*map(float, row)) for name, row in zip(names, rows, strict=True)}


def summarise(draws: Draws, known: Mapping[str, Diagnostic]) -> dict[str, Summary]:
    """Return the summary of every parameter that is not held at one value, given their diagnostics."""
    names, table = moving_columns(draws)
    flat = table.reshape(-1, len(names))
    mean, sd = flat.mean(axis=0), flat.std(axis=0, ddof=1)
    low, median, high = np.quantile(flat, QUANTILES, axis=0)
    shortest = np.array([hdi(column) for column in flat.T]).T
    errors = diagnostics.mcse_mean(table)
    ends = [diagnostics.mcse_quantile(table, p) for p in (QUANTILES[0], QUANTILES[-1])]
    trust = np.array([[known[name].rhat, known[name].ess_bulk, known[name].ess_tail] for name in names]).T
    rows = np.stack([mean, sd, median, low, high, *shortest, errors, *ends, *trust], axis=1)
    return {name: Summary(*map(float, row)) for name, row in zip(names, rows, strict=True)}
