"""CPU and memory of the path to a provider, against a server in a process of its own (its CPU is not counted)."""

import asyncio
import gc
import resource
import time
from pathlib import Path

import pytest

from metacog_pipeline.llm.budget import Budget
from metacog_pipeline.llm.open import Clients, open_model
from metacog_pipeline.llm.server import ServerProcess
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import ChatModel, ChatRequest, Message, Sampling, Status

LATENCY_S = 0.2
CPU_MS_PER_REQUEST = 1.1
IDEAL_RATE_SHARE = 0.9
PROMPT = "Which of the following findings would most likely be seen in this patient? " * 27  # about 2 kB
MEMORY_REQUESTS = 20_000
MEMORY_GROWTH_MB = 150
MEMORY_FLAT_MB = 30  # allowed between the first 2,000 requests and the last

pytestmark = pytest.mark.bench


def _request(number: int) -> ChatRequest:
    return ChatRequest((Message("user", f"{number} {PROMPT}"),), Sampling(max_tokens=64))


def _spec(url: str, in_flight: int) -> ModelSpec:
    return ModelSpec(
        name="bench",
        provider="openai",
        model="bench",
        base_url=f"{url}/v1",
        max_concurrency=in_flight,
        price_in=0.15,
        price_out=0.6,
    )


async def _ask_all(model: ChatModel, count: int, workers: int, marks: dict[int, float]) -> None:
    """Ask ``count`` questions with ``workers`` at once; ``marks`` gets the resident MB at the counts it names."""
    numbers = iter(range(count))

    async def worker() -> None:
        for number in numbers:
            if number in marks:
                marks[number] = _resident_mb()
            completion = await model.complete(_request(number))
            assert completion.status is Status.OK

    await asyncio.gather(*(worker() for _ in range(workers)))


def _resident_mb() -> float:
    fields = Path("/proc/self/statm").read_text().split()
    return int(fields[1]) * resource.getpagesize() / 2**20


@pytest.mark.parametrize("in_flight", [100, 300])
def test_cpu_per_request_stays_within_the_target(in_flight: int, tmp_path: Path) -> None:
    count = in_flight * 50

    async def measure(url: str) -> tuple[float, float]:
        budget = Budget.open(tmp_path, 1000.0)
        async with Clients(budget=budget) as clients:
            model = open_model(_spec(url, in_flight), shared=clients)
            await _ask_all(model, in_flight * 6, in_flight, {})  # slow start and connections
            cpu, wall = time.process_time(), time.perf_counter()
            await _ask_all(model, count, in_flight, {})
            cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        budget.close()
        return cpu / count * 1000, count / wall

    with ServerProcess(["--latency", str(LATENCY_S)]) as server:
        milliseconds, rate = asyncio.run(measure(server.url))
    ideal = in_flight / LATENCY_S
    print(
        f"\n{in_flight} in flight: {milliseconds:.3f} ms CPU per request, {rate:.0f} requests/s, "
        f"{rate / ideal:.0%} of the ideal {ideal:.0f}/s"
    )
    assert milliseconds <= CPU_MS_PER_REQUEST
    if in_flight == 100:
        assert rate >= IDEAL_RATE_SHARE * ideal


def test_memory_stays_flat_over_many_requests(tmp_path: Path) -> None:
    async def measure(url: str) -> dict[int, float]:
        marks = {0: 0.0, 2_000: 0.0, MEMORY_REQUESTS - 1: 0.0}
        budget = Budget.open(tmp_path, 1000.0)
        async with Clients(budget=budget) as clients:
            model = open_model(_spec(url, 300), shared=clients)
            gc.collect()
            await _ask_all(model, MEMORY_REQUESTS, 300, marks)
        budget.close()
        return marks

    with ServerProcess(["--latency", "0.05"]) as server:
        marks = asyncio.run(measure(server.url))
    first, early, last = marks.values()
    print(
        f"\nresident: {first:.0f} MB at the start, {early:.0f} MB after 2,000 requests, {last:.0f} MB at the end"
    )
    assert last - first <= MEMORY_GROWTH_MB
    assert last - early <= MEMORY_FLAT_MB
