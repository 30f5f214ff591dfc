from typing import Any

import httpx
import pytest

from metacog_pipeline.errors import BudgetError, StudyError
from metacog_pipeline.llm.open import Clients, open_model
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import ChatRequest, ErrorKind, Message, Sampling, Status

REQUEST = ChatRequest((Message("user", "a question"),), Sampling())
KEYS = {
    "OPENAI_API_KEY": "sk-one-0123456789",
    "OTHER_KEY": "sk-two-0123456789",
    "EMPTY_KEY": "  ",
    "BAD_KEY": "a\nb",
}


def spec(**fields: Any) -> ModelSpec:
    given = {"name": "m", "provider": "openai", "model": "x", "api_key_env": "OTHER_KEY"}
    return ModelSpec.model_validate(given | {"price_in": 1, "price_out": 1} | fields)


def clients(**more: Any) -> Clients:
    silent = httpx.MockTransport(lambda _: httpx.Response(500))
    return Clients(environment=KEYS, transport=lambda: silent, **more)


def test_models_of_one_account_share_a_limiter_whatever_they_are_called():
    shared = clients()
    for name in ("a", "b"):
        open_model(spec(name=name, model=name, max_concurrency=30), shared=shared)
    open_model(spec(name="c", max_concurrency=200), shared=shared)
    limiter = shared._account(spec(name="d", model="never opened"))[1]
    assert limiter is not None
    assert limiter is shared._account(spec(name="a"))[1]
    assert limiter.ceiling == 200


@pytest.mark.parametrize(
    "fields",
    [{"api_key_env": "OPENAI_API_KEY"}, {"base_url": "http://elsewhere.invalid"}, {"provider": "anthropic"}],
)
def test_another_key_address_or_provider_is_another_account(fields):
    shared = clients()
    open_model(spec(), shared=shared)
    open_model(spec(name="n", **fields), shared=shared)
    assert shared._account(spec())[1] is not shared._account(spec(name="n", **fields))[1]


def test_a_model_without_price_cannot_be_opened_under_a_budget(budget):
    opened = budget(1.0)
    with pytest.raises(BudgetError, match=r"gpt has no price.*price_in and price_out"):
        open_model(spec(name="gpt", price_out=None), shared=clients(budget=opened))
    open_model(spec(price_in=0, price_out=0), shared=clients(budget=opened))
    opened.close()
    uncapped = budget(None)
    open_model(spec(price_out=None), shared=clients(budget=uncapped))


def test_keys_are_not_in_the_repr_of_what_holds_them():
    shared = clients()
    model = open_model(spec(), shared=shared)
    assert "sk-" not in repr(shared) + repr(model)


def test_a_simulated_model_answers_from_its_observer_for_nothing(virtual):
    echo = clients(), lambda request: request.messages[0].content
    model = open_model(spec(provider="simulated"), shared=echo[0], respond=echo[1])
    completion = virtual(model.complete(REQUEST))
    assert (completion.status, completion.text, completion.cost_usd) == (Status.OK, "a question", 0.0)
    assert completion.usage.output_tokens == 3 and completion.started_at is not None
    with pytest.raises(StudyError, match="m is simulated"):
        open_model(spec(provider="simulated"), shared=clients())


def test_an_observer_that_breaks_is_a_fatal_failure(virtual):
    model = open_model(spec(provider="simulated"), shared=clients(), respond=lambda _: {}["item"])
    completion = virtual(model.complete(REQUEST))
    assert (completion.status, completion.error_kind) == (Status.FAILED, ErrorKind.FATAL)
    assert "KeyError" in (completion.error_message or "")


def test_a_replayed_model_never_asks(virtual):
    completion = virtual(open_model(spec(provider="replay"), shared=clients()).complete(REQUEST))
    assert (completion.status, completion.error_kind) == (Status.FAILED, ErrorKind.FATAL)
    assert "metacog import" in (completion.error_message or "")
    assert completion.attempts == 0


def test_in_process_models_need_no_key_and_no_price(budget):
    opened = budget(0.0)
    bare = {"api_key_env": "NOT_SET", "price_in": None, "price_out": None}
    open_model(spec(provider="replay", **bare), shared=clients(budget=opened))
    open_model(spec(provider="simulated", **bare), shared=clients(budget=opened), respond=lambda _: "")
