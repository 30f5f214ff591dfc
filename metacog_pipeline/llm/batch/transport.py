"""HTTP calls about batches: small ones that bring JSON, large files up and down, and what a failure means.

::

    Later      not possible now; ``taken`` says whether the call may have been taken all the same: then look before
               anything is sent again
    Refused    the provider says no, and why
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from urllib.parse import urlsplit

import httpx

from metacog_pipeline.errors import one_line
from metacog_pipeline.files import replacing
from metacog_pipeline.llm.transport import cause_of, never_sent
from metacog_pipeline.llm.types import Completion, ErrorKind
from metacog_pipeline.llm.wire import redacted, values

CALL_S = 60.0  # a small call, the list of batches among them
TRANSFER_S = 1800.0  # 200 MB at a megabit a second
CHUNK_BYTES = 2**18
MAX_JSON_BYTES = 16 * 2**20
MAX_RESULT_BYTES = 8 * 2**30  # far above fifty thousand answers with log-probabilities
TIMEOUTS = {"connect": 10.0, "read": CALL_S, "write": None, "pool": CALL_S}
#: Sent by gateways whose server may have acted.
TAKEN_OR_NOT = frozenset({408, 499, 500, 502, 503, 504, 520, 524})
Parts = tuple[bytes, Path, bytes]


class Later(Exception):
    """Not possible now. ``taken``: the provider may have taken the call."""

    def __init__(self, message: str, *, taken: bool) -> None:
        super().__init__(message)
        self.taken = taken


class Refused(Exception):
    """The provider answered no."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"{message} (HTTP {status})")
        self.status = status


class Calls:
    """Makes the calls of one batch: ``headers`` hold the key, ``explain`` reads an error answer of the provider."""

    def __init__(
        self,
        http: httpx.AsyncClient,
        headers: Mapping[str, str],
        key: str | None,
        explain: Callable[[int, Mapping[str, str], bytes], Completion],
    ) -> None:
        self._http = http
        self._headers = {"user-agent": "metacog-pipeline", "accept": "application/json", **headers}
        self._key = key
        self._explain = explain

    async def json(
        self,
        method: str,
        url: str,
        body: Mapping[str, object] | None = None,
        *,
        headers: Mapping[str, str] | None = None,
        parts: Parts | None = None,
    ) -> tuple[values.JsonDict, Mapping[str, str]]:
        """Make one call; return the object it brings, and the headers. Raises `Later` or `Refused`.

        ``body`` is sent as JSON; ``parts`` is bytes, the content of a file, and bytes.
        """
        sent, content, limit_s = dict(headers or {}), None, CALL_S
        if body is not None:
            content, sent = json.dumps(body).encode(), {"content-type": "application/json", **sent}
        if parts is not None:
            sent["content-length"] = str(len(parts[0]) + parts[1].stat().st_size + len(parts[2]))
            limit_s = TRANSFER_S
        async with self._sent(method, url, sent, content or _content(parts), limit_s) as response:
            raw = await _read(response)
        self._check(response, raw)
        decoded = values.load(raw)
        if not isinstance(decoded, dict):
            raise Later(f"{_host(url)} answered with something that is no JSON object", taken=True)
        return decoded, response.headers

    async def download(self, url: str, target: Path, *, append: bool = False) -> None:
        """Write what stands at ``url`` to ``target``: whole, or not at all. Raises as `json`."""
        async with self._sent("GET", url, {"accept": "*/*"}, None, TRANSFER_S) as response:
            if response.status_code != 200:
                self._check(response, await _read(response))
                raise Later(
                    f"{_host(url)} answered HTTP {response.status_code} instead of the results", taken=True
                )
            await _save(response, target, append)

    @contextlib.asynccontextmanager
    async def _sent(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        content: bytes | AsyncIterator[bytes] | None,
        limit_s: float,
    ) -> AsyncIterator[httpx.Response]:
        """Send a call and close its response; whatever breaks on the way is `Later`."""
        every, extensions = {**self._headers, **headers}, {"timeout": TIMEOUTS}
        try:
            request = httpx.Request(method, url, headers=every, content=content, extensions=extensions)
        except (httpx.InvalidURL, ValueError, TypeError) as error:
            name = type(error).__name__
            said = f"the call cannot be written as HTTP ({name}): check base_url"
            raise Later(said, taken=False) from None
        try:
            async with asyncio.timeout(limit_s):
                response = await self._http.send(request, stream=True, auth=None, follow_redirects=False)
                try:
                    yield response
                finally:
                    await response.aclose()
        except (Later, Refused):
            raise
        except Exception as error:
            said = one_line(redacted(f"{_host(url)}: {type(cause_of(error)).__name__}", self._key), 200)
            unsent = never_sent(error)
            raise Later(f"no connection to {said}" if unsent else said, taken=not unsent) from None

    def _check(self, response: httpx.Response, raw: bytes) -> None:
        status = response.status_code
        if 200 <= status < 300:
            return
        completion = self._explain(status, response.headers, raw)
        message = completion.error_message or completion.finish_reason or "refused"
        if status in TAKEN_OR_NOT or completion.error_kind in (ErrorKind.RATE_LIMIT, ErrorKind.TRANSIENT):
            raise Later(f"{message} (HTTP {status})", taken=status in TAKEN_OR_NOT)
        raise Refused(status, message)


def _host(url: str) -> str:
    return urlsplit(url).netloc.rpartition("@")[2]


def _content(parts: Parts | None) -> AsyncIterator[bytes] | None:
    async def pieces(head: bytes, path: Path, tail: bytes) -> AsyncIterator[bytes]:
        yield head
        with path.open("rb") as source:
            while chunk := source.read(CHUNK_BYTES):
                yield chunk
        yield tail

    return None if parts is None else pieces(*parts)


async def _read(response: httpx.Response) -> bytes:
    found = bytearray()
    async for chunk in response.aiter_bytes():
        found += chunk
        if len(found) > MAX_JSON_BYTES:
            raise Later(f"the answer is longer than {MAX_JSON_BYTES:,} bytes", taken=True)
    return bytes(found)


async def _save(response: httpx.Response, target: Path, append: bool) -> None:
    announced, size = response.headers.get("content-length", ""), 0
    with replacing(target) as temporary, temporary.open("wb") as written:
        if append and target.exists():
            with target.open("rb") as before:
                while chunk := before.read(CHUNK_BYTES):
                    written.write(chunk)
        async for chunk in response.aiter_bytes():
            size += len(chunk)
            if size > MAX_RESULT_BYTES:
                raise Later(f"the results are longer than {MAX_RESULT_BYTES:,} bytes", taken=True)
            written.write(chunk)
        if announced.isdecimal() and "content-encoding" not in response.headers and size != int(announced):
            raise Later(f"the results were cut: {size:,} of {int(announced):,} bytes came", taken=True)
