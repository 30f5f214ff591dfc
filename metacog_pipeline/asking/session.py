"""One session on a partition: open its answers, ask what is missing, keep it, compact it, write the manifest."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metacog_pipeline import __version__
from metacog_pipeline.asking.endings import INTERRUPTED, REASK, UNUSABLE, stopping_gently
from metacog_pipeline.asking.loop import Loop
from metacog_pipeline.asking.spent import kept_cost
from metacog_pipeline.asking.states import (
    SIMULATED_PREFIX,
    OnProgress,
    Profile,
    SessionResult,
    Tally,
    source_of,
)
from metacog_pipeline.asking.step import Session
from metacog_pipeline.asking.types import Task
from metacog_pipeline.errors import MetacogError, ProviderError, StudyError
from metacog_pipeline.files import canonical_json, sha256_hex
from metacog_pipeline.home import Home
from metacog_pipeline.llm.batch import records
from metacog_pipeline.llm.budget import Budget
from metacog_pipeline.llm.capabilities import Learnt
from metacog_pipeline.llm.simulated import Respond
from metacog_pipeline.llm.spec import IN_PROCESS, ModelSpec, base_url
from metacog_pipeline.llm.types import ChatModel, Status, usable
from metacog_pipeline.study import Study
from metacog_pipeline.transcripts.folder import (
    PartitionBusyError,
    PartitionFolder,
    kept_folders,
    read_manifest,
    write_manifest,
)
from metacog_pipeline.transcripts.journal import segment_sizes
from metacog_pipeline.transcripts.schema import answer_id
from metacog_pipeline.transcripts.store import PartitionStore, keep_whole, kept_records, standing_answers

if TYPE_CHECKING:
    from metacog_pipeline.llm.batch.queue import BatchModel
    from metacog_pipeline.llm.open import Clients

# exit code of a command that leaves batches under way
WAITING = 9
# bytes of journals that an interrupted session still compacts: it has 5 s
COMPACTED_AT_ONCE = 16 * 2**20
# seeds of two studies with neighbouring seeds never meet: a study has at most 99 runs
RUNS_PER_SEED = 100

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
        """The path of a table made from its answers, below the folder of the benchmark's tables of that sort."""
        return f"model={self.spec.name}/run={self.run}.parquet"

    def below(self, folder: str) -> Path:
        """Return the path of the table that is computed from its answers, in ``folder`` of the home."""
        return self.study.home / folder / self.benchmark / self.table

    @property
    def seed(self) -> int:
        """The sampling seed sent to providers that take one."""
        return self.study.study.seed * RUNS_PER_SEED + self.run

    def manifest(self) -> dict[str, Any]:
        """Return what the last session wrote down; empty before the first."""
        return read_manifest(self.folder)

    def known_profile(self, judge: ModelSpec | None = None) -> Profile | None:
        """Return how its model (or a judge of it) was asked last; None where its row of the study has changed since."""
        noted = self.manifest()
        if judge is not None:
            noted = noted.get("judges", {}).get(judge.name, {})
        match noted:
            case {"asked_as": digest, "profile": {"mode": str(mode), "dropped": list(dropped)}}:
                return (
                    Profile(mode, frozenset(dropped))
                    if digest == request_digest(judge or self.spec)
                    else None
                )
        return None


@dataclass(frozen=True, slots=True)
class Panelist:
    """One model and what it is asked. ``modes`` are tried best first; ``respond`` gives a simulated one's answers."""

    spec: ModelSpec
    tasks: Sequence[Task]
    modes: Sequence[str]
    respond: Respond | None = None


Outcomes = list[tuple[Panelist, SessionResult]]


def request_digest(spec: ModelSpec) -> str:
    """Return a digest of what decides how a model is asked: address, id, mode, tokens; not prices or rates."""
    always = ("temperature", "max_tokens", "top_logprobs", "token_ids", "choice_field")
    fields = {**spec.identity_fields(), "mode": spec.answer_mode}
    fields |= {name: getattr(spec, name) for name in always}
    fields |= {} if spec.stream is None else {"stream": spec.stream}
    return sha256_hex(canonical_json(fields))


