"""Each profile of the local provider as the official client of that provider meets it."""

import json

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metacog_pipeline.llm.server import FaultPlan
from metacog_pipeline.llm.server import profile as profiles
from tests.llm.clients import anthropic, genai, openai
from tests.simulated_server import ServerThread
from tests.tables import every

TEXT = '{"answer": "B"}'
KEY = "sk-right"
ASKED = [{"role": "user", "content": "hi"}]
SCHEMA = {
    "type": "object",
    "properties": {"answer": {"type": "string", "enum": ["A", "B"]}},
    "required": ["answer"],
    "additionalProperties": False,
}
FORMAT = {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": SCHEMA}}
CHAT = ("openai", "openai-reasoning", "proxy", "vllm", "vllm-old", "ollama", "llamacpp")
SHOWS = {"proxy": "reasoning", "vllm": "reasoning", "vllm-old": "reasoning_content", "ollama": "reasoning",
         "llamacpp": "reasoning_content"}  # fmt: skip


@pytest.fixture(scope="module")
def servers():
    """One server per profile, started when it is first asked for; it knows the model m and one key."""
    started = {}

    def get(name):
        if name not in started:
            started[name] = ServerThread(
                lambda model, request: TEXT, FaultPlan(), models=("m",), profile=name, key=KEY
            )
        return started[name].url

    yield get
    for each in started.values():
        each.stop()


def chat_client(servers, name, key=KEY):
    return openai.OpenAI(api_key=key, base_url=f"{servers(name)}/v1", max_retries=0)


def azure(servers, key=KEY, **more):
    return openai.AzureOpenAI(
        api_key=key, azure_endpoint=servers("azure"), api_version="2025-04-01-preview", max_retries=0, **more
    )


def messages_client(servers, name="anthropic", key=KEY):
    return anthropic.Anthropic(api_key=key, base_url=servers(name), max_retries=0)


@pytest.fixture(scope="module")
def gemini(servers):
    """The official client, kept: it closes its connections when it is collected."""
    return gemini_client(servers)


def gemini_client(servers, key=KEY):
    return genai.Client(api_key=key, http_options={"base_url": servers("gemini")})


def test_every_profile_is_dated_says_what_it_is_and_names_a_source_for_every_rule():
    names = profiles.names()
    assert {"openai", "openai-reasoning", "openai-responses", "azure", "proxy", "anthropic", "anthropic-budget",
            "gemini", "vllm", "ollama", "llamacpp"} <= set(names)  # fmt: skip
    for name in names:
        found = profiles.load(name)
        assert found.about
        assert all(rule.source and rule.since <= found.dated for rule in found.rule), name


def test_a_profile_that_does_not_exist_is_answered_with_the_names_of_those_that_do():
    with pytest.raises(ValueError, match=r"no profile 'opneai'; there are: anthropic, .*vllm"):
        profiles.load("opneai")
    with pytest.raises(ValueError, match=r"no profile '\.\./anthropic'"):
        profiles.load("../anthropic")


@pytest.mark.parametrize("name", CHAT)
def test_a_chat_is_answered_plain_and_streamed_and_under_a_schema(servers, name):
    chat = chat_client(servers, name).chat.completions
    plain = chat.create(model="m", messages=ASKED, response_format=FORMAT, max_completion_tokens=4000)
    assert (plain.choices[0].message.content, plain.choices[0].finish_reason) == (TEXT, "stop")
    chunks = list(chat.create(model="m", messages=ASKED, stream=True, stream_options={"include_usage": True}))
    deltas = [chunk.choices[0].delta for chunk in chunks if chunk.choices]
    assert "".join(delta.content or "" for delta in deltas) == TEXT
    assert chunks[-1].usage.completion_tokens > 0
    field = SHOWS.get(name)
    thought = [getattr(delta, field) for delta in deltas if hasattr(delta, field)] if field else []
    assert bool("".join(thought)) is (field is not None)
    assert not any(getattr(plain.choices[0].message, other, None) for other in {"reasoning"} - {field})


def test_a_reasoning_model_bills_its_thinking_and_shows_none_of_it(servers):
    chat = chat_client(servers, "openai-reasoning").chat.completions
    plain = chat.create(model="m", messages=ASKED)
    assert plain.usage.completion_tokens_details.reasoning_tokens >= 150
    assert plain.service_tier == "default"
    none = chat.create(model="m", messages=ASKED, reasoning_effort="none")
    assert none.usage.completion_tokens_details.reasoning_tokens == 0
    cut = chat.create(model="m", messages=ASKED, max_completion_tokens=64)
    assert (cut.choices[0].message.content, cut.choices[0].finish_reason) == ("", "length")


@every(
    ("name", "options", "error", "param", "code"),
    [
        ("openai-reasoning", {"temperature": 0}, "BadRequestError", "temperature", "unsupported_value"),
        ("openai-reasoning", {"max_tokens": 64}, "BadRequestError", "max_tokens", "unsupported_parameter"),
        ("openai-reasoning", {"stop": ["x"]}, "BadRequestError", "stop", "unsupported_parameter"),
        ("openai-reasoning", {"logit_bias": {"1": 1}}, "BadRequestError", "logit_bias", "unsupported_parameter"),
        ("openai-reasoning", {"logprobs": True}, "PermissionDeniedError", None, None),
        ("openai-reasoning", {"extra_body": {"structured_outputs": {}}}, "BadRequestError", "structured_outputs",
         "unknown_parameter"),
        ("openai-responses", {}, "NotFoundError", "model", None),
        ("openai", {"max_tokens": 16_385}, "BadRequestError", "max_tokens", "invalid_value"),
        ("openai", {"reasoning_effort": "low"}, "BadRequestError", None, None),
        ("proxy", {"logprobs": True}, "BadRequestError", "None", "400"),
        ("vllm", {"max_tokens": 40_960}, "BadRequestError", "max_tokens", "400"),
        ("ollama", {"reasoning_effort": "minimal"}, "BadRequestError", None, None),
        ("llamacpp", {"logprobs": False, "top_logprobs": 2}, "BadRequestError", None, "400"),
    ],
)  # fmt: skip
def test_a_refused_parameter_is_the_clients_typed_error(servers, name, options, error, param, code):
    with pytest.raises(getattr(openai, error)) as raised:
        chat_client(servers, name).chat.completions.create(model="m", messages=ASKED, **options)
    assert raised.value.param == param
    assert raised.value.code == code


def test_values_a_rule_takes_are_taken(servers):
    chat = chat_client(servers, "openai-reasoning").chat.completions
    got = chat.create(model="m", messages=ASKED, temperature=1, logprobs=False, seed=1)
    assert got.choices[0].message.content == TEXT
    got = chat_client(servers, "openai").chat.completions.create(
        model="m", messages=ASKED, temperature=0, logprobs=True, top_logprobs=5, max_tokens=64, stop=["x"]
    )
    assert got.choices[0].logprobs.content[0].top_logprobs
    got = chat_client(servers, "openai").chat.completions.create(model="m", messages=ASKED, max_tokens=2)
    assert (got.choices[0].message.content, got.choices[0].finish_reason) == (TEXT[:8], "length")


def test_a_strict_schema_that_is_not_closed_is_refused(servers):
    loose = {**SCHEMA, "additionalProperties": True}
    wanted = {"type": "json_schema", "json_schema": {"name": "a", "strict": True, "schema": loose}}
    with pytest.raises(openai.BadRequestError) as raised:
        chat_client(servers, "openai").chat.completions.create(
            model="m", messages=ASKED, response_format=wanted
        )
    assert raised.value.param == "response_format"
    wanted["json_schema"]["strict"] = False
    assert chat_client(servers, "openai").chat.completions.create(
        model="m", messages=ASKED, response_format=wanted
    )


@pytest.mark.parametrize("name", ["openai", "openai-reasoning", "openai-responses"])
def test_responses_are_answered_plain_and_streamed(servers, name):
    client = chat_client(servers, name).responses
    wanted = {"format": {"type": "json_schema", "name": "answer", "strict": True, "schema": SCHEMA}}
    plain = client.create(model="m", input=ASKED, text=wanted, max_output_tokens=4000)
    assert (plain.output_text, plain.status) == (TEXT, "completed")
    with client.stream(model="m", input="hi") as stream:
        assert stream.get_final_response().output_text == TEXT or list(stream)
    assert (plain.usage.output_tokens_details.reasoning_tokens > 100) is (name != "openai")


@pytest.mark.parametrize(
    ("options", "param"),
    [
        ({"temperature": 0}, "temperature"),
        ({"top_logprobs": 2}, "top_logprobs"),
        ({"max_output_tokens": 8}, "max_output_tokens"),
        ({"extra_body": {"seed": 3}}, "seed"),
    ],
)
def test_a_parameter_responses_refuse_is_named(servers, options, param):
    with pytest.raises(openai.BadRequestError) as raised:
        chat_client(servers, "openai-responses").responses.create(model="m", input="hi", **options)
    assert raised.value.param == param


def test_an_azure_address_takes_the_deployment_in_the_path_and_its_own_header(servers):
    got = azure(servers).chat.completions.create(model="m", messages=ASKED, max_completion_tokens=4000)
    assert got.choices[0].message.content == TEXT
    chunks = list(azure(servers).chat.completions.create(model="m", messages=ASKED, stream=True))
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == TEXT
    newer = openai.OpenAI(api_key=KEY, base_url=f"{servers('azure')}/openai/v1", max_retries=0)
    assert newer.chat.completions.create(model="m", messages=ASKED).choices[0].message.content == TEXT
    assert newer.responses.create(model="m", input="hi").output_text == TEXT
    with pytest.raises(openai.BadRequestError) as raised:
        azure(servers).chat.completions.create(model="m", messages=ASKED, temperature=0)
    assert raised.value.param == "temperature"
    with pytest.raises(openai.NotFoundError) as raised:
        azure(servers).chat.completions.create(model="other", messages=ASKED)
    assert raised.value.code == "DeploymentNotFound"
    with pytest.raises(openai.AuthenticationError):
        azure(servers, key="sk-wrong").chat.completions.create(model="m", messages=ASKED)
    path = f"{servers('azure')}/openai/deployments/m/chat/completions"
    got = httpx.post(path, json={"messages": ASKED}, headers={"api-key": KEY})
    assert (got.status_code, got.json()["error"]["message"]) == (404, "Resource not found")


def test_a_message_is_answered_plain_and_streamed_and_thinks_by_default(servers):
    client = messages_client(servers).messages
    wanted = {"format": {"type": "json_schema", "schema": SCHEMA}}
    plain = client.create(model="m", max_tokens=4000, messages=ASKED, output_config=wanted)
    assert [block.type for block in plain.content] == ["thinking", "text"]
    assert (plain.content[0].thinking, plain.content[1].text) == ("", TEXT)
    assert plain.usage.output_tokens_details.thinking_tokens >= 150
    shown = {"type": "adaptive", "display": "summarized"}
    with client.stream(model="m", max_tokens=4000, messages=ASKED, thinking=shown) as stream:
        whole = stream.get_final_message()
    assert whole.content[0].thinking
    cut = client.create(model="m", max_tokens=64, messages=ASKED)
    assert ([block.type for block in cut.content], cut.stop_reason) == (["thinking"], "max_tokens")


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("anthropic", {"extra_body": {"temperature": 0}}, "`temperature` is deprecated for this model."),
        ("anthropic", {"thinking": {"type": "enabled", "budget_tokens": 2000}}, "thinking.type.adaptive"),
        ("anthropic", {"thinking": {"type": "disabled"}, "output_config": {"effort": "max"}}, "cannot be disabled"),
        ("anthropic", {"max_tokens": 128_001}, "128001 > 128000"),
        ("anthropic", {"extra_body": {"seed": 1}}, "seed: Extra inputs are not permitted"),
        ("anthropic-budget", {"thinking": {"type": "enabled", "budget_tokens": 100}}, "1024"),
        ("anthropic-budget", {"thinking": {"type": "enabled", "budget_tokens": 4000}}, "must be greater than"),
        ("anthropic-budget", {"thinking": {"type": "adaptive"}}, "adaptive thinking"),
        ("anthropic-budget", {"output_config": {"effort": "low"}}, "effort"),
        ("anthropic-budget", {"extra_body": {"temperature": 0}}, "temperature: Extra inputs"),
        ("anthropic", {"output_config": {"format": {"type": "json_schema", "schema": {"type": "object", "properties":
         {"a": {"type": "integer", "minimum": 1}}, "required": ["a"], "additionalProperties": False}}}}, "minimum"),
    ],
)  # fmt: skip
def test_what_a_message_may_not_carry_is_a_bad_request_in_anthropics_words(servers, name, options, said):
    with pytest.raises(anthropic.BadRequestError) as raised:
        messages_client(servers, name).messages.create(
            **{"model": "m", "max_tokens": 4000, "messages": ASKED, "timeout": 60, **options}
        )
    assert said in str(raised.value.body)


