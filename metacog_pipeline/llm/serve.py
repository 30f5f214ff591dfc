"""OpenAI chat completions over HTTP, answered in this process: a first try without a key (`metacog serve`).

It listens on loopback only, and takes no call that a web page made: a browser names the page's origin, and the host it
believes to speak to.
"""

from __future__ import annotations

import asyncio
import json
import random
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from aiohttp import web
from aiohttp.typedefs import Handler

from metacog_pipeline.llm import types
from metacog_pipeline.llm.costs import estimate_input_tokens, estimate_tokens

Answer = Callable[[str, types.ChatRequest], str | types.Completion]
LOOPBACK = "127.0.0.1"
OWN_NAMES = frozenset({"127.0.0.1", "localhost", "::1"})
CHUNKS = 8  # parts of a streamed answer
ROLES: Mapping[str, Any] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
}


def plain_answer(model: str, request: types.ChatRequest) -> str:
    """Return an answer that fits what a request asks for and means nothing, the same to the same words."""
    draw = random.Random(types.request_json(request))
    match request.constraint:
        case types.OneOf(options):
            return draw.choice(options)
        case types.JsonObject(_, schema):
            return json.dumps(_fitting(json.loads(schema), draw))
    return f"ANSWER: {draw.choice('ABCD')}\nCONFIDENCE: {draw.randint(1, 5)}"


def _fitting(rules: Mapping[str, Any], draw: random.Random) -> Any:
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


class _Refused(Exception):
    def __init__(self, status: int, message: str, code: str | None = None) -> None:
        super().__init__(message)
        self.status, self.code = status, code


def application(
    answer: Answer, models: Sequence[str], *, latency_s: float = 0.0, label: str = ""
) -> web.Application:
    """Return the server's application. ``answer(model, request)`` runs in the event loop, so it should be quick.

    Without ``models`` every name is answered. ``label`` goes before the model id that answers report, so that they can be
    told from real ones.
    """

    async def complete(http: web.Request) -> web.StreamResponse:
        body = await http.read()
        await asyncio.sleep(latency_s)
        try:
            fields = json.loads(body)
            request, model = _request(fields), str(fields.get("model"))
            if models and model not in models:
                raise _Refused(404, f"no model named {model!r}", "model_not_found")
            said = answer(model, request)
        except _Refused as refused:
            return _error(refused)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as wrong:
            return _error(_Refused(400, f"the body is no chat completion ({type(wrong).__name__})"))
        completion = said if isinstance(said, types.Completion) else types.Completion(types.Status.OK, said)
        reply = _worded(label + model, request, completion)
        return await _streamed(http, reply) if fields.get("stream") is True else web.json_response(reply)

    async def listed(http: web.Request) -> web.Response:
        entries = [{"id": name, "object": "model", "owned_by": "simulated"} for name in models]
        return web.json_response({"object": "list", "data": entries})

    app = web.Application(client_max_size=2**26, middlewares=[_own_calls_only])
    app.router.add_post("/v1/chat/completions", complete)
    app.router.add_get("/v1/models", listed)
    return app


