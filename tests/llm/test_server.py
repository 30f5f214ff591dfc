"""The local provider: faults as a client meets them, counters, the call log, starting and stopping."""

import asyncio
import email.utils
import json
import socket
import time
from collections import Counter

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metacog_pipeline.llm import types
from metacog_pipeline.llm.server import FAULT_HEADER, Fault, FaultPlan
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.wire import wire_for
from tests.simulated_server import ServerProcess, ServerThread
from tests.tables import every

FULL = types.Sampling(top_logprobs=1)
CONSTRAINTS = {
    Fault.REJECT_LOGIT_BIAS: types.TokenBias(((32, 100),)),
    Fault.REJECT_RESPONSE_FORMAT: types.JsonObject("answer", '{"type":"object"}'),
    Fault.REJECT_CHOICE: types.OneOf(("A", "B")),
}


def body(text="hi", **fields):
    return {"model": "m", "messages": [{"role": "user", "content": text}], **fields}


def post(server, value, fault=None, timeout=10.0):
    headers = {FAULT_HEADER: fault} if fault else {}
    return httpx.post(f"{server.url}/v1/chat/completions", json=value, headers=headers, timeout=timeout)


def ask(server, provider, fault, constraint=None):
    """Ask through the wire format of ``provider`` and return the completion."""
    url = f"{server.url}/v1" if provider == "openai" else server.url
    spec = ModelSpec(name="m", provider=provider, model="m", stream=False, base_url=url)
    wire = wire_for(provider)
    call = wire.build(spec, types.ChatRequest((types.Message("user", "hi"),), FULL, constraint), None)
    got = httpx.post(call.url, content=call.body, headers={**call.headers, FAULT_HEADER: fault})
    return wire.read(spec, got.status_code, got.headers, got.content, None)


@pytest.fixture(scope="module")
def server():
    with ServerThread(lambda model, request: "B", FaultPlan(retry_after_s=1.5, slow_s=0.2)) as running:
        yield running


@pytest.mark.parametrize("provider", ["openai", "anthropic", "gemini"])
@pytest.mark.parametrize(
    ("fault", "status", "kind"),
    [
        (Fault.RATE_LIMIT, 429, types.ErrorKind.RATE_LIMIT),
        (Fault.RATE_LIMIT_DATE, 429, types.ErrorKind.RATE_LIMIT),
        (Fault.QUOTA, 429, types.ErrorKind.FATAL),
        (Fault.UNAUTHORIZED, 401, types.ErrorKind.FATAL),
        (Fault.FORBIDDEN, 403, types.ErrorKind.FATAL),
        (Fault.SERVER_ERROR, 500, types.ErrorKind.TRANSIENT),
        (Fault.UNAVAILABLE, 503, types.ErrorKind.TRANSIENT),
        (Fault.OVERLOADED, 529, types.ErrorKind.RATE_LIMIT),
        (Fault.INVALID_JSON, 200, types.ErrorKind.TRANSIENT),
        (Fault.MODEL_NOT_FOUND, 404, types.ErrorKind.FATAL),
        (Fault.REJECT_TEMPERATURE, 400, types.ErrorKind.UNSUPPORTED),
        (Fault.REJECT_RESPONSE_FORMAT, 400, types.ErrorKind.UNSUPPORTED),
    ],
)
def test_a_fault_means_the_same_in_every_format(server, provider, fault, status, kind):
    completion = ask(server, provider, fault, CONSTRAINTS.get(fault))
    assert (completion.status, completion.http_status, completion.error_kind) == (
        types.Status.FAILED,
        status,
        kind,
    )


@pytest.mark.parametrize("provider", ["openai", "anthropic", "gemini"])
def test_faults_with_status_200_keep_to_the_format(server, provider):
    assert ask(server, provider, Fault.CONTENT_FILTER).status is types.Status.REFUSED
    empty = ask(server, provider, Fault.EMPTY)
    assert (empty.status, empty.text) == (types.Status.OK, "")
    assert ask(server, provider, Fault.WRONG_MODEL).model_reported != "m"
    assert ask(server, provider, Fault.SLOW).text == "B"


@pytest.mark.parametrize(
    ("fault", "param"),
    [
        (Fault.REJECT_TEMPERATURE, "temperature"),
        (Fault.REJECT_LOGIT_BIAS, "logit_bias"),
        (Fault.REJECT_RESPONSE_FORMAT, "response_format"),
        (Fault.REJECT_CHOICE, "structured_outputs"),
    ],
)
def test_a_rejected_parameter_is_named_and_only_calls_that_carry_it_are_rejected(server, fault, param):
    assert ask(server, "openai", fault, CONSTRAINTS.get(fault)).error_param == param
    assert post(server, body(), fault).status_code == 200


