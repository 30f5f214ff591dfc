"""The store of one partition: what is answered, what it cost, and who may write."""

import asyncio
import errno
import subprocess
import sys
from dataclasses import replace

import pytest

from metacog_pipeline.errors import StoreError
from metacog_pipeline.home import Home
from metacog_pipeline.transcripts.folder import folder_called, kept_folders
from metacog_pipeline.transcripts.parquet import Footer
from metacog_pipeline.transcripts.store import (
    PartitionFolder,
    PartitionStore,
    keep_whole,
    kept_records,
    read_manifest,
    read_partition,
    write_manifest,
)
from tests.partitions import keep, read_records
from tests.tables import every


def counts(copy: Footer) -> tuple[int, int]:
    return copy.rows, copy.superseded


def test_a_partition_has_one_folder_under_the_home(tmp_path):
    folder = PartitionFolder(Home(tmp_path), "metamedqa", "gpt-x.1", 3)
    assert folder.key == "transcripts/benchmark=metamedqa/model=gpt-x.1/run=3"
    assert folder.path == tmp_path / folder.key and str(folder) == str(folder.path)
    assert folder_called(folder.home, folder.key) == folder


def test_folders_are_found_by_their_names_and_no_others(tmp_path):
    home = Home(tmp_path)
    names = ("a", "m", 1), ("a", "m", 10), ("a", "n", 2), ("b", "m", 1)
    there = [PartitionFolder(home, *each) for each in names]
    for folder in there:
        folder.path.mkdir(parents=True)
    for odd in ("model=m/run=0", "model=m/run=01", "model=m/run=1.old", "model=M/run=1", "run=1"):
        key = f"transcripts/benchmark=a/{odd}"
        (home / key).mkdir(parents=True)
        assert folder_called(home, key) is None
    assert kept_folders(home) == there
    assert kept_folders(home, "a", "m") == there[:2]
    assert kept_folders(home, model="m") == [*there[:2], there[3]]
    assert folder_called(home, f"{there[0].key}/x") is None and folder_called(home, "transcripts") is None


@pytest.mark.parametrize(
    ("benchmark", "model", "run"),
    [("m", "../x", 1), ("m", "a/b", 1), ("m", "", 1), ("m", "A", 1), ("m", "a\n", 1), ("..", "a", 1), ("m", "a", 0)],
)  # fmt: skip
def test_a_name_that_could_leave_the_home_is_refused(tmp_path, benchmark, model, run):
    with pytest.raises(StoreError, match="cannot name a folder"):
        PartitionFolder(Home(tmp_path), benchmark, model, run)


def test_what_is_kept_is_found_at_once_and_in_the_next_session(folder, make):
    long = {"status": "truncated", "text": "long " * 1000 + "\ud83d", "cost_usd": None}
    records = [
        make(0),
        make(1, status="refused", text=""),
        make(2, **long),
        make(3, logprobs_json='[["A",-0.25,[]]]'),
    ]

    def check(store: PartitionStore) -> None:
        assert len(store) == 4
        assert [store.find(record.answer_id) for record in records] == records
        assert store.find("0" * 64) is None

    async def session(store: PartitionStore) -> None:
        for record in records:
            await store.keep(record)
            assert store.find(record.answer_id) is not None
            assert list(read_records(folder))[-1] == record

    with PartitionStore(folder) as store:
        assert store.find(records[0].answer_id) is None
        asyncio.run(session(store))
        check(store)
    with PartitionStore(folder) as store:
        check(store)


def test_a_failed_call_is_kept_and_paid_for_but_never_an_answer(folder, make):
    failed = make(0, status="failed", text="", cost_usd=0.5)
    keep(folder, failed)
    with PartitionStore(folder) as store:
        assert store.find(failed.answer_id) is None and len(store) == 0
        assert store.cost_usd == 0.5
    keep(folder, make(0, cost_usd=0.25))
    with PartitionStore(folder) as store:
        assert store.find(failed.answer_id) is not None
        assert store.cost_usd == 0.75


