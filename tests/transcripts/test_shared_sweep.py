"""A host that dies at the n-th operation of the store, for every n: what was acknowledged is found by any other."""

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any

import pytest

from metacog_pipeline.errors import StoreError
from metacog_pipeline.home import Home
from metacog_pipeline.storage.attached import attach, store_of
from metacog_pipeline.storage.store import Store
from metacog_pipeline.transcripts import shared
from metacog_pipeline.transcripts.schema import Record
from metacog_pipeline.transcripts.store import PartitionFolder, PartitionStore, kept_records, write_manifest
from tests.transcripts.test_shared import first_of, later

pytestmark = pytest.mark.proof
MOST = 60


class Dying:
    """A store whose host dies at operation ``n``, before or after it has happened; nothing works for it from then on."""

    def __init__(self, store: Store, n: int, after: bool) -> None:
        self.address = store.address
        self._store, self._left, self._after = store, n, after

    def __getattr__(self, name: str) -> Callable[..., Any]:
        operation = getattr(self._store, name)

        def done(*given: Any) -> Any:
            self._left -= 1
            if self._left < 0 or (self._left == 0 and not self._after):
                raise StoreError("the host is gone")
            result = operation(*given)
            if self._left == 0:
                raise StoreError("the host is gone")
            return result

        return done

    @property
    def died(self) -> bool:
        return self._left <= 0


def session(folder: PartitionFolder, records: list[Record]) -> list[str]:
    """Keep ``records`` one by one, compact, write a manifest; return what was acknowledged."""
    acknowledged: list[str] = []

    async def keep_all(store: PartitionStore) -> None:
        for record in records:
            await store.keep(record)
            acknowledged.append(record.answer_id)

    with contextlib.suppress(StoreError), PartitionStore(folder) as store:
        asyncio.run(keep_all(store))
        store.compact({record.answer_id for record in records})
        write_manifest(folder, {"model": "m", "state": "complete"})
    return acknowledged


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_whenever_a_host_dies_another_finds_what_it_acknowledged(tmp_path, make, monkeypatch, after):
    records = [make(n) for n in range(3)]
    later(monkeypatch, 0)
    for n in range(1, MOST):
        homes = [Home(tmp_path / f"{n}-{name}") for name in ("a", "b")]
        for home in homes:
            home.path.mkdir()
            attach(home, str(tmp_path / f"{n}-store"), None)
        a, b = map(first_of, homes)
        real = store_of(homes[0])
        assert real is not None
        dying = Dying(real, n, after)
        with monkeypatch.context() as patch:
            patch.setattr(shared, "store_of", lambda home, dying=dying: dying)
            acknowledged = session(a, records)
        with monkeypatch.context() as patch:
            later(patch)
            session(b, records[2:])
        assert set(acknowledged) <= {record.answer_id for record in kept_records(b)}, n
        session(a, [])
        found = {record.answer_id for record in kept_records(a)}
        assert set(acknowledged) | {records[2].answer_id} <= found, n
        session(b, [])
        assert found == {record.answer_id for record in kept_records(b)}, n
        if not dying.died:
            assert n > 10, "the sweep went through all of it"
            return
    raise AssertionError(f"more than {MOST} operations")
