"""No bill is believed as it comes: one rule says what a call is charged, however its tokens were counted."""

import json
from typing import Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metacog_pipeline.llm import costs
from metacog_pipeline.llm.capabilities import Capabilities
from metacog_pipeline.llm.limiter import PAUSE_AFTER, Limiter
from metacog_pipeline.llm.retry import RetryPolicy
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import ChatRequest, Message, Sampling, Status, Usage
from tests.llm.replies import charged, chunk, read
from tests.llm.test_client_stream import Stream
from tests.tables import every

SPEC = ModelSpec(name="m", provider="openai", model="x", price_in=1, price_out=10)
REQUEST = ChatRequest((Message("user", "a question " * 100),), Sampling(max_tokens=300))
SHOWS_ALL = Capabilities(reasons=False)
counts = st.none() | st.integers(0, 300) | st.just(10**9)


@given(sent=counts, got=counts, text=st.text(max_size=100), thought=st.none() | st.text(max_size=100))
@settings(max_examples=100, deadline=None)
def test_a_charge_lies_between_the_fewest_tokens_received_and_the_most_asked_for(sent, got, text, thought):
    for known in (SHOWS_ALL, Capabilities()):
        usd = charged(SPEC, REQUEST, Usage(sent, got), known, text=text, thought=thought)
        fewest = costs.fewest_tokens(text) * SPEC.price_out / 1e6  # type: ignore[operator]
        worst = costs.worst_case_cost(SPEC, REQUEST, known)
        assert usd is not None and worst is not None
        assert fewest <= usd <= worst + 1e-12
        if sent and got and max(sent, got) <= 300:
            assert usd >= costs.usage_cost(SPEC, Usage(sent, got))  # type: ignore[operator]


def test_a_count_that_is_too_low_for_the_text_is_raised_to_the_fewest_tokens():
    usd = charged(SPEC, REQUEST, Usage(200, 1), text="x" * 1280, thought="y" * 1280)
    assert usd == pytest.approx((200 * 1 + 20 * 10) / 1e6)
    assert charged(SPEC, REQUEST, Usage(1, 5)) == pytest.approx((9 * 1 + 5 * 10) / 1e6)


def test_where_all_that_is_billed_is_shown_a_missing_count_is_at_most_what_was_received():
    shown = charged(SPEC, REQUEST, Usage(200, None), SHOWS_ALL, text="ABC")
    assert shown == pytest.approx((200 + (3 + costs.MESSAGE_OVERHEAD_TOKENS) * 10) / 1e6)
    hidden = charged(SPEC, REQUEST, Usage(200, None), text="ABC")
    assert hidden == pytest.approx((200 + costs.output_token_bound(SPEC, REQUEST) * 10) / 1e6)


@pytest.mark.parametrize("provider", ["openai", "gemini"])
@every(
    ("reports", "output"),
    [
        ([3, 6, 9], 9),  # the sum so far
        ([None, None, 9], 9),
        ([9, 9, 9], 9),  # known from the start
        ([3, 9, 0], 9),  # a proxy's zeros behind it
        ([5, 3, 4], 12),  # of each chunk
        ([1, 1, 1], 3),
    ],
)
def test_counts_of_a_stream_are_the_sum_so_far_or_of_each_chunk(provider, reports, output):
    text = "a word " * 4
    events = [chunk(provider, text, output=count) for count in reports]
    events.append(chunk(provider, "", "STOP"))
    assert read(provider, events).usage == Usage(9, output)


def streaming(*parts: Any) -> httpx.Response:
    return httpx.Response(200, headers={"content-type": "text/event-stream"}, stream=Stream(list(parts)))


def test_a_count_that_comes_late_is_waited_for(virtual, bench):
    parts = [f"data: {json.dumps(chunk('openai', 'B'))}\n\n".encode(),
             f"data: {json.dumps(chunk('openai', '', 'stop'))}\n\n".encode(), 9.0,
             b'data: {"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 5}}\n\n',
             b"data: [DONE]\n\n"]  # fmt: skip
    model = bench.model(bench.provider([streaming(*parts)]), spec=bench.spec(thinking_tokens=None))
    completion = virtual(model.complete(bench.request()))
    assert completion.usage == Usage(9, 5)
    assert completion.cost_usd == pytest.approx((9 * 1.0 + 5 * 2.0) / 1e6)


async def test_no_other_call_of_an_account_leaves_before_the_wait_its_provider_asked_for_is_over(bench):
    def script(number: int, request: httpx.Request) -> httpx.Response:
        return bench.error(429, retry_after="30") if number < PAUSE_AFTER else bench.reply()

    provider, limiter = bench.provider(script, latency=0.0), Limiter(100)
    policy = RetryPolicy(rate_limit_total_s=1.0)  # whoever is refused gives up
    model = bench.model(provider, limiter=limiter, retries=policy)
    for _ in range(PAUSE_AFTER):
        assert (await model.complete(bench.request())).status is Status.FAILED
    other = bench.model(provider, limiter=limiter)
    assert (await other.complete(bench.request())).status is Status.OK
    assert provider.times[PAUSE_AFTER] == pytest.approx(30.0)
