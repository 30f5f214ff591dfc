"""How fast answers are kept and found again: run by ``make bench``."""

import asyncio
import dataclasses
import time
import tracemalloc
from datetime import UTC, datetime

import pytest

from metacog_pipeline.files import sha256_hex
from metacog_pipeline.transcripts.journal import Journal
from metacog_pipeline.transcripts.lines import encode_line
from metacog_pipeline.transcripts.schema import Record
from metacog_pipeline.transcripts.store import PartitionStore
from tests.partitions import read_records

pytestmark = pytest.mark.bench

BLANK = Record(
    answer_id="",
    benchmark="metamedqa",
    model="model-a",
    run=1,
    item_id="",
    item_hash="0" * 64,
    condition="vanilla",
    step="answer",
    source="measured",
    provider="openai",
    model_id="model-a-2026",
    model_reported="model-a-2026-01",
    mode="json_schema",
    request_json="",
    status="ok",
    text="B",
    finish_reason="stop",
    logprobs_json=None,
    input_tokens=300,
    output_tokens=3,
    cost_usd=0.001,
    attempts=1,
    started_at=datetime(2026, 1, 2, tzinfo=UTC),
    latency_s=0.25,
    http_status=200,
    error_kind=None,
    error_code=None,
    error_message=None,
)


def _records(count: int, line_bytes: int, text: str = "B") -> list[Record]:
    """``count`` records whose lines are ``line_bytes`` long, give or take a few."""
    short = len(encode_line(BLANK)) + 64 + 8 + len(text)
    padding = "q" * max(0, line_bytes - short)
    return [
        dataclasses.replace(
            BLANK, answer_id=sha256_hex(str(n)), item_id=f"i{n:07d}", request_json=padding, text=text
        )
        for n in range(count)
    ]


@pytest.mark.parametrize("appenders", [100, 300])
def test_at_least_5000_durable_records_a_second(folder, appenders):
    records = _records(20_000, 2000)

    async def session() -> None:
        journal, waiting = Journal(folder), iter(records)

        async def appender() -> None:
            for record in waiting:
                await journal.submit(record)

        await asyncio.gather(*(appender() for _ in range(appenders)))
        journal.close()

    clock, processor = time.perf_counter(), time.process_time()
    asyncio.run(session())
    seconds, cpu_ms = time.perf_counter() - clock, (time.process_time() - processor) * 1000 / len(records)
    rate = len(records) / seconds
    print(f"\n{appenders} appenders: {rate:,.0f} durable records/s of 2 kB, {cpu_ms:.3f} ms of CPU each")
    assert sum(1 for _ in read_records(folder)) == len(records)
    assert rate >= 5000
    assert cpu_ms <= 0.15


@pytest.mark.parametrize("text", ["B", "long " * 400])
def test_resuming_10000_finished_answers_takes_at_most_700_ms(folder, text):
    records = _records(10_000, 4000, text)
    lines = b"".join(encode_line(record) for record in records)
    (folder / "journal-000001.jsonl").write_bytes(lines)
    current = [record.answer_id for record in records]

    start = time.perf_counter()
    assert sum(1 for _ in read_records(folder)) == len(records)
    reading = time.perf_counter() - start

    start = time.perf_counter()
    with PartitionStore(folder) as store:
        store.compact(current)
    compacting = time.perf_counter() - start

    start = time.perf_counter()
    with PartitionStore(folder) as store:
        assert all(store.find(answer) is not None for answer in current)
        assert store.compact(current).rows == len(records)
    resuming = time.perf_counter() - start
    print(
        f"\n10,000 records of 4 kB, answers of {len(text)} characters: read {reading:.2f} s, "
        f"first compaction {compacting:.2f} s, resume {resuming:.2f} s"
    )
    assert reading <= 0.5
    assert resuming <= 0.7


def test_memory_stays_flat_while_20000_answers_are_kept_and_compacted(folder):
    text = "word " * 300

    async def keep(store: PartitionStore, records: list[Record]) -> None:
        for start in range(0, len(records), 100):
            await asyncio.gather(*(store.keep(record) for record in records[start : start + 100]))

    padding = _records(1, 2000, text)[0].request_json
    with PartitionStore(folder) as store:
        tracemalloc.start()
        for block in range(10):
            asyncio.run(
                keep(
                    store,
                    [
                        dataclasses.replace(
                            BLANK,
                            answer_id=sha256_hex(f"{block} {n}"),
                            item_id=f"i{n}",
                            text=text,
                            request_json=padding,
                        )
                        for n in range(2000)
                    ],
                )
            )
            if block == 0:
                after_first = tracemalloc.get_traced_memory()[0]
        grown = (tracemalloc.get_traced_memory()[0] - after_first) / 2**20
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        store.compact([])
        peak = (tracemalloc.get_traced_memory()[1] - before) / 2**20
        tracemalloc.stop()
    print(
        f"\n18,000 further answers: {grown:.1f} MB kept in memory; compacting 20,000: {peak:.1f} MB more at its peak"
    )
    assert grown <= 15
    assert peak <= 80
