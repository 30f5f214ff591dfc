"""What a server at an address of one's own says about itself: its list of models, read before anything is asked of it.

It costs nothing and decides nothing that could not do without: no list, or one that cannot be read, teaches nothing.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace

import httpx

from metacog_pipeline.llm.capabilities import Capabilities
from metacog_pipeline.llm.spec import MAX_TOKENS, ModelSpec
from metacog_pipeline.llm.wire import base_url, values

TIMEOUT_S = 5.0
MAX_BYTES = 4 * 2**20  # routers list thousands of models
VLLM = "vllm"


def may_be_listed(spec: ModelSpec) -> bool:
    """Whether ``spec`` is served where a list of models may tell more than its documents do."""
    return spec.provider == "openai" and not spec.at_official_address and spec.api_version is None


async def with_listing(
    http: httpx.AsyncClient, spec: ModelSpec, key: str | None, known: Capabilities
) -> Capabilities:
    """Return ``known`` with what the server lists about ``spec``: what serves it, and its context."""
    listed = values.list_at(values.load(await _list_of_models(http, spec, key)), "data") or []
    entry = next((each for each in listed if values.str_at(each, "id") == spec.model), None)
    context = values.count_at(entry, "max_model_len")
    return replace(
        known,
        server="vllm" if values.str_at(entry, "owned_by") == VLLM else known.server,
        context=context if context and context <= MAX_TOKENS else known.context,
    )


async def _list_of_models(http: httpx.AsyncClient, spec: ModelSpec, key: str | None) -> bytes:
    headers = {"accept": "application/json", "accept-encoding": "identity"}
    if key:
        headers["authorization"] = f"Bearer {key}"
    found = bytearray()
    try:
        # The timeout of the client is that of each piece: a server that sends a byte a second would take months.
        async with (
            asyncio.timeout(TIMEOUT_S),
            http.stream("GET", f"{base_url(spec)}/models", headers=headers, timeout=TIMEOUT_S) as reply,
        ):
            if reply.status_code != 200 or reply.headers.get("content-encoding", "identity") != "identity":
                return b""
            async for chunk in reply.aiter_bytes():
                found += chunk
                if len(found) > MAX_BYTES:
                    return b""
    except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError):
        return b""
    return bytes(found)