def query_partition(
    partition: Partition,
    tasks: Sequence[Task],
    modes: Sequence[str],
    *,
    fingerprint: str,
    respond: Respond | None = None,
    on_progress: OnProgress = None,
) -> SessionResult:
    """Ask what a partition still lacks; return how the session went. For imported answers no model is asked."""
    _take_over(partition)
    with PartitionStore(partition.folder) as store:
        # No model is asked for imported answers.
        if partition.spec.provider == "replay":
            return _ended(partition, store, _imported(partition.folder, tasks), fingerprint)
        asked = Panelist(partition.spec, tasks, modes, respond)
        try:
            outcome = asyncio.run(_ask(partition, store, asked, on_progress, partition.known_profile()))
        except MetacogError:
            # what an interrupted session left
            store.compact()
            raise
        # With the fingerprint of all it depends on, so that the next command sees without
        # opening anything that there is nothing to do.
        return _ended(partition, store, outcome, fingerprint)


def query_panel(
    partition: Partition, panel: Sequence[Panelist], *, fingerprint: str, on_progress: OnProgress = None
) -> SessionResult:
    """Ask every judge of ``partition``'s model what is lacking of its verdicts; return how all of them went."""
    _take_over(partition)
    with PartitionStore(partition.folder) as store:

        def ask(judge: Panelist, shown: OnProgress) -> SessionResult:
            # Under the judge's own spec, so an answer's identity, price and rate limit are the judge's.
            return asyncio.run(_ask(partition, store, judge, shown, partition.known_profile(judge.spec)))

        found = ask_each(panel, ask, on_progress)
        # a profile that is known is not lost with a session that failed
        notes = {
            judge.spec.name: _asked_as(judge.spec, one.profile or partition.known_profile(judge.spec))
            for judge, one in found
        }
        return _ended(partition, store, together(found), fingerprint, notes)


def ask_each(
    panel: Sequence[Panelist],
    ask: Callable[[Panelist, OnProgress], SessionResult],
    on_progress: OnProgress = None,
) -> Outcomes:
    """Return how each panelist went, in order; one that cannot be asked has stopped with the reason, the others go on."""
    found: Outcomes = []
    total = sum(len(panelist.tasks) for panelist in panel)
    for panelist in panel:
        before = together(found)

        def report(done: int, own: int, dollars: float, before: SessionResult = before) -> None:
            if on_progress is not None:
                on_progress(before.tasks + done, total, before.tally.cost_usd + dollars)

        try:
            if INTERRUPTED.is_set():
                raise ProviderError("interrupted before it was asked")
            outcome = ask(panelist, report)
        except MetacogError as error:
            n = len(panelist.tasks)
            outcome = SessionResult(n, 0, 0, None, Tally(), str(error), error.exit_code)
        found.append((panelist, outcome))
    return found


def together(found: Outcomes) -> SessionResult:
    """Return how all panelists went, as one result; each line names its model."""
    whole = SessionResult(0, 0, 0, None, Tally())
    for panelist, one in found:
        whole.tally.add(one.tally)
        whole.tally.simulated |= source_of(panelist.spec) == "simulated"
        for name in ("tasks", "answered", "failed", "unusable", "waiting"):
            setattr(whole, name, getattr(whole, name) + getattr(one, name))
        for name in ("stopped", "too_few_usable"):
            if line := getattr(one, name):
                before = getattr(whole, name)
                setattr(whole, name, f"{f'{before}; ' if before else ''}{panelist.spec.name}: {line}")
        whole.exit_code = whole.exit_code or (one.exit_code if one.stopped else 0)
    return whole


