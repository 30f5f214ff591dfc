"""How many calls leave at once and in a minute; told to stop, those that have not left are given up."""

import asyncio
import random
from bisect import bisect_left
from collections.abc import Coroutine
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metacog_pipeline.llm.limiter import (
    COOLDOWN_S,
    GROWTH_UTILISATION,
    INITIAL_LIMIT,
    PAUSE_AFTER,
    SHRINK_FACTOR,
    CallResult,
    Halt,
    Limiter,
    NotSent,
    Rate,
)
from metacog_pipeline.llm.types import Completion, Status


async def take(limiter: Limiter, count: int) -> list[int]:
    return [await limiter.acquire() for _ in range(count)]


async def clean_round(limiter: Limiter, use: int | None = None) -> None:
    """One round of good answers with ``use`` calls under way throughout (the whole limit when not given)."""
    slots = await take(limiter, use or limiter.limit)
    for _ in range(limiter.limit):
        limiter.release(slots.pop(), CallResult.CLEAN)
        slots.append(await limiter.acquire())
    for slot in slots:
        limiter.release(slot, CallResult.SILENT)


async def refuse(limiter: Limiter, retry_after: float | None = None) -> None:
    limiter.release(await limiter.acquire(), CallResult.LIMITED, retry_after)


async def test_a_limit_starts_small_and_doubles_after_every_clean_round_up_to_the_ceiling():
    limiter, limits = Limiter(70), []
    for _ in range(4):
        limits.append(limiter.limit)
        await clean_round(limiter)
    assert [*limits, limiter.limit] == [INITIAL_LIMIT, 20, 40, 70, 70]


async def test_after_the_first_refusal_growth_is_five_percent_and_at_least_one():
    limiter = Limiter(1000, start=100)
    await refuse(limiter)
    limits = [limiter.limit]
    await asyncio.sleep(COOLDOWN_S)
    for _ in range(2):
        await clean_round(limiter)
        limits.append(limiter.limit)
    small = Limiter(1000, start=5)
    await refuse(small)
    await asyncio.sleep(COOLDOWN_S)
    await clean_round(small)
    assert [*limits, small.limit] == [80, 84, 88, 5]


async def test_the_limit_falls_once_per_episode_however_many_calls_are_refused():
    limiter = Limiter(100, start=50)
    for slot in await take(limiter, 50):
        limiter.release(slot, CallResult.LIMITED)
    await refuse(limiter)  # sent after the cut, within the cooldown: still the same episode
    assert (limiter.limit, limiter.episodes) == (int(50 * SHRINK_FACTOR), 1)


async def test_a_refusal_of_a_call_sent_before_the_cut_never_cuts_again_however_late_it_comes():
    limiter = Limiter(100, start=50)
    late = await limiter.acquire()
    await refuse(limiter)
    await asyncio.sleep(COOLDOWN_S + 1)
    limiter.release(late, CallResult.LIMITED)
    assert (limiter.limit, limiter.episodes) == (40, 1)


@pytest.mark.parametrize(
    ("waits", "retry_after"), [((0.0, COOLDOWN_S - 0.1, 0.2), None), ((0.0, 59.0, 2.0), 60.0)]
)
async def test_a_refusal_after_the_cooldown_or_a_longer_retry_after_is_a_new_episode(waits, retry_after):
    limiter, limits = Limiter(100, start=50), []
    for wait in waits:
        await asyncio.sleep(wait)
        await refuse(limiter, retry_after)
        limits.append(limiter.limit)
    assert limits == [40, 40, 32]


async def test_refusals_within_a_cooldown_do_not_prolong_it():
    """An account that allows far fewer calls than the limit keeps refusing: the limit must keep falling."""
    limiter = Limiter(100, start=100)
    for _ in range(200):
        await refuse(limiter, 1.0)
        await asyncio.sleep(1.0)
    assert limiter.episodes >= 200 / (COOLDOWN_S + 2)


async def test_nothing_grows_during_a_cooldown():
    limiter = Limiter(100, start=50)
    await refuse(limiter)
    await clean_round(limiter)
    assert limiter.limit == 40


@pytest.mark.parametrize(("use", "grown"), [(15, 20), (16, 40)])
def test_the_limit_grows_only_when_most_of_it_is_in_use(virtual, use, grown):
    async def main() -> int:
        limiter = Limiter(100, start=20)
        await clean_round(limiter, use)
        return limiter.limit

    assert GROWTH_UTILISATION * 20 == 16
    assert virtual(main()) == grown


async def test_the_limit_never_falls_below_one():
    limiter = Limiter(3, start=3)
    for _ in range(20):
        await refuse(limiter)
        await asyncio.sleep(COOLDOWN_S)
    assert limiter.limit == 1


