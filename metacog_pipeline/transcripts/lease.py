"""One writer of a partition among many hosts: a lease in the store, held by conditional puts.

Every partition has one small object, ``head.json``. It names the holder of the lease, until when, and its token, which
grows with every change of hands; beside that the manifest and the Parquet copy that stand. Whoever changes it must name
the version it read, so a holder that slept while another took over fails at its next write, whatever its clock says.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
import time
from dataclasses import asdict, dataclass, replace
from typing import Any

from metacog_pipeline.errors import StoreError
from metacog_pipeline.storage.store import ABSENT, ChangedError, Store
from metacog_pipeline.transcripts.lock import PartitionBusyError

HEAD = "head.json"
LEASE_S = max(1.0, float(os.environ.get("METACOG_LEASE_S", "60")))
RENEWED_IN = 3  # as often a lease is renewed before it could end


class LeaseLostError(StoreError):
    """Another host took the partition over: nothing may be written any more."""


class DamagedError(StoreError):
    """An object of one partition is damaged or missing; others are not concerned."""


@dataclass(frozen=True, slots=True)
class Head:
    """The content of ``head.json``. ``holder`` None when the partition was left in order; ``copy`` key and digest."""

    token: int = 0
    holder: str | None = None
    until: float = 0.0
    manifest: dict[str, Any] | None = None
    copy: list[str] | None = None


def read_head(store: Store, prefix: str) -> tuple[Head, str]:
    """Return the head of a partition and its version. Raises ``DamagedError``."""
    found = store.read(f"{prefix}/{HEAD}")
    if found is None:
        return Head(), ABSENT
    try:
        head = Head(**json.loads(found.content))
        whole = isinstance(head.token, int) and isinstance(head.until, float | int)
        if not (whole and isinstance(head.manifest, dict | None) and len(head.copy or "12") == 2):
            raise ValueError("not what was written")
    except (ValueError, TypeError, RecursionError) as error:
        raise DamagedError(
            f"{store.address}/{prefix}/{HEAD}: is damaged; delete it and run again: the answers beside it are kept"
        ) from error
    return head, found.version


class Lease:
    """The lease of one partition, renewed by a thread of its own from `take` until `close`."""

    def __init__(self, store: Store, prefix: str, holder: str) -> None:
        self._store, self._prefix, self._holder = store, prefix, holder
        self._lock = threading.RLock()
        self._ended = threading.Event()
        self._version = ABSENT
        self.head = Head()

    def take(self, local: int) -> Head:
        """Take the lease with a token above ``local`` and every one before; return the head as it stood.

        Raises ``PartitionBusyError`` where another holds it, which its renewing it shows.
        """
        before, self._version = self._free()
        self.head = replace(before, token=max(before.token, local) + 1, holder=self._holder)
        try:
            self.change()
        except LeaseLostError:
            raise self._busy(read_head(self._store, self._prefix)[0]) from None
        threading.Thread(target=self._renew, name="lease", daemon=True).start()
        return before

    def _free(self) -> tuple[Head, str]:
        """Return the head once nobody holds it.

        Clocks of hosts differ: a holder whose lease is good by its own time but who has not renewed it for as long as it
        lasts is gone as well. Of this very home the lock of files says that whoever held it is gone.
        """
        head, version = read_head(self._store, self._prefix)
        watched = time.monotonic() + LEASE_S
        while head.holder not in (None, self._holder) and head.until > time.time():
            if time.monotonic() >= watched:
                break
            time.sleep(min(1.0, LEASE_S / 10))
            before, (head, version) = version, read_head(self._store, self._prefix)
            if version != before and head.holder not in (None, self._holder):
                raise self._busy(head)
        return head, version

    def change(self, **fields: Any) -> None:
        """Write the head with these fields, renewed. Raises ``LeaseLostError`` where another host wrote it."""
        with self._lock:
            wanted = replace(self.head, until=time.time() + LEASE_S, **fields)
            content = json.dumps(asdict(wanted), sort_keys=True).encode()
            try:
                self._version = self._store.put(f"{self._prefix}/{HEAD}", content, self._version)
            except ChangedError:
                raise self.lost() from None
            self.head = wanted

    def close(self) -> None:
        """Stop renewing."""
        self._ended.set()

    def _renew(self) -> None:
        while not self._ended.wait(LEASE_S / RENEWED_IN):
            # Whether it is lost, or the store only away for a while, the next write finds out.
            with self._lock, contextlib.suppress(StoreError):
                if not self._ended.is_set():
                    self.change()

    def _busy(self, head: Head) -> PartitionBusyError:
        return PartitionBusyError(
            f"{self._prefix} is being asked by {head.holder or 'another host'}, whose lease ends in "
            f"{max(0.0, head.until - time.time()):.0f} s unless renewed: wait until it has finished, and run again"
        )

    def lost(self) -> LeaseLostError:
        """Return the error of a holder that is one no more."""
        return LeaseLostError(
            f"{self._prefix}: another host took this partition over while this one paused; what is not kept in the store "
            "stays in this home and is added when it is run here again"
        )
