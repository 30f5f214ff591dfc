"""One session on a partition: open its answers, ask what is missing, keep it, compact it, write the manifest.

The states a session leaves a partition in are those of `states`; they stand in the manifest beside the answers
(``partition.json``). The loop over the tasks is in `loop`, one call of it in `step`.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

from metacog_pipeline import __version__
from metacog_pipeline.asking.endings import INTERRUPTED, patiently, stopping_gently
from metacog_pipeline.asking.learning import Learnt
from metacog_pipeline.asking.loop import WorkerPool, query_tasks
from metacog_pipeline.asking.spent import kept_cost
from metacog_pipeline.asking.states import (
    SIMULATED_PREFIX,
    OnProgress,
    Profile,
    SessionResult,
    Tally,
    source_of,
    state_of,
)
from metacog_pipeline.asking.step import Session
from metacog_pipeline.asking.types import Task
from metacog_pipeline.asking.unusable import to_ask_again
from metacog_pipeline.asking.variables import LANE, LEAVE_BATCHES, REASK, UNUSABLE
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
from metacog_pipeline.transcripts.identity import answer_id
from metacog_pipeline.transcripts.journal import segment_sizes
from metacog_pipeline.transcripts.schema import Record
from metacog_pipeline.transcripts.store import (
    PartitionFolder,
    PartitionStore,
    keep_whole,
    kept_records,
    read_manifest,
    write_manifest,
)

if TYPE_CHECKING:
    from metacog_pipeline.llm.open import Clients

WAITING = 9  # exit code of a command that leaves batches under way
COMPACTED_AT_ONCE = 16 * 2**20  # bytes of journals that an interrupted session still compacts: it has 5 s
RUNS_PER_SEED = 100  # seeds of two studies with neighbouring seeds never meet: a study has at most 99 runs
MODELS_SHOWN = 5

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


def request_digest(spec: ModelSpec) -> str:
    """Return a digest of what decides how a model is asked: address, id, mode, tokens; not prices or rates."""
    always = ("temperature", "max_tokens", "top_logprobs", "token_ids", "choice_field")
    unset = {"api": "auto", "api_version": None, "stream": None}
    fields = {**spec.identity_fields(), "mode": spec.answer_mode}
    fields |= {name: getattr(spec, name) for name in always}
    fields |= {name: getattr(spec, name) for name, value in unset.items() if getattr(spec, name) != value}
    return sha256_hex(canonical_json(fields))


def query_partition(
    partition: Partition,
    tasks: Sequence[Task],
    modes: Sequence[str],
    *,
    fingerprint: str,
    respond: Respond | None = None,
    on_progress: OnProgress = None,
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
    imported = partition.spec.provider == "replay"
    with PartitionStore.open(partition.folder) as store, patiently():
        if imported:
            outcome, reported = _imported(partition.folder, tasks)
        else:
            now = few(tasks, limit, partition.folder)
            known = partition.known_profile()
            try:
                asked = asyncio.run(ask(partition, store, now, modes, respond, on_progress, known))
            except MetacogError:
                with contextlib.suppress(StoreError):  # the first error is what people can do something about
                    store.compact()  # what an interrupted session left
                raise
            outcome = replace(asked, tasks=len(tasks))
            reported = store.models_reported(outcome.tally.current)
        compact(store, outcome.tally.current)
        others = other_models(partition.spec, reported)
        note_session(partition, outcome, fingerprint, started, reported, others)
    return outcome


async def ask(
    partition: Partition,
    store: PartitionStore,
    tasks: Sequence[Task],
    modes: Sequence[str],
    respond: Respond | None,
    on_progress: OnProgress,
    known: Profile | None,
) -> SessionResult:
    """Ask ``partition.spec`` what ``store`` lacks, under the ``known`` profile; nothing is compacted or written down."""
    # HTTP takes a quarter of a second to load, and whoever imports answers asks nobody.
    from metacog_pipeline.llm.open import Clients

    home, cap, spec = partition.study.home, partition.study.study.budget_usd, partition.spec
    known_cost = 0.0 if spec.provider in IN_PROCESS else kept_cost(home)  # what costs nothing need not count
    with contextlib.closing(Budget.open(home, cap, known_spent_usd=known_cost)) as budget:
        async with Clients(budget=budget, seed=partition.seed) as clients:
            model = _open_model(partition, clients, store, respond)
            session = Session(partition.benchmark, spec, partition.run, partition.seed, model, store)
            if spec.provider not in IN_PROCESS:
                session.learnt = Learnt.of(model, home, spec.name, request_digest(spec))
                session.learnt.take(await clients.listed(spec, session.learnt.known))
            if os.environ.get(REASK) == UNUSABLE:
                store.reask(to_ask_again(store.folder))
            pool = WorkerPool(session, tasks, on_progress, clients.halt.throw)
            if session.queue is not None:
                session.queue.begin()
            try:
                with stopping_gently(pool):
                    return await query_tasks(pool, modes, known=known)
            finally:
                await model.close()


def compact(store: PartitionStore, current: Collection[str]) -> None:
    """Bring the Parquet copy up to date; after an interrupt only where that takes no time.

    Journals hold every answer, and the next session brings the copy up to date.
    """
    if not INTERRUPTED.is_set() or sum(segment_sizes(store.folder).values()) <= COMPACTED_AT_ONCE:
        store.compact(current)


def few(tasks: Sequence[Task], limit: int | None, folder: PartitionFolder) -> Sequence[Task]:
    """Return the first ``limit`` tasks, and those whose answers in ``folder`` have begun: they must not lose them."""
    if limit is None:
        return tasks
    begun = {(record.item_id, record.condition) for record in kept_records(folder)}
    return [
        task for place, task in enumerate(tasks) if place < limit or (task.item_id, task.condition) in begun
    ]


def _open_model(
    partition: Partition, clients: Clients, store: PartitionStore, respond: Respond | None
) -> ChatModel:
    from metacog_pipeline.llm import open as opening

    spec, home = partition.spec, partition.study.home
    submits = queue_of(spec) == "batch"
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
        say=_print,
    )


def queue_of(spec: ModelSpec) -> Lane:
    """Return how ``spec`` is asked: as the command says, else as its row says; in this process there are no batches."""
    if spec.provider in IN_PROCESS:
        return "online"
    return "batch" if (os.environ.get(LANE) or spec.lane) == "batch" else "online"


def batches_of(home: Home, spec: ModelSpec, folder: PartitionFolder) -> list[records.Batch]:
    """Return the batches with answers for ``folder`` that are to be gone on with, however ``spec`` is asked now."""
    if spec.provider in IN_PROCESS:
        return []
    return records.unfinished(home, spec.name, folder.key, base_url(spec))


def _print(line: str) -> None:
    if style_from_environment() != "quiet":
        with contextlib.suppress(OSError):
            print(line, file=sys.stderr, flush=True)


def keep_imported(partition: Partition, answers: Sequence[Record]) -> None:
    """Keep answers collected elsewhere, all of them or none; of two to one item the new one counts. As `keep_whole`."""
    keep_whole(partition.folder, answers)


def _imported(folder: PartitionFolder, tasks: Sequence[Task]) -> tuple[SessionResult, dict[str, int]]:
    """Account for imported answers, of each step of an item the newest; nobody is asked.

    Also returned: how often each model was reported to have answered.
    """
    newest: dict[tuple[str, str, str], str] = {}
    names: dict[str, str] = {}
    simulated = False  # what another study's observer answered stays simulated
    for record in kept_records(folder):
        simulated = simulated or record.source == "simulated"
        newest[record.item_id, record.condition, record.step] = record.answer_id
        if record.model_reported is not None:
            names.setdefault(record.answer_id, record.model_reported)
    found = {(item_id, condition) for item_id, condition, _ in newest}
    answered = sum((task.item_id, task.condition) in found for task in tasks)
    current = set(newest.values())
    reported: dict[str, int] = {}
    for name in (names[each] for each in current if each in names):
        reported[name] = reported.get(name, 0) + 1
    tally = Tally(reused=answered, simulated=simulated, current=current)
    return SessionResult(len(tasks), answered, 0, Profile("import"), tally), reported


# --- the manifest -------------------------------------------------------------------------------------------------------
def noted_profile(noted: Mapping[str, object], spec: ModelSpec) -> Profile | None:
    """Return the profile in a manifest or a note of a judge; None where ``spec`` would be asked otherwise now."""
    found = noted.get("profile")
    if not isinstance(found, dict) or noted.get("asked_as") != request_digest(spec):
        return None
    mode, dropped = found.get("mode"), found.get("dropped")
    if not isinstance(mode, str) or not isinstance(dropped, list):
        return None
    return Profile(mode, frozenset(map(str, dropped)))


def profile_fields(spec: ModelSpec, profile: Profile | None) -> dict[str, object]:
    """Return what `noted_profile` reads, as it is written down."""
    fields = {"mode": profile.mode, "dropped": sorted(profile.dropped)} if profile else None
    return {"asked_as": request_digest(spec), "profile": fields}


def other_models(spec: ModelSpec, reported: Mapping[str, int]) -> str | None:
    """Return a line for people when answers do not all come from the one model that was asked for, else ``None``.

    ``reported`` counts answers by the model id the provider gave them. A longer or shorter form of the id asked for
    (``m`` and ``m-2026-01-31``, ``vendor/m`` and ``m``) is the same model.
    """
    asked = (spec.model or spec.name).lower().rpartition("/")[2]
    names = [name.lower().removeprefix(SIMULATED_PREFIX).rpartition("/")[2] for name in reported]
    if len(names) <= 1 and all(asked in name or name in asked for name in names):
        return None
    shown = ", ".join(f"{name} ({count})" for name, count in sorted(reported.items())[:MODELS_SHOWN])
    more = ", …" if len(reported) > MODELS_SHOWN else ""
    return f"asked for {spec.model or spec.name}, but the provider says the answers come from {shown}{more}"


def record_failure(partition: Partition, message: str, expected: int) -> None:
    """Note that a partition could not be asked at all, keeping what is known of earlier sessions."""
    manifest = {**partition.manifest(), "state": "failed", "message": message, "fingerprint": None}
    manifest.setdefault("n_expected", expected)
    manifest["finished_at"] = datetime.now(UTC).isoformat()
    write_manifest(partition.folder, manifest)


def counts(outcome: SessionResult) -> dict[str, object]:
    """Return how many answers there are, as manifests give it."""
    return {
        "n_expected": outcome.tasks,
        "n_answered": outcome.answered,
        "n_failed": outcome.failed,
        "n_unusable": outcome.unusable,
    }


def note_session(
    partition: Partition,
    outcome: SessionResult,
    fingerprint: str,
    started: datetime,
    reported: Mapping[str, int],
    others: str | None,
    judges: Mapping[str, object] | None = None,
) -> None:
    """Write the manifest of a session.

    ``others`` is a warning that other models answered than were asked. ``judges`` is what there is to note of each judge
    where the partition's model was judged, not asked.
    """
    spec = partition.spec
    state, message = state_of(outcome)
    before = partition.manifest()
    same_model = before.get("asked_as") == request_digest(spec)
    replayed = spec.provider == "replay" and judges is None  # there is nobody to ask for the rest
    # Answers of one model stay simulated when the next session reuses them; judges may be others by then.
    stays = judges is None and same_model and before.get("source") == "simulated"
    if others is not None:
        _logger.warning("%s run %d: %s", spec.name, partition.run, others)
        message = others if message is None else f"{message}; {others}"
    write_manifest(
        partition.folder,
        {
            "benchmark": partition.benchmark,
            "model": spec.name,
            "run": partition.run,
            "source": "simulated" if outcome.tally.simulated or stays else source_of(spec),
            "state": state,
            "message": message,
            **counts(outcome),
            "fingerprint": fingerprint if state == "complete" or replayed else None,
            **profile_fields(spec, outcome.profile),
            "model_reported": dict(sorted(reported.items())),
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
