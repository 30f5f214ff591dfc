"""A server of one's own says what it is and how much it takes; whatever else it lists changes nothing."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Any

import httpx
import pytest

from metacog_pipeline.home import Home
from metacog_pipeline.llm import capabilities, costs, listing, types
from metacog_pipeline.llm.capabilities import NOTHING_KNOWN, Capabilities
from metacog_pipeline.llm.open import Clients
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.wire import UnsupportedConstraint, bounded, openai
from tests.tables import every

OWN = ModelSpec(name="m", provider="openai", model="x", base_url="http://127.0.0.1:9/v1")
VLLM = Capabilities(server="vllm", context=4096)
SCHEMA = {"type": "object", "properties": {"b": {"enum": [1, 2]}, "a": {"type": "string"}}}
Answer = Callable[[httpx.Request], httpx.Response]


def listed(answer: Answer, spec: ModelSpec = OWN, known: Capabilities = NOTHING_KNOWN) -> Capabilities:
    async def go() -> Capabilities:
        keys = {"A_KEY": "sk-one-0123456789", "OPENAI_API_KEY": "sk-two-0123456789"}
        async with Clients(environment=keys, transport=lambda: httpx.MockTransport(answer)) as clients:
            return await clients.listed(spec, known)

    return asyncio.run(go())


def model(**fields: object) -> Answer:
    return lambda _: httpx.Response(200, json={"object": "list", "data": [{"id": "x", **fields}]})


def refuse(request: httpx.Request) -> httpx.Response:
    raise AssertionError(f"{request.method} {request.url} was not to be sent")


def test_vllm_says_what_it_is_and_its_context():
    asked: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        return model(owned_by="vllm", max_model_len=4096)(request)

    keyed = OWN.model_copy(update={"api_key_env": "A_KEY"})
    assert listed(answer, keyed) == VLLM
    assert [(each.method, each.url.path) for each in asked] == [("GET", "/v1/models")]
    assert asked[0].headers["authorization"] == "Bearer sk-one-0123456789"
    assert listed(answer) == VLLM
    assert "authorization" not in asked[1].headers


@pytest.mark.parametrize(
    "spec",
    [
        OWN.model_copy(update={"base_url": None}),
        OWN.model_copy(update={"provider": "anthropic"}),
        OWN.model_copy(update={"provider": "gemini"}),
    ],
)
def test_official_addresses_and_other_providers_are_not_asked_for_a_list(spec):
    assert listed(refuse, spec) == NOTHING_KNOWN


def test_what_is_known_is_not_asked_for_again():
    assert listed(refuse, OWN, VLLM) == VLLM


def fails(_: httpx.Request) -> httpx.Response:
    raise httpx.ConnectError("nobody there")


def hangs(_: httpx.Request) -> httpx.Response:
    raise httpx.ReadTimeout("silent")


@every(
    "answer",
    [
        fails,
        hangs,
        lambda _: httpx.Response(401, json={"error": "no"}),
        lambda _: httpx.Response(302, headers={"location": "http://elsewhere.invalid"}),
        lambda _: httpx.Response(200, content=b""),
        lambda _: httpx.Response(200, content=b"<html>\xff"),
        lambda _: httpx.Response(200, content=b"[" * 100_000),
        lambda _: httpx.Response(200, content=b" " * (listing.MAX_BYTES + 1) + b"{}"),
        lambda _: httpx.Response(200, json=[]),
        lambda _: httpx.Response(200, json={"data": {"id": "x"}}),
        lambda _: httpx.Response(200, json={"data": [None, 3, "x", []]}),
        lambda _: httpx.Response(200, json={"data": [{"id": "another", "owned_by": "vllm"}]}),
        model(owned_by=["vllm"], max_model_len="4096"),
        model(owned_by="VLLM ", max_model_len=-1),
        model(max_model_len=True),
        model(max_model_len=10**30),
        model(max_model_len=0),
    ],
)
def test_a_list_that_cannot_be_read_teaches_nothing(answer):
    assert listed(answer) == NOTHING_KNOWN


def test_a_list_that_drips_without_end_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(listing, "TIMEOUT_S", 0.05)

    async def drips() -> AsyncIterator[bytes]:
        while True:
            yield b" "
            await asyncio.sleep(0.01)

    assert listed(lambda _: httpx.Response(200, content=drips())) == NOTHING_KNOWN


def test_a_packed_list_is_not_unpacked():
    packed = httpx.Response(200, content=b"x", headers={"content-encoding": "br"})
    assert listed(lambda _: packed) == NOTHING_KNOWN


def body(known: Capabilities, sampling: types.Sampling) -> dict[str, Any]:
    held = types.JsonObject("n", json.dumps(SCHEMA))
    request = types.ChatRequest((types.Message("user", "q"),), sampling, held)
    return json.loads(openai.build(OWN, request, None, known).body)


@every(("limit", "count"), [(None, 16), (1, 2), (64, 2), (128, 4), (512, 16), (10_000, 16)])
def test_white_space_is_bounded_where_the_server_is_vllm_so_that_short_answers_fit(limit, count):
    held = body(VLLM, types.Sampling(max_tokens=limit))["response_format"]
    assert held == {
        "type": "structural_tag",
        "format": {"type": "json_schema", "json_schema": SCHEMA, "max_whitespace_cnt": count},
    }
    assert list(held["format"]["json_schema"]["properties"]) == ["b", "a"]


@pytest.mark.parametrize("known", [NOTHING_KNOWN, replace(VLLM, refused=frozenset({bounded.OPTION}))])
def test_other_servers_and_versions_that_refuse_it_get_the_usual_form(known):
    assert body(known, types.Sampling())["response_format"]["type"] == "json_schema"


def test_responses_of_vllm_hold_an_answer_in_its_own_field():
    spec = OWN.model_copy(update={"api": "responses", "verbosity": "low"})

    def asked(constraint: types.Constraint, known: Capabilities = VLLM) -> dict[str, Any]:
        request = types.ChatRequest((types.Message("user", "q"),), types.Sampling(), constraint)
        return json.loads(openai.build(spec, request, None, known).body)

    sent = asked(types.JsonObject("n", json.dumps(SCHEMA)))
    tag = json.loads(sent["structured_outputs"]["structural_tag"])
    assert tag["format"] == {"type": "json_schema", "json_schema": SCHEMA, "max_whitespace_cnt": 2}
    assert sent["text"] == {"verbosity": "low"}  # a format in both places is refused
    assert asked(types.OneOf(("A", "B")))["structured_outputs"] == {"choice": ["A", "B"]}
    assert asked(types.JsonObject("n", "{}"), NOTHING_KNOWN)["text"]["format"]["type"] == "json_schema"
    for known, constraint in ((VLLM, types.TokenBias(((1, 1),))), (NOTHING_KNOWN, types.OneOf(("A",)))):
        with pytest.raises(UnsupportedConstraint):
            asked(constraint, known)


def test_no_call_asks_for_more_tokens_than_the_server_has():
    request = types.ChatRequest((types.Message("user", "q"),), types.Sampling(max_tokens=10_000))
    short = replace(request, sampling=types.Sampling(max_tokens=64))
    assert VLLM.token_limit(OWN, request) == 4096 - costs.input_token_bound(OWN, request)
    assert replace(VLLM, reasons=False).token_limit(OWN, short) == 64
    assert Capabilities(reasons=False).token_limit(OWN, request) == 10_000


def test_what_the_server_said_is_kept_and_an_edited_file_is_not_believed(tmp_path):
    capabilities.save(Home(tmp_path), "m", "now", VLLM)
    assert capabilities.load(Home(tmp_path), "m", "now") == VLLM
    path = capabilities.kept_at(Home(tmp_path), "m")
    for wrong in ('"server": "other"', '"server": 3', '"context": "4096"', '"context": -1'):
        name = wrong.split(":")[0]
        written = path.read_text("utf-8")
        line = next(each for each in written.splitlines() if name in each)
        path.write_text(written.replace(line.strip().rstrip(","), wrong), encoding="utf-8")
        assert capabilities.load(Home(tmp_path), "m", "now") is None, wrong
        path.write_text(written, encoding="utf-8")
