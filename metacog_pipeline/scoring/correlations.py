"""Do the benchmarks agree? The multitrait-multimethod table of Campbell & Fiske (1959) over the models of a study.

Measures of one trait by different benchmarks should go together (``convergent``) more than measures of different traits do
(``discriminant``), and more than what one benchmark's measures share merely by being of one benchmark (``method``).

p is that of Spearman's correlation, exact up to nine models; Holm's correction is over the pairs of one source and kind.
With fewer than five models there is no verdict: no order of them has a p below 0.05.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain, combinations
from typing import Any

import polars as pl

from metacog_pipeline.scoring.schemas import CORRELATION
from metacog_pipeline.stats import exact, resampling
from metacog_pipeline.stats.convergence import rank_correlations
from metacog_pipeline.stats.estimate import Estimate
from metacog_pipeline.stats.multiple import holm

VERSION = "5"
N_BOOT = 2000
LEVEL = 0.05


def correlations(values: pl.DataFrame, *, seed: int, n_boot: int = N_BOOT) -> pl.DataFrame:
    """Return every pair of measures that any model has both of, in `CORRELATION`; ``values`` are of `traits.values`."""
    rows: list[dict[str, Any]] = []
    for (source,), own in sorted(values.partition_by("source", as_dict=True).items(), key=str):
        by_name = {str(name): part for (name,), part in own.partition_by("name", as_dict=True).items()}
        rows += ({"source": source, **row} for row in _pairs(by_name, seed, n_boot))
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


def _pairs(by_name: Mapping[str, pl.DataFrame], seed: int, n_boot: int) -> Iterator[dict[str, Any]]:
    """Yield a row of each pair; measures that the same models have are resampled together, each of them once."""
    together: dict[tuple[str, ...], list[tuple[str, str]]] = {}
    for a, b in combinations(sorted(by_name), 2):
        if both := by_name[a].join(by_name[b], on="model", how="semi")["model"].sort().to_list():
            together.setdefault(tuple(both), []).append((a, b))
    seed = resampling.stream("correlations", seed)
    for models, pairs in together.items():
        own = {
            name: by_name[name].filter(pl.col("model").is_in(models)).sort("model")
            for name in dict.fromkeys(chain(*pairs))
        }
        place = {name: number for number, name in enumerate(own)}
        values = [each["value"].to_numpy() for each in own.values()]
        wanted = [(place[a], place[b]) for a, b in pairs]
        ranked = rank_correlations(values, wanted, n_boot, seed)
        for (a, b), found in zip(pairs, ranked, strict=True):
            yield _row(own[a], own[b], found)


def _row(a: pl.DataFrame, b: pl.DataFrame, found: Estimate) -> dict[str, Any]:
    row: dict[str, Any] = {}
    for side, own in (("a", a), ("b", b)):
        named = own.row(0, named=True)
        row |= {side: named["name"], f"trait_{side}": named["trait"], f"benchmark_{side}": named["benchmark"]}
    few = found.status if found.value is None else exact.few_models(a.height) or found.status
    return {
        **row,
        "kind": kind(row["trait_a"], row["trait_b"], row["benchmark_a"], row["benchmark_b"]),
        "n_models": a.height,
        "spearman": found.value,
        "low": found.low,
        "high": found.high,
        "p": exact.rank_p(a["value"].to_numpy(), b["value"].to_numpy(), found.value),
        "status": few,
    }


def kind(trait_a: str, trait_b: str, benchmark_a: str, benchmark_b: str) -> str:
    """Return ``convergent``, ``discriminant`` or, within one benchmark, ``method``."""
    if benchmark_a == benchmark_b:
        return "method"
    return "convergent" if trait_a == trait_b else "discriminant"
