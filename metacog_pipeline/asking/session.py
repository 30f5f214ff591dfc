"""Open a partition, ask what is missing, keep it, compact it, and write down how it went.

The manifest beside the answers (``partition.json``) says in which state the partition is:

``complete``    every item has its answers
``incomplete``  some calls failed for good in this session, or fewer than half of the answers can be used
``waiting``     batches are under way; run again when they have ended
``failed``      stopped early: budget spent, provider refuses every call, too many failures in a row, interrupted
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Literal

from metacog_pipeline import __version__
from metacog_pipeline.asking.asking import Profile, Session, Tally, source_of
from metacog_pipeline.asking.endings import ONE_PRESS_S, heard, patiently
from metacog_pipeline.asking.learning import Learnt
from metacog_pipeline.asking.partition import Progress, SessionResult, WorkerPool, query_tasks
from metacog_pipeline.asking.reported import other_models
from metacog_pipeline.asking.spent import kept_cost
from metacog_pipeline.asking.types import Task
from metacog_pipeline.asking.unusable import to_ask_again
from metacog_pipeline.asking.variables import LANE, LEAVE_BATCHES, REASK, UNUSABLE, WATCH_PARENT
from metacog_pipeline.errors import MetacogError, StoreError, StudyError
from metacog_pipeline.files import canonical_json, sha256_hex
from metacog_pipeline.home import Home
from metacog_pipeline.llm.batch import records
from metacog_pipeline.llm.budget import Budget
from metacog_pipeline.llm.simulated import Respond
from metacog_pipeline.llm.spec import IN_PROCESS, Lane, ModelSpec
from metacog_pipeline.llm.types import ChatModel
from metacog_pipeline.llm.wire import base_url
from metacog_pipeline.progress import style_from_environment
from metacog_pipeline.study import Study
from metacog_pipeline.transcripts.compaction import Current, FromKept
from metacog_pipeline.transcripts.identity import answer_id
from metacog_pipeline.transcripts.parquet import segment_sizes
from metacog_pipeline.transcripts.schema import Record
from metacog_pipeline.transcripts.store import (
    PartitionFolder,
    PartitionStore,
    kept_records,
    read_manifest,
    write_manifest,
)
from metacog_pipeline.transcripts.whole import keep_whole

if TYPE_CHECKING:
    from metacog_pipeline.llm.open import Clients

State = Literal["complete", "incomplete", "failed", "missing", "waiting"]
PARENT_WATCHED_EVERY_S = 1.0
INTERRUPTED = threading.Event()  # set on the first Ctrl-C, so that a caller with many partitions stops too
WAITING = 9  # exit code of a command that leaves batches under way
COMPACTED_AT_ONCE = (
    16 * 2**20
)  # bytes of journals that an interrupted session still brings into the Parquet copy
RUNS_PER_SEED = 100  # seeds of two studies with neighbouring seeds never meet: a study has at most 99 runs

MOST_SPECS = 4096  # whose digests are remembered
#: Each spec, by its identity, with its digest: a look at a study asks for that of each of its models many times.
_ASKED_AS: dict[int, tuple[ModelSpec, str]] = {}

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Partition:
    """One model × run of one benchmark in a study."""

    study: Study
    benchmark: str
    spec: ModelSpec
    run: int

    @property
    def folder(self) -> PartitionFolder:
        """Where its answers are kept."""
        return PartitionFolder(self.study.home, self.benchmark, self.spec.name, self.run)

    @property
    def table(self) -> str:
        """Where a table made from its answers is kept, below the folder of the benchmark's tables of that sort."""
        return f"model={self.spec.name}/run={self.run}.parquet"

    @property
    def seed(self) -> int:
        """The sampling seed sent to providers that take one."""
        return self.study.study.seed * RUNS_PER_SEED + self.run

    def manifest(self) -> dict[str, object]:
        """Return what the last session wrote down; empty before the first."""
        return read_manifest(self.folder) or {}

    def known_profile(self) -> Profile | None:
        """Return the answer mode an earlier session settled on, unless the model's spec has changed since."""
        return noted_profile(self.manifest(), self.spec)


def noted_profile(noted: Mapping[str, object], spec: ModelSpec) -> Profile | None:
    """Return the answer mode written down beside ``asked_as``; None where ``spec`` would be asked otherwise now."""
    found = noted.get("profile")
    if not isinstance(found, dict) or noted.get("asked_as") != asked_as(spec):
        return None
    mode, dropped = found.get("mode"), found.get("dropped")
    if not isinstance(mode, str) or not isinstance(dropped, list):
        return None
    return Profile(mode, frozenset(map(str, dropped)))