async def test_slots_are_given_in_order_of_asking():
    limiter, order = Limiter(2, start=2), []

    async def call(number: int) -> None:
        slot = await limiter.acquire()
        order.append(number)
        await asyncio.sleep(random.Random(number).random())
        limiter.release(slot, CallResult.CLEAN)

    await asyncio.gather(*(call(n) for n in range(50)))
    assert order == list(range(50))


async def test_refusals_in_a_row_hold_everything_back_until_the_wait_is_over():
    limiter, loop = Limiter(100, start=20), asyncio.get_running_loop()
    for _ in range(PAUSE_AFTER - 1):
        await refuse(limiter, 7.0)
    slot = await limiter.acquire()
    before = loop.time()
    limiter.release(slot, CallResult.LIMITED, 7.0)
    await limiter.acquire()
    assert (before, loop.time()) == (0.0, 7.0)


async def test_answers_between_refusals_keep_calls_going():
    limiter = Limiter(100, start=20)
    for _ in range(5 * PAUSE_AFTER):
        await refuse(limiter, 7.0)
        limiter.release(await limiter.acquire(), CallResult.CLEAN)
    assert asyncio.get_running_loop().time() == 0.0


@given(seed=st.integers(0, 10**6), ceiling=st.integers(1, 12))
@settings(max_examples=60, deadline=None)
def test_whatever_is_cancelled_no_slot_is_lost_and_the_limit_holds(seed, ceiling):
    rng = random.Random(seed)

    async def main() -> None:
        limiter = Limiter(ceiling, start=max(1, ceiling // 2))
        peak = 0

        async def call() -> None:
            nonlocal peak
            slot = await limiter.acquire()
            peak = max(peak, limiter.in_use)
            outcome = CallResult.SILENT
            try:
                for _ in range(rng.randrange(4)):
                    await asyncio.sleep(0)
                outcome = rng.choice([*CallResult, CallResult.CLEAN])
            finally:
                limiter.release(slot, outcome)

        tasks = [asyncio.create_task(call()) for _ in range(60)]
        for task in rng.sample(tasks, 30):
            await asyncio.sleep(0)
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert peak <= ceiling
        assert limiter.in_use == 0
        await asyncio.wait_for(limiter.acquire(), 1)

    asyncio.run(main())


async def nothing() -> None:
    return None


async def start_times(rate: Rate, count: int) -> list[float]:
    times: list[float] = []

    async def call() -> None:
        await rate.admit(nothing)
        times.append(asyncio.get_running_loop().time())

    await asyncio.gather(*(call() for _ in range(count)))
    return times


def most_in_a_minute(times: list[float]) -> int:
    ordered = sorted(times)
    return max(bisect_left(ordered, start + 59.999) - n for n, start in enumerate(ordered))


@pytest.mark.parametrize("per_minute", [0.5, 1, 7, 60, 1000])
def test_no_minute_starts_more_requests_than_the_limit_and_it_is_used_almost_whole(virtual, per_minute):
    times = virtual(start_times(Rate(per_minute), int(per_minute * 2) + 3))
    assert most_in_a_minute(times) <= max(1, per_minute)
    assert per_minute < 60 or sorted(times)[int(per_minute * 2) - 1] <= 120 * 1.02


async def test_calls_are_admitted_in_order_of_asking():
    rate, order = Rate(600), []

    async def call(number: int) -> None:
        await rate.admit(nothing)
        order.append(number)

    await asyncio.gather(*(call(n) for n in range(50)))
    assert order == list(range(50))


def test_shares_do_not_pile_up_while_slots_are_missing(virtual):
    """When slots come free after a long wait, the calls in the queue still keep to the rate."""

    async def main() -> list[float]:
        rate, gate, times = Rate(60), asyncio.Event(), []

        async def call() -> None:
            await rate.admit(gate.wait)
            times.append(asyncio.get_running_loop().time())

        async def open_gate() -> None:
            await asyncio.sleep(300)
            gate.set()

        await asyncio.gather(open_gate(), *(call() for _ in range(100)))
        return times

    assert most_in_a_minute(virtual(main())) <= 61


def test_without_limits_nothing_waits(virtual):
    assert virtual(start_times(Rate(), 100)) == [0.0] * 100


async def thrown_at(seconds: float, halt: Halt, calls: list[Coroutine[Any, Any, Completion]]) -> list[Any]:
    asyncio.get_running_loop().call_later(seconds, halt.throw)
    ended: list[Any] = await asyncio.gather(*calls, return_exceptions=True)
    return ended


@pytest.mark.parametrize("waits_for", [{"max_concurrency": 2}, {"requests_per_minute": 2}])
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