@web.middleware
async def _own_calls_only(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Refuse what a web page sent: it may name this server by a name of its own, or is of another origin."""
    named = urlsplit(f"//{request.headers.get('host', '')}").hostname
    page = "origin" in request.headers or request.headers.get("sec-fetch-site", "none") not in (
        "none",
        "same-origin",
    )
    if named not in OWN_NAMES or page:
        return _error(_Refused(403, "this server answers programs on this machine, no web page"))
    return await handler(request)


def _request(fields: dict[str, Any]) -> types.ChatRequest:
    said = [(ROLES[each["role"]], each["content"]) for each in fields["messages"]]
    texts = [text if isinstance(text, str) else "".join(part["text"] for part in text) for _, text in said]
    messages = tuple(types.Message(role, text) for (role, _), text in zip(said, texts, strict=True))
    if not messages:
        raise ValueError("no messages")
    stop = fields.get("stop") or ()
    sampling = types.Sampling(
        temperature=fields.get("temperature"),
        max_tokens=fields.get("max_completion_tokens", fields.get("max_tokens")),
        seed=fields.get("seed"),
        top_logprobs=int(fields.get("top_logprobs") or 0) if fields.get("logprobs") else None,
        stop=(stop,) if isinstance(stop, str) else tuple(map(str, stop)),
    )
    return types.ChatRequest(messages, sampling, _constraint(fields))


def _constraint(fields: dict[str, Any]) -> types.Constraint | None:
    choice = (fields.get("structured_outputs") or {}).get("choice") or fields.get("guided_choice")
    if choice:
        return types.OneOf(tuple(map(str, choice)))
    if bias := fields.get("logit_bias"):
        return types.TokenBias(tuple((int(token), int(value)) for token, value in bias.items()))
    wanted = fields.get("response_format") or {}
    if wanted.get("type") == "json_schema":
        return types.JsonObject(
            str(wanted["json_schema"].get("name", "")), json.dumps(wanted["json_schema"]["schema"])
        )
    return None


def _worded(model: str, request: types.ChatRequest, completion: types.Completion) -> dict[str, Any]:
    refused = completion.status is types.Status.REFUSED
    message = {
        "role": "assistant",
        "content": None if refused else completion.text,
        "refusal": (completion.text or "No.") if refused else None,
        "reasoning_content": completion.reasoning_text,
    }
    certain = types.TokenLogprob(completion.text, 0.0, ((completion.text, 0.0),))
    tokens = [
        {
            "token": each.token,
            "logprob": each.logprob,
            "top_logprobs": [{"token": text, "logprob": value} for text, value in each.top],
        }
        for each in completion.logprobs or (certain,)
    ]
    choice = {
        "index": 0,
        "message": message,
        "logprobs": None if request.sampling.top_logprobs is None else {"content": tokens},
        "finish_reason": "length" if completion.status is types.Status.TRUNCATED else "stop",
    }
    sent, got = estimate_input_tokens(request), estimate_tokens(completion.text)
    usage = {"prompt_tokens": sent, "completion_tokens": got, "total_tokens": sent + got}
    top = {"id": f"chatcmpl-{time.monotonic_ns()}", "object": "chat.completion", "model": model}
    return {**top, "created": int(time.time()), "choices": [choice], "usage": usage}


async def _streamed(http: web.Request, reply: dict[str, Any]) -> web.StreamResponse:
    response = web.StreamResponse(headers={"content-type": "text/event-stream", "cache-control": "no-cache"})
    await response.prepare(http)
    choice, usage = reply["choices"][0], reply["usage"]
    top = {**reply, "object": "chat.completion.chunk", "usage": None}

    async def send(delta: dict[str, Any], **fields: Any) -> None:
        event = {**top, "choices": [{"index": 0, "delta": delta, "finish_reason": None, **fields}]}
        await response.write(f"data: {json.dumps(event)}\n\n".encode())

    for name, text in choice["message"].items():
        size = max(1, -(-len(text or "") // CHUNKS))
        for start in range(0, len(text or "") if name != "role" else 0, size):
            whole = name == "content" and start == 0
            await send({name: text[start : start + size]}, logprobs=choice["logprobs"] if whole else None)
    await send({}, finish_reason=choice["finish_reason"])
    counted = {**top, "choices": [], "usage": usage}
    await response.write(f"data: {json.dumps(counted)}\n\ndata: [DONE]\n\n".encode())
    await response.write_eof()
    return response


def _error(refused: _Refused) -> web.Response:
    said = {"message": str(refused), "type": "invalid_request_error", "param": None, "code": refused.code}
    return web.json_response({"error": said}, status=refused.status)


def serve(app: web.Application, port: int, announce: Callable[[str], None]) -> None:
    """Serve until interrupted; ``announce`` gets ``listening on <address>``. ``OSError`` for a port in use."""

    async def until_stopped() -> None:
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.2, handle_signals=False)
        await runner.setup()
        try:
            await web.TCPSite(runner, LOOPBACK, port).start()
            stop = asyncio.Event()
            for number in (signal.SIGINT, signal.SIGTERM):
                asyncio.get_running_loop().add_signal_handler(number, stop.set)
            announce(f"listening on http://{LOOPBACK}:{runner.addresses[0][1]}")
            await stop.wait()
        finally:
            await runner.cleanup()

    asyncio.run(until_stopped())
