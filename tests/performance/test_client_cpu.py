"""CPU and memory of the path to a provider, against a server in a process of its own (its CPU is not counted)."""

import asyncio
import contextlib
import gc
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from metacog_pipeline.home import Home
from metacog_pipeline.llm.budget import Budget
from metacog_pipeline.llm.open import Clients, open_model
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import ChatModel, ChatRequest, Message, Sampling, Status
from tests.performance.peers import PEER, peer_cpu_ms, peer_release
from tests.simulated_server import ServerProcess

LATENCY_S = 0.2
CPU_MS_PLAIN, CPU_MS_STREAMED = 1.0, 2.5
CHUNKS, CHUNK_GAP_S = 30, 0.02
PEER_SHARE = 1 / 15
REPEATS = 3
IDEAL_RATE_SHARE = 0.9
PROMPT = "Which of the following findings would most likely be seen in this patient? " * 27  # about 2 kB
MEMORY_REQUESTS = 20_000
MEMORY_GROWTH_MB = 150
MEMORY_FLAT_MB = 30  # allowed between the first 2,000 requests and the last

pytestmark = pytest.mark.bench


def _request(number: int) -> ChatRequest:
    return ChatRequest((Message("user", f"{number} {PROMPT}"),), Sampling(max_tokens=64))


def _spec(url: str, in_flight: int, **fields: Any) -> ModelSpec:
    return ModelSpec(
        name="bench",
        provider="openai",
        model="bench",
        base_url=f"{url}/v1",
        max_concurrency=in_flight,
        price_in=0.15,
        price_out=0.6,
        thinking_tokens=0,
        **fields,
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


async def _cpu_ms(url: str, in_flight: int, folder: Path, **fields: Any) -> tuple[float, float]:
    """Return the milliseconds of processor time that one request takes, and the requests answered a second."""
    count = in_flight * 20
    budget = Budget(Home(folder), 1000.0)
    async with Clients(budget=budget) as clients:
        model = open_model(_spec(url, in_flight, **fields), shared=clients)
        await _ask_all(model, in_flight * 6, in_flight, {})  # slow start and connections
        cpu, wall = time.process_time(), time.perf_counter()
        await _ask_all(model, count, in_flight, {})
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    budget.close()
    return cpu / count * 1000, count / wall


def _best_of(repeats: int, url: str, in_flight: int, folder: Path, **fields: Any) -> tuple[float, float]:
    """Return the least time and the highest rate: whatever else the machine does only ever adds time."""
    runs = [asyncio.run(_cpu_ms(url, in_flight, folder / str(n), **fields)) for n in range(repeats)]
    return min(cpu for cpu, _ in runs), max(rate for _, rate in runs)


@pytest.mark.parametrize("in_flight", [100, 300])
def test_cpu_per_plain_request(in_flight, tmp_path, figure):
    with ServerProcess(["--latency", str(LATENCY_S)]) as server:
        milliseconds, rate = _best_of(REPEATS, server.url, in_flight, tmp_path, stream=False)
    what = f"CPU of the client per plain request, {in_flight} in flight"
    figure(what, f"≤ {CPU_MS_PLAIN} ms", f"{milliseconds:.3f} ms", milliseconds <= CPU_MS_PLAIN)
    if in_flight == 100:
        assert rate >= IDEAL_RATE_SHARE * in_flight / LATENCY_S


def test_cpu_per_plain_request_beside_the_peer(tmp_path, peer_python, figure):
    with ServerProcess(["--latency", str(LATENCY_S)]) as server:
        ours, _ = _best_of(REPEATS, server.url, 100, tmp_path, stream=False)
        theirs = peer_cpu_ms(peer_python, server.url, tmp_path, 100)
    figure(
        f"the same beside {PEER} {peer_release(peer_python)}, 100 in flight",
        "≤ 1/15 of it",
        f"{ours:.2f} ms against {theirs:.1f} ms: 1/{theirs / ours:.0f}",
        ours <= theirs * PEER_SHARE,
    )


def test_cpu_per_streamed_request(tmp_path, figure):
    with _streaming_server() as url:
        milliseconds, _ = _best_of(REPEATS, url, 100, tmp_path, stream=True)
    what = f"CPU of the client per streamed request of {CHUNKS} chunks, 100 in flight"
    figure(what, f"≤ {CPU_MS_STREAMED} ms", f"{milliseconds:.3f} ms", milliseconds <= CPU_MS_STREAMED)


@contextlib.contextmanager
def _streaming_server() -> Iterator[str]:
    script = Path(__file__).parent / "streaming_server.py"
    command = [sys.executable, str(script), str(LATENCY_S), str(CHUNKS), str(CHUNK_GAP_S)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield server.stdout.readline().strip()
        finally:
            server.terminate()


def test_memory_stays_flat_over_many_requests(tmp_path):
    async def measure(url: str) -> dict[int, float]:
        marks = {0: 0.0, 2_000: 0.0, MEMORY_REQUESTS - 1: 0.0}
        budget = Budget(Home(tmp_path), 1000.0)
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
