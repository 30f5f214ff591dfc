"""Risk against coverage as points of a table, beside the measures of the same answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from metacog_pipeline.stats import selective
from metacog_pipeline.stats.trials import Trials

RISK_COVERAGE = "risk_coverage"


def points(named: Mapping[str, object], made: Trials) -> Iterator[dict[str, object]]:
    """Yield the curve of one model under one condition; none where confidence cannot rank its answers."""
    if made.why_not is not None:
        return
    found = selective.curve(made)
    columns = (found.coverage, found.risk, found.low, found.high, found.threshold, found.kept)
    for position, row in enumerate(zip(*(each.tolist() for each in columns), strict=True)):
        coverage, risk, low, high, threshold, kept = row
        yield {
            **named,
            "curve": RISK_COVERAGE,
            "position": position,
            "x": coverage,
            "y": risk,
            "low": low if low == low else None,
            "high": high if high == high else None,
            "threshold": threshold,
            "n": kept,
            "n_items": made.n_items,
        }