def test_an_older_model_thinks_within_its_budget_and_only_when_asked(servers):
    client = messages_client(servers, "anthropic-budget").messages
    got = client.create(model="m", max_tokens=100, messages=ASKED)
    assert [block.type for block in got.content] == ["text"]
    thinking = {"type": "enabled", "budget_tokens": 1024}
    got = client.create(model="m", max_tokens=2048, messages=ASKED, thinking=thinking)
    assert got.content[0].thinking
    body = {"model": "m", "max_tokens": 100, "messages": ASKED, "temperature": 0}
    headers = {"anthropic-version": "2023-06-01", "x-api-key": KEY}
    url = f"{servers('anthropic-budget')}/v1/messages"
    assert httpx.post(url, json=body, headers=headers).status_code == 200
    assert httpx.post(url, json=body, headers={"x-api-key": KEY}).status_code == 400
    assert "version" in httpx.post(url, json=body, headers={**headers, "anthropic-version": "1"}).text


def test_a_generation_is_answered_plain_and_streamed_and_shows_thoughts_on_request(gemini):
    models = gemini.models
    config = {"response_mime_type": "application/json", "response_json_schema": SCHEMA}
    plain = models.generate_content(model="m", contents="hi", config={**config, "temperature": 0, "seed": 1})
    assert plain.text == TEXT
    assert plain.usage_metadata.thoughts_token_count >= 150
    thoughts = {"thinking_config": {"include_thoughts": True, "thinking_budget": 128}}
    chunks = list(models.generate_content_stream(model="m", contents="hi", config=thoughts))
    parts = [part for chunk in chunks for part in chunk.candidates[0].content.parts]
    assert any(part.thought for part in parts)
    assert chunks[-1].usage_metadata.thoughts_token_count == 128
    cut = models.generate_content(model="m", contents="hi", config={"max_output_tokens": 64})
    assert (cut.text, cut.candidates[0].finish_reason) == (None, "MAX_TOKENS")


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"response_logprobs": True, "logprobs": 2}, "Logprobs is not enabled for models/m"),
        ({"thinking_config": {"thinking_budget": 0}}, "only works in thinking mode"),
        ({"thinking_config": {"thinking_budget": 40_000}}, "40000"),
        ({"thinking_config": {"thinking_budget": 500, "thinking_level": "LOW"}}, "only one of"),
        ({"max_output_tokens": 70_000}, "70000"),
    ],
)
def test_what_a_generation_may_not_carry_is_a_client_error_in_geminis_words(gemini, config, said):
    with pytest.raises(genai.errors.ClientError) as raised:
        gemini.models.generate_content(model="m", contents="hi", config=config)
    assert (raised.value.code, raised.value.status) == (400, "INVALID_ARGUMENT")
    assert said in raised.value.message


