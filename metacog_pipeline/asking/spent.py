"""What the answers kept in a home cost: the least its ledger may say was spent."""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Iterable

from metacog_pipeline.errors import StoreError
from metacog_pipeline.home import Home
from metacog_pipeline.llm.budget import Figures, read_figures
from metacog_pipeline.transcripts.folder import PartitionFolder, kept_folders
from metacog_pipeline.transcripts.journal import segment_sizes
from metacog_pipeline.transcripts.parquet import read_footer
from metacog_pipeline.transcripts.store import kept_records, read_partition


# The ledger is a folder of small files, which somebody may delete, move or restore from a copy. The answers
# carry their cost, so whoever opens the budget counts them first. Imported ones were paid for by somebody else.
def kept_cost(home: Home) -> float:
    """Return the dollars of all answers that were asked for under ``home``, judges' included."""
    return math.fsum(_cost(each, tuple(segment_sizes(each).items())) for each in kept_folders(home))


def spent_figures(home: Home, cap_usd: float | None) -> Figures:
    """Return what ``home`` has spent and may still spend, as whoever asks next will find it; writes nothing."""
    return read_figures(home, cap_usd, known_spent_usd=kept_cost(home))


@functools.cache  # one process opens many partitions, and only one has changed since: its journals have grown
def _cost(folder: PartitionFolder, journals: tuple[tuple[str, int], ...]) -> float:
    """Return the dollars of one partition; 0 where it cannot be read: whoever asks it hears of the damage."""
    # the journals have what a damaged copy lacks
    with contextlib.suppress(StoreError):
        footer = read_footer(folder.copy)
        if footer is not None and footer.segments == dict(journals):
            kept = read_partition(folder, ["cost_usd", "source"])
            return _sum(zip(kept["cost_usd"].to_pylist(), kept["source"].to_pylist(), strict=True))
    with contextlib.suppress(StoreError):
        return _sum((record.cost_usd, record.source) for record in kept_records(folder))
    return 0.0


def _sum(costs: Iterable[tuple[float | None, str]]) -> float:
    return math.fsum(
        cost for cost, source in costs if cost is not None and 0 < cost < math.inf and source != "imported"
    )
