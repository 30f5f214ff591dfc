import asyncio
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import httpx
import pytest

from metacog_pipeline.llm.limiter import Limiter
from metacog_pipeline.llm.retry import RETRY_AFTER_SPREAD, RetryPolicy
from metacog_pipeline.llm.types import ChatRequest, ErrorKind, Message, OneOf, Sampling, Status
from tests.tables import every

PATIENT = RetryPolicy(rate_limit_total_s=300.0)


def test_an_answer_is_one_attempt_with_its_usage_cost_and_latency(virtual, bench):
    provider = bench.provider(latency=0.25)
    completion = virtual(bench.model(provider).complete(bench.request()))
    assert (completion.status, completion.text, completion.attempts) == (Status.OK, "A", 1)
    assert (completion.usage.input_tokens, completion.usage.output_tokens) == (100, 10)
    assert completion.cost_usd == pytest.approx((100 * 1.0 + 10 * 2.0) / 1e6)
    assert completion.latency_s == pytest.approx(0.25)
    assert completion.started_at is not None
    assert completion.started_at.tzinfo is not None
    assert completion.model_reported == "served-model"


@every(
    ("status", "code", "kind"),
    [
        (400, None, ErrorKind.UNSUPPORTED),
        (422, None, ErrorKind.UNSUPPORTED),
        (501, None, ErrorKind.UNSUPPORTED),
        (401, "invalid_api_key", ErrorKind.FATAL),
        (402, None, ErrorKind.FATAL),
        (404, "model_not_found", ErrorKind.FATAL),
        (429, "insufficient_quota", ErrorKind.FATAL),
    ],
)
def test_permanent_failures_are_asked_once(virtual, bench, status, code, kind):
    provider = bench.provider(lambda n, _: bench.error(status, code))
    completion = virtual(bench.model(provider).complete(bench.request()))
    assert (completion.status, completion.error_kind) == (Status.FAILED, kind)
    assert (completion.attempts, len(provider.requests)) == (1, 1)
    assert completion.cost_usd == 0


@every("status", [408, 499, 502, 504, 520, 524])
def test_a_failure_that_may_have_been_billed_is_followed_by_one_more_try_at_most(virtual, bench, status):
    completion = virtual(bench.model(bench.provider([bench.error(status)])).complete(bench.request()))
    assert (completion.status, completion.attempts, completion.attempts_billed) == (Status.OK, 2, 2)
    provider = bench.provider([bench.error(status)] * 2)
    completion = virtual(bench.model(provider).complete(bench.request()))
    assert (completion.status, completion.attempts, completion.attempts_billed) == (Status.FAILED, 2, 2)
    assert len(provider.requests) == 2


def test_failures_that_cost_nothing_do_not_use_up_the_try_after_a_billed_one(virtual, bench):
    provider = bench.provider([bench.error(500), bench.error(504), bench.error(503), bench.reply("B")])
    completion = virtual(bench.model(provider).complete(bench.request()))
    assert (completion.text, completion.attempts, completion.attempts_billed) == ("B", 4, 2)


def test_transient_failures_end_after_a_bounded_number_of_attempts(virtual, bench):
    provider = bench.provider(lambda n, _: bench.error(500, "server_error"))
    completion = virtual(bench.model(provider).complete(bench.request()))
    assert (completion.status, completion.error_kind) == (Status.FAILED, ErrorKind.TRANSIENT)
    assert completion.attempts == len(provider.requests) == RetryPolicy.transient_attempts
    assert completion.http_status == 500


@every(
    "error",
    [
        httpx.ConnectError("refused"), httpx.ConnectTimeout("slow"), httpx.ReadTimeout("slow"), httpx.ReadError("reset"),
        httpx.RemoteProtocolError("nonsense"), httpx.PoolTimeout("busy"), OSError(104, "reset"), RuntimeError("a bug"),
    ],
)  # fmt: skip
def test_broken_connections_are_transient(virtual, bench, error):
    provider = bench.provider([error])
    completion = virtual(bench.model(provider).complete(bench.request()))
    assert (completion.status, completion.attempts, completion.error_kind) == (Status.OK, 2, None)
    assert completion.latency_s == pytest.approx(provider.times[-1] - provider.times[0] + 0.2)


def test_a_server_that_drips_bytes_for_ever_is_given_up(virtual, bench):
    class Drip(httpx.AsyncByteStream):
        async def __aiter__(self) -> Any:
            while True:
                await asyncio.sleep(5)
                yield b" "

    provider = bench.provider(lambda n, _: httpx.Response(200, stream=Drip()))
    spec, once = bench.spec(timeout_s=30.0, effort="low", stream=False), RetryPolicy(transient_attempts=1)
    model = bench.model(provider, spec=spec, retries=once)
    completion = virtual(model.complete(bench.request()))
    assert (completion.status, completion.error_kind) == (Status.FAILED, ErrorKind.TRANSIENT)
    assert completion.latency_s <= 30 + 10 + 30 + 1
    assert "no whole answer" in (completion.error_message or "")


NOW = datetime(2026, 3, 1, tzinfo=UTC)


@every("asked", ["40", format_datetime(NOW + timedelta(seconds=40), usegmt=True)])
def test_a_rate_limit_is_waited_out_as_long_as_the_provider_asks(virtual, bench, asked):
    provider = bench.provider([bench.error(429, retry_after=asked)] * (2 * RetryPolicy.transient_attempts))
    completion = virtual(bench.model(provider, now=lambda: NOW).complete(bench.request()))
    assert (completion.status, completion.attempts) == (Status.OK, 2 * RetryPolicy.transient_attempts + 1)
    assert 40 <= provider.times[1] - provider.times[0] - 0.2 <= 40 * (1 + RETRY_AFTER_SPREAD)