def _take_over(partition: Partition) -> None:
    """Copy what a renamed model has answered under its old name, so that nothing is asked again."""
    spec, listed = partition.spec, {each.name for each in partition.study.askable}
    if spec.provider == "replay" or segment_sizes(partition.folder):
        return
    for folder in kept_folders(partition.study.home, benchmark=partition.benchmark):
        # It is the same model where the old name is listed no longer and its row asked in the same way.
        known = folder.run == partition.run and folder.model not in listed
        if known and read_manifest(folder).get("asked_as") == request_digest(spec):
            if batches_of(partition.study.home, spec.model_copy(update={"name": folder.model}), folder):
                raise StudyError(
                    f'model {spec.name} is in batches as "{folder.model}": name it so until they have ended'
                )
            # judges keep theirs
            names = {folder.model: spec.name}
            kept = kept_records(folder)
            # The dollars stay with the first copy.
            own = [replace(each, model=names.get(each.model, each.model), cost_usd=0.0) for each in kept]
            return keep_whole(partition.folder, own)


def _imported(folder: PartitionFolder, tasks: Sequence[Task]) -> SessionResult:
    """Return how far imported answers reach, of each step of an item the newest."""
    newest = {(each.item_id, each.condition, each.step): each for each in kept_records(folder)}
    items = {(item_id, condition) for item_id, condition, _ in newest}
    answered = sum((task.item_id, task.condition) in items for task in tasks)
    # What another study's observer answered stays simulated.
    simulated = any(each.source == "simulated" for each in newest.values())
    tally = Tally(reused=answered, simulated=simulated, current={each.answer_id for each in newest.values()})
    return SessionResult(len(tasks), answered, 0, Profile("import"), tally)


# --- asking -------------------------------------------------------------------------------------------------------------
async def _ask(
    partition: Partition,
    store: PartitionStore,
    asked: Panelist,
    on_progress: OnProgress,
    known: Profile | None,
) -> SessionResult:
    """Ask one model what ``store`` lacks, first as it was asked before; nothing is compacted or written down."""
    # HTTP takes a quarter of a second to load, and an import asks no model.
    from metacog_pipeline.llm.open import Clients, open_model

    home, cap, spec = partition.study.home, partition.study.study.budget_usd, asked.spec
    over_http = spec.provider not in IN_PROCESS
    # what costs nothing need not count
    known_cost = kept_cost(home) if over_http else 0.0
    with contextlib.closing(Budget(home, cap, known_spent_usd=known_cost)) as budget:
        async with Clients(budget=budget, seed=partition.seed) as clients:
            model = open_model(spec, shared=clients, respond=asked.respond)
            queue = _batches(partition, clients, store, model)
            session = Session(
                partition.benchmark, spec, partition.run, partition.seed, queue or model, store, queue=queue
            )
            if over_http:
                session.learnt = Learnt.of(model, home, spec.name, request_digest(spec))
            if os.environ.get(REASK) == UNUSABLE:
                store.reask(to_ask_again(store.folder))
            if queue is not None:
                queue.begin()
            on_stop = clients.halt.throw
            loop = Loop(
                session, asked.tasks, asked.modes, known=known, on_progress=on_progress, on_stop=on_stop
            )
            try:
                with stopping_gently(loop.stop):
                    return await loop.run()
            finally:
                await session.model.close()


def _batches(
    partition: Partition, clients: Clients, store: PartitionStore, model: ChatModel
) -> BatchModel | None:
    """Return the batches a model is asked through: as its row says, or to take up those under way."""
    from metacog_pipeline.llm.client import HttpChatModel

    if not isinstance(model, HttpChatModel):
        return None
    home, spec = partition.study.home, model.spec
    submits = spec.lane == "batch"
    if not submits and not batches_of(home, spec, store.folder):
        return None
    return clients.batch_model(
        model,
        home=home,
        partition=(partition.benchmark, spec.name, partition.run),
        kept_in=store.folder.key,
        kept=store.__contains__,
        identify=partial(answer_id, spec),
        submits=submits,
    )


def to_ask_again(folder: PartitionFolder) -> set[str]:
    """Return the answers kept in ``folder`` that `metacog run --reask unusable` asks again."""
    again = {}
    # of one identity the last counts
    for record in standing_answers(folder):
        thought = bool(record.reasoning_tokens or record.reasoning_text)
        # Cut after it had thought: it had too little room. A text that cannot be parsed is what the model said.
        cut = record.status == Status.TRUNCATED and thought
        again[record.answer_id] = cut or not usable(record.status, record.text)
    return {answer_id for answer_id, asked in again.items() if asked}


