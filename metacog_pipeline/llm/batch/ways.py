"""What the three providers' batches have in common: how a batch is put into words, found, watched and read."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol
from urllib.parse import quote

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


class Way(Protocol):
    """One provider's batches. Every call raises as `Calls.json`."""

    most_requests: int
    most_bytes: int
    separator: bytes  # stands between two requests

    def target(self, root: str, call: HttpCall) -> str:
        """Return what all requests of a batch must share: endpoint, or model."""
        ...

    def line(self, custom_id: str, target: str, call: HttpCall) -> bytes:
        """Return one request as it stands in the file of requests."""
        ...

    async def submit(self, calls: Calls, root: str, record: BatchRecord, requests: Path) -> str:
        """Submit a batch; return its name at the provider."""
        ...

    async def find(self, calls: Calls, root: str, record: BatchRecord) -> Sequence[tuple[str, bool]]:
        """Return the batches that may be this one, each with whether that is certain."""
        ...

    async def look(self, calls: Calls, root: str, record: BatchRecord) -> Look:
        """Return how a batch stands."""
        ...

    async def cancel(self, calls: Calls, root: str, record: BatchRecord) -> None:
        """Ask the provider to stop a batch."""
        ...

    def url_of(self, root: str, result: str) -> str:
        """Return where results lie."""
        ...

    def read(self, decoded: values.JsonDict) -> Line | None:
        """Return what one line of results says; None where it is no result."""
        ...


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