@pytest.mark.parametrize(
    "name", ["openai", "openai-reasoning", "openai-responses", "proxy", "vllm", "llamacpp"]
)
def test_a_wrong_key_and_an_unknown_model_are_refused_in_the_providers_own_words(servers, name):
    asking = "responses" if name == "openai-responses" else "chat"
    wrong, right = chat_client(servers, name, key="sk-wrong"), chat_client(servers, name)
    for client, model, errors in (
        (wrong, "m", (openai.AuthenticationError,)),
        (right, "other", (openai.NotFoundError, openai.BadRequestError)),
    ):
        with pytest.raises(errors) as raised:
            if asking == "chat":
                client.chat.completions.create(model=model, messages=ASKED)
            else:
                client.responses.create(model=model, input="hi")
        assert "sk-wrong" not in str(raised.value)


def test_keys_and_models_of_anthropic_and_gemini(servers, gemini):
    wrong = gemini_client(servers, key="wrong")
    with pytest.raises(anthropic.AuthenticationError) as raised:
        messages_client(servers, key="sk-wrong").messages.create(model="m", max_tokens=9, messages=ASKED)
    assert raised.value.body["error"]["type"] == "authentication_error"
    with pytest.raises(anthropic.NotFoundError):
        messages_client(servers).messages.create(model="other", max_tokens=9, messages=ASKED)
    with pytest.raises(genai.errors.ClientError) as raised:
        wrong.models.generate_content(model="m", contents="hi")
    assert raised.value.details["error"]["details"][0]["reason"] == "API_KEY_INVALID"
    with pytest.raises(genai.errors.ClientError) as raised:
        gemini.models.generate_content(model="other", contents="hi")
    assert (raised.value.code, raised.value.status) == (404, "NOT_FOUND")
    path = f"{servers('gemini')}/v1beta/models/m:generateContent"
    assert httpx.post(path, json={"contents": []}).status_code == 403


