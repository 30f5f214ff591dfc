"""Do the benchmarks agree? The multitrait-multimethod table of Campbell & Fiske (1959) over the models of a study.

Measures of one trait by different benchmarks should go together (``convergent``) more than measures of different traits do
(``discriminant``), and more than what one benchmark's measures share merely by being of one benchmark (``method``).

p is that of Spearman's correlation, exact up to nine models; Holm's correction is over the pairs of one source and kind.
With fewer than five models there is no verdict: no order of them has a p below 0.05.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from metacog_pipeline.scoring.schemas import CORRELATION
from metacog_pipeline.stats import exact, resampling
from metacog_pipeline.stats.convergence import disattenuated_each, rank_correlations, reliability
from metacog_pipeline.stats.estimate import Estimate
from metacog_pipeline.stats.multiple import holm

VERSION = "4"
N_BOOT = 2000
LEVEL = 0.05
Floats = NDArray[np.float64]


def correlations(values: pl.DataFrame, *, seed: int, n_boot: int = N_BOOT) -> pl.DataFrame:
    """Return every pair of measures that any model has both of, in `CORRELATION`.

    Parameters
    ----------
    values
        Rows of ``traits.VALUE_SCHEMA``.
    """
    rows: list[dict[str, Any]] = []
    for (source,), world in sorted(values.partition_by("source", as_dict=True).items(), key=str):
        by_name = world.partition_by("name", as_dict=True)
        found = []
        for (a,), (b,) in combinations(sorted(by_name, key=str), 2):
            both = by_name[(a,)].join(by_name[(b,)], on="model", suffix="_b").sort("model")
            if both.height:
                found.append(both)
        rows += ({"source": source, **each} for each in _pairs(found, seed, n_boot))
    _decide(rows)
    return pl.DataFrame(rows, schema=CORRELATION)


def _decide(rows: list[dict[str, Any]]) -> None:
    """Add Holm's p over each source and kind, the size of that family, and a verdict where there are enough models."""
    families: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in rows:
        if row["p"] is not None:
            families.setdefault((row["source"], row["kind"]), []).append(row)
    for own in families.values():
        for row, p in zip(own, holm([row["p"] for row in own]), strict=True):
            row |= {"p_adjusted": p, "n_tests": len(own)}
            if p is not None and exact.few_models(row["n_models"]) is None:
                row["verdict"] = "significant" if p < LEVEL else "not_significant"


def _pairs(found: Sequence[pl.DataFrame], seed: int, n_boot: int) -> list[dict[str, Any]]:
    """Return a row of each pair; measures that the same models have are resampled together, each of them once."""
    together: dict[tuple[str, ...], list[int]] = {}
    for number, both in enumerate(found):
        together.setdefault(tuple(both["model"].to_list()), []).append(number)
    rows: dict[int, dict[str, Any]] = {}
    seed = resampling.stream("correlations", seed)
    for numbers in together.values():
        values: dict[str, Floats] = {}
        noise: dict[str, Floats] = {}
        for number in numbers:
            for end in ("", "_b"):
                name = found[number]["name" + end][0]
                values[name] = found[number]["value" + end].to_numpy()
                noise[name] = found[number]["sem" + end].to_numpy()
        place = {name: at for at, name in enumerate(values)}
        pairs = [(place[found[each]["name"][0]], place[found[each]["name_b"][0]]) for each in numbers]
        ranked = rank_correlations([*values.values()], pairs, n_boot, seed)
        corrected = disattenuated_each([*values.values()], [*noise.values()], pairs, n_boot, seed)
        sure = {name: reliability(values[name], noise[name]) for name in values}
        for number, one, other in zip(numbers, ranked, corrected, strict=True):
            rows[number] = _row(found[number], one, other, sure)
    return [rows[number] for number in range(len(found))]


def _row(
    both: pl.DataFrame, found: Estimate, corrected: Estimate, sure: Mapping[str, float | None]
) -> dict[str, Any]:
    first, second = both["value"].to_numpy(), both["value_b"].to_numpy()
    named = both.row(0, named=True)
    return {
        "a": named["name"],
        "b": named["name_b"],
        "trait_a": named["trait"],
        "trait_b": named["trait_b"],
        "benchmark_a": named["benchmark"],
        "benchmark_b": named["benchmark_b"],
        "kind": kind(named["trait"], named["trait_b"], named["benchmark"], named["benchmark_b"]),
        "n_models": both.height,
        "spearman": found.value,
        "low": found.low,
        "high": found.high,
        "p": exact.rank_p(first, second, found.value),
        "status": found.status if found.value is None else exact.few_models(both.height) or found.status,
        "reliability_a": sure[named["name"]],
        "reliability_b": sure[named["name_b"]],
        **_corrected(corrected),
    }


def _corrected(found: Estimate) -> dict[str, object]:
    return {
        "disattenuated": found.value,
        "disattenuated_low": found.low,
        "disattenuated_high": found.high,
        "disattenuated_status": found.status,
    }


def kind(trait_a: str, trait_b: str, benchmark_a: str, benchmark_b: str) -> str:
    """Return ``convergent``, ``discriminant`` or, within one benchmark, ``method``."""
    if benchmark_a == benchmark_b:
        return "method"
    return "convergent" if trait_a == trait_b else "discriminant"