def test_a_cancelled_keep_is_still_found_and_counted(folder, make):
    async def session(store: PartitionStore) -> None:
        task = asyncio.create_task(store.keep(make(0)))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await store.keep(make(1))

    with PartitionStore(folder) as store:
        asyncio.run(session(store))
        assert store.find(make(0).answer_id) is not None
        assert store.cost_usd == pytest.approx(0.002)


def test_another_process_is_refused_and_a_killed_holder_leaves_the_folder_free(folder, make):
    code = (
        "import sys, time; from pathlib import Path; from metacog_pipeline.transcripts.shared import writing\n"
        "from metacog_pipeline.home import Home; from metacog_pipeline.transcripts.store import PartitionFolder\n"
        "with writing(PartitionFolder(Home(Path(sys.argv[1])), 'b', 'm', 1)): print('held', flush=True); time.sleep(60)"
    )
    command = [sys.executable, "-c", code, folder.home.path]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout is not None and child.stdout.readline() == "held\n"
            with pytest.raises(StoreError, match=f"in use by process {child.pid}"):
                PartitionStore(folder)
            with pytest.raises(StoreError, match="in use by process"):
                keep_whole(folder, [make(0)])
        finally:
            child.kill()
    with PartitionStore(folder):
        pass


def test_a_failed_opening_gives_the_folder_back(folder, make):
    keep(folder, make(0), make(1))
    journal = folder / "journal-000001.jsonl"
    whole = journal.read_bytes()
    journal.write_bytes(b"{\n" + whole)
    for _ in range(2):
        with pytest.raises(StoreError, match="line 1 cannot be read"):
            PartitionStore(folder)
    journal.write_bytes(whole)
    with PartitionStore(folder) as store:
        assert len(store) == 2


def test_a_copy_without_journals_counts_as_answered_and_joins_what_comes_after(folder, make):
    failed = make(2, status="failed")
    keep(folder, make(0), make(1, text="x" * 5000), failed, compact=True)
    (folder / "journal-000001.jsonl").unlink()
    with PartitionStore(folder) as store:
        assert len(store) == 2 and store.cost_usd == pytest.approx(0.003)
        found = store.find(make(1).answer_id)
        assert found is not None and found.text == "x" * 5000
        asyncio.run(store.keep(make(3)))
    with PartitionStore(folder) as store:  # before any compaction: both the copy and the journal count
        assert len(store) == 3 and store.cost_usd == pytest.approx(0.004)
        assert store.compact().rows == 4
    assert {make(n).item_id for n in range(4)} == {record.item_id for record in read_records(folder)}
    with PartitionStore(folder) as store:
        asyncio.run(store.keep(make(4)))
        assert store.compact(current=[]).rows == 5
        assert len(store) == 4 and store.cost_usd == pytest.approx(0.005)
    assert read_partition(folder, ["item_id"]).column(0).to_pylist() == [make(n).item_id for n in range(5)]


@pytest.mark.parametrize("copy_only", [False, True])
def test_one_answer_kept_for_two_items_costs_once_and_has_a_row_for_each(folder, make, copy_only):
    paid = make(0, text="x" * 1000, cost_usd=0.5)
    keep(folder, paid, compact=True)
    if copy_only:
        (folder / "journal-000001.jsonl").unlink()
    with PartitionStore(folder) as store:
        assert store.has_row(paid.answer_id, paid.item_id, paid.condition)
        assert not store.has_row(paid.answer_id, "other", paid.condition)
        asyncio.run(store.keep_reused(paid.answer_id, "other", "hash", "warned"))
        assert store.has_row(paid.answer_id, "other", "warned")
        assert store.cost_usd == 0.5 and len(store) == 1
        assert counts(store.compact([paid.answer_id])) == (2, 0)
    with PartitionStore(folder) as store:
        assert store.has_row(paid.answer_id, "other", "warned") and store.cost_usd == 0.5
    rows = read_partition(folder, ["item_id", "item_hash", "condition", "text", "cost_usd"]).to_pylist()
    assert sorted((r["item_id"], r["item_hash"], r["condition"], r["text"], r["cost_usd"]) for r in rows) == [
        (paid.item_id, paid.item_hash, "vanilla", paid.text, 0.5),
        ("other", "hash", "warned", paid.text, 0.0),
    ]
    with PartitionStore(folder) as store, pytest.raises(KeyError):
        asyncio.run(store.keep_reused("0" * 64, "other", "hash", "warned"))