def profile_fields(profile: Profile | None) -> dict[str, object] | None:
    """Return a profile as it is written down."""
    return {"mode": profile.mode, "dropped": sorted(profile.dropped)} if profile else None


def asked_as(spec: ModelSpec) -> str:
    """Return a digest of what decides how a model is asked: address, id, mode, tokens; not prices or rates."""
    if spec.provider == "transformers":  # what its folder holds now
        return _asked_as(spec)
    known = _ASKED_AS.get(id(spec))
    if known is None or known[0] is not spec:
        if len(_ASKED_AS) >= MOST_SPECS:
            _ASKED_AS.clear()
        known = _ASKED_AS[id(spec)] = (spec, _asked_as(spec))
    return known[1]


def _asked_as(spec: ModelSpec) -> str:
    always = ("temperature", "max_tokens", "top_logprobs", "token_ids", "choice_field")
    unset = {"api": "auto", "api_version": None, "stream": None}
    fields = {
        **spec.identity_fields(),
        "mode": spec.answer_mode,
        **{name: getattr(spec, name) for name in always},
    }
    fields |= {name: getattr(spec, name) for name, value in unset.items() if getattr(spec, name) != value}
    return sha256_hex(canonical_json(fields))


def query_partition(
    partition: Partition,
    tasks: Sequence[Task],
    modes: Sequence[str],
    *,
    fingerprint: str,
    respond: Respond | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    limit: int | None = None,
) -> SessionResult:
    """Ask what a partition still lacks; return how the session went.

    Parameters
    ----------
    fingerprint
        Digest of everything the partition depends on; written down when it is complete, so that the next command
        can see without opening anything that there is nothing to do.
    respond
        The simulated observer, for ``provider = "simulated"``.
    limit
        Ask only the first so many tasks now, and those begun before; the partition is incomplete until all are asked.

    Raises
    ------
    StoreError
        If kept answers cannot be read or written; what was acknowledged stays kept.
    BudgetError, ProviderError
        If asking cannot start: no price under a budget, no key in the environment.
    """
    started = datetime.now(UTC)
    replays = partition.spec.provider == "replay"
    with PartitionStore.open(partition.folder, load=not replays) as store, patiently():
        if replays:
            newest = _Newest()
            if not compact_soon(store, FromKept(newest.see, newest.current)):
                for record in kept_records(partition.folder):
                    newest.see(record)
            outcome, reported = newest.outcome(tasks), newest.reported()
        else:
            known = partition.known_profile()
            now = few(tasks, limit, partition.folder)
            try:
                asked = asyncio.run(ask(partition, store, now, modes, respond, on_progress, known))
            except MetacogError:
                with contextlib.suppress(StoreError):  # the first error is what people can do something about
                    store.compact()  # what an interrupted session left
                raise
            outcome, current = replace(asked, tasks=len(tasks)), asked.tally.current
            reported = store.models_reported(current)
            compact_soon(store, current)
        write_down(partition, outcome, fingerprint, started, reported, other_models(partition.spec, reported))
    return outcome


def compact_soon(store: PartitionStore, current: Current) -> bool:
    """Bring the Parquet copy up to date; after an interrupt only where that takes no time, which is returned.

    Journals hold every answer, and the next session brings the copy up to date.
    """
    at_once = not INTERRUPTED.is_set() or sum(segment_sizes(store.folder).values()) <= COMPACTED_AT_ONCE
    if at_once:
        store.compact(current)
    return at_once


def few(tasks: Sequence[Task], limit: int | None, folder: PartitionFolder) -> Sequence[Task]:
    """Return the first ``limit`` tasks, and those whose answers in ``folder`` have begun: they must not lose them."""
    if limit is None:
        return tasks
    begun = {(record.item_id, record.condition) for record in kept_records(folder)}
    return [
        task for place, task in enumerate(tasks) if place < limit or (task.item_id, task.condition) in begun
    ]


