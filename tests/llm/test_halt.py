"""Told to stop, calls that have not left are given up at once; calls on their way are finished and paid for once."""

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from metacog_pipeline.llm.limiter import Halt, Limiter, NotSent
from metacog_pipeline.llm.types import Completion, Status


async def thrown_at(seconds: float, halt: Halt, calls: list[Coroutine[Any, Any, Completion]]) -> list[Any]:
    asyncio.get_running_loop().call_later(seconds, halt.throw)
    ended: list[Any] = await asyncio.gather(*calls, return_exceptions=True)
    return ended


@pytest.mark.parametrize(
    "waits_for",
    [
        {"max_concurrency": 2},
        {"requests_per_minute": 2},
    ],
)
async def test_a_call_that_waits_for_leave_to_send_is_given_up(bench, waits_for):
    provider = bench.provider(latency=5.0)
    halt = Halt()
    limiter = Limiter(2)
    model = bench.model(provider, spec=bench.spec(**waits_for), halt=halt, limiter=limiter)
    ended = await thrown_at(1.0, halt, [model.complete(bench.request()) for _ in range(10)])
    assert limiter.in_use == 0
    now = asyncio.get_running_loop().time()
    sent = [one for one in ended if isinstance(one, Completion)]
    assert 1 <= len(sent) == len(provider.requests) <= 2
    assert all(one.status is Status.OK for one in sent)
    assert all(isinstance(one, Completion | NotSent) for one in ended)
    assert now == pytest.approx(5.0)


async def test_a_call_that_waits_for_dollars_is_given_up_and_none_are_left_set_aside(bench, budget):
    provider = bench.provider(latency=5.0)
    halt, purse = Halt(), budget(0.0003)
    model = bench.model(provider, halt=halt, budget=purse)
    ended = await thrown_at(1.0, halt, [model.complete(bench.request()) for _ in range(5)])
    assert purse.figures().spent == pytest.approx(
        sum(c.cost_usd or 0.0 for c in ended if isinstance(c, Completion))
    )
    assert sum(isinstance(one, NotSent) for one in ended) == 5 - len(provider.requests) > 0


async def test_a_pause_between_attempts_is_cut_short_and_the_last_failure_is_the_answer(bench):
    provider = bench.provider([bench.error(429, retry_after="200")], latency=0.5)
    halt = Halt()
    model = bench.model(provider, halt=halt)
    (ended,) = await thrown_at(1.0, halt, [model.complete(bench.request())])
    now = asyncio.get_running_loop().time()
    assert (ended.status, ended.attempts, ended.http_status) == (Status.FAILED, 1, 429)
    assert now == pytest.approx(1.0)


async def test_nothing_is_sent_after_the_throw_and_throwing_twice_is_harmless(bench):
    provider = bench.provider()
    halt = Halt()
    halt.throw()
    halt.throw()
    with pytest.raises(NotSent):
        await bench.model(provider, halt=halt).complete(bench.request())
    assert provider.requests == []


async def test_a_cancellation_from_elsewhere_stays_one(bench):
    halt = Halt()
    model = bench.model(bench.provider([bench.error(503)] * 9), halt=halt)
    call = asyncio.create_task(model.complete(bench.request()))
    await asyncio.sleep(0.21)
    call.cancel()
    halt.throw()
    with pytest.raises(asyncio.CancelledError):
        await call
