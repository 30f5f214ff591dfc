"""One reply while it comes in: a stream of events put together, or a body in one piece.

::

    SendFailure            the call brought no whole answer
        maybe_billed       False when nothing can have reached the provider
        kind               TRANSIENT, or FATAL / UNSUPPORTED when trying again cannot help
        partial            what had come of a stream before it broke
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass

import httpx

from metacog_pipeline.errors import one_line
from metacog_pipeline.llm.sse import EventReader, looks_like_events
from metacog_pipeline.llm.timeouts import Deadline
from metacog_pipeline.llm.types import ErrorKind
from metacog_pipeline.llm.wire.types import Assembler

ENCODINGS = frozenset({"gzip", "deflate"})  # as offered; others, or nested ones, could unpack without end


@dataclass(frozen=True, slots=True)
class Reply:
    """A whole answer. ``headers`` are looked up in lower case; ``body`` is decompressed.

    Of a stream, ``body`` is what a reply in one piece would have been, and ``text`` and ``reasoning`` what came of the
    answer and of the thinking, whole or not.
    ``first_byte_at`` is when the answer began, on the event loop's clock.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes
    text: str = ""
    reasoning: str = ""
    first_byte_at: float | None = None


class SendFailure(Exception):
    """No whole answer came back. The message is one line without headers or key."""

    def __init__(
        self, message: str, *, maybe_billed: bool = True, kind: ErrorKind = ErrorKind.TRANSIENT
    ) -> None:
        super().__init__(one_line(message, 300))
        self.maybe_billed = maybe_billed
        self.kind = kind
        self.partial: Reply | None = None


class Incoming:
    """Reads one reply. ``assembler`` puts a stream together where one was asked for."""

    def __init__(self, assembler: Assembler | None, max_body: int) -> None:
        self._assembler = assembler
        self._max_body = max_body
        self._response: httpx.Response | None = None
        self._headers: Mapping[str, str] = {}
        self._events: EventReader | None = None
        self._chunks: list[bytes] = []
        self._size = 0
        self.first_byte_at: float | None = None

    @property
    def whole(self) -> bool:
        """Whether the provider has said that a stream is whole: a break after that loses nothing."""
        return self._events is not None and self._assembler is not None and self._assembler.finished

    def begun(self) -> bool:
        """Whether the answer's first word has come: an answer in one piece comes at once."""
        return self._events is None or self._assembler is None or bool(self._assembler.text)

    async def read(self, response: httpx.Response, deadline: Deadline) -> None:
        """Read all of ``response``. Raises `SendFailure`, and what the connection raises."""
        self._response = response
        self._headers = dict(response.headers.items())  # httpx's own go through all of them at every look
        _check_encoding(self._headers)
        if self._assembler is None or not response.is_success:
            deadline.came()  # the headers of a plain answer are its first bytes
        # What is not packed is taken as it comes: httpx's own ways of reading cost more than the rest of this loop.
        packed = "content-encoding" in self._headers
        async for chunk in response.aiter_bytes() if packed else _unpacked(response):
            self._size += len(chunk)
            if self._size > self._max_body:
                raise SendFailure(
                    f"the answer is longer than {self._max_body:,} bytes, the most that is kept: lower max_tokens or "
                    "thinking_tokens, or check what answers at base_url",
                    kind=ErrorKind.UNSUPPORTED,
                )
            self._take(chunk, response)
            if self.whole:
                deadline.finished(counted=self._assembler is None or self._assembler.counted)
            else:
                deadline.came()
        self._end(response)

    def reply(self) -> Reply | None:
        """Return what has come, ``None`` where not even the headers have."""
        if self._response is None:
            return None
        status, headers = self._response.status_code, self._headers
        if self._events is None or self._assembler is None:
            body = self._chunks[0] if len(self._chunks) == 1 else b"".join(self._chunks)
            return Reply(status, headers, body, first_byte_at=self.first_byte_at)
        came = self._assembler
        return Reply(status, headers, came.body(), came.text, came.reasoning, self.first_byte_at)

    def partial(self) -> Reply | None:
        """Return what had come of a stream before it broke; of an answer in one piece a part says nothing."""
        return self.reply() if self._events is not None else None

    def _take(self, chunk: bytes, response: httpx.Response) -> None:
        if self._events is None:
            if self.first_byte_at is None:
                self.first_byte_at = asyncio.get_running_loop().time()
            self._chunks.append(chunk)
            if self._assembler is None or not response.is_success or self._size > len(chunk) > 0:
                return
            if not looks_like_events(chunk, self._headers.get("content-type", "")):
                return
            self._events, self._chunks, self.first_byte_at = EventReader(), [], None
        self._feed(self._events.feed(chunk))

    def _feed(self, events: list[bytes]) -> None:
        assembler = self._assembler
        assert assembler is not None, "events are only read where an assembler was given"
        if events and self.first_byte_at is None:  # keep-alive comments come before the answer begins
            self.first_byte_at = asyncio.get_running_loop().time()
        for data in events:
            assembler.feed(data)

    def _end(self, response: httpx.Response) -> None:
        if self._events is not None:
            self._feed(self._events.close())
            return
        announced = self._headers.get("content-length", "")
        # Of a compressed answer the length on the line is announced, not that of the text.
        packed = "content-encoding" in self._headers
        came = response.num_bytes_downloaded or None if packed else self._size
        if response.is_success and announced.isdecimal() and came not in (int(announced), None):
            raise SendFailure(f"the answer was cut: {came:,} of {int(announced):,} bytes came")


def _unpacked(response: httpx.Response) -> AsyncIterator[bytes]:
    stream = response.stream
    assert isinstance(stream, httpx.AsyncByteStream), "the client is an asynchronous one"
    return stream.__aiter__()


def _check_encoding(headers: Mapping[str, str]) -> None:
    """Raise `SendFailure` for an answer packed in another way than offered, before any of it is unpacked."""
    named = [name.strip().lower() for name in headers.get("content-encoding", "").split(",")]
    packed = [name for name in named if name not in ("", "identity")]
    if packed and (len(packed) > 1 or packed[0] not in ENCODINGS):
        raise SendFailure(
            f"the answer is encoded as {', '.join(packed)[:80]!r}, and only gzip or deflate were offered: check what "
            "answers at base_url",
            kind=ErrorKind.FATAL,
        )
