"""The results of one batch: line by line into answers, whatever stands between them.

What a line may be: the answer to a request, the same again, an error, an answer to a request that was not in the batch,
or nothing that can be read. None of these keeps the others from being used.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from metacog_pipeline.errors import StoreError
from metacog_pipeline.llm.batch.records import Batch, BatchRecord, age_s
from metacog_pipeline.llm.batch.ways import Line, Way, read_line
from metacog_pipeline.llm.types import Completion, ErrorKind, failed

MAX_LINE_BYTES = 128 * 2**20
WHY = {
    "expired": "the batch expired before this request was answered",
    "cancelled": "the batch was cancelled before this request was answered",
    "error": "the batch has no answer to this request",
    "unreadable": "the answer in the batch cannot be read",
}
ReadReply = Callable[[int, bytes], Completion]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a result stands."""

    path: Path
    offset: int
    length: int


@dataclass(slots=True)
class Found:
    """What the results of a batch hold, by answer id: the place of each answer, and why others have none.

    ``unknown`` are the ids of results that were not asked for, ``unreadable`` is how many lines are no result.
    """

    places: dict[str, Place] = field(default_factory=dict)
    why: dict[str, str] = field(default_factory=dict)
    unknown: list[str] = field(default_factory=list)
    unreadable: int = 0

    def message(self, batch: Batch) -> str | None:
        """Return one line about what does not belong there; None where there is none."""
        said = []
        if self.unknown:
            said.append(
                f"{len(self.unknown)} results are of requests that were not in it (first: {self.unknown[0][:80]!r})"
            )
        if self.unreadable:
            said.append(f"{self.unreadable} lines of results cannot be read")
        if not said:
            return None
        where = f"all that came is kept in {batch.results}"
        return f"batch {batch.record.mark} ({batch.record.remote}): {' and '.join(said)}; {where}; ask the provider"


def index(batch: Batch, way: Way) -> Found:
    """Return what stands in the results of a batch. Raises ``StoreError`` where they cannot be read."""
    wanted = {answer for answer, _ in batch.answers()}
    found, errors, offset = Found(), dict[str, Place](), 0
    try:
        with batch.results.open("rb") as source:
            while raw := source.readline(MAX_LINE_BYTES):
                place, offset = Place(batch.results, offset, len(raw)), offset + len(raw)
                line = read_line(way, raw) if raw.strip() else None
                if line is None:
                    found.unreadable += bool(raw.strip())
                elif line.custom_id not in wanted:
                    found.unknown.append(line.custom_id)
                elif line.why is not None:
                    found.why.setdefault(line.custom_id, line.why)
                else:
                    (found.places if line.status == 200 else errors).setdefault(line.custom_id, place)
    except OSError as error:
        raise StoreError(f"the results {batch.results} cannot be read ({error.strerror})") from None
    found.places = errors | found.places  # an answer counts before an error of the same request
    found.why = {answer: why for answer, why in found.why.items() if answer not in found.places}
    return found


def read_at(place: Place, way: Way) -> Line | None:
    """Return the result at ``place``."""
    with place.path.open("rb") as source:
        source.seek(place.offset)
        return read_line(way, source.read(place.length))


def completion_of(line: Line, record: BatchRecord, read: ReadReply) -> Completion:
    """Return what a result says, as a call of its own would have: the status says how it ended."""
    if line.why is not None:
        return unanswered(line.why)
    started = datetime.fromisoformat(record.submitted_at or record.created_at)
    took = max(0.0, age_s(record.submitted_at) - age_s(record.ended_at))
    completion = read(line.status, line.body)
    return dataclasses.replace(completion, started_at=started, latency_s=took, lane="batch", attempts=1)


def unanswered(why: str) -> Completion:
    """Return the completion of a request that a batch has no answer to."""
    said = WHY.get(why, WHY["error"])
    return failed(ErrorKind.TRANSIENT, f"batch_{why}", said, cost_usd=0.0, lane="batch")
