"""A partition kept in a store goes on on any host: nothing is lost, nothing is read twice, one writer at a time."""

import asyncio
import os
import shutil
from dataclasses import replace
from typing import Any

import pytest

from metacog_pipeline.errors import StoreError
from metacog_pipeline.home import Home
from metacog_pipeline.storage import attached, objects
from metacog_pipeline.storage.attached import attach, store_of
from metacog_pipeline.storage.store import Store
from metacog_pipeline.transcripts import shared
from metacog_pipeline.transcripts.folder import PartitionBusyError
from metacog_pipeline.transcripts.lines import encode_line
from metacog_pipeline.transcripts.schema import Record
from metacog_pipeline.transcripts.shared import refresh
from metacog_pipeline.transcripts.store import (
    PartitionFolder,
    PartitionStore,
    keep_whole,
    kept_records,
    read_manifest,
    write_manifest,
)
from tests.servers import free_port

PREFIX = "transcripts/benchmark=b/model=m/run=1"


def first_of(home: Home) -> PartitionFolder:
    return PartitionFolder(home, "b", "m", 1)


class Host:
    """A home of its own, attached to the one store."""

    def __init__(self, home: Home, address: str) -> None:
        home.path.mkdir(exist_ok=True)
        attach(home, address, None)
        self.home, self.folder = home, first_of(home)

    @property
    def store(self) -> Store:
        found = store_of(self.home)
        assert found is not None
        return found

    def names(self) -> list[str]:
        return [one.key.rpartition("/")[2] for one in self.store.listed(PREFIX)]

    def held(self) -> int:
        """Open the partition as its writer and return how many answers it has."""
        with PartitionStore(self.folder) as store:
            return len(store)

    def kept(self) -> list[str]:
        return [record.item_id for record in kept_records(self.folder)]


@pytest.fixture
def hosts(request, tmp_path, monkeypatch):
    """Two hosts of a store in a folder; both kinds of store keep the same promises (`tests/storage`)."""
    monkeypatch.setattr(shared, "LEASE_S", 0.5)
    in_folder = getattr(request, "param", "folder") == "folder"
    address = str(tmp_path / "store") if in_folder else request.getfixturevalue("s3")
    yield Host(Home(tmp_path / "a"), address), Host(Home(tmp_path / "b"), address)


def keep(store: PartitionStore, *records: Record) -> None:
    async def all_of_them() -> None:
        for record in records:
            await store.keep(record)

    asyncio.run(all_of_them())


def dead(host: Host, *records: Record) -> PartitionStore:
    """Return a session that kept ``records`` and was never closed: its process is gone, its renewing too."""
    store = PartitionStore(host.folder)
    keep(store, *records)
    assert store._shared is not None
    store._shared.close()
    return store


def later(monkeypatch: pytest.MonkeyPatch, seconds: float = shared.LEASE_S + 1) -> None:
    now = shared.time.time()
    monkeypatch.setattr(shared.time, "time", lambda: now + seconds)


@pytest.mark.parametrize("hosts", ["folder", "s3"], indirect=True)
def test_a_host_with_an_empty_home_goes_on_where_another_ended(hosts, make):
    a, b = hosts
    with PartitionStore(a.folder) as store:
        keep(store, make(0), make(1))
        store.compact({make(0).answer_id, make(1).answer_id})
        write_manifest(a.folder, {"model": "m", "state": "complete"})
    assert [name.partition("-")[0] for name in a.names()] == ["copy", "head.json", "journal", "journal"]
    refresh(b.home)
    assert read_manifest(b.folder) == {"model": "m", "state": "complete"}
    assert b.kept() == ["item-000000", "item-000001"]
    with PartitionStore(b.folder) as store:
        assert make(0).answer_id in store
        keep(store, make(2))
        store.compact(None)
    for session in ("journal-000001", "journal-000002"):
        pieces = [one.key for one in b.store.listed(PREFIX) if f"/{session}." in one.key]
        kept = b"".join(b.store.read(key).content for key in pieces)  # type: ignore[union-attr]
        assert kept == (b.folder / f"{session}.jsonl").read_bytes()
    assert sum(name.startswith("copy") for name in b.names()) == 1, "the older copy is gone"
    with PartitionStore(a.folder) as store:
        assert len(store) == 3
        store.compact(None)
    assert (a.folder / "transcripts.parquet").read_bytes() == (b.folder / "transcripts.parquet").read_bytes()