async def ask(
    partition: Partition,
    store: PartitionStore,
    tasks: Sequence[Task],
    modes: Sequence[str],
    respond: Respond | None,
    on_progress: Callable[[Progress], None] | None,
    known: Profile | None,
) -> SessionResult:
    """Ask ``partition.spec`` what ``store`` lacks, under the ``known`` profile; nothing is compacted or written down."""
    # HTTP takes a quarter of a second to load, and whoever imports answers asks nobody.
    from metacog_pipeline.llm.open import Clients

    study = partition.study
    home, cap = study.home, study.study.budget_usd
    spec = partition.spec
    known_cost = 0.0 if spec.provider in IN_PROCESS else kept_cost(home)  # what costs nothing need not count
    with contextlib.closing(Budget.open(home, cap, known_spent_usd=known_cost)) as budget:
        async with Clients(budget=budget, seed=partition.seed) as clients:
            model = _opened(partition, clients, store, respond)
            session = Session(partition.benchmark, spec, partition.run, partition.seed, model, store)
            if spec.provider not in IN_PROCESS:
                session.learnt = Learnt.of(model, home, spec.name, asked_as(spec))
                session.learnt.take(await clients.listed(spec, session.learnt.known))
            if os.environ.get(REASK) == UNUSABLE:
                store.reask(to_ask_again(store.folder))
            pool = WorkerPool(session, tasks, on_progress, clients.halt.throw)
            if session.lane is not None:
                session.lane.begin()
            try:
                with _stopping_gently(pool):
                    return await query_tasks(pool, modes, known=known)
            finally:
                await model.close()


def _opened(
    partition: Partition, clients: Clients, store: PartitionStore, respond: Respond | None
) -> ChatModel:
    from metacog_pipeline.llm import open as opening

    spec, home = partition.spec, partition.study.home
    submits = lane_of(spec) == "batch"
    if not submits and not batches_of(home, spec, store.folder):
        return opening.open_model(spec, shared=clients, respond=respond)
    if submits and spec.api_version is not None:
        raise StudyError(
            f'model {spec.name}: an Azure address (api_version) is asked online only; set lane = "online"'
        )
    return clients.batch_model(
        spec,
        home,
        records.Owner(partition.benchmark, partition.run, store.folder.key),
        kept=store.__contains__,
        identify=partial(answer_id, spec),
        submits=submits,
        wait=os.environ.get(LEAVE_BATCHES) != "1",
        say=_say,
    )


def lane_of(spec: ModelSpec) -> Lane:
    """Return how ``spec`` is asked: as the command says, else as its row says; in this process there are no batches."""
    if spec.provider in IN_PROCESS:
        return "online"
    return "batch" if (os.environ.get(LANE) or spec.lane) == "batch" else "online"


def batches_of(home: Home, spec: ModelSpec, folder: PartitionFolder) -> list[records.Batch]:
    """Return the batches with answers for ``folder`` that are to be gone on with, however ``spec`` is asked now."""
    if spec.provider in IN_PROCESS:
        return []
    return records.unfinished(home, spec.name, folder.key, base_url(spec))


def _say(line: str) -> None:
    if style_from_environment() != "quiet":
        with contextlib.suppress(OSError):
            print(line, file=sys.stderr, flush=True)


@contextlib.contextmanager
def _stopping_gently(pool: WorkerPool) -> Iterator[None]:
    """On the first interrupt take no new task and let calls in flight finish: they are already paid for.

    So it goes, too, when the command that started this process is gone: nobody could stop it any more.
    """
    loop = asyncio.get_running_loop()
    handled: list[signal.Signals] = []
    watch = asyncio.ensure_future(_parent_gone()) if os.environ.get(WATCH_PARENT) else None
    if watch is not None:
        watch.add_done_callback(lambda done: None if done.cancelled() else _stop(pool))
    for number in heard():
        # Only the main thread may set handlers; elsewhere whoever owns the process decides.
        with contextlib.suppress(RuntimeError, ValueError):
            loop.add_signal_handler(number, _interrupt, pool, number)
            handled.append(number)
    try:
        yield
    finally:
        if watch is not None:
            watch.cancel()
        for number in handled:
            loop.remove_signal_handler(number)


async def _parent_gone() -> None:
    """Return once the process that started this one has ended."""
    parent = os.getppid()
    while os.getppid() == parent:
        await asyncio.sleep(PARENT_WATCHED_EVERY_S)


def _interrupt(pool: WorkerPool, number: signal.Signals) -> None:
    if pool.interrupted and time.monotonic() - pool.stopped_at > ONE_PRESS_S:
        asyncio.get_running_loop().remove_signal_handler(number)
        signal.raise_signal(number)
    _stop(pool)


