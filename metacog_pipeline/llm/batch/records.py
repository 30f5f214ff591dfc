"""What is on the disk about each batch: a folder of its own below ``<home>/batches``, written before it is submitted.

::

    record.json      where it stands; replaced whole
    requests.jsonl   what is submitted, one request a line
    answers.txt      which answer each line asks for, and the most it can cost
    results.jsonl    what came back, as it came

::

    written ──> submitting ──> submitted ──> collected ──> done
                     │              │
                     │              └─> refused (the provider does not take it; nothing is billed)
                     └─> looked for by its mark, and submitted again only when it is not there

A batch ``written`` was never sent. One ``submitting`` may have been. Those who write a record hold the lock of the
partition it belongs to. Where several hosts share a store, a record goes there with every change, before what it
announces happens: another host goes on with the batch as the host that wrote it would, and submits nothing twice.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import secrets
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from pydantic import TypeAdapter

from metacog_pipeline.errors import StoreError
from metacog_pipeline.files import replacing, sha256_hex, write_text
from metacog_pipeline.home import Home, PathBelow
from metacog_pipeline.storage.attached import store_of

if TYPE_CHECKING:
    from metacog_pipeline.storage.store import Store

RECORD, REQUESTS, ANSWERS, RESULTS = "record.json", "requests.jsonl", "answers.txt", "results.jsonl"
#: In the order a batch passes through them: of two records of one batch the later counts.
State = Literal["written", "submitting", "submitted", "collected", "done", "refused", "given up"]
OPEN_STATES = frozenset({"written", "submitting", "submitted"})
UNFINISHED = OPEN_STATES | {"collected"}  # answers of which may not be kept elsewhere yet
MARK_BYTES = 12
VERSION = 1


@dataclass(frozen=True, slots=True)
class BatchRecord:
    """One batch. Times are ISO 8601 in UTC.

    ``mark`` is what it can be found by at the provider; ``partition`` benchmark, model and run, ``kept_in`` the folder
    of its answers; ``account`` a digest of the key's variable and the key; ``digest`` that of the requests. ``headers``
    are those of its calls, the key taken out. ``tries`` is how often a submission was begun. ``remote`` is its name at
    the provider, ``tentative`` while only time and size say that it is ours; ``foreign`` are batches that turned out to
    be another's. ``worst_usd`` is set aside for it until ``cost_usd`` is known. ``counts`` says what became of its
    requests.
    """

    mark: str
    partition: tuple[str, str, int]
    kept_in: str
    provider: str
    address: str
    account: str
    target: str
    n: int
    size: int
    digest: str
    worst_usd: float | None
    created_at: str
    headers: dict[str, str] = field(default_factory=dict)
    state: State = "written"
    remote: str | None = None
    tentative: bool = False
    foreign: tuple[str, ...] = ()
    tries: int = 0
    submitting_since: str | None = None
    submitted_at: str | None = None
    ended_at: str | None = None
    remote_state: str | None = None
    counts: dict[str, int] = field(default_factory=dict)
    cost_usd: float | None = None
    message: str | None = None


@dataclass(frozen=True, slots=True)
class Owner:
    """Whose batches a session works on: benchmark, run, and the folder of the answers, within the home."""

    benchmark: str
    run: int
    kept_in: str


class Batch:
    """One batch of a study home: its record, and the files in its folder, which bears the batch's mark."""

    noted = PathBelow(RECORD)
    requests = PathBelow(REQUESTS)  # what is submitted
    asked = PathBelow(ANSWERS)
    results = PathBelow(RESULTS)  # what came back

    def __init__(self, home: Home, mark: str, record: BatchRecord) -> None:
        self.home, self.path = home, home.batches / mark
        self.record = record

    def now(self, **changes: Any) -> None:
        """Change the record; on return the change is durable. Raises ``StoreError``."""
        changed = dataclasses.replace(self.record, **changes)
        _write(self.noted, changed)
        self.record = changed
        self._send(*([self.results] if changed.state == "collected" else []), self.noted)

    def answers(self) -> Iterator[tuple[str, int]]:
        """Yield (answer id, the most it can cost in nano-dollars) of each request."""
        with self.asked.open(encoding="ascii") as lines:
            for line in lines:
                answer, worst = line.split()
                yield answer, int(worst)

    def forget_files(self) -> None:
        """Remove what was sent and what came back: every answer of it is kept elsewhere."""
        files = (self.requests, self.asked, self.results)
        for path in files:
            path.unlink(missing_ok=True)
        self._unsend(*files)

    def remove(self) -> None:
        """Remove the batch as if it had never been written."""
        shutil.rmtree(self.path, ignore_errors=True)
        self._unsend(self.noted, self.requests, self.asked, self.results)

    def _send(self, *paths: Path) -> None:
        """Put files into the store that the hosts share."""
        store = store_of(self.home)
        for path in paths if store is not None else ():
            if path.exists():
                store.put(self.home.key(path), path)  # type: ignore[union-attr]

    def _unsend(self, *paths: Path) -> None:
        if (store := store_of(self.home)) is not None:
            store.delete([self.home.key(path) for path in paths])