def test_what_a_profile_does_not_offer_is_not_found(servers):
    for name, path in (
        ("gemini", "/v1/chat/completions"),
        ("openai", "/v1/messages"),
        ("vllm-old", "/v1/responses"),
    ):
        got = httpx.post(
            servers(name) + path, json={}, headers={"authorization": f"Bearer {KEY}", "x-goog-api-key": KEY}
        )
        assert got.status_code == 404, name


def test_batches_are_where_the_provider_has_them_and_nowhere_else(servers):
    assert chat_client(servers, "openai").batches.list().data == []
    assert messages_client(servers).messages.batches.list().data == []
    with pytest.raises(openai.AuthenticationError):
        chat_client(servers, "openai", key="sk-wrong").batches.list()
    with pytest.raises(anthropic.AuthenticationError):
        messages_client(servers, key="sk-wrong").messages.batches.list()
    for name in ("vllm", "proxy", "llamacpp"):
        with pytest.raises(openai.NotFoundError):
            chat_client(servers, name).batches.list()


def test_a_path_no_provider_has_is_not_found_in_the_words_of_this_one(servers):
    got = httpx.get(f"{servers('llamacpp')}/nowhere", headers={"authorization": f"Bearer {KEY}"})
    assert (got.status_code, got.json()["error"]["type"]) == (404, "not_found_error")
    for path in ("/healthz", "/stats"):
        assert httpx.get(servers("openai") + path).status_code == 200