def test_what_a_killed_host_kept_is_found_piece_by_piece(hosts, make):
    a, b = hosts
    asleep = dead(a, make(0), make(1), make(2))
    assert [name for name in a.names() if name.startswith("journal")] == [
        f"journal-000001.00000{place}.jsonl" for place in (1, 2, 3)
    ]
    refresh(b.home)
    assert len(b.kept()) == 3, "one under way is read without a lease"
    with PartitionStore(b.folder) as store:
        assert len(store) == 3
        keep(store, make(3))
    with pytest.raises(StoreError, match="another host took this partition over"):
        keep(asleep, make(4))
    asleep.close()
    assert len(b.kept()) == 4
    # What the sleeper could not keep in the store is on its disk, and comes to the store when it is run there again.
    assert a.held() == 5
    refresh(b.home)
    assert b.held() == 5


def test_a_sleeper_whose_clock_stands_still_is_refused_by_the_place_of_its_next_piece(
    hosts, make, monkeypatch
):
    a, b = hosts
    asleep = dead(a, make(0))
    with monkeypatch.context() as patch:
        later(patch)
        assert b.held() == 1
    with pytest.raises(StoreError, match="took this partition over"):  # by its own clock the lease is good
        keep(asleep, make(1))
    asleep.close()


def test_a_lease_that_ran_out_and_that_nobody_took_is_won_again(hosts, make, monkeypatch):
    a, _ = hosts
    asleep = dead(a, make(0))
    later(monkeypatch)
    keep(asleep, make(1))
    asleep.close()
    assert len(a.kept()) == 2
    assert {"journal-000001.000001.jsonl", "journal-000001.000002.jsonl"} <= set(a.names())


def test_a_lease_is_watched_until_it_is_renewed_or_nobody_has_renewed_it_for_as_long_as_it_lasts(
    hosts, make, monkeypatch
):
    a, b = hosts
    with monkeypatch.context() as ahead:
        later(ahead, 600)  # the clock of this host is wrong
        dead(a, make(0))
    with PartitionStore(b.folder) as store:
        assert len(store) == 1
        with pytest.raises(PartitionBusyError, match="is being asked by"):
            a.held()


def killed(host: Host, *records: Record) -> None:
    """Keep ``records`` in a session that ends without giving anything back, as a killed process."""
    store = dead(host, *records)
    store._shared.publish = lambda: None  # type: ignore[method-assign, union-attr]
    store.close()


def test_lines_that_never_reached_the_store_are_kept_and_torn_ones_are_not(hosts, make):
    a, b = hosts
    killed(a, make(0))
    with (a.folder / "journal-000001.jsonl").open("ab") as journal:
        journal.write(encode_line(make(1)) + encode_line(make(2))[:40])
    assert a.held() == 2
    assert b.held() == 2


def test_a_session_of_which_nothing_reached_the_store_is_there_once_however_often_the_home_is_opened(
    hosts, make
):
    a, b = hosts
    store = PartitionStore(a.folder)
    store._shared.push = None  # type: ignore[method-assign, union-attr, assignment]
    with pytest.raises(StoreError, match="NoneType"):
        keep(store, make(0))
    store._shared.close()  # type: ignore[union-attr]
    store._shared._failed = True  # type: ignore[union-attr]
    store.close()
    assert b.held() == 0
    assert [a.held() for _ in range(3)] == [1, 1, 1] and a.kept() == ["item-000000"]
    assert b.held() == 1


def test_a_home_that_was_plain_brings_what_it_has(hosts, tmp_path, make):
    a, b = hosts
    plain = Home(tmp_path / "plain")
    keep_whole(first_of(plain), [make(5), make(6)])
    killed(a, make(0))
    shutil.copytree(plain.path, b.home.path, dirs_exist_ok=True)
    later_b = Host(b.home, a.store.address)
    assert later_b.held() == 3
    keep_whole(a.folder, [make(7)])
    assert len(a.kept()) == 4
    assert later_b.held() == 4


@pytest.mark.parametrize("what", ["journal-000001.000002.jsonl", "head.json", "copy", "journal-000009.jsonl"])
def test_a_damaged_object_is_named(hosts, make, monkeypatch, what):
    a, b = hosts
    killed(a, make(0), make(1))
    if what == "journal-000009.jsonl":  # a whole session, as a home that was plain brings it
        (a.folder / what).write_bytes(encode_line(make(9)))
        a.held()
    if what == "copy":
        with PartitionStore(a.folder) as store:
            store.compact(None)
    key = next(one.key for one in a.store.listed(PREFIX) if what in one.key)
    content = a.store.read(key).content  # type: ignore[union-attr]
    a.store.put(key, content[:9] + bytes([content[9] ^ 8]) + content[10:])
    later(monkeypatch)
    with pytest.raises(StoreError, match="is damaged") as error, PartitionStore(b.folder):
        pass
    assert key in str(error.value) and a.store.address in str(error.value)
    if ".00000" in key:
        a.store.delete([key.replace("000002.jsonl", "000001.jsonl")])
        with pytest.raises(StoreError, match=r"journal-000001.000001.jsonl: is missing"):
            b.held()