def account_digest(variable: str | None, key: str | None) -> str:
    """Return a digest of which key a batch is submitted with; the key cannot be found from it."""
    return sha256_hex(f"metacog batch account\0{variable or ''}\0{key or ''}")[:32]


def utc_text() -> str:
    """Return the time now as it is written down."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def age_s(since: str | None) -> float:
    """Return the seconds since a time written down; 0 where there is none."""
    if since is None:
        return 0.0
    return max(0.0, (datetime.now(UTC) - datetime.fromisoformat(since)).total_seconds())


def new_mark() -> str:
    """Return a mark no other batch has: letters, digits and a dash, as every provider allows in a name."""
    return f"metacog-{secrets.token_hex(MARK_BYTES)}"


def create(home: Home, record: BatchRecord, requests: bytes, answers: list[tuple[str, int]]) -> Batch:
    """Write a batch of ``requests``; on return it is durable, whole, and seen by every host. Raises ``StoreError``."""
    batch = Batch(home, record.mark, record)
    try:
        with replacing(batch.path, folder=True) as folder:
            write_text(folder / ANSWERS, "".join(f"{answer} {worst}\n" for answer, worst in answers))
            with replacing(folder / REQUESTS) as file:
                file.write_bytes(requests)
            _write(folder / RECORD, record)
    except OSError as error:
        raise _unwritable(batch.path, error) from None
    batch._send(batch.requests, batch.asked, batch.noted)
    return batch


def batches(home: Home) -> list[Batch]:
    """Return the batches of a study home, oldest first. Raises ``StoreError`` for one that cannot be read."""
    found = [Batch(home, path.parent.name, _read(path)) for path in home.batches.glob(f"[!.]*/{RECORD}")]
    return sorted(found, key=lambda each: (each.record.created_at, each.record.mark))


def unfinished(home: Home, model: str, kept_in: str, address: str) -> list[Batch]:
    """Return the batches for one folder of answers that are not finished, oldest first. Raises ``StoreError``."""
    return [
        each
        for each in batches(home)
        if each.record.state in UNFINISHED
        and (each.record.partition[1], each.record.kept_in, each.record.address) == (model, kept_in, address)
    ]


def bring(home: Home, store: Store) -> None:
    """Bring every batch that another host knows better into ``home``. Raises ``StoreError``."""
    listed: dict[str, list[str]] = {}
    for one in store.listed(home.batches.name):
        mark, _, name = one.key.removeprefix(f"{home.batches.name}/").partition("/")
        listed.setdefault(mark, []).append(name)
    for mark, names in listed.items():
        folder = home.batches / mark
        found = store.read(f"{home.key(folder)}/{RECORD}") if RECORD in names else None
        here = (folder / RECORD).read_bytes() if (folder / RECORD).exists() else None
        if found is None or (here is not None and _progress(found.content) <= _progress(here)):
            continue
        # The record last: it says that the rest is there.
        for name in sorted(names, key=lambda each: each == RECORD):
            content = found if name == RECORD else store.read(f"{home.key(folder)}/{name}")
            if content is None:
                raise StoreError(f"{store.address}/{mark}/{name}: was removed while it was read; run again")
            with replacing(folder / name) as temporary:
                temporary.write_bytes(content.content)


def _progress(record: bytes) -> int:
    """Return how far a batch is; a record that cannot be read is reported by whoever reads it."""
    states = get_args(State)
    return max(
        (place for place, state in enumerate(states) if f'"state": "{state}"'.encode() in record), default=0
    )


def _write(path: Path, record: BatchRecord) -> None:
    try:
        write_text(path, json.dumps({"version": VERSION, **dataclasses.asdict(record)}, indent=1) + "\n")
    except OSError as error:
        raise _unwritable(path.parent, error) from None


def _read(path: Path) -> BatchRecord:
    try:
        fields = json.loads(path.read_text("utf-8"))
        if fields.pop("version") != VERSION:
            raise ValueError("of another version")
        record = _form().validate_json(json.dumps(fields), strict=True)
        for moment in (record.created_at, record.submitting_since, record.submitted_at):
            age_s(moment)
        return record
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise StoreError(
            f"the record of a batch, {path}, cannot be read ({type(error).__name__}): restore it from a copy; without "
            "it nobody knows what was submitted"
        ) from None


@functools.cache
def _form() -> TypeAdapter[BatchRecord]:
    return TypeAdapter(BatchRecord)


def _unwritable(batch: Path, error: OSError) -> StoreError:
    why = error.strerror or error
    return StoreError(
        f"batch {batch} cannot be written ({why}): free space or fix permissions; nothing was sent"
    )
