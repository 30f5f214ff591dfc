"""What the batches of the three providers share on the server's side: who sees one, its pages, its files, its lines."""

from __future__ import annotations

import contextlib
import enum
import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from aiohttp import web

from tests.provider import replies
from tests.provider.dialects import Dialect, JsonDict

if TYPE_CHECKING:
    from tests.provider.batches import Batches

OUTCOMES = ("answered", "errored", "expired", "cancelled")
WINDOW = timedelta(hours=24)
SAID = {
    "expired": "the batch expired before this request was answered",
    "cancelled": "the batch was cancelled",
}


class BatchFault(enum.StrEnum):
    """What can go wrong with one batch. Those about lines strike every second one."""

    REPLY_LOST = "reply_lost"  # taken, and the connection is reset before the reply
    UPLOAD_LOST = "upload_lost"  # the file is taken, and the connection is reset before the reply
    REJECTED = "rejected"  # 500, and nothing was taken
    HALF_MISSING = "half_missing"  # every second line is in no result
    EXPIRED = "expired"  # after 24 hours every second line was not answered
    CANCELLED = "cancelled"  # somebody cancels it after the first half of the lines
    DUPLICATES = "duplicates"  # every second line is there twice
    UNKNOWN_ID = "unknown_id"  # one more line, for a request that was not in the batch
    GARBAGE = "garbage"  # lines that are no JSON, or no result, between the others
    LINE_ERRORS = "line_errors"  # every second line is an error of the server
    FAILED = "failed"  # the whole batch is refused after it was taken


@dataclass(slots=True)
class Taken:
    """One batch the server has taken; ``target`` is the endpoint or model all its requests share."""

    name: str
    way: Way
    owner: str
    target: str
    title: str
    requests: Path
    ids: list[str]
    mark: Mapping[str, str] = field(default_factory=dict)
    source: str = ""
    fault: str | None = None
    created: datetime = field(default_factory=lambda: datetime.now(UTC))
    ended: datetime | None = None
    cancelled: bool = False
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(OUTCOMES, 0))
    results: Path | None = None
    errors: Path | None = None

    @property
    def state(self) -> str:
        if self.ended is None:
            return "running"
        if self.fault in (BatchFault.FAILED, BatchFault.EXPIRED):
            return str(self.fault)
        return "cancelled" if self.cancelled else "done"


class Way(ABC):
    """One provider's batches. ``errors_apart``: what was not answered stands in a file of its own."""

    name: str
    interface: str
    dialect: Dialect
    errors_apart = False

    def __init__(self, kept: Batches) -> None:
        self.kept = kept

    @abstractmethod
    def add_routes(self, app: web.Application) -> None:
        """Add the routes that no other provider has."""

    @abstractmethod
    def missing(self, http: web.Request) -> web.Response:
        """Say that there is no such batch."""

    @abstractmethod
    def worded(self, http: web.Request, batch: Taken) -> JsonDict:
        """Word how a batch stands."""

    @abstractmethod
    def line(self, custom_id: str, status: int, body: JsonDict) -> JsonDict:
        """Word the result of a request that was answered."""

    @abstractmethod
    def unanswered(self, custom_id: str, why: str) -> JsonDict:
        """Word the result of a request that was not answered, ``expired`` or ``cancelled``."""

    def found(self, http: web.Request) -> Taken | None:
        found = self.kept.taken.get(self.named(http))
        return found if found is not None and (found.owner, found.way) == (owner_of(http), self) else None

    def named(self, http: web.Request) -> str:
        return http.match_info["name"]

    async def show(self, http: web.Request) -> web.StreamResponse:
        batch = self.found(http)
        return self.missing(http) if batch is None else web.json_response(self.worded(http, batch))

    async def cancel(self, http: web.Request) -> web.StreamResponse:
        batch = self.found(http)
        if batch is None:
            return self.missing(http)
        batch.cancelled = batch.cancelled or batch.ended is None
        return web.json_response(self.cancelling(http, batch))

    def cancelling(self, http: web.Request, batch: Taken) -> JsonDict:
        return self.worded(http, batch)

    def take(self, http: web.Request, batch: Taken) -> web.Response:
        self.kept.take(batch)
        return reply_of(http, batch.fault, self.worded(http, batch))

    def page(
        self, http: web.Request, after: str, limit: str, default: int, top: int
    ) -> tuple[list[JsonDict], bool]:
        owner = owner_of(http)
        mine = [
            each for each in reversed(self.kept.taken.values()) if (each.owner, each.way) == (owner, self)
        ]
        shown, more = page_of([each.name for each in mine], http, after, limit, default, top)
        return [self.worded(http, each) for each in mine[shown]], more

    def found_file(self, http: web.Request, name: str) -> tuple[str, Path] | None:
        found = self.kept.files.get(name)
        return found[1:] if found is not None and found[0] == owner_of(http) else None


def page_of(
    names: list[str], http: web.Request, after: str, limit: str, default: int, top: int
) -> tuple[slice, bool]:
    """Return which of ``names`` stand on the page asked for, and whether more follow.

    ``after`` and ``limit`` are the parameters that name the last entry before it and how many it may hold, by ``default``
    and at most ``top``.
    """
    last, asked = http.query.get(after), http.query.get(limit, "")
    start = names.index(last) + 1 if last in names else 0
    end = start + (max(1, min(int(asked), top)) if asked.isdecimal() else default)
    return slice(start, end), end < len(names)


def owner_of(http: web.Request) -> str:
    headers = http.headers
    return (
        headers.get("x-api-key")
        or headers.get("x-goog-api-key")
        or headers.get("api-key")
        or headers.get("authorization", "").removeprefix("Bearer ")
    )


def seconds(moment: datetime | None) -> int | None:
    return None if moment is None else int(moment.timestamp())


def rfc3339(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat().replace("+00:00", "Z")


async def received(http: web.Request, path: Path) -> int:
    with path.open("ab") as target:
        async for chunk in http.content.iter_chunked(2**20):
            target.write(chunk)
    return path.stat().st_size


def lines_in(path: Path) -> Iterator[JsonDict]:
    with path.open("rb") as lines:
        yield from map(json.loads, lines)


def write_requests(path: Path, requests: Iterator[tuple[str, object]], most: int | None = None) -> list[str]:
    ids: list[str] = []
    with path.open("w") as target:
        for custom_id, body in requests:
            ids.append(custom_id)
            target.write(json.dumps({"custom_id": custom_id, "body": body}) + "\n")
    if len(set(ids)) < len(ids):
        raise ValueError("custom_id: each must be there once")
    if most is not None and not 0 < len(ids) <= most:
        raise ValueError(f"{len(ids)} requests: a batch takes 1 to {most}")
    return ids


async def sent_file(http: web.Request, path: Path) -> web.StreamResponse:
    response = web.StreamResponse(headers={"content-type": "application/octet-stream"})
    await response.prepare(http)
    with path.open("rb") as source:
        while chunk := source.read(2**20):
            await response.write(chunk)
    with contextlib.suppress(ConnectionResetError):
        await response.write_eof()
    return response


def reply_of(http: web.Request, fault: str | None, said: JsonDict) -> web.Response:
    if fault in (BatchFault.REPLY_LOST, BatchFault.UPLOAD_LOST):
        return replies.reset_connection(http)
    return web.json_response(said)
