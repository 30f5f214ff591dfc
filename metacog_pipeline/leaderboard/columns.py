"""What a board for people shows of each benchmark: what the benchmark declares (`contract.Board`)."""

from __future__ import annotations

from metacog_pipeline import registry
from metacog_pipeline.benchmark.display import PLAIN, Board


def board_of(benchmark: str) -> Board:
    """Return how ``benchmark`` is printed; a plain board for one whose package is not installed any more."""
    found: Board = registry.part(benchmark, "board") if benchmark in registry.names() else PLAIN
    return found
