"""The requests that wait to be submitted: written down as they come, so that no body stays in memory."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from metacog_pipeline.errors import StoreError
from metacog_pipeline.files import sha256_hex
from metacog_pipeline.home import Home
from metacog_pipeline.llm.batch import records
from metacog_pipeline.llm.batch.ways import Way
from metacog_pipeline.llm.ledger import NANO, nano

COPIED_AT_ONCE = 2**20


@dataclass(frozen=True, slots=True)
class Group:
    """What all requests of one batch share: endpoint or model, and the headers without the key."""

    target: str
    headers: tuple[tuple[str, str], ...]


@dataclass(slots=True)
class Part:
    """Requests of one batch to come: a spool file, and of each request its answer, its bytes and its worst case."""

    group: Group
    path: Path
    file: BinaryIO | None
    answers: list[tuple[str, int]] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    size: int = 0

    @property
    def worst(self) -> int:
        """The most all requests together can cost, in nano-dollars."""
        return sum(worst for _, worst in self.answers)


class Wave:
    """The open wave of one session."""

    def __init__(self, home: Home, way: Way) -> None:
        self._home = home
        self._way = way
        self._open: dict[Group, Part] = {}
        self._full: list[Part] = []
        self._ids: set[str] = set()

    def __len__(self) -> int:
        return len(self._ids)

    def __contains__(self, answer: str) -> bool:
        return answer in self._ids

    def add(self, answer: str, group: Group, line: bytes, worst_usd: float | None) -> None:
        """Add a request. One that is there already is not added again. Raises ``StoreError``."""
        if answer in self._ids:
            return
        part = self._open.get(group)
        between = len(self._way.separator)
        full = part is not None and (
            len(part.answers) >= self._way.most_requests
            or part.size + len(line) + between > self._way.most_bytes
        )
        if part is None or full:
            if part is not None:
                self._full.append(part)
            path = records.spool(self._home)
            part = self._open[group] = Part(group, path, _opened(path))
        assert part.file is not None
        try:
            if part.answers:
                part.file.write(self._way.separator)
                part.size += between
            part.file.write(line)
        except OSError as error:
            raise _unwritable(part.path, error) from None
        part.size += len(line)
        part.sizes.append(len(line))
        part.answers.append((answer, nano(worst_usd or 0.0)))
        self._ids.add(answer)

    def take(self) -> list[Part]:
        """Close the wave and return its parts, each small enough for one batch."""
        parts = [*self._full, *self._open.values()]
        self._full, self._open, self._ids = [], {}, set()
        for part in parts:
            assert part.file is not None
            try:
                part.file.close()
            except OSError as error:
                raise _unwritable(part.path, error) from None
            part.file = None
        return parts

    def drop(self) -> None:
        """Forget what was not taken."""
        for part in self.take():
            part.path.unlink(missing_ok=True)


def affordable(part: Part, free_usd: float | None) -> int:
    """Return how many of the first requests of a part can be paid for at their worst."""
    if free_usd is None:
        return len(part.answers)
    left = int(free_usd * NANO + 1e-6)
    for place, (_, worst) in enumerate(part.answers):
        left -= worst
        if left < 0:
            return place
    return len(part.answers)


def split(home: Home, way: Way, part: Part, count: int) -> tuple[Part, Part]:
    """Return the first ``count`` requests of a part, and the rest, each as a part of its own."""
    between = len(way.separator)
    head = sum(part.sizes[:count]) + between * (count - 1)
    rest = Part(part.group, records.spool(home), None, part.answers[count:], part.sizes[count:])
    rest.size = part.size - head - between
    try:
        with part.path.open("rb+") as source, rest.path.open("wb") as target:
            source.seek(head + between)
            while chunk := source.read(COPIED_AT_ONCE):
                target.write(chunk)
            source.truncate(head)
    except OSError as error:
        raise _unwritable(rest.path, error) from None
    first = Part(part.group, part.path, None, part.answers[:count], part.sizes[:count], head)
    return first, rest


def written(home: Home, part: Part, fields: Mapping[str, object]) -> records.Batch:
    """Make a durable batch of a part; ``fields`` are those of the record that the part does not know."""
    digest = sha256_hex("\n".join(answer for answer, _ in part.answers))
    record = records.BatchRecord(
        mark=records.new_mark(),
        target=part.group.target,
        headers=dict(part.group.headers),
        n=len(part.answers),
        size=part.size,
        digest=digest,
        created_at=records.utc_text(),
        **fields,  # type: ignore[arg-type]
    )
    return records.create(home, record, part.path, part.answers)


def sealed(headers: Mapping[str, str], key: str | None) -> tuple[tuple[str, str], ...]:
    """Return the headers of a call as they may be written down: the key replaced by a blank."""
    kept = {name: value for name, value in headers.items() if name not in ("content-type", "accept")}
    return tuple(sorted((name, value.replace(key, KEY) if key else value) for name, value in kept.items()))


def unsealed(headers: Mapping[str, str], key: str | None) -> dict[str, str]:
    """Return headers with the key put in."""
    return {name: value.replace(KEY, key or "") for name, value in headers.items()}


KEY = "{key}"


def _opened(path: Path) -> BinaryIO:
    try:
        return path.open("wb", buffering=2**18)
    except OSError as error:
        raise _unwritable(path, error) from None


def _unwritable(path: Path, error: OSError) -> StoreError:
    with contextlib.suppress(OSError):
        path.unlink(missing_ok=True)
    return StoreError(
        f"the requests of a batch cannot be written to {path.parent} ({error.strerror}): free space or fix "
        "permissions; nothing was sent"
    )
