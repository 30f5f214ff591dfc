"""What the pages read of the leaderboard: the queries that are alike for every benchmark."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from metacog_pipeline import registry
from metacog_pipeline.home import Home
from metacog_pipeline.leaderboard.read import read_table

CALIBRATION = """
    select source, benchmark, condition, model, measure, estimate, low, high, status from calibration
    order by source, benchmark, condition, model
"""
# Of models whose numbers are withheld, for answers lack, no curve is drawn either.
STATED = """
    select source, benchmark, condition, model, round_even(100 * confidence, 0)::integer as percent,
        count(*) as n, sum(correct)::bigint as n_correct
    from answers anti join (select * from calibration where method = 'withheld')
        using (source, benchmark, dataset, condition, model)
    where confidence is not null and correct is not null
    group by all order by source, benchmark, condition, model, percent
"""
DRIFT = (
    "select model, benchmark, sign, earlier, later, n, changed from model_drift where flagged order by all"
)
PAIRS = """
    select question, benchmark, condition, model_a, model_b, difference, difference_low, difference_high, p, n_shared,
        separated
    from pairs where question is not null and difference is not null
    order by question, p nulls last, benchmark, condition, model_a, model_b
"""
COSTS = """
    select models.source, costs.model, benchmark, sum(costs.cost_usd), sum(unpriced)::bigint
    from costs inner join models using (model)
    group by all order by models.source, costs.model, benchmark
"""
OTHER_COSTS = """
    select benchmark, sum(answers)::bigint, sum(cost_usd) from costs
    where not listed or benchmark not in (select benchmark from progress where role = 'respondent')
    group by benchmark order by all
"""
BESIDE = """
    select benchmark, condition, measure, source, model, estimate, low, high, n, method from leaderboard as shown
    where source <> 'simulated' and estimate is not null and (
        headline or not exists (  -- of a headline that no paper prints: what it prints
            from leaderboard as other
            where other.benchmark = shown.benchmark and other.headline and other.source = 'published'
        ) and measure in (select measure from published_values where benchmark = shown.benchmark)
    )
    order by benchmark, condition, measure, rank nulls last, model
"""
CLAIMS = """
    select benchmark, verdict, subject, place, quantity, method, published, recomputed, low, high, difference, note
    from published_claims where place <> 'headline' order by place, quantity, method, subject
"""
LEDGER = """
    select benchmark, quantity, subject, recomputed, low, high, expected, verdict, note from published_claims
    where place = 'headline' order by benchmark, subject = 'not published', subject, quantity
"""
_HEADLINES = """
    select source, model, benchmark, estimate, low, high, n, coverage, percentile, low_n
    from leaderboard where headline and source <> 'published' and estimate is not null order by source, model, benchmark
"""
_HUNDREDS = ("share", "score 0-1")  # units of measures of 0 to 1: a point is a hundredth


@dataclass(frozen=True, slots=True)
class Headline:
    """The one number of a model on a benchmark that is compared with those of other benchmarks."""

    source: str
    model: str
    benchmark: str
    estimate: float
    low: float | None
    high: float | None
    n: int | None
    coverage: float | None
    percentile: float | None
    low_n: bool | None


@dataclass(frozen=True, slots=True)
class About:
    """The headline of a benchmark: its name, what one step of it is called, and how many steps make a 1."""

    headline: str
    unit: str
    units: int


def rows(home: Home, sql: str) -> list[tuple[Any, ...]]:
    """Return the rows of a query; StoreError where the leaderboard is of another version."""
    return list(read_table(home, sql).rows)


def asked(home: Home) -> list[str]:
    """Return the names of the benchmarks the study asks."""
    found = rows(home, "select distinct benchmark from progress where role = 'respondent' order by all")
    return [name for (name,) in found if name in registry.names()]


def paper(benchmark: str) -> tuple[str, str]:
    """Return title and place of the paper a benchmark implements."""
    found = getattr(registry.load(benchmark), "paper", None)
    return (benchmark, "") if found is None else (found.title, found.where)


def paper_address(benchmark: str) -> str:
    """Return the path of the page of a benchmark's paper, relative to the report; empty where it has none."""
    return f"papers/{benchmark}/index.html" if registry.load(benchmark).exhibits() else ""


def about(home: Home) -> dict[str, About]:
    """Return benchmark → its headline."""
    found = rows(home, "select benchmark, coalesce(label, measure), unit from measures where headline")
    return {
        name: About(f"{name} {label}", "point", 100)
        if unit in _HUNDREDS
        else About(f"{name} {label}", f"0.1 of {label}", 10)
        for name, label, unit in found
    }


def headlines(home: Home) -> list[Headline]:
    """Return the headlines of all listed models that have one, models in the order of the leaderboard."""
    return [Headline(*row) for row in rows(home, _HEADLINES)]


def models(home: Home) -> list[tuple[str, str]]:
    """Return source and name of every listed model."""
    return [(source, model) for source, model in rows(home, "select source, model from models order by all")]
