"""Streams over real sockets, in the formats of every provider, from a server that misbehaves on purpose."""

import asyncio
from typing import Any

import pytest

from metacog_pipeline.llm.costs import worst_case_cost
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
    base = f"{url}/v1" if provider == "openai" else url
    given = {
        "name": "m",
        "provider": provider,
        "model": "x",
        "stream": True,
        "timeout_s": 5,
        "base_url": base,
    }
    prices = {"price_in": 1, "price_out": 1, "thinking_tokens": 0, "temperature": None}
    return ModelSpec.model_validate(given | prices | fields)


def ask(plan: FaultPlan, provider: str, **fields: Any) -> tuple[Completion, int, ModelSpec]:
    """Ask once; return the completion, the calls that arrived, and the row of the model."""

    async def main(model: ModelSpec) -> Completion:
        async with Clients(retries=QUICK, environment={}) as shared:
            return await open_model(model, shared=shared).complete(REQUEST)

    with ServerThread(lambda m, r: TEXT, plan) as server:
        row = spec(server.url, provider, **fields)
        return asyncio.run(main(row)), server.stats["received"], row


@every("provider", FORMATS)
@every("fault", [None, Fault.TORN, Fault.HUGE_THINKING])
def test_a_healthy_stream_is_the_answer(provider, fault):
    completion, received, _ = ask(FaultPlan(script=(fault,), latency_s=0.05), provider)
    assert (completion.status, completion.text, received) == (Status.OK, TEXT, 1)
    assert completion.usage.output_tokens
    assert completion.latency_first_s is not None
    assert 0.05 <= completion.latency_first_s <= completion.latency_s


@every("provider", FORMATS)
@every("fault", [Fault.CUT, Fault.CUT_CHARACTER, Fault.ENDS_EARLY, Fault.STREAM_ERROR])
def test_a_stream_that_breaks_is_asked_once_more_and_its_text_is_kept(provider, fault):
    completion, received, row = ask(FaultPlan(script=(fault, fault, None)), provider)
    assert (completion.status, completion.attempts, received) == (Status.FAILED, 2, 2)
    assert completion.error_kind in (ErrorKind.TRANSIENT, ErrorKind.RATE_LIMIT)
    assert completion.cost_usd == pytest.approx(2 * (worst_case_cost(row, REQUEST) or 0))
    assert TEXT.startswith(completion.text.rstrip("𝐀"))  # the character this server cuts in two
    assert completion.text or fault is not Fault.ENDS_EARLY
    completion, _, _ = ask(FaultPlan(script=(fault, None)), provider)
    assert (completion.status, completion.text, completion.attempts) == (Status.OK, TEXT, 2)


@pytest.mark.parametrize("provider", FORMATS)
def test_a_stream_that_never_ends_and_one_that_pauses_too_long_are_left(provider):
    plan = FaultPlan(script=(Fault.ENDLESS,) * 2, gap_s=0.01)
    completion, received, _ = ask(plan, provider, total_timeout_s=0.5)
    assert (completion.status, received) == (Status.FAILED, 2)
    assert "raise total_timeout_s" in (completion.error_message or "") and completion.text
    completion, _, _ = ask(FaultPlan(script=(Fault.STALL,) * 2, slow_s=3.0), provider, timeout_s=0.1)
    assert "raise timeout_s" in (completion.error_message or "")
    completion, _, _ = ask(FaultPlan(script=(Fault.STALL,), slow_s=0.3), provider, timeout_s=2.0)
    assert (completion.status, completion.text) == (Status.OK, TEXT)
