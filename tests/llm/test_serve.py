"""`metacog serve` speaks OpenAI's format to programs on this machine, and to no web page."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import pytest
from aiohttp import web

from metacog_pipeline.llm.open import Clients, open_model
from metacog_pipeline.llm.serve import application
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import (
    ChatRequest,
    Completion,
    Constraint,
    JsonObject,
    Message,
    OneOf,
    Sampling,
    Status,
)

RULES = {
    "answer": {"type": "string", "enum": ["yes", "no"]},
    "sure": {"type": "integer", "minimum": 1, "maximum": 5},
}
SCHEMA = {"type": "object", "properties": RULES}


def served(talk: Callable[[str], Awaitable[Any]]) -> Any:
    """Return what ``talk(root)`` gives while the server runs."""

    async def run() -> Any:
        runner = web.AppRunner(application(), access_log=None)
        await runner.setup()
        try:
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            return await talk(f"http://127.0.0.1:{runner.addresses[0][1]}")
        finally:
            await runner.cleanup()

    return asyncio.run(run())


def ask(constraint: Constraint | None, *, stream: bool) -> Completion:
    async def talk(root: str) -> Completion:
        spec = ModelSpec(name="m", provider="openai", model="any", base_url=f"{root}/v1", stream=stream)
        async with Clients() as clients:
            request = ChatRequest((Message("system", "s"), Message("user", "q")), Sampling(), constraint)
            return await open_model(spec, shared=clients).complete(request)

    completion: Completion = served(talk)
    return completion


@pytest.mark.parametrize("stream", [False, True])
def test_an_answer_is_one_that_the_request_allows(stream):
    free = ask(None, stream=stream)
    assert free.status is Status.OK and free.text.startswith("ANSWER: ")
    assert free.model_reported == "simulated/any" and free.usage.output_tokens
    assert ask(None, stream=stream).text == free.text, "the same to the same words"
    assert ask(OneOf(("A", "B")), stream=stream).text in ("A", "B")
    found = json.loads(ask(JsonObject("a", json.dumps(SCHEMA)), stream=stream).text)
    assert found["answer"] in ("yes", "no") and 1 <= found["sure"] <= 5


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{}", b'{"messages": []}', b'{"messages": [{"role": "x"}]}', b"\xff"]
)
def test_a_body_that_is_none_is_refused(body):
    async def talk(root: str) -> int:
        async with httpx.AsyncClient() as client:
            return (await client.post(f"{root}/v1/chat/completions", content=body)).status_code

    assert served(talk) == 400


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "evil.example"},
        {"origin": "https://evil.example"},
        {"sec-fetch-site": "cross-site"},
        {"origin": "null"},
    ],
)
def test_no_web_page_is_answered(headers):
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "question"}]})

    async def talk(root: str) -> list[int]:
        async with httpx.AsyncClient(headers=headers) as client:
            asked = await client.post(f"{root}/v1/chat/completions", content=body)
            return [asked.status_code]

    assert served(talk) == [403]
