import asyncio
from bisect import bisect_left

import pytest

from metacog_pipeline.llm.limiter import Rates


async def nothing() -> None:
    return None


async def start_times(rates: Rates, count: int, tokens: float = 0.0) -> list[float]:
    times: list[float] = []

    async def call() -> None:
        await rates.admit(tokens, nothing)
        times.append(asyncio.get_running_loop().time())

    await asyncio.gather(*(call() for _ in range(count)))
    return times


def most_in_a_minute(times: list[float], amount: float = 1.0) -> float:
    ordered = sorted(times)
    return amount * max(bisect_left(ordered, start + 59.999) - n for n, start in enumerate(ordered))


@pytest.mark.parametrize("per_minute", [0.5, 1, 7, 60, 1000, 6000])
def test_no_minute_starts_more_requests_than_the_limit(virtual, per_minute):
    times = virtual(start_times(Rates(per_minute, None), int(per_minute * 2) + 3))
    assert most_in_a_minute(times) <= max(1, per_minute)


@pytest.mark.parametrize("per_minute", [60, 1000])
def test_the_limit_is_used_almost_whole(virtual, per_minute):
    count = int(per_minute * 2)
    times = virtual(start_times(Rates(per_minute, None), count))
    assert times[-1] <= 120 * 1.02


def test_no_minute_starts_more_tokens_than_the_limit_and_one_call(virtual):
    times = virtual(start_times(Rates(None, 10_000), 40, tokens=900))
    assert most_in_a_minute(times, 900) <= 10_000 + 900
    assert times[-1] >= 60 * (40 * 900 - 10_000) / 10_000


def test_a_call_larger_than_a_minute_is_still_let_through(virtual):
    times = virtual(start_times(Rates(None, 100), 2, tokens=5000))
    assert times[0] == 0
    assert times[1] >= 60 * 4900 / 100


def test_tokens_not_used_are_given_back(virtual):
    async def main(settled: bool) -> float:
        rates = Rates(None, 6000)
        for _ in range(20):
            await rates.admit(1000, nothing)
            if settled:
                rates.charge(1000, 50)
        return asyncio.get_running_loop().time()

    assert virtual(main(settled=True)) < virtual(main(settled=False)) / 5


async def test_calls_are_admitted_in_order_of_asking():
    rates, order = Rates(600, None), []

    async def call(number: int) -> None:
        await rates.admit(0, nothing)
        order.append(number)

    await asyncio.gather(*(call(n) for n in range(50)))
    assert order == list(range(50))


def test_shares_do_not_pile_up_while_slots_are_missing(virtual):
    """When slots come free after a long wait, the calls in the queue still keep to the rate."""

    async def main() -> list[float]:
        rates, gate, times = Rates(60, None), asyncio.Event(), []

        async def call() -> None:
            await rates.admit(0, gate.wait)
            times.append(asyncio.get_running_loop().time())

        async def open_gate() -> None:
            await asyncio.sleep(300)
            gate.set()

        await asyncio.gather(open_gate(), *(call() for _ in range(100)))
        return times

    assert most_in_a_minute(virtual(main())) <= 61


def test_without_limits_nothing_waits(virtual):
    assert virtual(start_times(Rates(), 100)) == [0.0] * 100
