"""``crash_child.py journal|store HOME FIRST RECORD``: keeps records FIRST, FIRST+1, … and prints their ids."""

import asyncio
import dataclasses
import itertools
import os
import random
import sys
from pathlib import Path

from metacog_pipeline.files import sha256_hex
from metacog_pipeline.home import Home
from metacog_pipeline.transcripts.folder import PartitionFolder
from metacog_pipeline.transcripts.journal import Journal
from metacog_pipeline.transcripts.lines import decode_line
from metacog_pipeline.transcripts.schema import Record

TOGETHER = 30


def numbered(record: Record, n: int, size: int) -> Record:
    return dataclasses.replace(record, answer_id=sha256_hex(str(n)), item_id=f"item-{n}", text="x" * size)


def acknowledge(record: Record) -> None:
    os.write(1, record.answer_id.encode() + b"\n")


async def keep_in_a_journal(folder: PartitionFolder, first: int, model: Record) -> None:
    journal, sizes, numbers = Journal(folder), random.Random(first), itertools.count(first)

    async def appender() -> None:
        for n in numbers:
            record = numbered(model, n, sizes.choice([10, 2000, 2000, 2000, 60_000]))
            await journal.submit(record)
            acknowledge(record)

    await asyncio.gather(*(appender() for _ in range(TOGETHER)))


async def keep_in_a_store(folder: PartitionFolder, first: int, model: Record) -> None:
    from metacog_pipeline.transcripts.store import PartitionStore

    with PartitionStore(folder) as store:
        for n in itertools.count(first):
            record = numbered(model, n, 100)
            await store.keep(record)
            acknowledge(record)
            if n % 3 == 0:
                store.compact([record.answer_id])


if __name__ == "__main__":
    what, where, number, line = sys.argv[1:]
    keep = keep_in_a_journal if what == "journal" else keep_in_a_store
    asyncio.run(
        keep(PartitionFolder(Home(Path(where)), "b", "m", 1), int(number), decode_line(line.encode()))
    )
