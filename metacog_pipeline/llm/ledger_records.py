"""The records of a ledger: one line of JSON for each session, read by everyone, written by its owner."""

from __future__ import annotations

import fcntl
import json
import os
from dataclasses import dataclass
from pathlib import Path

from metacog_pipeline.checksums import is_sealed, seal
from metacog_pipeline.errors import StoreError

READ_ATTEMPTS = 3  # a living session may be writing its figures at this moment
NO_BOOT = "unknown"
_UNSEALED = {
    "version",
    "unit",
    "boot",
    "closed",
    "granted",
    "settled",
    "reserved",
}  # in records of version 0.2
HOLD_PREFIX = "batch-"  # of a record that belongs to a batch, whichever processes come and go


@dataclass(frozen=True, slots=True)
class Record:
    """The figures of one session, in nano-dollars."""

    boot: str
    closed: bool
    granted: int
    settled: int
    reserved: int


@dataclass(frozen=True, slots=True)
class Totals:
    """The figures of a home, in nano-dollars: ``spent`` for good, ``leaked`` (a part of it) by sessions that died
    with calls under way, ``held`` by living sessions beyond what they have settled."""

    spent: int
    leaked: int
    held: int

    @property
    def counted(self) -> int:
        """What the budget must count."""
        return self.spent + self.held


def totals_of(folder: Path, boot: str, closed: dict[str, Totals]) -> Totals:
    """Return the figures of all records in ``folder``.

    ``boot`` names this start of the machine. ``closed`` remembers records that will not change any more, so that a
    home with a thousand past sessions is read once.
    """
    spent = leaked = held = 0
    for path in sorted(folder.glob("*.json")):
        one = closed.get(path.name) or _session_totals(path, boot, closed)
        spent, leaked, held = spent + one.spent, leaked + one.leaked, held + one.held
    return Totals(spent, leaked, held)


def _session_totals(path: Path, boot: str, closed: dict[str, Totals]) -> Totals:
    try:
        record = read_record(path)
        if record.closed:
            closed[path.name] = Totals(record.settled, 0, 0)
            return closed[path.name]
        if path.name.startswith(HOLD_PREFIX) or _alive(path):
            return Totals(record.settled, 0, record.granted - record.settled)
    except FileNotFoundError:  # closed in this moment by a session that spent nothing
        return Totals(0, 0, 0)
    counted = record.settled + record.reserved if record.boot == boot != NO_BOOT else record.granted
    return Totals(counted, counted - record.settled, 0)


def line_of(record: Record) -> bytes:
    """Return ``record`` as one line of JSON of fixed length, so that a later write covers an earlier one exactly."""
    closed = "true " if record.closed else "false"
    line = (
        f'{{"version":1,"unit":"nano-dollar","boot":"{record.boot}","closed":{closed},"granted":{record.granted:>20},'
        f'"settled":{record.settled:>20},"reserved":{record.reserved:>20}}}'
    )
    return seal(line.encode("ascii"))


def read_record(path: Path) -> Record:
    """Return the record at ``path``; a StoreError says that it is damaged or cannot be read."""
    for _ in range(READ_ATTEMPTS):
        try:
            record = _parsed(path.read_bytes())
        except FileNotFoundError:
            raise
        except OSError as error:
            raise StoreError(
                f"ledger record {path} cannot be read ({error.strerror}): check its permissions"
            ) from None
        if record is not None:
            return record
    raise StoreError(
        f"ledger record {path} is damaged, so what was spent cannot be told: restore it, or move it away if the "
        "answers kept in this home tell the whole cost"
    )


def _parsed(line: bytes) -> Record | None:
    try:
        sealed = is_sealed(line)
        fields = json.loads(line)
        if not sealed and fields.keys() != _UNSEALED:  # a flipped bit in the name of the checksum hides it
            return None
        figures = [fields[key] for key in ("granted", "settled", "reserved")]
        if all(type(f) is int and f >= 0 for f in figures) and isinstance(fields["closed"], bool):
            return Record(str(fields["boot"]), fields["closed"], *figures)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        pass
    return None


def _alive(path: Path) -> bool:
    """Whether the session that owns ``path`` still holds its lock."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise StoreError(
            f"ledger record {path} cannot be read ({error.strerror}): check its permissions"
        ) from None
    try:
        # Shared, so that two processes that look at the same moment do not take each other for the owner.
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(file)
    return False


def boot_id() -> str:
    """Return what names this start of the machine, where the system tells."""
    try:
        text = Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    except (OSError, ValueError):
        return NO_BOOT
    return text if text.replace("-", "").isalnum() else NO_BOOT
