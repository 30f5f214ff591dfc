"""How fast answers reach a store and come back, and money is granted to many hosts: run by ``make bench``."""

import asyncio
import multiprocessing
import os
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from uuid import uuid4

import pytest

from metacog_pipeline.home import Home
from metacog_pipeline.llm.budget import Budget, BudgetSpent
from metacog_pipeline.storage.attached import attach
from metacog_pipeline.transcripts.folder import PartitionFolder
from metacog_pipeline.transcripts.store import PartitionStore
from tests.performance.test_journal import _records
from tests.servers import free_port

pytestmark = pytest.mark.bench


@pytest.fixture
def far_s3(monkeypatch):
    """A store at a server in a process of its own, as a real one is."""
    port, bucket = free_port(), f"b{uuid4().hex}"
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    asked = urllib.request.Request(f"http://127.0.0.1:{port}/{bucket}", method="PUT")
    for _ in range(300):
        try:
            urllib.request.urlopen(asked).close()
            break
        except OSError:
            time.sleep(0.1)
    for name, value in {
        "ENDPOINT_URL": f"http://127.0.0.1:{port}",
        "ACCESS_KEY_ID": "k",
        "SECRET_ACCESS_KEY": "s",
    }.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    yield f"s3://{bucket}/study"
    server.terminate()
    server.wait()


def home(folder: Path, address: str) -> PartitionFolder:
    folder.mkdir()
    attach(Home(folder), address, None)
    return PartitionFolder(Home(folder), "b", "m", 1)


@pytest.mark.parametrize("waiting", [100, 1000])
def test_answers_are_durable_in_the_store(tmp_path, far_s3, waiting):
    records = iter(_records(20_000, 2000))

    async def keep_all(store: PartitionStore) -> float:
        async def one_after_another() -> None:
            for record in records:
                await store.keep(record)

        begun = time.perf_counter()
        await asyncio.gather(*(one_after_another() for _ in range(waiting)))
        return 20_000 / (time.perf_counter() - begun)

    with PartitionStore(home(tmp_path / "a", far_s3)) as store:
        busy = time.process_time()
        rate = asyncio.run(keep_all(store))
        busy = 20_000 / (time.process_time() - busy)
    print(
        f"\n{waiting} waiting: {rate:,.0f} answers of 2 kB/s durable on disk and in the store; {busy:,.0f} a CPU second"
    )
    assert rate >= 3000


def test_a_hundred_thousand_answers_are_resumed(tmp_path, far_s3):
    records = _records(100_000, 2000)

    async def keep_all(store: PartitionStore) -> None:
        for first in range(0, len(records), 500):
            await asyncio.gather(*(store.keep(record) for record in records[first : first + 500]))

    with PartitionStore(home(tmp_path / "a", far_s3)) as store:
        asyncio.run(keep_all(store))
    folder = home(tmp_path / "b", far_s3)
    begun, busy = time.perf_counter(), time.process_time()
    with PartitionStore(folder) as store:
        took, busy = time.perf_counter() - begun, time.process_time() - busy
        assert len(store) == 100_000
    begun = time.perf_counter()
    with PartitionStore(folder):
        again = time.perf_counter() - begun
    print(
        f"\nresume of 100,000 answers of 2 kB: {took:.1f} s ({busy:.1f} s of CPU) on an empty home, "
        f"{again:.1f} s on one that has them"
    )
    assert took <= 10


def _spending(folder: Path, usd: float, seconds: float, pipe: object) -> None:
    async def reserve_all() -> tuple[int, float]:
        budget = Budget(Home(folder), 500.0)
        count, begun = 0, time.perf_counter()
        while time.perf_counter() - begun < seconds:
            try:
                budget.charge(await budget.reserve(usd), usd)
            except BudgetSpent:
                break
            count += 1
        took = time.perf_counter() - begun
        budget.close()
        return count, took

    pipe.send(asyncio.run(reserve_all()))  # type: ignore[attr-defined]


def test_reservations_of_four_processes_through_grants(tmp_path, postgres, postgres_server, monkeypatch):
    monkeypatch.setenv("BENCH_LEDGER", postgres)
    usd, context = 0.002, multiprocessing.get_context("fork")
    pipes, processes = [], []
    for number in range(4):
        folder = tmp_path / f"home{number}"
        folder.mkdir()
        attach(Home(folder), str(tmp_path / "store"), "BENCH_LEDGER")
        mine, theirs = context.Pipe()
        process = context.Process(target=_spending, args=(folder, usd, 60.0, theirs))
        process.start()
        pipes.append(mine)
        processes.append(process)
    time.sleep(1.0)
    postgres_server.stop()
    time.sleep(1.0)
    postgres_server.start()
    found = [pipe.recv() for pipe in pipes]
    for process in processes:
        process.join()
    count, took = sum(each[0] for each in found), max(each[1] for each in found)
    print(
        f"\n{count:,} reservations of 4 processes in {took:.1f} s: {count / took:,.0f}/s, PostgreSQL restarted in between"
    )
    print(f"spent ${count * usd:.3f} of $500; {os.cpu_count()} cores")
    assert count * usd <= 500.0 + 1e-9
    assert count / took >= 10_000