def test_retry_after_comes_as_seconds_or_as_a_date_not_too_early(server):
    assert post(server, body(), Fault.RATE_LIMIT).headers["retry-after"] == "1.5"
    asked = time.time() + 1.5
    date = post(server, body(), Fault.RATE_LIMIT_DATE).headers["retry-after"]
    assert asked <= email.utils.parsedate_to_datetime(date).timestamp() <= asked + 3


def test_a_slow_answer_delays_its_first_byte(server):
    started = time.monotonic()
    with httpx.stream(
        "POST", f"{server.url}/v1/chat/completions", json=body(), headers={FAULT_HEADER: Fault.SLOW}
    ) as got:
        assert time.monotonic() - started >= 0.2
        assert got.status_code == 200
    with pytest.raises(httpx.ReadTimeout):
        post(server, body(), Fault.SLOW, timeout=0.05)


def test_a_reset_connection_gives_no_byte(server):
    with pytest.raises((httpx.ReadError, httpx.RemoteProtocolError)):
        post(server, body(), Fault.RESET)


def test_a_cut_body_is_shorter_than_announced(server):
    with pytest.raises(httpx.RemoteProtocolError):
        post(server, body(), Fault.CUT)


def test_an_unknown_fault_is_an_error_and_not_a_healthy_answer(server):
    assert post(server, body(), "no_such_fault").status_code == 400


def test_every_call_has_its_own_request_id(server):
    ids = {post(server, body()).headers["x-request-id"] for _ in range(5)}
    assert len(ids) == 5


@every("raw", [b"", b"{", b"[]", b"null", b'{"model":5}', b'{"model":"m"}', b"[" * 50_000])
@every("path", ["/v1/chat/completions", "/v1/messages", "/v1/models/m:generateContent"])
def test_a_body_that_cannot_be_read_is_a_400_in_the_format_of_the_path(server, path, raw):
    got = httpx.post(server.url + path, content=raw)
    assert got.status_code == 400
    assert got.json()["error"]["message"]


anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2),
    max_leaves=5,
)
FIELDS = ["messages", "temperature", "max_tokens", "response_format", "logit_bias", "structured_outputs", "stop",
          "top_logprobs", "guided_choice", "seed", "contents", "generationConfig", "system", "output_config"]  # fmt: skip


@given(value=anything, field=st.sampled_from(FIELDS), path=st.sampled_from(["chat/completions", "messages"]))
@settings(max_examples=100, deadline=None)
def test_no_body_makes_the_server_fail(server, value, field, path):
    content = json.dumps({**body(max_tokens=5, logprobs=True), field: value})
    with httpx.Client(base_url=server.url) as client:
        assert client.post(f"/v1/{path}", content=content).status_code in (200, 400)
        gemini = json.dumps({"contents": [{"parts": [{"text": "hi"}]}], field: value})
        assert client.post("/v1beta/models/m:generateContent", content=gemini).status_code in (200, 400)


def test_a_script_is_followed_in_order_then_the_rates():
    plan = FaultPlan(script=("server_error", None, "rate_limit"), rates={"unavailable": 1.0})
    with ServerThread(lambda model, request: "B", plan) as running:
        assert [post(running, body()).status_code for _ in range(4)] == [500, 200, 429, 503]


def test_a_permanent_rejection_stands_beside_the_rates():
    plan = FaultPlan(always=("reject_temperature",), rates={"unavailable": 1.0})
    with ServerThread(lambda model, request: "B", plan) as running:
        assert post(running, body(temperature=0)).status_code == 400
        assert post(running, body()).status_code == 503


def flood(url, count, header=None):
    """Send ``count`` calls at once and return their statuses."""

    async def send():
        limits = httpx.Limits(max_connections=count)
        async with httpx.AsyncClient(limits=limits, timeout=20) as client:
            calls = [client.post(f"{url}/v1/chat/completions", json=body(str(n))) for n in range(count)]
            return Counter(got.status_code for got in await asyncio.gather(*calls))

    return asyncio.run(send())


def test_the_same_seed_gives_the_same_faults_in_whatever_order_calls_arrive():
    plan = FaultPlan(7, {"server_error": 0.3, "rate_limit": 0.3})
    counts = []
    for _ in range(2):
        with ServerThread(lambda model, request: "B", plan) as running:
            counts.append(flood(running.url, 60))
    assert counts[0] == counts[1]
    assert set(counts[0]) == {200, 429, 500}


