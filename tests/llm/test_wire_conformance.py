"""Our calls against those of the providers' own clients."""

import contextlib
import http.server
import json
import threading

import httpx
import pytest

from metacog_pipeline.llm import types
from metacog_pipeline.llm.capabilities import Capabilities
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.wire import wire_for

KEY = "test-key"
SCHEMA = {
    "type": "object",
    "properties": {"b": {"type": "string"}, "a": {"type": "integer"}},
    "required": ["b", "a"],
}
MESSAGES = (
    types.Message("system", "Be brief."),
    types.Message("user", "Höhe?"),
    types.Message("assistant", "B"),
    types.Message("user", "OK?"),
)
TRANSPORT = {"host", "connection", "accept-encoding", "content-length", "user-agent", "x-goog-api-client"}


@pytest.fixture
def capture():
    """A loopback server that keeps every request and answers each with an error."""
    seen = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["content-length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            kept = {
                n: v for n, v in headers.items() if n not in TRANSPORT and not n.startswith("x-stainless")
            }
            seen.append((self.path, kept, json.loads(body)))
            self.send_response(400)
            self.send_header("content-length", "2")
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, *arguments):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", seen
        server.shutdown()
        thread.join(5)


def send_ours(provider, url, request, **fields):
    spec = ModelSpec(name="m", provider=provider, model="some-model", stream=False, base_url=url, **fields)
    call = wire_for(provider).build(spec, request, KEY, Capabilities(reasons=False))
    httpx.post(call.url, headers=dict(call.headers), content=call.body)


def send_theirs(provider, url, arguments, **headers):
    """Have the provider's own client send the same; it is refused."""
    turns = [{"role": m.role, "content": m.content} for m in MESSAGES]
    if provider == "openai":
        openai = pytest.importorskip("openai", reason="the openai client is not installed")
        own = openai.OpenAI(api_key=KEY, base_url=f"{url}/v1", max_retries=0)
        with own as client, pytest.raises(openai.BadRequestError):
            client.chat.completions.create(model="some-model", messages=turns, **arguments)
    elif provider == "anthropic":
        anthropic = pytest.importorskip("anthropic", reason="the anthropic client is not installed")
        held = {"model": "some-model", "max_tokens": 5, "system": "Be brief.", "messages": turns[1:]}
        own = anthropic.Anthropic(api_key=KEY, base_url=url, max_retries=0, default_headers=headers)
        with own as client, pytest.raises(anthropic.BadRequestError):
            client.messages.create(**held, **arguments)
    else:
        genai = pytest.importorskip("google.genai", reason="the google-genai client is not installed")
        roles = {"user": "user", "assistant": "model"}
        contents = [{"role": roles[m.role], "parts": [{"text": m.content}]} for m in MESSAGES[1:]]
        config = genai.types.GenerateContentConfig(system_instruction="Be brief.", **arguments)
        own = genai.Client(api_key=KEY, http_options=genai.types.HttpOptions(base_url=url))
        with contextlib.closing(own) as client, pytest.raises(genai.errors.ClientError):
            client.models.generate_content(model="some-model", contents=contents, config=config)


def assert_same(seen):
    (our_path, our_headers, our_body), (path, headers, body) = seen
    assert our_path == path
    assert our_body == body
    our_headers.setdefault("accept", "*/*")
    assert our_headers == headers


BARE = types.Sampling(None, None)
HELD = types.JsonObject("answer", json.dumps(SCHEMA))
FORMAT = {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": SCHEMA}}
FULL = types.Sampling(0.5, 5, seed=7, top_logprobs=3)
FIVE, COLD, SHORT = types.Sampling(None, 5), types.Sampling(0, 5), {"temperature": 0, "max_output_tokens": 5}
JSON = {**SHORT, "response_mime_type": "application/json", "response_json_schema": SCHEMA}
ENUM = {"response_mime_type": "text/x.enum", "response_schema": {"type": "STRING", "enum": ["A", "B"]}}
CASES = [
    ("openai", types.Sampling(max_tokens=5), None, {"temperature": 0, "max_tokens": 5}),
    ("openai", BARE, None, {}),
    ("openai", FULL, None, {"temperature": 0.5, "max_tokens": 5, "seed": 7, "logprobs": True, "top_logprobs": 3}),
    ("openai", BARE, HELD, {"response_format": FORMAT}),
    ("openai", BARE, types.OneOf(("A", "B")), {"extra_body": {"structured_outputs": {"choice": ["A", "B"]}}}),
    ("openai", BARE, types.TokenBias(((32, 100), (33, 100))), {"logit_bias": {"32": 100, "33": 100}}),
    ("anthropic", FIVE, None, {}),
    ("anthropic", FIVE, HELD, {"output_config": {"format": {"type": "json_schema", "schema": SCHEMA}}}),
    ("gemini", COLD, None, SHORT),
    ("gemini", FULL, None, {"temperature": 0.5, "max_output_tokens": 5, "seed": 7, "response_logprobs": True,
                            "logprobs": 3}),
    ("gemini", COLD, HELD, JSON),
    ("gemini", COLD, types.OneOf(("A", "B")), {**SHORT, **ENUM}),
]  # fmt: skip


@pytest.mark.parametrize(("provider", "sampling", "constraint", "arguments"), CASES)
def test_calls_are_sent_as_the_providers_own_client_sends_them(
    capture, provider, sampling, constraint, arguments
):
    url, seen = capture
    root = f"{url}/v1/" if provider == "openai" else url
    send_ours(provider, root, types.ChatRequest(MESSAGES, sampling, constraint))
    send_theirs(provider, url, arguments)
    assert_same(seen)


def test_a_temperature_is_sent_as_the_anthropic_client_sends_it_when_held_to_the_older_version(capture):
    url, seen = capture
    send_ours("anthropic", url, types.ChatRequest(MESSAGES, types.Sampling(0, 5)))
    send_theirs("anthropic", url, {"extra_body": {"temperature": 0}}, **{"anthropic-version": "2023-06-01"})
    # The installed client has moved on from that version's key header; everything else must agree.
    assert seen[0][1].pop("x-api-key") == KEY
    assert seen[1][1].pop("authorization") == f"Bearer {KEY}"
    assert_same(seen)