def test_a_rate_limit_ends_after_a_bounded_time(virtual, bench):
    provider = bench.provider(lambda n, _: bench.error(429, retry_after="60"))
    completion = virtual(bench.model(provider, retries=PATIENT).complete(bench.request()))
    assert (completion.status, completion.error_kind) == (Status.FAILED, ErrorKind.RATE_LIMIT)
    assert 180 <= completion.latency_s <= 300


async def test_a_slot_is_not_held_while_backing_off(bench):
    """With one slot, a call told to wait 50 s does not keep the next one from being answered at once."""

    def script(number: int, request: httpx.Request) -> httpx.Response:
        return bench.error(429, retry_after="50") if number == 0 else bench.reply()

    provider = bench.provider(script)
    model = bench.model(provider, limiter=Limiter(1))
    loop = asyncio.get_running_loop()

    async def ask() -> float:
        await model.complete(bench.request())
        return loop.time()

    first, second = await asyncio.gather(ask(), ask())
    assert second < 1
    assert first >= 50


def test_server_errors_leave_the_limit_alone_and_rate_limits_shrink_it(virtual, bench):
    for error, limit in ((bench.error(500), 20), (bench.error(429, retry_after="1"), 16)):
        limiter = Limiter(100, start=20)
        provider = bench.provider([error])
        virtual(bench.model(provider, limiter=limiter).complete(bench.request()))
        assert limiter.limit == limit
        assert limiter.in_use == 0


async def test_no_more_calls_are_under_way_than_the_model_allows(bench):
    provider = bench.provider()
    model = bench.model(provider, spec=bench.spec(max_concurrency=3), limiter=Limiter(100, start=50))
    await asyncio.gather(*(model.complete(bench.request()) for _ in range(20)))
    assert provider.peak == 3


async def test_requests_per_minute_hold_for_retries_too(bench):
    provider = bench.provider([bench.error(500)] * 3)
    model = bench.model(
        provider, spec=bench.spec(requests_per_minute=6), retries=RetryPolicy(backoff_base_s=0.1)
    )
    await asyncio.gather(*(model.complete(bench.request()) for _ in range(10)))
    gaps = [b - a for a, b in zip(provider.times, provider.times[1:], strict=False)]
    assert len(provider.times) == 13
    assert min(gaps) >= 9.99


@every("status", [301, 302, 303, 307, 308])
@every("location", ["http://other.invalid/v1", "http://[other.invalid"])
def test_redirects_are_not_followed_and_named(virtual, bench, status, location):
    provider = bench.provider(lambda n, _: httpx.Response(status, headers={"location": location}))
    completion = virtual(bench.model(provider).complete(bench.request()))
    assert (completion.status, completion.error_kind) == (Status.FAILED, ErrorKind.FATAL)
    assert len(provider.requests) == 1
    assert "other.invalid" in (completion.error_message or "")
    assert "base_url" in (completion.error_message or "")


def test_a_constraint_the_provider_has_no_field_for_is_unsupported_without_a_call(virtual, bench):
    provider = bench.provider()
    spec = bench.spec(provider="anthropic", base_url="http://test.invalid")
    request = ChatRequest((Message("user", "q"),), Sampling(), OneOf(("A", "B")))
    completion = virtual(bench.model(provider, spec=spec).complete(request))
    assert (completion.status, completion.error_kind) == (Status.FAILED, ErrorKind.UNSUPPORTED)
    assert (completion.attempts, provider.requests) == (0, [])


@every("base_url", ["test.invalid/v1", "ftp://test.invalid", "http://", "http://[::1", "http:///v1"])
def test_an_address_that_cannot_be_called_is_fatal(virtual, bench, base_url):
    provider = bench.provider()
    completion = virtual(bench.model(provider, spec=bench.spec(base_url=base_url)).complete(bench.request()))
    assert (completion.status, completion.error_kind) == (Status.FAILED, ErrorKind.FATAL)
    assert "base_url" in (completion.error_message or "")
    assert (completion.cost_usd, provider.requests) == (0, [])


@every("error", [{"code": 429, "message": "Provider returned error"}, {"code": "rate_limit_exceeded"}])
def test_a_refusal_for_rate_inside_an_answer_is_waited_out_and_not_billed(virtual, bench, error):
    refused = httpx.Response(200, json={"error": error})
    provider = bench.provider([refused] * (2 * RetryPolicy.transient_attempts))
    completion = virtual(bench.model(provider).complete(bench.request()))
    assert (completion.status, completion.attempts) == (Status.OK, 2 * RetryPolicy.transient_attempts + 1)
    alone = virtual(bench.model(bench.provider()).complete(bench.request()))
    assert (completion.attempts_billed, completion.cost_usd) == (1, alone.cost_usd)


def test_a_long_wait_is_told_once(virtual, bench, caplog):
    provider = bench.provider([bench.error(503, message="Loading model", retry_after="120")] * 3)
    virtual(bench.model(provider).complete(bench.request()))
    [told] = [record.getMessage() for record in caplog.records if "waiting" in record.getMessage()]
    assert "Loading model (HTTP 503)" in told