def batches_of(home: Home, spec: ModelSpec, folder: PartitionFolder) -> list[records.Batch]:
    """Return the batches with answers for ``folder`` that are to be gone on with, however ``spec`` is asked now."""
    if spec.provider in IN_PROCESS:
        return []
    return records.unfinished(home, spec.name, folder.key, base_url(spec))


# --- the manifest -------------------------------------------------------------------------------------------------------
@contextlib.contextmanager
def failure_recorded(partition: Partition, expected: Callable[[], int]) -> Iterator[None]:
    """Note in the manifest why a partition could not be asked at all, keeping what is known of earlier sessions."""
    try:
        yield
    except PartitionBusyError:
        # Another process asks it, and notes how that went.
        raise
    except MetacogError as error:
        now = datetime.now(UTC).isoformat()
        failed = {"state": "failed", "message": str(error), "fingerprint": None, "finished_at": now}
        write_manifest(partition.folder, {"n_expected": expected(), **partition.manifest(), **failed})
        raise


def _ended(
    partition: Partition,
    store: PartitionStore,
    outcome: SessionResult,
    fingerprint: str,
    judges: Mapping[str, object] | None = None,
) -> SessionResult:
    """Bring the Parquet copy up to date and write the manifest; ``judges`` is noted of each judge."""
    spec, (state, message) = partition.spec, outcome.state
    if not INTERRUPTED.is_set() or sum(segment_sizes(store.folder).values()) <= COMPACTED_AT_ONCE:
        # else the next session does it: journals hold every answer
        store.compact(outcome.tally.current)
    reported = store.models_reported(outcome.tally.current)
    # no model can be asked for the rest
    replayed = spec.provider == "replay" and judges is None
    simulated = outcome.tally.simulated or any(name.startswith(SIMULATED_PREFIX) for name in reported)
    if judges is None and (others := other_models(spec, reported)) is not None:
        _logger.warning("%s run %d: %s", spec.name, partition.run, others)
        message = others if message is None else f"{message}; {others}"
    noted: dict[str, object] = {
        "benchmark": partition.benchmark,
        "model": spec.name,
        "run": partition.run,
        "source": "simulated" if simulated else source_of(spec),
        "state": state,
        "message": message,
        "n_expected": outcome.tasks,
        "n_answered": outcome.answered,
        "n_failed": outcome.failed,
        "n_unusable": outcome.unusable,
        "fingerprint": fingerprint if state == "complete" or replayed else None,
        **_asked_as(spec, outcome.profile),
        "model_reported": dict(sorted(reported.items())),
        "cost_usd": outcome.tally.cost_usd,
        "finished_at": datetime.now(UTC).isoformat(),
        "version": __version__,
    }
    write_manifest(partition.folder, noted if judges is None else {**noted, "judges": judges})
    return outcome


def _asked_as(spec: ModelSpec, profile: Profile | None) -> dict[str, object]:
    fields = {"mode": profile.mode, "dropped": sorted(profile.dropped)} if profile else None
    return {"asked_as": request_digest(spec), "profile": fields}


def other_models(spec: ModelSpec, reported: Mapping[str, int]) -> str | None:
    """Return a line where the provider says that answers come from another model than was asked for, or from several."""
    asked = (spec.model or spec.name).lower().rpartition("/")[2]
    names = [name.lower().removeprefix(SIMULATED_PREFIX).rpartition("/")[2] for name in reported]
    # A longer or shorter form of the id (``m`` and ``m-2026-01-31``, ``vendor/m`` and ``m``) is the same model.
    if len(names) <= 1 and all(asked in name or name in asked for name in names):
        return None
    shown = ", ".join(f"{name} ({count})" for name, count in sorted(reported.items()))
    return f"asked for {spec.model or spec.name}, but the provider says the answers come from {shown}"
