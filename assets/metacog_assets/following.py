"""``metacog run --detach`` and ``metacog status --watch``: queue a request, and say how far it is until it is done.

A ``metacog run`` beside it on this machine is followed as well: it says by a lock that it works, also between its runs.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import dagster as dg
from dagster._core.storage.tags import WILL_RETRY_TAG

from metacog_assets import outcomes
from metacog_assets import request as asked
from metacog_assets.launch import Launcher, report_missing
from metacog_assets.request import ACTIVE, BY, COMMAND, ID, TASK, Request
from metacog_assets.sensors import sync_partitions
from metacog_assets.study_file import bound, current_study
from metacog_pipeline.asking import tasks
from metacog_pipeline.asking.spent import spent_figures
from metacog_pipeline.errors import StoreError
from metacog_pipeline.home import Home
from metacog_pipeline.leaderboard.shared import catch_up
from metacog_pipeline.leaderboard.status import PartitionState, helper_states, partition_states
from metacog_pipeline.study import Study
from metacog_pipeline.transcripts.folder import PartitionFolder
from metacog_pipeline.transcripts.journal import segments
from metacog_pipeline.transcripts.schema import Record
from metacog_pipeline.transcripts.store import FINISHED, kept_records

LOOK_S = 2.0
WORKING = ".working"  # below DAGSTER_HOME: locked by each `metacog run` as long as it works
SHARE = 0.1  # of the time at most is spent on looking
NO_DAEMON = (
    "no daemon works on the queue: start `metacog ui STUDY` or `dagster-daemon run`, here or on another host"
)


def detach(launcher: Launcher, request: Request) -> int:
    """Queue ``request`` and return at once."""
    instance = launcher.instance
    sync_partitions(launcher.study, instance)
    asked.write(instance, request)
    launcher.say(f"queued as {request.id}; follow it with: metacog status {launcher.study.path.name} --watch")
    if not asked.daemon_alive(instance):
        launcher.say(f"metacog: {NO_DAEMON}")
    return 0


def watch(launcher: Launcher) -> int:
    """Print a line whenever something has changed, until nothing is under way; return the exit code of the request."""
    instance, told, warned = launcher.instance, set[str](), False
    since, kept = datetime.now(UTC), Kept()
    followed = False
    said: How | None = None
    begun: Begun | None = None
    while True:
        started = time.monotonic()
        request = asked.read(instance)
        worked_on = _worked_on()
        active = instance.get_runs(dg.RunsFilter(statuses=list(ACTIVE)))
        catch_up(current_study())
        now = How.of(current_study(), active, kept)
        begun = begun or Begun(now.answered, time.monotonic())
        open_ = request is not None and not request.done
        if now != said:
            launcher.say(now.line(begun.rate(now.answered)))
            said = now
        followed |= worked_on or bool(active)
        for run_id, reason in _failures(instance, request, since, told):
            told.add(run_id)
            launcher.say(f"failed: {reason}")
        if open_ and request is not None and request.note and request.note not in told:
            told.add(request.note)
            launcher.say(request.note)
        if open_ and not warned and not asked.daemon_alive(instance):
            warned = True
            launcher.say(f"metacog: {NO_DAEMON}")
        if not (active or open_ or worked_on):
            return _end(launcher, request, since, followed)
        time.sleep(max(LOOK_S, (time.monotonic() - started) / SHARE))


@dataclass(frozen=True, slots=True)
class Begun:
    """How many answers there were when watching began, and when."""

    answered: int
    at: float

    def rate(self, answered: int) -> float:
        """Answers per second since then."""
        return (answered - self.answered) / max(time.monotonic() - self.at, 1e-9)


@dataclass(frozen=True, slots=True)
class How:
    """How far a study is at one moment."""

    complete: int
    partitions: int
    answered: int
    expected: int
    spent: float
    cap: float | None
    working: int
    queued: int

    @classmethod
    def of(cls, study: Study, active: Sequence[dg.DagsterRun], kept: Kept) -> How:
        """Count what is kept and what is under way."""
        states = [*partition_states(study), *helper_states(study)]
        money = spent_figures(study.home, study.study.budget_usd)
        queued = sum(
            run.status in (dg.DagsterRunStatus.QUEUED, dg.DagsterRunStatus.NOT_STARTED) for run in active
        )
        return cls(
            sum(state.state == "complete" for state in states),
            len(states),
            sum(kept.answered(study.home, state) for state in states),
            sum(state.n_expected for state in states),
            *(money.spent, money.cap, len(active) - queued, queued),
        )

    def line(self, rate: float) -> str:
        """Return it as one line."""
        of_budget = "" if self.cap is None else f" of ${self.cap:.4f}"
        left = self.expected - self.answered
        eta = f", about {_duration(left / rate)} left" if rate > 0 and left > 0 else ""
        return (
            f"{self.complete} of {self.partitions} model runs complete, {self.answered:,} of {self.expected:,} answers, "
            f"spent ${self.spent:.4f}{of_budget}, {self.working} working, {self.queued} queued{eta}"
        )


@dataclass(slots=True)
class Kept:
    """How many items of each partition have an answer, counted anew where more was kept."""

    counted: dict[PartitionFolder, tuple[list[int], int]] = field(default_factory=dict)

    def answered(self, home: Home, state: PartitionState) -> int:
        """Return what was written down at the end of the last session, or more while one is under way."""
        folder = PartitionFolder(home, state.benchmark, state.model, state.run)
        with contextlib.suppress(StoreError, OSError):
            found = [path.stat() for path in segments(folder)]
            since = folder.manifest.stat().st_mtime_ns if folder.manifest.exists() else 0
            if state.state != "complete" and any(each.st_mtime_ns > since for each in found):
                sizes = [each.st_size for each in found]
                if self.counted.get(folder, ([], 0))[0] != sizes:
                    items = {(each.item_id, each.condition) for each in _finished(folder)}
                    self.counted[folder] = sizes, len(items)
                return min(state.n_expected, self.counted[folder][1])
        return state.n_answered


def _finished(folder: PartitionFolder) -> Iterator[Record]:
    return (each for each in kept_records(folder) if each.status in FINISHED)


@contextlib.contextmanager
def working() -> Iterator[None]:
    """Say meanwhile that a command works on the study, for whoever watches."""
    with contextlib.ExitStack() as held:
        with contextlib.suppress(OSError):  # no place for it, or no locks there: nobody is told
            file = held.enter_context(_lock().open("w"))
            fcntl.flock(file, fcntl.LOCK_SH)
        yield


def _lock() -> Path:
    return Path(os.environ.get("DAGSTER_HOME") or current_study().home.dagster) / WORKING


def _worked_on() -> bool:
    """Whether a command on this machine works on the study."""
    with contextlib.suppress(OSError), _lock().open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def _failures(
    instance: dg.DagsterInstance, request: Request | None, since: datetime, told: set[str]
) -> Iterator[tuple[str, str]]:
    for run in _failed(instance, request, since):
        if run.run_id not in told:
            reasons = [f"{each.what}: {each.reason}" for each in failures_of(instance, run)]
            yield run.run_id, "; ".join(reasons)


def _failed(instance: dg.DagsterInstance, request: Request | None, since: datetime) -> list[dg.DagsterRun]:
    """Return the runs of a request, of each task the last one, and of commands since, that failed and are not run again."""
    ended = [dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.CANCELED]
    beside = instance.get_runs(dg.RunsFilter(tags={BY: COMMAND}, statuses=ended, updated_after=since))
    if request is None:
        return list(beside)
    found = instance.get_runs(dg.RunsFilter(tags={ID: request.id}, statuses=list(asked.ENDED)))
    last = {run.tags.get(TASK, run.run_id): run for run in reversed(found)}.values()
    return [*beside] + [
        run
        for run in last
        if run.status is not dg.DagsterRunStatus.SUCCESS and run.tags.get(WILL_RETRY_TAG) != "true"
    ]


def failures_of(instance: dg.DagsterInstance, run: dg.DagsterRun) -> list[outcomes.Failed]:
    """Return what failed in a run of another process."""
    if run.status is dg.DagsterRunStatus.CANCELED:
        return [outcomes.Failed(run.tags.get(TASK, "a run"), "cancelled", outcomes.UNKNOWN_FAULT)]
    events: list[dg.DagsterEvent] = [
        log.dagster_event for log in instance.all_logs(run.run_id) if log.dagster_event is not None
    ]
    checks = [
        each.asset_check_evaluation_data
        for each in events
        if each.event_type is dg.DagsterEventType.ASSET_CHECK_EVALUATION
    ]
    as_result = SimpleNamespace(
        run_id=run.run_id, success=False, all_events=events, get_asset_check_evaluations=lambda: checks
    )
    return outcomes.failures_of(as_result)  # type: ignore[arg-type]  # has all that is read of one


def _end(launcher: Launcher, request: Request | None, since: datetime, followed: bool) -> int:
    """Say what failed for good and what has no answer; return the exit code."""
    if request is None and not followed:
        launcher.say("nothing is queued and nothing is under way")
        return 0
    for run in _failed(launcher.instance, request, since):
        for failed in failures_of(launcher.instance, run):
            launcher.fail(failed.what, failed.reason, failed.exit_code)
    if request is not None and not launcher.failures:
        for name in launcher.study.enabled:
            if not request.benchmarks or name in request.benchmarks:
                for each in tasks.partitions(bound(name)):
                    if request.wants(each.spec.name, each.run):
                        report_missing(launcher, bound(name), each)
    launcher.say("done" if not launcher.failures else f"done; {len(launcher.failures)} failed")
    return launcher.exit_code


def _duration(seconds: float) -> str:
    for unit, size in (("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.0f} s"
