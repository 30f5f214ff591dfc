"""The whole path of an answer, from its prompt to its place in the Parquet copy, in a process of its own.

The server runs in another process, so neither its processor time nor its memory counts. Processor time per request is
the difference between a long and a short run, which leaves start-up out. Each figure is the best of several, because
whatever else the machine does only ever adds.
"""

import functools
import sys
from typing import Any

import pytest

from tests.performance.peers import PEER, PROMPT_BYTES, child, cpu_ms, peer_cpu_ms, peer_release
from tests.simulated_server import ServerProcess

pytestmark = pytest.mark.bench

LATENCY_S = 0.2
REPEATS = 3
CPU_MS = 1.5
PEER_SHARE = 1 / 15
RATE_SHARE = 0.9
MEMORY_REQUESTS, MEMORY_GROWTH_MB, MEMORY_FLAT_MB = 20_000, 150, 20
RESUMED, RESUME_S = 10_000, 2.0


@pytest.fixture(scope="module")
def slow_server():
    with ServerProcess(["--latency", str(LATENCY_S), "--text", "Answer: A\nConfidence: 3"]) as server:
        yield server.url


@pytest.fixture
def quick_server():
    with ServerProcess(["--latency", "0.005", "--text", "Answer: A\nConfidence: 3"]) as server:
        yield server.url


@pytest.fixture(scope="module")
def our_cpu_ms(slow_server, tmp_path_factory):
    """Return what measures our own time for a number in flight, once."""

    @functools.cache
    def measured(in_flight: int) -> float:
        folder = tmp_path_factory.mktemp("ours")
        return cpu_ms(sys.executable, "asking.py", slow_server, folder, in_flight, REPEATS)

    return measured


@pytest.mark.parametrize("in_flight", [100, 300])
def test_cpu_per_request_all_in(in_flight, our_cpu_ms, figure):
    ours = our_cpu_ms(in_flight)
    what = f"CPU per request all-in, {in_flight} in flight"
    figure(what, f"≤ {CPU_MS} ms", f"{ours:.2f} ms", ours <= CPU_MS)


@pytest.mark.parametrize("in_flight", [100, 300])
def test_cpu_per_request_beside_the_peer(in_flight, our_cpu_ms, slow_server, tmp_path, peer_python, figure):
    ours = our_cpu_ms(in_flight)
    theirs = peer_cpu_ms(peer_python, slow_server, tmp_path, in_flight)
    figure(
        f"the same beside {PEER} {peer_release(peer_python)}, {in_flight} in flight",
        "≤ 1/15 of it",
        f"{ours:.2f} ms against {theirs:.1f} ms: 1/{theirs / ours:.0f}",
        ours <= theirs * PEER_SHARE,
    )


def test_the_rate_is_near_the_ideal(slow_server, tmp_path, figure):
    ideal, rates = 100 / LATENCY_S, [0.0]
    while max(rates) < RATE_SHARE * ideal and len(rates) <= 2 * REPEATS:
        folder = tmp_path / str(len(rates))
        rates.append(child(sys.executable, "asking.py", slow_server, folder, 5000, 100, PROMPT_BYTES)["rate"])
    share = max(rates) / ideal
    figure(
        "rate at 100 in flight, 200 ms a call",
        f"≥ {RATE_SHARE:.0%} of the ideal {ideal:.0f}/s",
        f"{max(rates):.0f}/s: {share:.1%}",
        share >= RATE_SHARE,
    )


def test_memory_of_20000_requests(quick_server, tmp_path, figure):
    found = child(sys.executable, "asking.py", quick_server, tmp_path, MEMORY_REQUESTS, 300, PROMPT_BYTES)
    before, *marks, _ = found["rss_mb"]
    growth, later = found["peak_mb"] - before, max(marks) - marks[1]
    figure(
        f"memory for {MEMORY_REQUESTS:,} requests of 2 kB",
        f"peak growth ≤ {MEMORY_GROWTH_MB} MB; ≤ {MEMORY_FLAT_MB} MB more while asking, after the first 2,000",
        f"{growth:.0f} MB, compaction included; {later:.0f} MB",
        growth <= MEMORY_GROWTH_MB and later <= MEMORY_FLAT_MB,
    )


def test_resuming_a_finished_partition(quick_server, tmp_path, figure):
    def session() -> dict[str, Any]:
        return child(sys.executable, "asking.py", quick_server, tmp_path, RESUMED, 100, PROMPT_BYTES)

    assert session()["calls"] == RESUMED
    again = [session() for _ in range(REPEATS)]
    seconds = min(one["wall_s"] for one in again)
    calls = sum(one["calls"] for one in again)
    assert all(one["reused"] == RESUMED for one in again)
    figure(
        f"resuming a finished partition of {RESUMED:,} answers",
        f"≤ {RESUME_S} s, 0 calls",
        f"{seconds:.2f} s, {calls} calls",
        seconds <= RESUME_S and calls == 0,
    )