def test_everything_kept_is_read_without_the_lock_while_another_writes(folder, make):
    keep(folder, make(0), make(1, status="failed"), compact=True)
    (folder / "journal-000001.jsonl").unlink()
    assert [record.item_id for record in kept_records(folder)] == [make(0).item_id, make(1).item_id]
    with PartitionStore(folder) as store:
        asyncio.run(store.keep(make(2)))
        assert [record.item_id for record in kept_records(folder)] == [make(n).item_id for n in range(3)]


def test_the_manifest_is_replaced_whole_and_empty_before_the_first(folder):
    assert read_manifest(folder) == {}
    write_manifest(folder, {"items": 3, "name": "naïve \ud83d"})
    write_manifest(folder, {"items": 4})
    assert read_manifest(folder) == {"items": 4}
    assert [path.name for path in folder.path.iterdir()] == ["partition.json"]


@every("content", [b"", b"[1]", b"{", b"\xff", b"[" * 100_000])
def test_a_damaged_manifest_is_that_of_a_failed_partition(folder, content):
    (folder / "partition.json").write_bytes(content)
    found = read_manifest(folder)
    assert found["state"] == "failed" and "partition.json is damaged" in str(found["message"])


def test_what_a_provider_said_is_one_printable_line(folder):
    write_manifest(folder, {"message": "401: \x1b]0;owned\x07\nnext\u202e"})
    assert read_manifest(folder)["message"] == "401: ]0;owned next"


def test_a_folder_in_which_nothing_can_be_kept_is_refused_before_anything_is_asked(folder, monkeypatch):
    def full(descriptor: int, data: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with PartitionStore(folder):
        pass
    monkeypatch.setattr("os.write", full)
    with pytest.raises(StoreError, match=r"No space left on device.*free space"):
        PartitionStore(folder)
    monkeypatch.undo()
    with PartitionStore(folder):  # the folder was given back, and nothing was left in it
        assert [path.name for path in folder.path.iterdir()] == [".lock"]


def test_the_store_knows_which_model_gave_each_answer(folder, make):
    records = [replace(make(i), model_reported=name) for i, name in enumerate(["a", "b", "a", None])]
    keep(folder, *records)
    with PartitionStore(folder) as store:
        assert store.models_reported([r.answer_id for r in records]) == {"a": 2, "b": 1}
        assert store.models_reported([records[1].answer_id, "never asked"]) == {"b": 1}


def test_records_kept_together_are_read_back_after_those_that_were_there(folder, make):
    keep_whole(folder, [make(0), make(1, text="\ud83d")])
    keep_whole(folder, [])
    keep_whole(folder, [make(2)])
    assert list(read_records(folder)) == [make(0), make(1, text="\ud83d"), make(2)]
    assert len(list(folder.path.glob("journal-*"))) == 2


@pytest.mark.parametrize("broken", ["os.fsync", "metacog_pipeline.transcripts.journal.encode_line"])
def test_of_records_kept_together_all_are_there_or_none(folder, make, monkeypatch, broken):
    keep_whole(folder, [make(0)])
    (folder / ".journal-000002.jsonl.killed.tmp").write_text("half")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(broken, full)
        with pytest.raises(StoreError, match="nothing of the file was kept"):
            keep_whole(folder, [make(1), make(2)])
    assert list(read_records(folder)) == [make(0)]
    assert [path.name for path in folder.path.glob("*journal*")] == ["journal-000001.jsonl"]