def test_more_calls_at_once_than_allowed_get_a_429():
    with ServerThread(lambda model, request: "B", FaultPlan(latency_s=1.0, max_in_flight=5)) as running:
        assert flood(running.url, 12) == {200: 5, 429: 7}


def test_more_calls_a_minute_than_allowed_get_a_429():
    with ServerThread(lambda model, request: "B", FaultPlan(requests_per_minute=3)) as running:
        statuses = [post(running, body()).status_code for _ in range(5)]
    assert statuses == [200, 200, 200, 429, 429]


def test_counters_and_log_agree_on_every_call(tmp_path):
    log = tmp_path / "calls.jsonl"
    with ServerThread(lambda model, request: "B", log=log) as running:
        for fault in (None, None, Fault.SERVER_ERROR, Fault.EMPTY):
            post(running, body(), fault)
        for fault in (Fault.RESET, Fault.CUT):
            with pytest.raises(httpx.TransportError):
                post(running, body("other"), fault)
        stats = httpx.get(f"{running.url}/stats").json()
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert stats["received"] == len(lines) == 6
    assert stats["answered"] == 3
    assert stats["distinct"] == len({line["digest"] for line in lines}) == 2
    assert stats["statuses"] == {"200": 3, "500": 1, "reset": 1, "cut": 1}
    assert stats["outcomes"] == Counter(line["outcome"] for line in lines)
    assert (stats["in_flight"], stats["max_in_flight"]) == (0, 1)


def test_a_call_is_in_the_log_before_it_is_answered(tmp_path):
    log = tmp_path / "calls.jsonl"
    seen = []
    with ServerThread(lambda model, request: seen.append(log.read_text()) or "B", log=log) as running:
        post(running, body())
    assert json.loads(seen[0])["outcome"] == "ok"


def test_the_plan_can_be_changed_while_running():
    with ServerThread(lambda model, request: "B") as running:
        assert httpx.post(f"{running.url}/faults", json={"script": ["unavailable"]}).status_code == 200
        assert [post(running, body()).status_code for _ in range(2)] == [503, 200]
        for wrong in (
            {"rates": {"nonsense": 1}},
            {"ratse": {}},
            {"rates": [1]},
            {"rates": ["cut"]},
            [],
            {"script": 5},
        ):
            assert httpx.post(f"{running.url}/faults", json=wrong).status_code == 400
        assert post(running, body()).status_code == 200


def test_a_respondent_that_fails_costs_one_call_only(caplog):
    def respond(model, request):
        if request.messages[0].content == "bad":
            raise RuntimeError("no")
        return "B"

    with ServerThread(respond) as running:
        assert [post(running, body(text)).status_code for text in ("hi", "bad", "hi")] == [200, 500, 200]
    assert "the respondent failed" in caplog.text


def test_an_answer_with_a_lone_surrogate_and_a_nul_arrives_whole():
    with ServerThread(lambda model, request: "\ud800\x00é") as running:
        assert post(running, body()).json()["choices"][0]["message"]["content"] == "\ud800\x00é"


def test_a_model_not_listed_is_not_found():
    with ServerThread(lambda model, request: "B", models=("other",)) as running:
        assert post(running, body()).status_code == 404
        assert [model["id"] for model in httpx.get(f"{running.url}/v1/models").json()["data"]] == ["other"]
        assert httpx.get(f"{running.url}/healthz").json() == {"status": "ok"}


def test_the_server_listens_on_loopback_only(server):
    assert server.url.startswith("http://127.0.0.1:")
    port = int(server.url.rsplit(":", 1)[1])
    addresses = {info[4][0] for info in socket.getaddrinfo(socket.gethostname(), port, socket.AF_INET)}
    for address in addresses - {"127.0.0.1", "127.0.1.1"}:
        with pytest.raises(OSError), socket.create_connection((address, port), timeout=1):
            pass


def test_a_port_in_use_is_an_error_at_once(server):
    with pytest.raises(OSError):
        ServerThread(lambda model, request: "B", port=int(server.url.rsplit(":", 1)[1]))


def test_stopping_ends_the_server_and_may_be_repeated():
    running = ServerThread(lambda model, request: "B")
    assert post(running, body()).status_code == 200
    running.stop()
    running.stop()
    with pytest.raises(httpx.ConnectError):
        post(running, body())


def test_a_server_in_its_own_process_says_its_address_and_ends_when_told():
    with ServerProcess(["--text", "C", "--latency", "0.05"]) as running:
        started = time.monotonic()
        assert post(running, body()).json()["choices"][0]["message"]["content"] == "C"
        assert time.monotonic() - started >= 0.05
    with pytest.raises(httpx.ConnectError):
        post(running, body())
