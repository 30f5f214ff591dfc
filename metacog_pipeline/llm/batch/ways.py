"""What the three providers' batches have in common: how a batch is put into words, found, watched and read."""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal
from urllib.parse import quote, urlencode

from metacog_pipeline.llm.batch.calls import Calls, Unclear
from metacog_pipeline.llm.batch.records import BatchRecord
from metacog_pipeline.llm.wire import HttpCall, values

Phase = Literal["running", "ended", "failed"]
Why = Literal["expired", "cancelled", "error", "unreadable"]
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,255}")
MOST_PAGES = 200  # of a list, so that a server that repeats itself ends


@dataclass(frozen=True, slots=True)
class Look:
    """How a batch stands at the provider: ``word`` is the provider's, ``results`` what to download."""

    phase: Phase
    word: str
    results: tuple[str, ...] = ()
    message: str | None = None


@dataclass(frozen=True, slots=True)
class Line:
    """One result: of which request, and either an HTTP answer (status, body) or why there is none."""

    custom_id: str
    status: int = 0
    body: bytes = b""
    why: Why | None = None


class Way(ABC):
    """One provider's batches. Every call raises as `Calls.json`; ``root`` is the address of the study."""

    most_requests: int
    most_bytes: int
    separator: bytes = b"\n"  # stands between two requests
    cancels_at: ClassVar[str] = "/cancel"

    @abstractmethod
    def target(self, root: str, call: HttpCall) -> str:
        """Return what all requests of a batch must share: endpoint, or model."""

    @abstractmethod
    def line(self, custom_id: str, target: str, call: HttpCall) -> bytes:
        """Return one request as it stands in the file of requests."""

    @abstractmethod
    async def submit(self, calls: Calls, root: str, record: BatchRecord, requests: Path) -> str:
        """Submit a batch; return its name at the provider."""

    @abstractmethod
    async def find(self, calls: Calls, root: str, record: BatchRecord) -> Sequence[tuple[str, bool]]:
        """Return the batches that may be this one, each with whether that is certain."""

    @abstractmethod
    async def look(self, calls: Calls, root: str, record: BatchRecord) -> Look:
        """Return how a batch stands."""

    @abstractmethod
    def url_of(self, root: str, result: str) -> str:
        """Return where results lie."""

    @abstractmethod
    def read(self, decoded: values.JsonDict) -> Line | None:
        """Return what one line of results says; None where it is no result."""

    @abstractmethod
    def batch_url(self, root: str, record: BatchRecord) -> str:
        """Return where a batch is looked at."""

    async def cancel(self, calls: Calls, root: str, record: BatchRecord) -> None:
        """Ask the provider to stop a batch."""
        await calls.json("POST", f"{self.batch_url(root, record)}{self.cancels_at}", {})


async def listed(
    calls: Calls,
    url: str,
    size: tuple[str, int],
    entries: str,
    after: Callable[[values.JsonDict, list[object]], dict[str, str]],
) -> AsyncIterator[list[object]]:
    """Yield the pages of a list: ``entries`` names their field, ``after`` gives the query of the next, empty at the end."""
    query: dict[str, str] = {}
    for _ in range(MOST_PAGES):
        page = urlencode({size[0]: size[1], **query})
        found, _headers = await calls.json("GET", f"{url}?{page}")
        shown = values.list_at(found, entries) or []
        yield shown
        query = after(found, shown)
        if not query:
            return


def name_at(found: object, key: str) -> str:
    """Return a name the provider gave; raise `Unclear` for one that cannot stand in an address."""
    name = values.str_at(found, key)
    if name is None or not NAME.fullmatch(name) or ".." in name:
        raise Unclear(
            f"the provider named what was made in a way that cannot be used: {key} is missing or odd"
        )
    return name


def in_path(name: str) -> str:
    """Return a name as it stands in an address."""
    return quote(name, safe="/")


def encoded(value: object) -> bytes:
    """Return ``value`` as the bytes of JSON."""
    return json.dumps(value, separators=(",", ":")).encode()


def read_line(way: Way, line: bytes) -> Line | None:
    """Return what a line of results says; None where it is none, whatever stands in it."""
    decoded = values.load(line)
    if not isinstance(decoded, dict):
        return None
    try:
        return way.read(decoded)
    except (TypeError, ValueError, RecursionError):
        return None