@every("name", profiles.names())
def test_every_field_the_official_client_knows_is_a_known_one(name):
    contracts = {
        "chat": openai.types.chat.completion_create_params.CompletionCreateParamsBase,
        "responses": openai.types.responses.response_create_params.ResponseCreateParamsBase,
        "messages": anthropic.types.message_create_params.MessageCreateParamsBase,
    }
    for interface, fields in contracts.items():
        known = profiles.load(name).known.get(interface)
        assert known is None or set(fields.__annotations__) <= set(known), (name, interface)


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner, max_size=2),
    max_leaves=4,
)


@given(name=st.sampled_from(profiles.names()), value=ANYTHING, data=st.data())
@settings(max_examples=200, deadline=None)
def test_a_rule_takes_any_value_of_its_field(name, value, data):
    found = profiles.load(name)
    paths = [rule.field for rule in found.rule if rule.field] or ["model"]
    body = {"model": "m", "messages": ASKED, "input": "hi", "contents": [{"parts": [{"text": "hi"}]}]}
    place = body
    *outer, last = data.draw(st.sampled_from(paths)).split(".")
    for step in outer:
        place = place.setdefault(step, {})
    place[last] = value
    for interface in found.interfaces:
        call = profiles.Call(interface, "", {"anthropic-version": "2023-06-01"}, {}, body)
        refused = found.refusal(call, (), None, keyed=True)
        assert refused is None or (400 <= refused.status < 500 and json.dumps(refused.body))


