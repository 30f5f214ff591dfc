"""What the pages read of the leaderboard: the queries that are alike for every benchmark."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from metacog_pipeline.leaderboard.read import read_table

CALIBRATION = """
    select source, benchmark, condition, model, measure, estimate, low, high, status from confidence_alike
    order by source, benchmark, condition, model
"""
STATED = """
    select source, benchmark, condition, model, percent, n, n_correct from confidence_use
    order by source, benchmark, condition, model, percent
"""
CORRELATIONS = """
    select source, kind, a, b, n_models, spearman, low, high, warning from convergent_validity
    where kind <> 'method' order by source, kind, a, b
"""
DRIFT = "select model, benchmark, sign, earlier, later, n, changed from drift where flagged order by all"
COSTS = """
    select profile.source, cost.model, cost.benchmark, cost.cost_usd, cost.unpriced, cost.answers,
        cost.input_tokens, cost.output_tokens
    from cost inner join profile using (model)
    order by profile.source, cost.model, cost.benchmark
"""
OTHER_COSTS = """
    select benchmark, sum(answers)::bigint, sum(cost_usd) from cost
    where not listed or benchmark not in (select benchmark from int_benchmarks) group by benchmark order by all
"""
PAID = "select model, cost_usd from profile"
BESIDE = """
    select board.benchmark, board.condition, board.measure, source, model, estimate, low, high from board
    inner join int_headlines using (benchmark, condition, measure)
    where source <> 'simulated' and estimate is not null order by board.benchmark, estimate desc, model
"""
#: Benchmark → its headline, what one step of it is called, how many steps a headline of 1 has, its paper.
_KNOWN = {
    "metamedqa": ("MetaMedQA accuracy", "point", 100, "doi:10.1038/s41467-024-55628-6"),
    "signaldetection": ("M-ratio", "0.1 of M-ratio", 10, "arXiv:2603.29693"),
    "medley": ("MEDLEY MMS", "point", 100, "arXiv:2604.16009"),
    "metacogbench": ("MetaCog overall", "point", 100, "openreview ayRu5RL4Hb"),
    "selfknowledge": ("d′type2", "0.1 of d′", 10, "arXiv:2602.02605"),
}


@dataclass(frozen=True, slots=True)
class Headline:
    """The one number of a model on a benchmark that stands beside those of other benchmarks."""

    source: str
    model: str
    benchmark: str
    estimate: float
    low: float | None
    high: float | None
    n: int | None
    coverage: float | None
    percentile: float | None


@dataclass(frozen=True, slots=True)
class About:
    """What there is to say of a benchmark beside its numbers: ``unit`` is one step, ``units`` how many make a 1."""

    headline: str
    unit: str
    units: int
    paper: str


def rows(home: Path, sql: str) -> list[tuple[Any, ...]]:
    """Return the rows of a query. Raises `StoreError` where the leaderboard is of another version."""
    return list(read_table(home, sql).rows)


def asked(home: Path) -> list[str]:
    """Return the names of the benchmarks the study asks."""
    return [name for (name,) in rows(home, "from int_benchmarks order by all")]


def about(benchmark: str) -> About:
    """Return what there is to say of a benchmark."""
    return About(*_KNOWN[benchmark])


def headlines(home: Path) -> list[Headline]:
    """Return the headlines of all listed models that have one, models in the order of the leaderboard."""
    found = read_table(home, "from profile")
    made = []
    for values in found.rows:
        row: dict[str, Any] = dict(zip(found.columns, values, strict=True))
        for name in found.columns:
            if f"{name}_low" in row and row[name] is not None:
                ends = (row[f"{name}_{end}"] for end in ("low", "high", "n", "coverage", "percentile"))
                made.append(Headline(row["source"], row["model"], name, row[name], *ends))
    return made


def models(home: Path) -> list[tuple[str, str]]:
    """Return source and name of every listed model."""
    return [(source, model) for source, model in rows(home, "select source, model from profile")]
