"""Batches of a study: their states, and how one that hangs is cancelled or given up."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from typing import Any

from metacog_pipeline.errors import MetacogError, StoreError, StudyError
from metacog_pipeline.llm.batch import records
from metacog_pipeline.llm.batch.backends import BACKENDS, Backend, Calls, Later
from metacog_pipeline.llm.batch.records import Batch
from metacog_pipeline.llm.open import Clients
from metacog_pipeline.llm.spec import base_url
from metacog_pipeline.study import Study
from metacog_pipeline.transcripts.folder import PartitionFolder, folder_called, judgements_of
from metacog_pipeline.transcripts.shared import writing


def rows(study: Study) -> list[dict[str, Any]]:
    """Return the batches of a study, oldest first."""
    found = []
    for record in (batch.record for batch in records.batches(study.home)):
        settled = record.state not in records.OPEN_STATES
        found.append(
            {
                "mark": record.mark,
                **dict(zip(("benchmark", "model", "run"), record.partition, strict=True)),
                "state": record.state,
                "at_provider": record.remote_state,
                "remote": record.remote,
                "age_s": record.age_s,
                "requests": record.n,
                "answered": record.counts.get("answered"),
                # Before results are there, the most it can cost.
                "cost_usd": record.cost_usd if settled else record.worst_usd,
                "settled": settled,
                "message": record.message,
            }
        )
    return found


def asked_of(study: Study, folder: PartitionFolder) -> str:
    """Return the benchmark whose answers a folder keeps; of judgements, the one that is judged."""
    judged = {judgements_of(name): name for name in study.enabled}
    return judged.get(folder.benchmark, folder.benchmark)


def folder_of(study: Study, batch: Batch) -> PartitionFolder:
    """Return where the answers of a batch are kept. Raises ``StoreError`` where its record names no partition."""
    record = batch.record
    if (folder := folder_called(study.home, record.kept_in)) is None:
        raise StoreError(
            f"batch {record.mark}: {record.kept_in!r} in its record names no partition: restore it from a copy"
        )
    return folder


def cancel(study: Study, mark: str) -> None:
    """Ask the provider to stop a batch; the next run collects, and pays for, the answers it has by then."""
    batch = _named(study, mark)
    if batch.record.state != "submitted":
        raise StudyError(f"batch {mark} is {batch.record.state}: only a submitted one can be cancelled")
    remote = batch.record.remote or ""
    try:
        asyncio.run(_at_provider(study, batch, lambda backend, calls: backend.cancel(calls, remote)))
    except Later as reason:
        raise StudyError(f"batch {mark} was not cancelled: {reason}; try again") from None


def give_up(study: Study, mark: str) -> None:
    """Forget a batch that cannot be collected: its requests are asked again; its worst case counts as spent for good."""
    with writing(folder_of(study, _named(study, mark))):
        # read again: until now a run may have collected it
        batch = _named(study, mark)
        if batch.record.state not in records.OPEN_STATES:
            raise StudyError(f"batch {mark} is {batch.record.state}: there is nothing to give up")
        batch.now(state="given up", message="given up by hand; its worst case counts as spent")


def ended(study: Study) -> list[Batch]:
    """Return the batches a run could go on with: ended at the provider, or of unknown outcome, and in no run's hands."""
    found = []
    for batch in records.batches(study.home):
        if batch.record.state in records.OPEN_STATES and _can_go_on(study, batch):
            found.append(batch)
    return [each for each in found if not _busy(folder_of(study, each))]


def _can_go_on(study: Study, batch: Batch) -> bool:
    remote = batch.record.remote or ""
    if batch.record.state != "submitted":
        return True
    try:
        looked = asyncio.run(_at_provider(study, batch, lambda backend, calls: backend.look(calls, remote)))
    except Later:
        return False
    except MetacogError:  # the run that goes on with it reports the reason
        return True
    return bool(looked.phase != "running")


async def _at_provider(study: Study, batch: Batch, work: Callable[[Backend, Calls], Awaitable[Any]]) -> Any:
    record = batch.record
    name = record.partition[1]
    spec = next((each for each in study.askable if each.name == name), None)
    if spec is None or base_url(spec) != record.address:
        where = f"belongs to model {name} at {record.address}, which is not in the study file"
        raise StudyError(f"batch {record.mark} {where}")
    async with Clients(environment=os.environ) as clients:
        return await work(BACKENDS[spec.provider], clients.batch_calls(spec, record.mark))


def _busy(folder: PartitionFolder) -> bool:
    try:
        with writing(folder):
            return False
    except StoreError:
        return True


def _named(study: Study, mark: str) -> Batch:
    for batch in records.batches(study.home):
        if batch.record.mark == mark:
            return batch
    raise StudyError(f"no batch {mark} in {study.home}: see `metacog status STUDY --batches`")