RAW = [b"", b"{", b"[]", b"null", b'"x"', b'{"model": {"a": 1}}', b'{"model": "m", "messages": 5}', b"[" * 50_000,
       b'{"model": "m", "temperature": {"x": []}, "response_format": [1], "thinking": 3}']  # fmt: skip
HOSTED = ["openai-reasoning", "azure", "anthropic", "gemini", "vllm", "proxy", "llamacpp", "ollama"]


@every("raw", RAW)
@every("name", HOSTED)
def test_no_body_makes_a_profile_fail(servers, name, raw):
    paths = {"azure": "/openai/deployments/m/chat/completions?api-version=1", "anthropic": "/v1/messages",
             "gemini": "/v1beta/models/m:generateContent"}  # fmt: skip
    headers = {"authorization": f"Bearer {KEY}", "x-goog-api-key": KEY, "anthropic-version": "2023-06-01"}
    got = httpx.post(servers(name) + paths.get(name, "/v1/chat/completions"), content=raw, headers=headers)
    assert got.status_code in (400, 404)
    assert got.json()


def test_a_profile_has_faults_of_its_own_where_no_plan_is_given():
    with ServerThread(lambda model, request: TEXT, profile="proxy") as running:
        assert running.provider.plan.rates == {"provider_error": 0.02}
    with ServerThread(lambda model, request: TEXT, profile="openai") as running:
        url = f"{running.url}/v1/chat/completions"
        headers = {"authorization": "Bearer any"}
        got = httpx.post(url, json={"model": "x", "messages": ASKED}, headers=headers)
        assert got.status_code == 200
        assert got.headers["x-ratelimit-limit-requests"] == "10000"


LONG = "All of this is shared. " * 300


def test_a_beginning_seen_before_is_billed_as_cached_where_the_cache_works_by_itself(servers, gemini):
    chat = chat_client(servers, "openai").chat.completions
    turns = [{"role": "system", "content": LONG}, {"role": "user", "content": "one"}]
    first = chat.create(model="m", messages=turns).usage
    second = chat.create(model="m", messages=[turns[0], {"role": "user", "content": "two"}]).usage
    assert first.prompt_tokens_details.cached_tokens == 0
    assert 1024 <= second.prompt_tokens_details.cached_tokens <= second.prompt_tokens
    other = [{"role": "system", "content": f"x{LONG}"}, turns[1]]
    assert chat.create(model="m", messages=other).usage.prompt_tokens_details.cached_tokens == 0
    config = {"system_instruction": LONG}
    for seen in (False, True):
        got = gemini.models.generate_content(model="m", contents="hi", config=config)
        assert bool(got.usage_metadata.cached_content_token_count) is seen


def test_an_anthropic_cache_keeps_what_is_marked_and_nothing_else(servers):
    create = messages_client(servers).messages.create
    block = {"type": "text", "text": LONG}
    for place, (marked, read, written) in enumerate([(False, 0, False), (True, 0, True), (True, 1, False)]):
        system = [{**block, "cache_control": {"type": "ephemeral"}} if marked else block]
        asked = [{"role": "user", "content": f"question {place}"}]
        usage = create(model="m", max_tokens=4000, system=system, messages=asked).usage
        assert bool(usage.cache_read_input_tokens) is bool(read)
        assert bool(usage.cache_creation_input_tokens) is written
        whole = usage.input_tokens + usage.cache_read_input_tokens + usage.cache_creation_input_tokens
        assert whole >= 1024
    short = [{"type": "text", "text": "short", "cache_control": {"type": "ephemeral"}}]
    usage = create(model="m", max_tokens=4000, system=short, messages=ASKED).usage
    assert usage.cache_creation_input_tokens == 0
