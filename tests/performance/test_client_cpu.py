"""CPU of the path to a provider, against a server in a process of its own (its CPU is not counted)."""

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest

from metacog_pipeline.home import Home
from metacog_pipeline.llm.budget import Budget
from metacog_pipeline.llm.open import Clients, open_model
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import ChatModel, ChatRequest, Message, Sampling, Status
from tests.simulated_server import ServerProcess

IN_FLIGHT, LATENCY_S, REPEATS = 100, 0.2, 3
CPU_MS_PLAIN, CPU_MS_STREAMED = 1.0, 2.5
CHUNKS, CHUNK_GAP_S = 30, 0.02
PROMPT = "Which of the following findings would most likely be seen in this patient? " * 27  # about 2 kB

pytestmark = pytest.mark.bench


async def _ask_all(model: ChatModel, count: int) -> None:
    """Ask ``count`` questions, `IN_FLIGHT` at once."""
    numbers = iter(range(count))

    async def worker() -> None:
        for number in numbers:
            request = ChatRequest((Message("user", f"{number} {PROMPT}"),), Sampling(max_tokens=64))
            assert (await model.complete(request)).status is Status.OK

    await asyncio.gather(*(worker() for _ in range(IN_FLIGHT)))


async def _cpu_ms(url: str, folder: Path, **fields: Any) -> float:
    """Return the milliseconds of processor time that one request takes."""
    spec = ModelSpec(
        name="bench", provider="openai", model="bench", base_url=f"{url}/v1", max_concurrency=IN_FLIGHT,
        price_in=0.15, price_out=0.6, thinking_tokens=0, **fields,
    )  # fmt: skip
    count, budget = IN_FLIGHT * 20, Budget(Home(folder), 1000.0)
    async with Clients(budget=budget) as clients:
        model = open_model(spec, shared=clients)
        await _ask_all(model, IN_FLIGHT * 6)  # slow start and connections
        before = time.process_time()
        await _ask_all(model, count)
        used = time.process_time() - before
    budget.close()
    return used / count * 1000


def _least(url: str, folder: Path, **fields: Any) -> float:
    """Return the least of several times: whatever else the machine does only ever adds."""
    return min(asyncio.run(_cpu_ms(url, folder / str(n), **fields)) for n in range(REPEATS))


def test_cpu_per_plain_request(tmp_path, figure):
    with ServerProcess(["--latency", str(LATENCY_S)]) as server:
        used = _least(server.url, tmp_path, stream=False)
    what = f"CPU of the client per plain request, {IN_FLIGHT} in flight"
    figure(what, f"≤ {CPU_MS_PLAIN} ms", f"{used:.3f} ms", used <= CPU_MS_PLAIN)


def test_cpu_per_streamed_request(tmp_path, figure):
    text = " ".join(f"word{number}" for number in range(CHUNKS))
    options = ["--latency", LATENCY_S, "--chunks", CHUNKS, "--gap", CHUNK_GAP_S, "--text", text]
    with ServerProcess([str(each) for each in options]) as server:
        used = _least(server.url, tmp_path, stream=True)
    what = f"CPU of the client per streamed request of {CHUNKS} chunks, {IN_FLIGHT} in flight"
    figure(what, f"≤ {CPU_MS_STREAMED} ms", f"{used:.3f} ms", used <= CPU_MS_STREAMED)
