"""A number with its interval as text."""

from __future__ import annotations

from metacog_pipeline.stats.estimate import Estimate


def shown(estimate: Estimate | None) -> str | None:
    """Return ``0.52 [0.47, 0.58]``, the number alone where it has no interval, None where there is none."""
    if estimate is None or estimate.value is None:
        return None
    if estimate.low is None or estimate.high is None:
        return f"{estimate.value:.2f}"
    return f"{estimate.value:.2f} [{estimate.low:.2f}, {estimate.high:.2f}]"
