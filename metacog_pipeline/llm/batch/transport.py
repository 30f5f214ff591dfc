"""HTTP calls about batches: JSON in both directions, results into a file, and what a failure means."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import IO

from metacog_pipeline.errors import ProviderError, one_line
from metacog_pipeline.llm.capabilities import NOTHING_KNOWN
from metacog_pipeline.llm.spec import ModelSpec, base_url, key_variable
from metacog_pipeline.llm.transport import Http, Reply, SendFailure, send
from metacog_pipeline.llm.types import ChatRequest, ErrorKind, Message, Sampling
from metacog_pipeline.llm.wire import values, wire_for
from metacog_pipeline.llm.wire.events import HttpCall

SILENCE_S, WHOLE_S = 60.0, 3600.0
SLOWEST = 60_000  # bytes a second of a submission: half a megabit
MAX_JSON_BYTES = 16 * 2**20
MAX_RESULT_BYTES = 8 * 2**30  # far above 50,000 answers with log-probabilities
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
        http: Http,
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
        self._headers = {**given, "accept": "*/*"}

    async def json(
        self,
        method: str,
        url: str,
        content: bytes | Mapping[str, object] = b"",
        headers: Mapping[str, str] | None = None,
    ) -> tuple[values.JsonDict, Mapping[str, str]]:
        """Send ``content``, as JSON where it is no bytes; return the object that comes back, and its headers."""
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        reply = await self._sent(method, url, MAX_JSON_BYTES, body, headers)
        decoded = values.load(reply.body)
        if not isinstance(decoded, dict):
            raise Later("the provider answered with something that is no JSON object")
        return decoded, reply.headers

    async def download(self, url: str, target: IO[bytes]) -> None:
        """Write what stands at ``url`` to ``target``."""
        await self._sent("GET", url, MAX_RESULT_BYTES, into=target)

    async def _sent(
        self,
        method: str,
        url: str,
        most: int,
        body: bytes = b"",
        headers: Mapping[str, str] | None = None,
        into: IO[bytes] | None = None,
    ) -> Reply:
        call = HttpCall(url, {**self._headers, **(headers or {})}, body, method=method)
        silence = SILENCE_S + len(body) / SLOWEST
        try:
            reply = await send(self._http, call, silence, WHOLE_S, max_body=most, into=into)
        except SendFailure as failure:
            raise Later(str(failure), taken=failure.maybe_billed) from None
        if not 200 <= reply.status < 300:
            raise self._failure(reply)
        return reply

    def _failure(self, reply: Reply) -> Later | Refused:
        read = self._wire.read(self.spec, reply.status, reply.headers, reply.body, self._key)
        said = f"{one_line(read.error_message or read.finish_reason or 'refused', 300)} (HTTP {reply.status})"
        taken = reply.status in TAKEN_OR_NOT
        if taken or read.error_kind in (ErrorKind.RATE_LIMIT, ErrorKind.TRANSIENT):
            return Later(said, taken=taken)
        return Refused(
            f"model {self.spec.name}: batch {self.mark}: {said}: correct base_url or the key in "
            f'{key_variable(self.spec) or "api_key_env"}, set lane = "online", or give a batch up whose key you no longer '
            f"have: metacog status STUDY --give-up {self.mark}"
        )