def _stop(pool: WorkerPool) -> None:
    if not pool.interrupted:
        pool.interrupted, pool.stopped_at = True, time.monotonic()
    INTERRUPTED.set()
    pool.stop("interrupted; calls in flight were finished and kept")


def keep_imported(partition: Partition, records: Sequence[Record]) -> None:
    """Keep answers collected elsewhere, all of them or none; of two to one item the new one counts. As `keep_whole`."""
    keep_whole(partition.folder, records)


class _Newest:
    """Accounts for imported answers, of each step of an item the newest; nobody is asked."""

    def __init__(self) -> None:
        self._newest: dict[tuple[str, str, str], str] = {}
        self._names: dict[str, str] = {}
        self._simulated = False  # what another study's observer said stays that

    def see(self, record: Record) -> None:
        """Take note of a kept answer; the last one of a step counts."""
        self._simulated = self._simulated or record.source == "simulated"
        self._newest[record.item_id, record.condition, record.step] = record.answer_id
        if record.model_reported is not None:
            self._names.setdefault(record.answer_id, record.model_reported)

    def current(self) -> set[str]:
        """Return the answers that count."""
        return set(self._newest.values())

    def outcome(self, tasks: Sequence[Task]) -> SessionResult:
        """Return how many of the tasks are answered."""
        found = {(item_id, condition) for item_id, condition, _ in self._newest}
        answered = sum((task.item_id, task.condition) in found for task in tasks)
        tally = Tally(reused=answered, simulated=self._simulated)
        return SessionResult(len(tasks), answered, 0, Profile("import"), tally)

    def reported(self) -> Mapping[str, int]:
        """Return how often each name was reported by who answered."""
        return Counter(self._names[each] for each in self.current() if each in self._names)


def record_failure(partition: Partition, message: str, expected: int) -> None:
    """Note that a partition could not be asked at all, keeping what is known of earlier sessions."""
    manifest = {**partition.manifest(), "state": "failed", "message": message, "fingerprint": None}
    manifest.setdefault("n_expected", expected)
    manifest["finished_at"] = datetime.now(UTC).isoformat()
    write_manifest(partition.folder, manifest)


def write_down(
    partition: Partition,
    outcome: SessionResult,
    fingerprint: str,
    started: datetime,
    reported: Mapping[str, int],
    elsewhere: str | None,
    judges: Mapping[str, object] | None = None,
) -> None:
    """Write the manifest of a session.

    ``elsewhere`` is a warning that other models answered than were asked. ``judges`` is what there is to note of each
    judge where the partition's model was judged, not asked.
    """
    state: State = "failed" if outcome.stopped else "complete" if outcome.complete else "incomplete"
    if outcome.waiting and not outcome.stopped:
        state = "waiting"
    before = partition.manifest()
    same_model = before.get("asked_as") == asked_as(partition.spec)
    replayed = partition.spec.provider == "replay" and judges is None  # there is nobody to ask for the rest
    # Answers of one model stay simulated when the next session reuses them; judges may be others by then.
    stays = judges is None and same_model and before.get("source") == "simulated"
    simulated = outcome.tally.simulated or stays
    message = outcome.stopped
    if message is None and state == "incomplete":
        message = outcome.missing
    if state == "waiting":
        message = f"{outcome.waiting} batches are under way; run again when they have ended"
    if elsewhere is not None:
        _logger.warning("%s run %d: %s", partition.spec.name, partition.run, elsewhere)
        message = elsewhere if message is None else f"{message}; {elsewhere}"
    write_manifest(
        partition.folder,
        {
            "benchmark": partition.benchmark,
            "model": partition.spec.name,
            "run": partition.run,
            "source": "simulated" if simulated else source_of(partition.spec),
            "state": state,
            "message": message,
            "n_expected": outcome.tasks,
            "n_answered": outcome.answered,
            "n_failed": outcome.failed,
            "n_unusable": outcome.unusable,
            "fingerprint": fingerprint if state == "complete" or replayed else None,
            "asked_as": asked_as(partition.spec),
            "model_reported": dict(sorted(reported.items())),
            "profile": profile_fields(outcome.profile),
            "seed": partition.seed,
            "calls": outcome.tally.calls,
            "reused": outcome.tally.reused,
            "cost_usd": outcome.tally.cost_usd,
            "started_at": started.isoformat(),
            "finished_at": datetime.now(UTC).isoformat(),
            "version": __version__,
            **({} if judges is None else {"judges": dict(judges)}),
        },
    )
