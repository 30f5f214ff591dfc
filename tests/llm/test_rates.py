import asyncio
from bisect import bisect_left

import pytest

from metacog_pipeline.llm.limiter import Rate


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


@pytest.mark.parametrize("per_minute", [0.5, 1, 7, 60, 1000, 6000])
def test_no_minute_starts_more_requests_than_the_limit(virtual, per_minute):
    times = virtual(start_times(Rate(per_minute), int(per_minute * 2) + 3))
    assert most_in_a_minute(times) <= max(1, per_minute)


@pytest.mark.parametrize("per_minute", [60, 1000])
def test_the_limit_is_used_almost_whole(virtual, per_minute):
    count = int(per_minute * 2)
    times = virtual(start_times(Rate(per_minute), count))
    assert times[-1] <= 120 * 1.02


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
