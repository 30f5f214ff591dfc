"""What the pages read of the leaderboard: the queries that are alike for every benchmark."""

from __future__ import annotations

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
CLAIMS = """
    select benchmark, verdict, subject, place, quantity, method, published, recomputed, low, high, difference, note
    from published_claims where place <> 'headline' order by place, quantity, method, subject
"""
LEDGER = """
    select benchmark, quantity, subject, recomputed, low, high, expected, verdict, note from published_claims
    where place = 'headline' order by benchmark, subject = 'not published', subject, quantity
"""


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


def models(home: Home) -> list[tuple[str, str]]:
    """Return source and name of every listed model."""
    return [(source, model) for source, model in rows(home, "select source, model from models order by all")]
