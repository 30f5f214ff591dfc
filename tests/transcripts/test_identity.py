import dataclasses
import hashlib
import json

from hypothesis import given, settings
from hypothesis import strategies as st

from metacog_pipeline.llm.spec import ModelSpec, ObserverSpec
from metacog_pipeline.llm.types import ChatRequest, JsonObject, Message, OneOf, Sampling, TokenBias
from metacog_pipeline.transcripts.schema import answer_id
from tests.tables import every

SPEC = ModelSpec(name="a", provider="openai", model="m-1", base_url="http://127.0.0.1:9/v1")
REQUEST = ChatRequest((Message("system", "Be brief."), Message("user", "Which?")), Sampling())


def test_it_is_the_sha256_of_canonical_json_of_model_and_request():
    sampling = {"max_tokens": 64, "seed": None, "stop": [], "temperature": 0.0, "top_logprobs": None}
    messages = [["system", "Be brief."], ["user", "Which?"]]
    value = [
        {"base_url": "http://127.0.0.1:9/v1", "extra_body": {}, "model": "m-1", "provider": "openai"},
        {"constraint": None, "messages": messages, "run": 1, "sampling": sampling, "step": "answer"},
    ]
    canonical = json.dumps(value, sort_keys=True, separators=(",", ":"))
    found = answer_id(SPEC, REQUEST)
    assert found == hashlib.sha256(canonical.encode()).hexdigest()
    # Another one, and every answer would be paid for again.
    assert found == "1d1f0aa169372d955744be8aec7c2f861bebe10d10cfe9c6bb7cc14f6696ce17"


@every(
    "changed",
    [{"messages": (Message("user", "Be brief."), Message("user", "Which?"))},
     {"messages": (Message("user", "Which?"), Message("system", "Be brief."))},
     {"messages": (Message("system", "Be brief.W"), Message("user", "hich?"))},
     {"sampling": Sampling(temperature=0.1)}, {"sampling": Sampling(temperature=None)},
     {"sampling": Sampling(max_tokens=65)}, {"sampling": Sampling(seed=0)}, {"sampling": Sampling(top_logprobs=1)},
     {"constraint": OneOf(("A", "B"))}, {"constraint": OneOf(("B", "A"))},
     {"constraint": JsonObject("choice", "{}")}, {"constraint": TokenBias(((1, 100),))},
     {"step": "confidence"}, {"run": 2}],
)  # fmt: skip
def test_whatever_decides_an_answer_changes_it(changed):
    assert answer_id(SPEC, dataclasses.replace(REQUEST, **changed)) != answer_id(SPEC, REQUEST)  # type: ignore[arg-type]


@every(
    "changed",
    [{"provider": "anthropic"}, {"model": "m-2"}, {"base_url": "http://127.0.0.1:10/v1"},
     {"extra_body": {"reasoning": {"effort": "low"}}}],
)  # fmt: skip
def test_another_model_address_or_extra_body_changes_it(changed):
    assert answer_id(SPEC.model_copy(update=changed), REQUEST) != answer_id(SPEC, REQUEST)


def test_names_prices_limits_and_keys_do_not_change_it_and_the_parameters_of_an_observer_do():
    limits = {"requests_per_minute": 1.0, "max_concurrency": 3, "api_key_env": "OTHER_KEY", "timeout_s": 3.0}
    other = SPEC.model_copy(update={"name": "b", "price_in": 9.0, "price_out": 9.0, **limits})
    assert answer_id(other, REQUEST) == answer_id(SPEC, REQUEST)
    observers = (ObserverSpec(accuracy=share) for share in (0.5, 0.6))
    one, two = (ModelSpec(name="a", provider="simulated", observer=each) for each in observers)
    assert answer_id(one, REQUEST) != answer_id(two, REQUEST)


@settings(max_examples=100, deadline=None)
@given(st.text(st.characters(exclude_categories=[])), st.text(st.characters(exclude_categories=[])))
def test_any_text_has_an_identity_and_different_texts_have_different_ones(one, two):
    ids = [answer_id(SPEC, ChatRequest((Message("user", text),), Sampling())) for text in (one, two)]
    assert (ids[0] == ids[1]) == (one == two)
    assert all(len(i) == 64 and set(i) <= set("0123456789abcdef") for i in ids)
