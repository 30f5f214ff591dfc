"""What writing a journal promises, also when the disk does not cooperate."""

import asyncio
import errno
import os
import stat
import threading
from pathlib import Path

import pytest

from metacog_pipeline.errors import StoreError
from metacog_pipeline.home import Home
from metacog_pipeline.transcripts.folder import PartitionFolder
from metacog_pipeline.transcripts.journal import Journal
from metacog_pipeline.transcripts.schema import Record
from tests.partitions import read_records


def _names(folder: PartitionFolder) -> list[str]:
    return sorted(path.name for path in folder.path.iterdir())


async def _appended(journal: Journal, record: Record) -> None:
    await journal.submit(record)


def _keep(folder: PartitionFolder, *records: Record) -> None:
    async def session() -> None:
        journal = Journal(folder)
        await asyncio.gather(*(_appended(journal, record) for record in records))
        journal.close()

    asyncio.run(session())


class Gate:
    """Stands in for ``os.fsync``: the first call on a journal waits until it is opened."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls = 0
        self.reached, self.open = threading.Event(), threading.Event()
        self._fsync = os.fsync
        monkeypatch.setattr(os, "fsync", self)

    def __call__(self, descriptor: int) -> None:
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            self.calls += 1
            self.reached.set()
            assert self.open.wait(20)
        self._fsync(descriptor)


def test_a_session_that_keeps_nothing_leaves_nothing(tmp_path):
    folder = PartitionFolder(Home(tmp_path), "b", "m", 1)
    _keep(folder)
    assert not folder.path.exists()


def test_each_session_writes_a_new_segment_and_leaves_older_ones_alone(folder, make):
    _keep(folder, make(1))
    first = folder / "journal-000001.jsonl"
    first.write_bytes(first.read_bytes() + b'{"torn')
    before = first.read_bytes()
    _keep(folder, make(2))
    (folder / "journal-000041.jsonl").write_bytes(b"")
    _keep(folder, make(3))
    assert _names(folder) == [f"journal-{n:06d}.jsonl" for n in (1, 2, 41, 42)]
    assert first.read_bytes() == before
    assert list(read_records(folder)) == [make(1), make(2), make(3)]


def test_records_are_kept_in_the_order_they_were_handed_over(folder, make):
    records = [make(n, text="x" * (n * 37 % 5000)) for n in range(500)]
    _keep(folder, *records)
    assert list(read_records(folder)) == records


def test_a_record_is_acknowledged_only_after_its_fsync_and_the_rest_share_the_next(folder, make, monkeypatch):
    gate = Gate(monkeypatch)

    async def session() -> None:
        journal = Journal(folder)
        first = asyncio.create_task(_appended(journal, make(0)))
        await asyncio.to_thread(gate.reached.wait, 20)
        others = [asyncio.create_task(_appended(journal, make(n))) for n in range(1, 101)]
        await asyncio.sleep(0.05)
        assert not first.done() and not any(task.done() for task in others)
        gate.open.set()
        await asyncio.gather(first, *others)
        assert gate.calls == 2
        journal.close()

    asyncio.run(session())
    assert len(list(read_records(folder))) == 101


@pytest.fixture
def synced(monkeypatch) -> list[str]:
    """The names of the files and folders that are brought to the disk, in turn."""
    names: list[str] = []
    fsync = os.fsync

    def noted(descriptor: int) -> None:
        names.append(Path(f"/proc/self/fd/{descriptor}").readlink().name)
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", noted)
    return names


def test_the_folders_of_a_new_partition_are_on_the_disk_before_its_first_answer(tmp_path, make, synced):
    _keep(PartitionFolder(Home(tmp_path / "home"), "b", "m", 1), make(0))
    above = [tmp_path.name, "home", "transcripts", "benchmark=b", "model=m"]
    assert synced == [*above, "run=1", "journal-000001.jsonl"]


def test_the_name_of_a_new_segment_is_on_the_disk_before_its_first_answer_is_acknowledged(
    folder, make, synced
):
    """A file whose folder was not synced is gone after a power cut, with every answer in it."""

    async def session() -> None:
        journal = Journal(folder)
        await journal.submit(make(0))
        assert synced == [folder.path.name, "journal-000001.jsonl"]
        await journal.submit(make(1))
        assert synced[2:] == ["journal-000001.jsonl"], "the folder changes with a new file only"
        journal.close()

    asyncio.run(session())


def test_closing_waits_for_what_was_handed_over(folder, make):
    async def session() -> None:
        journal = Journal(folder)
        waits = [asyncio.create_task(_appended(journal, make(n))) for n in range(50)]
        await asyncio.sleep(0)
        journal.close()
        journal.close()
        assert len(list(read_records(folder))) == 50
        await asyncio.gather(*waits)
        with pytest.raises(RuntimeError, match="closed"):
            await journal.submit(make(99))

    asyncio.run(session())


def test_what_was_handed_over_is_written_even_when_the_event_loop_is_gone(folder, make):
    async def session(journal: Journal) -> None:
        for n in range(20):
            journal.submit(make(n))

    journal = Journal(folder)
    asyncio.run(session(journal))
    journal.close()
    assert len(list(read_records(folder))) == 20


def test_a_failed_fsync_reaches_everyone_who_waits_and_everyone_who_comes_later(folder, make, monkeypatch):
    def fail(descriptor: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    async def session() -> None:
        journal = Journal(folder)
        await journal.submit(make(0))
        monkeypatch.setattr(os, "fsync", fail)
        outcomes = await asyncio.gather(
            *(_appended(journal, make(n)) for n in range(1, 9)), return_exceptions=True
        )
        outcomes += await asyncio.gather(_appended(journal, make(9)), return_exceptions=True)
        journal.close()
        for outcome in outcomes:
            assert isinstance(outcome, StoreError)
            assert "journal-000001.jsonl" in str(outcome) and "Input/output error" in str(outcome)
            assert "run again" in str(outcome)

    asyncio.run(session())
    assert next(read_records(folder)) == make(0)


def test_a_full_disk_loses_nothing_acknowledged_and_the_next_session_goes_on(folder, make, disk_limit):
    acknowledged: list[int] = []

    async def session() -> None:
        journal = Journal(folder)

        async def one(n: int) -> None:
            await journal.submit(make(n, text="x" * 700))
            acknowledged.append(n)

        disk_limit(20_000)
        for start in range(0, 60, 6):
            outcomes = await asyncio.gather(*(one(start + i) for i in range(6)), return_exceptions=True)
            if any(outcomes):
                assert all(isinstance(each, StoreError) for each in outcomes if each is not None)
                break
        else:
            raise AssertionError("the disk was never full")
        disk_limit(-1)
        journal.close()

    asyncio.run(session())
    assert (folder / "journal-000001.jsonl").stat().st_size == 20_000  # a torn record is at its end
    kept = [record.item_id for record in read_records(folder)]
    assert acknowledged and [make(n).item_id for n in acknowledged] == kept[: len(acknowledged)]
    _keep(folder, make(99))
    assert [record.item_id for record in read_records(folder)] == [*kept, make(99).item_id]


class Elsewhere:
    """A store that gives a session a number which is taken here."""

    def begin(self) -> int:
        return 1


def test_no_session_writes_into_the_segment_of_another(folder, make):
    _keep(folder, make(1))

    async def session() -> None:
        journal = Journal(folder, Elsewhere())  # type: ignore[arg-type]
        with pytest.raises(StoreError, match=r"journal-000001\.jsonl: File exists"):
            await journal.submit(make(2))
        journal.close()

    asyncio.run(session())
    assert list(read_records(folder)) == [make(1)]


def test_sessions_keep_their_order_beyond_a_million(folder, make):
    (folder / "journal-999998.jsonl").write_bytes(b"")
    for number in (1, 2):
        _keep(folder, make(number))
    assert _names(folder)[:2] == ["journal-1000000.jsonl", "journal-999998.jsonl"]
    assert list(read_records(folder)) == [make(1), make(2)]
