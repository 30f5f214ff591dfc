"""`metacog serve` speaks OpenAI's format to programs on this machine, and to no web page."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import pytest
from aiohttp import web

from metacog_pipeline.llm.open import Clients, open_model
from metacog_pipeline.llm.serve import application, plain_answer
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
    TokenBias,
    TokenLogprob,
)

SEEN: list[ChatRequest] = []


def answer(model: str, request: ChatRequest) -> str | Completion:
    SEEN.append(request)
    match request.messages[-1].content:
        case "refuse":
            return Completion(Status.REFUSED, "No.")
        case "cut":
            return Completion(Status.TRUNCATED, "half", reasoning_text="hm")
        case "sure":
            return Completion(Status.OK, "B", logprobs=(TokenLogprob("B", -0.5, (("A", -1.5),)),))
    return "an answer of several words"


def served(talk: Callable[[str], Awaitable[Any]]) -> Any:
    """Return what ``talk(root)`` gives while the server runs."""

    async def run() -> Any:
        runner = web.AppRunner(application(answer, ("m",), label="simulated/"), access_log=None)
        await runner.setup()
        try:
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            return await talk(f"http://127.0.0.1:{runner.addresses[0][1]}")
        finally:
            await runner.cleanup()

    return asyncio.run(run())


def ask(
    text: str, *, model: str = "m", stream: bool = False, constraint: Constraint | None = None
) -> Completion:
    async def talk(root: str) -> Completion:
        spec = ModelSpec(name="m", provider="openai", model=model, base_url=f"{root}/v1", stream=stream)
        sampling = Sampling(top_logprobs=3, stop=("x",))
        async with Clients() as clients:
            request = ChatRequest((Message("system", "s"), Message("user", text)), sampling, constraint)
            return await open_model(spec, shared=clients).complete(request)

    completion: Completion = served(talk)
    return completion


@pytest.mark.parametrize("stream", [False, True])
def test_every_kind_of_answer_is_read_back(stream):
    whole = ask("question", stream=stream)
    assert (whole.status, whole.text) == (Status.OK, "an answer of several words")
    assert whole.model_reported == "simulated/m" and whole.usage.output_tokens
    assert ask("refuse", stream=stream).status is Status.REFUSED
    cut = ask("cut", stream=stream)
    assert (cut.status, cut.text, cut.reasoning_text) == (Status.TRUNCATED, "half", "hm")
    assert ask("sure", stream=stream).logprobs == (TokenLogprob("B", -0.5, (("A", -1.5),)),)


@pytest.mark.parametrize(
    "constraint", [JsonObject("n", '{"type": "object"}'), OneOf(("A", "B")), TokenBias(((7, 100),)), None]
)
def test_a_constraint_reaches_the_respondent(constraint):
    ask("question", constraint=constraint)
    assert SEEN[-1].constraint == constraint
    assert SEEN[-1].sampling.stop == ("x",) and SEEN[-1].sampling.top_logprobs == 3


def test_a_model_that_is_not_here_is_one_line():
    assert ask("question", model="other").error_code == "model_not_found"


def test_a_plain_answer_is_one_that_the_request_allows():
    rules = {
        "answer": {"type": "string", "enum": ["yes", "no"]},
        "sure": {"type": "integer", "minimum": 1, "maximum": 5},
    }
    schema = json.dumps({"type": "object", "properties": rules})

    def said(text: str, constraint: Constraint | None) -> str:
        return plain_answer("m", ChatRequest((Message("user", text),), Sampling(), constraint))

    for number in range(20):
        found = json.loads(said(str(number), JsonObject("a", schema)))
        assert found["answer"] in ("yes", "no") and 1 <= found["sure"] <= 5
        assert said(str(number), OneOf(("A", "B"))) in ("A", "B")
        assert said(str(number), None).startswith("ANSWER: ")


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
            return [asked.status_code, (await client.get(f"{root}/v1/models")).status_code]

    assert served(talk) == [403, 403]
