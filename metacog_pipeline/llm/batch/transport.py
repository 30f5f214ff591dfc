"""HTTP calls about batches: small ones that bring JSON, results that go to a file, and what a failure means."""

from __future__ import annotations

import asyncio
import io
import json
import re
from collections.abc import Mapping
from typing import IO, Any

import httpx

from metacog_pipeline.errors import ProviderError, one_line
from metacog_pipeline.llm.capabilities import NOTHING_KNOWN
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.transport import cause_of, never_sent
from metacog_pipeline.llm.types import ChatRequest, ErrorKind, Message, Sampling
from metacog_pipeline.llm.wire import base_url, key_variable, values, wire_for

SILENCE_S = 60.0
WHOLE_S = 1800.0  # 100 MB at half a megabit a second
MAX_JSON_BYTES = 16 * 2**20
MAX_RESULT_BYTES = 8 * 2**30  # far above 50,000 answers with log-probabilities
TIMEOUTS = {"connect": 10.0, "read": SILENCE_S, "write": SILENCE_S, "pool": SILENCE_S}
#: Sent by gateways whose server may have acted.
TAKEN_OR_NOT = frozenset({408, 499, 500, 502, 503, 504, 520, 524})


class Later(Exception):
    """Not possible now. ``taken``: the call may have been taken, so look before anything is sent again."""

    def __init__(self, message: str, *, taken: bool = True) -> None:
        super().__init__(message)
        self.taken = taken


class Refused(ProviderError):
    """The provider answered no. What was submitted is kept, and found again when the reason is gone."""


class Calls:
    """The calls about one batch, which bears ``mark``. Each raises `Later` or `Refused`."""

    def __init__(
        self,
        http: httpx.AsyncClient,
        spec: ModelSpec,
        key: str | None,
        mark: str,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        root, self.spec, self.mark = base_url(spec), spec, mark
        versioned = spec.provider == "openai" or re.search(r"/v\d[a-z0-9]*$", root)
        self.root = root if versioned else f"{root}/v1"
        self._http, self._key, self._wire = http, key, wire_for(spec.provider)
        any_request = ChatRequest((Message("user", "-"),), Sampling())
        given = headers or self._wire.build(spec, any_request, key, NOTHING_KNOWN).headers
        self._headers = {**given, "user-agent": "metacog-pipeline", "accept": "*/*"}

    async def json(
        self,
        method: str,
        url: str,
        content: bytes | Mapping[str, object] = b"",
        headers: Mapping[str, str] | None = None,
    ) -> tuple[values.JsonDict, Mapping[str, str]]:
        """Send ``content``, as JSON where it is no bytes; return the object that comes back, and its headers."""
        sent, came = content if isinstance(content, bytes) else json.dumps(content).encode(), io.BytesIO()
        replied = await self._called(
            came,
            MAX_JSON_BYTES,
            method=method,
            url=url,
            content=sent,
            headers={**self._headers, **(headers or {})},
        )
        decoded = values.load(came.getvalue())
        if not isinstance(decoded, dict):
            raise Later("the provider answered with something that is no JSON object")
        return decoded, replied

    async def download(self, url: str, target: IO[bytes]) -> None:
        """Write what stands at ``url`` to ``target``."""
        await self._called(target, MAX_RESULT_BYTES, method="GET", url=url, headers=self._headers)

    async def _called(self, target: IO[bytes], most: int, **call: Any) -> Mapping[str, str]:
        """Make a call, write what a success brings to ``target``, and return its headers."""
        refusal = io.BytesIO()
        try:
            request = httpx.Request(**call, extensions={"timeout": TIMEOUTS})
            async with asyncio.timeout(WHOLE_S):
                response = await self._http.send(request, stream=True, auth=None, follow_redirects=False)
                try:
                    if response.is_success:
                        await _save(response, target, most)
                        return response.headers
                    await _save(response, refusal, MAX_JSON_BYTES)
                finally:
                    await response.aclose()
        except Later:
            raise
        except Exception as error:
            name = type(cause_of(error)).__name__  # its text may show the key
            raise Later(f"no whole answer from the provider ({name})", taken=not never_sent(error)) from None
        raise self._failure(response, refusal.getvalue())

    def _failure(self, response: httpx.Response, raw: bytes) -> Later | Refused:
        status = response.status_code
        read = self._wire.read(self.spec, status, response.headers, raw, self._key)
        said = f"{one_line(read.error_message or read.finish_reason or 'refused', 300)} (HTTP {status})"
        if status in TAKEN_OR_NOT or read.error_kind in (ErrorKind.RATE_LIMIT, ErrorKind.TRANSIENT):
            return Later(said, taken=status in TAKEN_OR_NOT)
        return Refused(
            f"model {self.spec.name}: batch {self.mark}: {said}: correct base_url or the key in "
            f'{key_variable(self.spec) or "api_key_env"}, set lane = "online", or give a batch up whose key you no longer '
            f"have: metacog status STUDY --give-up {self.mark}"
        )


async def _save(response: httpx.Response, target: IO[bytes], most: int) -> None:
    announced, size = response.headers.get("content-length", ""), 0
    async for chunk in response.aiter_bytes():
        size += len(chunk)
        if size > most:
            raise Later(f"the answer is longer than {most:,} bytes")
        target.write(chunk)
    if announced.isdecimal() and "content-encoding" not in response.headers and size != int(announced):
        raise Later(f"the answer was cut: {size:,} of {int(announced):,} bytes came")
