"""OpenAI chat completions over HTTP, answered in this process: a first try without a key (`metacog serve`)."""

from __future__ import annotations

import asyncio
import json
import random
import socket
import time
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

from aiohttp import web
from aiohttp.typedefs import Handler

from metacog_pipeline.llm.costs import estimate_tokens

LOOPBACK = "127.0.0.1"
OWN_NAMES = frozenset({"127.0.0.1", "localhost", "::1"})
# what a browser says of a call that no other page made
NO_PAGE = ("none", "same-origin")
# before the model id that answers report, so that they differ from real ones
LABEL = "simulated/"


def application(*, latency_s: float = 0.0) -> web.Application:
    """Return the server's application; every model id is answered."""

    async def complete(http: web.Request) -> web.StreamResponse:
        body = await http.read()
        await asyncio.sleep(latency_s)
        try:
            fields = json.loads(body)
            prompt = "\n\n".join(_text(each["content"]) for each in fields["messages"])
            reply = _reply(LABEL + str(fields["model"]), prompt, plain_answer(fields))
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as wrong:
            return _error(400, f"the body is no chat completion ({type(wrong).__name__})")
        return _streamed(reply) if fields.get("stream") is True else web.json_response(reply)

    app = web.Application(client_max_size=2**26, middlewares=[_own_calls_only])
    app.router.add_post("/v1/chat/completions", complete)
    return app


def plain_answer(fields: Mapping[str, Any]) -> str:
    """Return an answer that fits what a request asks for and means nothing, the same to the same words."""
    held = (fields.get("response_format") or {}).get("json_schema")
    choice = (fields.get("structured_outputs") or {}).get("choice") or fields.get("guided_choice")
    draw = random.Random(json.dumps([fields["messages"], held, choice, fields.get("seed")]))
    if not fields["messages"]:
        raise ValueError("no messages")
    if choice:
        return str(draw.choice(choice))
    if held:
        return json.dumps(_fitting(held["schema"], draw))
    return f"ANSWER: {draw.choice('ABCD')}\nCONFIDENCE: {draw.randint(1, 5)}"


def _fitting(rules: Mapping[str, Any], draw: random.Random) -> Any:
    """Return a value that a JSON schema allows."""
    if choices := rules.get("enum"):
        return draw.choice(choices)
    match rules.get("type"):
        case "object":
            return {name: _fitting(each, draw) for name, each in rules.get("properties", {}).items()}
        case "array":
            return [_fitting(rules.get("items", {}), draw)]
        case "integer" | "number":
            return draw.randint(int(rules.get("minimum", 0)), int(rules.get("maximum", 100)))
        case "boolean":
            return draw.random() < 0.5
    return "something"


# A browser names the page's origin and the host it believes to speak to: no call that a web page made is taken.
@web.middleware
async def _own_calls_only(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Refuse what a web page sent: it may name this server by a name of its own, or is of another origin."""
    named = urlsplit(f"//{request.headers.get('host', '')}").hostname
    page = "origin" in request.headers or request.headers.get("sec-fetch-site", "none") not in NO_PAGE
    if named not in OWN_NAMES or page:
        return _error(403, "this server answers programs on this machine, no web page")
    return await handler(request)


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


def _reply(model: str, prompt: str, text: str) -> dict[str, Any]:
    message = {"role": "assistant", "content": text, "refusal": None}
    sent, got = estimate_tokens(prompt), estimate_tokens(text)
    return {
        "id": f"chatcmpl-{time.monotonic_ns()}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": model,
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": sent, "completion_tokens": got, "total_tokens": sent + got},
    }


# The whole answer is the one chunk of a stream.
def _streamed(reply: dict[str, Any]) -> web.Response:
    (choice,) = reply["choices"]
    chunk = {**reply, "object": "chat.completion.chunk", "choices": [{**choice, "delta": choice["message"]}]}
    text = f"data: {json.dumps(chunk)}\n\ndata: [DONE]\n\n"
    return web.Response(text=text, content_type="text/event-stream")


def _error(status: int, message: str) -> web.Response:
    said = {"message": message, "type": "invalid_request_error", "param": None, "code": None}
    return web.json_response({"error": said}, status=status)


def serve(app: web.Application, port: int, announce: Callable[[str], None]) -> None:
    """Serve until interrupted; ``announce`` gets ``listening on <address>``. ``OSError`` for a port in use."""

    listening = socket.create_server((LOOPBACK, port))
    where = f"listening on http://{LOOPBACK}:{listening.getsockname()[1]}"
    web.run_app(app, sock=listening, access_log=None, shutdown_timeout=0.2, print=lambda *_: announce(where))
