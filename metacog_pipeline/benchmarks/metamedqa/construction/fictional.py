"""Drawing the fictional questions from a pool."""

from __future__ import annotations

from collections.abc import Sequence

from metacog_pipeline.benchmarks.common.draw import draw
from metacog_pipeline.benchmarks.metamedqa.construction.records import FictionalRow
from metacog_pipeline.errors import SourceError

PURPOSE = "fictional"


def select_fictional(
    pool: Sequence[FictionalRow], count: int | None, seed: int, language: str = "en"
) -> list[FictionalRow]:
    """Return ``count`` questions whose language starts with ``language``, in pool order; ``None`` takes all.

    The draw is the SHA-256 ranking of :func:`draw` with purpose ``fictional``.

    Raises
    ------
    SourceError
        If the pool has fewer than ``count`` such questions, or two rows with one id.
    """
    fitting = [row for row in pool if row.language.strip().casefold().startswith(language)]
    if len({row.item_id for row in fitting}) != len(fitting):
        raise SourceError("fictional pool: an item_id is given twice; ids must be unique")
    if count is None or count == len(fitting):
        return fitting
    if count > len(fitting):
        raise SourceError(
            f"fictional pool: {count} questions asked for, {len(fitting)} of {len(pool)} rows have a language "
            f"starting with {language!r}; lower the count or add rows"
        )
    chosen = set(draw([row.item_id for row in fitting], count, seed, PURPOSE))
    return [row for row in fitting if row.item_id in chosen]