def test_a_damaged_object_concerns_its_partition_only(hosts, make):
    a, b = hosts
    for run in (1, 2):
        with PartitionStore(replace(a.folder, run=run)) as store:
            keep(store, make(0))
            write_manifest(store.folder, {"model": "m", "state": "complete"})
    refresh(b.home)
    for run in (1, 2):
        with PartitionStore(replace(a.folder, run=run)) as store:
            keep(store, make(run))
    key = f"{PREFIX}/journal-000002.000001.jsonl"
    a.store.put(key, a.store.read(key).content[:-9])  # type: ignore[union-attr]
    refresh(b.home)
    assert read_manifest(b.folder)["state"] == "failed" and "is damaged" in str(read_manifest(b.folder))
    assert len(list(kept_records(replace(b.folder, run=2)))) == 2


def test_only_what_changed_is_read_again(hosts, make, monkeypatch):
    a, b = hosts
    with PartitionStore(a.folder) as store:
        keep(store, make(0))
        store.compact(None)
    for _ in range(2):
        a.held()
        refresh(b.home)
    read: list[str] = []
    original = type(b.store).read
    monkeypatch.setattr(type(b.store), "read", lambda self, key: read.append(key) or original(self, key))
    refresh(b.home)
    a.held()
    assert {key.rpartition("/")[2] for key in read} == {"head.json"}


def test_two_hosts_at_one_moment_are_one_writer(hosts, monkeypatch):
    a, b = hosts
    before = shared.read_head

    def both(*given: Any) -> Any:
        found = before(*given)
        monkeypatch.setattr(shared, "read_head", before)
        b.held()
        return found

    monkeypatch.setattr(shared, "read_head", both)
    with pytest.raises(PartitionBusyError):
        a.held()
    a.held()


def test_while_the_store_is_away_answers_wait_and_none_is_lost(s3, tmp_path, make):
    server = pytest.importorskip("moto.server")
    port = free_port()
    away = server.ThreadedMotoServer(ip_address="127.0.0.1", port=port, verbose=False)
    away.start()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
        host = Host(Home(tmp_path / "a"), s3.replace("/study", "/away"))

        async def cut_off(store: PartitionStore) -> None:
            await store.keep(make(0))
            await asyncio.to_thread(away.stop)
            kept = [asyncio.create_task(store.keep(make(n))) for n in range(1, 5)]
            done, _ = await asyncio.wait(kept, timeout=0.3)
            assert not done, "an answer that is not in the store is not acknowledged"
            back = server.ThreadedMotoServer(ip_address="127.0.0.1", port=port, verbose=False)
            await asyncio.to_thread(back.start)
            try:
                await asyncio.gather(*kept)
            finally:
                opened.append(back)

        opened: list[Any] = []
        with PartitionStore(host.folder) as store:
            asyncio.run(cut_off(store))
        other = Host(Home(tmp_path / "b"), s3.replace("/study", "/away"))
        assert other.held() == 5
        opened[0].stop()


def test_a_store_that_stays_away_ends_the_run_and_its_answers_come_later(s3, tmp_path, make, monkeypatch):
    host = Host(Home(tmp_path / "a"), s3)
    killed(host, make(0))
    monkeypatch.setattr(objects, "PATIENCE_S", 0.2)
    monkeypatch.setattr(objects, "READING_S", 0.2)
    endpoint = os.environ["AWS_ENDPOINT_URL"]

    def at(address: str) -> None:
        monkeypatch.setenv("AWS_ENDPOINT_URL", address)
        attached._opened.cache_clear()

    with PartitionStore(host.folder) as store:
        assert store._shared is not None
        at("http://127.0.0.1:9")
        gone = store_of(host.home)
        store._shared._store = gone  # type: ignore[assignment]
        with pytest.raises(StoreError, match=r"cannot write the store s3://.*check the address"):
            keep(store, make(1))
    at(endpoint)
    assert host.held() == 2
    other = Host(Home(tmp_path / "b"), s3)
    assert other.held() == 2


def test_after_a_holder_that_kept_nothing_another_host_keeps_its_answers(hosts, make, monkeypatch):
    a, b = hosts
    asleep = dead(a)
    later(monkeypatch)
    with PartitionStore(b.folder) as store:
        keep(store, make(0))
    with pytest.raises(StoreError, match="took this partition over"):
        keep(asleep, make(1))
    asleep.close()
    assert len(b.kept()) == 1
