"""What is on the disk about each batch: a folder below ``<home>/batches``, written before it is submitted."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import json
import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from pydantic import AwareDatetime, BaseModel, ConfigDict, TypeAdapter

from metacog_pipeline.errors import StoreError
from metacog_pipeline.files import replacing, write_text
from metacog_pipeline.home import Home, PathBelow
from metacog_pipeline.llm.types import ChatRequest
from metacog_pipeline.storage.attached import store_of

if TYPE_CHECKING:
    from metacog_pipeline.storage.store import Store

# ``answers.txt`` has of each request the answer it asks for, the most it can cost, and the request.
RECORD, ANSWERS, RESULTS = "record.json", "answers.txt", "results.jsonl"
#: In the order a batch passes through them: of two records of one batch the later counts.
# submitting, submitted, collected, done. A batch that is submitting may have been sent: it is looked for by its
# mark, and only where it is not there its requests are asked again. One refused was not taken, and is not billed.
State = Literal["submitting", "submitted", "collected", "done", "refused", "given up"]
OPEN_STATES = ("submitting", "submitted")
_STATE = re.compile(rb'"state": "([a-z ]+)"')


class BatchRecord(BaseModel):
    """One batch, found at its provider by its mark."""

    model_config = ConfigDict(frozen=True, strict=True)

    version: Literal[1] = 1
    mark: str
    # Benchmark, model and run.
    partition: tuple[str, str, int]
    kept_in: str
    address: str
    # A digest of the key's variable and the key: no other key finds the batch again.
    account: str
    n: int
    # Set aside for all requests until their cost is known.
    worst_usd: float | None
    created_at: AwareDatetime
    state: State = "submitting"
    # Its name at the provider.
    remote: str | None = None
    ended_at: AwareDatetime | None = None
    remote_state: str | None = None
    counts: dict[str, int] = {}
    cost_usd: float | None = None
    message: str | None = None

    @property
    def age_s(self) -> float:
        """Seconds since it was written."""
        return max(0.0, (datetime.now(UTC) - self.created_at).total_seconds())


# Whoever writes one holds the lock of its partition. Where several hosts share a store, a record goes there
# before what it announces happens: another host goes on with the batch and submits nothing twice.
class Batch:
    """One batch of a study home: its record, and the files in its folder, which bears the batch's mark."""

    noted = PathBelow(RECORD)
    asked = PathBelow(ANSWERS)
    results = PathBelow(RESULTS)

    def __init__(self, home: Home, record: BatchRecord) -> None:
        self.home, self.record, self.path = home, record, home.batches / record.mark

    def now(self, **changes: Any) -> None:
        """Change the record; on return the change is durable. Raises ``StoreError``."""
        changed = self.record.model_copy(update=changes)
        with self.explained("written"):
            write_text(self.noted, changed.model_dump_json(indent=1))
        self.record = changed
        self.share(*([self.results] if changed.state == "collected" else []), self.noted)

    def answers(self) -> Iterator[tuple[str, int, ChatRequest]]:
        """Yield of each request the answer it asks for, the most it can cost in nano-dollars, and the request."""
        form = _form()
        with self.explained("read"), self.asked.open(encoding="ascii") as lines:
            for line in lines:
                answer, worst, worded = line.split(" ", 2)
                yield answer, int(worst), form.validate_python(json.loads(worded))

    def remove(self, *paths: Path) -> None:
        """Remove files of it, here and in the store that hosts share; with its record it was never written."""
        for path in paths:
            path.unlink(missing_ok=True)
        self.share(*paths)

    @contextlib.contextmanager
    def explained(self, what: str) -> Iterator[None]:
        """Raise ``StoreError`` for what a disk refuses inside, and for what is damaged there."""
        try:
            yield
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or type(error).__name__
            raise StoreError(
                f"batch {self.path} cannot be {what} ({why}): free space, fix permissions or restore it; then run again"
            ) from None

    def share(self, *paths: Path) -> None:
        """Update the shared store, where there is one, with the files at ``paths``."""
        if (store := store_of(self.home)) is None:
            return
        for path in paths:
            if path.exists():
                store.put(self.home.key(path), path)
            else:
                store.delete([self.home.key(path)])


# Written before it is submitted, so that a process killed meanwhile leaves a mark to find the batch by.
def create(home: Home, record: BatchRecord, asked: Iterable[tuple[str, int, ChatRequest]]) -> Batch:
    """Write a batch down; on return it is durable, whole, and seen by every host. Raises ``StoreError``."""
    batch = Batch(home, record)
    lines = [
        f"{answer} {most} {json.dumps(dataclasses.asdict(request))}\n" for answer, most, request in asked
    ]
    with batch.explained("written"), replacing(batch.path, folder=True) as folder:
        write_text(folder / ANSWERS, "".join(lines))
        write_text(folder / RECORD, record.model_dump_json(indent=1))
    batch.share(batch.asked, batch.noted)
    return batch


def batches(home: Home) -> list[Batch]:
    """Return the batches of a study home, oldest first. Raises ``StoreError`` for one that cannot be read."""
    found = [Batch(home, _read(path)) for path in home.batches.glob(f"[!.]*/{RECORD}")]
    return sorted(found, key=lambda each: (each.record.created_at, each.record.mark))


def unfinished(home: Home, model: str, kept_in: str, address: str) -> list[Batch]:
    """Return the batches with answers for one folder that may not be kept there yet. Raises ``StoreError``."""
    whose = model, kept_in, address
    return [
        each
        for each in batches(home)
        if each.record.state in {*OPEN_STATES, "collected"}
        and (each.record.partition[1], each.record.kept_in, each.record.address) == whose
    ]


def bring(home: Home, store: Store) -> None:
    """Bring every batch that another host knows better into ``home``. Raises ``StoreError``."""
    keys = [one.key for one in store.listed(home.batches.name)]
    for key in (each for each in keys if each.endswith(f"/{RECORD}")):
        found, path = store.read(key), home / key
        here = path.read_bytes() if path.exists() else b""
        if found is None or _progress(found.content) <= _progress(here):
            continue
        # The record last: it says that the rest is there.
        folder = key.removesuffix(RECORD)
        for name in (ANSWERS, RESULTS, RECORD):
            content = found if name == RECORD else store.read(folder + name)
            if content is not None:
                with replacing(path.with_name(name)) as temporary:
                    temporary.write_bytes(content.content)


def _progress(record: bytes) -> int:
    """Return how far a batch is; a record that cannot be read is reported by whoever reads it."""
    state = _STATE.search(record)
    return get_args(State).index(state[1].decode()) if state else -1


def _read(path: Path) -> BatchRecord:
    try:
        record = BatchRecord.model_validate_json(path.read_bytes())
        if record.mark != path.parent.name:
            raise ValueError("of another batch")
        return record
    except (OSError, ValueError) as error:
        raise StoreError(
            f"the record of a batch, {path}, cannot be read ({type(error).__name__}): restore it from a copy; without "
            "it the submitted requests are unknown"
        ) from None


@functools.cache
def _form() -> TypeAdapter[ChatRequest]:
    return TypeAdapter(ChatRequest)
