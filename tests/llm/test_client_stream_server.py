"""Streams over real sockets, in the formats of every provider, from a server that misbehaves on purpose."""

import asyncio
import time
from typing import Any

import pytest

from metacog_pipeline.llm.costs import OVERBILLED, worst_case_cost
from metacog_pipeline.llm.open import Clients, open_model
from metacog_pipeline.llm.retry import RetryPolicy
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import ChatRequest, Completion, ErrorKind, Message, Sampling, Status
from tests.provider import Fault, FaultPlan
from tests.simulated_server import ServerThread
from tests.tables import every

QUICK = RetryPolicy(backoff_base_s=0.02, transient_attempts=3)
REQUEST = ChatRequest((Message("user", "a question"),), Sampling(max_tokens=200))
TEXT = "Größe: eine ganze Antwort in vielen Stücken 🙂 " * 5
FORMATS = ["openai", "anthropic", "gemini"]


def spec(url: str, provider: str, **fields: Any) -> ModelSpec:
    given = {"name": "m", "provider": provider, "model": "x", "stream": True, "timeout_s": 5, "effort": None}
    base = f"{url}/v1" if given["provider"] == "openai" else url
    prices = {"price_in": 1, "price_out": 1, "thinking_tokens": 0, "temperature": None}
    return ModelSpec.model_validate(given | {"base_url": base} | prices | fields)


def ask(
    plan: FaultPlan, provider: str, count: int = 1, **fields: Any
) -> tuple[list[Completion], int, ModelSpec]:
    """Ask one after the other; return the completions, the calls that arrived, and the row of the model."""

    async def main(model: ModelSpec) -> list[Completion]:
        async with Clients(retries=QUICK, environment={}) as shared:
            opened = open_model(model, shared=shared)
            return [await opened.complete(REQUEST) for _ in range(count)]

    with ServerThread(lambda m, r: TEXT, plan) as server:
        row = spec(server.url, provider, **fields)
        return asyncio.run(main(row)), server.stats["received"], row


@every("provider", FORMATS)
@every("fault", [None, Fault.TORN, Fault.HUGE_THINKING])
def test_a_healthy_stream_is_the_answer(provider, fault):
    (completion,), received, _ = ask(FaultPlan(script=(fault,), latency_s=0.05), provider)
    assert (completion.status, completion.text, received) == (Status.OK, TEXT, 1)
    assert completion.usage.output_tokens
    assert completion.latency_first_s is not None
    assert 0.05 <= completion.latency_first_s <= completion.latency_s


@every("provider", FORMATS)
@every("fault", [Fault.CUT, Fault.CUT_CHARACTER, Fault.ENDS_EARLY])
def test_a_stream_that_breaks_is_asked_once_more_and_its_text_is_kept(provider, fault):
    (completion,), received, row = ask(FaultPlan(script=(fault, fault, None)), provider)
    assert (completion.status, completion.error_kind) == (Status.FAILED, ErrorKind.TRANSIENT)
    assert (completion.attempts, completion.attempts_billed, received) == (2, 2, 2)
    assert completion.cost_usd == pytest.approx(2 * (worst_case_cost(row, REQUEST) or 0))
    assert TEXT.startswith(completion.text.rstrip("𝐀"))  # the character this server cuts in two
    assert completion.text or fault is not Fault.ENDS_EARLY
    (completion,), _, _ = ask(FaultPlan(script=(fault, None)), provider)
    assert (completion.status, completion.text, completion.attempts) == (Status.OK, TEXT, 2)


@pytest.mark.parametrize("provider", FORMATS)
def test_what_was_thought_before_a_break_is_kept(provider):
    plan = FaultPlan(script=(Fault.ENDS_EARLY,) * 2, thinking_tokens=50)
    (completion,), _, _ = ask(plan, provider, thinking_tokens=2000)
    assert (completion.status, completion.usage.reasoning_tokens) == (Status.FAILED, None)
    assert completion.reasoning_text or completion.text
    (whole,), _, _ = ask(FaultPlan(thinking_tokens=50), provider, thinking_tokens=2000)
    assert whole.text == TEXT
    assert whole.usage.reasoning_tokens
    assert (whole.reasoning_text or "").startswith(completion.reasoning_text or "")


@pytest.mark.parametrize("provider", FORMATS)
def test_an_error_inside_a_stream_is_told_and_tried_once_more(provider):
    (completion,), received, _ = ask(FaultPlan(script=(Fault.STREAM_ERROR,) * 3), provider)
    assert (completion.status, received) == (Status.FAILED, 2)
    assert completion.error_message
    assert completion.text == TEXT[: len(completion.text)]


@pytest.mark.parametrize("provider", FORMATS)
def test_a_stream_that_never_ends_is_left_at_the_total(provider):
    start = time.monotonic()
    plan = FaultPlan(script=(Fault.ENDLESS,) * 2, gap_s=0.01)
    (completion,), received, _ = ask(plan, provider, total_timeout_s=0.5)
    assert time.monotonic() - start < 10
    assert (completion.status, received) == (Status.FAILED, 2)
    assert "raise total_timeout_s" in (completion.error_message or "")
    assert completion.text


@pytest.mark.parametrize("provider", FORMATS)
def test_a_silence_longer_than_allowed_ends_a_stream(provider):
    plan = FaultPlan(script=(Fault.STALL,) * 2, slow_s=3.0)
    (completion,), _, _ = ask(plan, provider, timeout_s=0.1)
    assert "raise timeout_s" in (completion.error_message or "")
    (completion,), _, _ = ask(FaultPlan(script=(Fault.STALL,), slow_s=0.3), provider, timeout_s=2.0)
    assert (completion.status, completion.text) == (Status.OK, TEXT)


def test_keep_alive_comments_hold_a_stream_open():
    plan = FaultPlan(latency_s=1.0, keep_alive_s=0.1)
    (completion,), _, _ = ask(plan, "openai", timeout_s=0.2)
    assert (completion.status, completion.text) == (Status.OK, TEXT)
    assert (completion.latency_first_s or 0) >= 0.9


@every("provider", FORMATS)
@every("fault", [Fault.NO_USAGE, Fault.NEGATIVE_USAGE])
def test_usage_that_is_missing_or_negative_is_the_worst_case(provider, fault):
    (completion,), _, row = ask(FaultPlan(script=(fault,)), provider)
    assert (completion.status, completion.usage.output_tokens) == (Status.OK, None)
    assert completion.cost_usd == pytest.approx(worst_case_cost(row, REQUEST))


@every("provider", FORMATS)
@every("stream", [True, False])
def test_usage_above_the_limit_stops_the_model_after_one_answer(provider, stream):
    plan = FaultPlan(script=(Fault.USAGE_ABOVE_LIMIT,) * 3)
    completions, received, _ = ask(plan, provider, count=3, stream=stream)
    assert (completions[0].status, completions[0].text, received) == (Status.OK, TEXT, 1)
    assert [one.error_code for one in completions[1:]] == [OVERBILLED] * 2


@pytest.mark.parametrize("provider", FORMATS)
def test_an_empty_stream_is_asked_for_once_more(provider):
    (completion,), received, _ = ask(FaultPlan(script=(Fault.EMPTY, None)), provider)
    assert (completion.text, completion.attempts_billed, received) == (TEXT, 2, 2)
