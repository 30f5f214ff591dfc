"""The requests that wait to be submitted, each with the most it can cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import accumulate

from metacog_pipeline.files import sha256_hex
from metacog_pipeline.home import Home
from metacog_pipeline.llm.batch import records
from metacog_pipeline.llm.batch.ways import Way
from metacog_pipeline.llm.ledger import NANO, nano

KEY = "{key}"  # stands for the key in the headers that are written down


@dataclass(frozen=True, slots=True)
class Group:
    """What all requests of one batch share: endpoint or model, and the headers without the key."""

    target: str
    headers: tuple[tuple[str, str], ...]


@dataclass(slots=True)
class Part:
    """Requests of one batch to come: of each its answer, the most it costs in nano-dollars, and its line."""

    group: Group
    separator: bytes
    answers: list[tuple[str, int]] = field(default_factory=list)
    lines: list[bytes] = field(default_factory=list)
    size: int = 0

    @property
    def worst(self) -> int:
        """The most all requests together can cost, in nano-dollars."""
        return sum(worst for _, worst in self.answers)

    def add(self, answer: str, worst: int, line: bytes) -> None:
        """Add a request."""
        self.size += len(line) + (len(self.separator) if self.lines else 0)
        self.answers.append((answer, worst))
        self.lines.append(line)


class Wave:
    """The open wave of one session; a request is in it once."""

    def __init__(self, way: Way) -> None:
        self._way = way
        self._parts: list[Part] = []
        self._open: dict[Group, Part] = {}
        self._ids: set[str] = set()

    def __len__(self) -> int:
        return len(self._ids)

    def __contains__(self, answer: str) -> bool:
        return answer in self._ids

    def add(self, answer: str, group: Group, line: bytes, worst_usd: float | None) -> None:
        """Add a request to the part of its group, a new one where the provider takes no more in a batch."""
        if answer in self._ids:
            return
        part, way = self._open.get(group), self._way
        size = len(line) + len(way.separator)
        if part is None or len(part.lines) >= way.most_requests or part.size + size > way.most_bytes:
            part = self._open[group] = Part(group, way.separator)
            self._parts.append(part)
        part.add(answer, nano(worst_usd or 0.0), line)
        self._ids.add(answer)

    def take(self) -> list[Part]:
        """Close the wave and return its parts, each small enough for one batch."""
        parts, self._parts = self._parts, []
        self._open, self._ids = {}, set()
        return parts


def affordable(part: Part, free_usd: float | None) -> int:
    """Return how many of the first requests of a part can be paid for at their worst."""
    if free_usd is None:
        return len(part.answers)
    left = int(free_usd * NANO + 1e-6)
    return sum(total <= left for total in accumulate(worst for _, worst in part.answers))


def split(part: Part, count: int) -> tuple[Part, Part]:
    """Return the first ``count`` requests of a part, and the rest, each as a part of its own."""
    halves = Part(part.group, part.separator), Part(part.group, part.separator)
    for place, ((answer, worst), line) in enumerate(zip(part.answers, part.lines, strict=True)):
        halves[place >= count].add(answer, worst, line)
    return halves


def written(home: Home, part: Part, fields: Mapping[str, object]) -> records.Batch:
    """Make a durable batch of a part; ``fields`` are those of the record that the part does not know."""
    record = records.BatchRecord(
        mark=records.new_mark(),
        target=part.group.target,
        headers=dict(part.group.headers),
        n=len(part.answers),
        size=part.size,
        digest=sha256_hex("\n".join(answer for answer, _ in part.answers)),
        created_at=records.utc_text(),
        **fields,  # type: ignore[arg-type]
    )
    return records.create(home, record, part.separator.join(part.lines), part.answers)


def sealed(headers: Mapping[str, str], key: str | None) -> tuple[tuple[str, str], ...]:
    """Return the headers of a call as they may be written down: the key replaced by a blank."""
    kept = {name: value for name, value in headers.items() if name not in ("content-type", "accept")}
    return tuple(sorted((name, value.replace(key, KEY) if key else value) for name, value in kept.items()))


def unsealed(headers: Mapping[str, str], key: str | None) -> dict[str, str]:
    """Return headers with the key put in."""
    return {name: value.replace(KEY, key or "") for name, value in headers.items()}
