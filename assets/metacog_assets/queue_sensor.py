"""Works off what ``metacog run --detach`` asked for: one Dagster run per model × run, through the daemon's queue.

Each look starts what can be started and remembers nothing that is not written down: what is stale is read from the files,
what was tried from the runs. So a daemon that is started again goes on where the last one was.

request → items of each benchmark → partitions → choices of later arms → boards → done
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from urllib.parse import urlsplit

import dagster as dg
from dagster._core.storage.tags import AUTO_RETRY_RUN_ID_TAG, WILL_RETRY_TAG

from metacog_assets import outcomes
from metacog_assets import request as asked
from metacog_assets.answer_assets import later_arms
from metacog_assets.jobs import JOBS
from metacog_assets.launch import MOST_PASSES, QUIET, assets_of, job_of, stale_steps, todo
from metacog_assets.request import ACTIVE, BY, ENDED, ID, QUEUE, STAGES, TASK, Request
from metacog_assets.sensors import boards, sync_partitions
from metacog_assets.study_file import Bound, bound, current_study
from metacog_pipeline.asking import batches, construction, tasks
from metacog_pipeline.asking.session import Partition
from metacog_pipeline.errors import MetacogError, StoreError
from metacog_pipeline.instance_file import ACCOUNT_TAG
from metacog_pipeline.leaderboard.shared import catch_up
from metacog_pipeline.leaderboard.status import board_current
from metacog_pipeline.llm.spec import IN_PROCESS, ModelSpec
from metacog_pipeline.scoring import choices
from metacog_pipeline.study import Study

EVERY_S = 3
MOST_LOST = (
    8  # so often what came from outside (a lost worker, a store or database away) does not count as tried
)
LOST_S, MOST_LOST_S = 5.0, 60.0  # until it is tried again; doubled each time
ENDED_STEP = {dg.DagsterEventType.STEP_SUCCESS, dg.DagsterEventType.STEP_FAILURE}
MOST_AT_ONCE = (
    50  # runs in the queue beyond those being worked on: a request can be taken back, a queue hardly
)


@dataclass(slots=True)
class Look:
    """What is known of the runs of one request: what each task has begun, how often it ended, where nothing is left."""

    begun: dict[str, set[str]] = field(default_factory=dict)
    ended: Counter[str] = field(default_factory=Counter)
    seen: set[str] = field(default_factory=set)
    clean: set[str] = field(default_factory=set)
    until: datetime | None = None
    busy: set[str] = field(default_factory=set)
    lost: Counter[str] = field(default_factory=Counter)
    later: dict[str, float] = field(default_factory=dict)

    def renew(self, instance: dg.DagsterInstance, request: Request) -> None:
        """Look at what has changed since the last time."""
        self.busy = {
            run.tags[TASK]
            for run in instance.get_runs(dg.RunsFilter(tags={BY: QUEUE}, statuses=list(ACTIVE)))
            if TASK in run.tags
        }
        after = self.until - timedelta(minutes=1) if self.until else None
        found = instance.get_run_records(
            dg.RunsFilter(tags={ID: request.id}, statuses=list(ENDED), updated_after=after)
        )
        for record in found:
            run = record.dagster_run
            self.until = max(self.until or record.update_timestamp, record.update_timestamp)
            if run.run_id in self.seen:
                continue
            task = run.tags[TASK]
            if run.tags.get(WILL_RETRY_TAG) == "true":
                # The daemon runs it again; until that run is there the task is still being worked on.
                if AUTO_RETRY_RUN_ID_TAG not in run.tags:
                    self.busy.add(task)
                    continue
            else:
                self.ended[task] += 1
                steps = _ended_steps(instance, run)
                self.begun.setdefault(task, set()).update(_begun(run, steps))
                if run.status is dg.DagsterRunStatus.FAILURE and not any(failed for failed in steps.values()):
                    wait = min(MOST_LOST_S, LOST_S * 2 ** self.lost[task])
                    self.lost[task] += 1
                    self.later[task] = (record.end_time or time.time()) + wait
            self.seen.add(run.run_id)
        self.busy |= {task for task, after in self.later.items() if time.time() < after}

    def passes(self, task: str) -> int:
        """Return how often a task was tried."""
        return self.ended[task] - min(self.lost[task], MOST_LOST)


def _ended_steps(instance: dg.DagsterInstance, run: dg.DagsterRun) -> dict[str, bool]:
    """Return the steps of a run that ended, whether they failed; not those that were cut short from outside."""
    logs = instance.all_logs(run.run_id, of_type=ENDED_STEP)
    events = [log.dagster_event for log in logs if log.dagster_event is not None]
    return {
        str(event.step_key): event.is_step_failure
        for event in events
        if not event.is_step_failure
        or any(each.exit_code != StoreError.exit_code for each in outcomes.of_step(run, event))
    }


def _begun(run: dg.DagsterRun, ended: Iterable[str]) -> Iterator[str]:
    """Yield the stages that a run did, or failed to do."""
    stages = [stage for stage in run.tags.get(STAGES, "").split(" ") if stage]
    done = run.status is dg.DagsterRunStatus.SUCCESS
    yield from (stage for stage in stages if done or any(key.endswith(f"_{stage}") for key in ended))


_LOOKS: dict[str, Look] = {}  # of the request that is open; another process looks anew


@dg.sensor(
    jobs=JOBS,
    minimum_interval_seconds=EVERY_S,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Works off what metacog run --detach asked for, one run per model and run of the study; rests otherwise.",
)
def queued_study(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
    """Start the runs that the open request needs now; close it when nothing is left."""
    instance = context.instance
    request = asked.read(instance)
    if request is None or request.done:
        return dg.SkipReason("nothing is queued: metacog run STUDY --detach queues it")
    try:
        study = current_study()
        catch_up(study)
        sync_partitions(study, instance)
        found = next_runs(study, instance, request)
    except MetacogError as error:
        if request.note != str(error):
            asked.write(instance, replace(request, note=str(error)))
        return dg.SkipReason(str(error))
    if found is None:
        asked.write(instance, replace(request, done=True, note=""))
        return dg.SkipReason("all that was queued is done")
    if request.note:
        asked.write(instance, replace(request, note=""))
    return dg.SensorResult(run_requests=found) if found else dg.SkipReason("runs are under way")


def next_runs(study: Study, instance: dg.DagsterInstance, request: Request) -> list[dg.RunRequest] | None:
    """Return the runs to start now, none while others are under way; None when nothing is left to do."""
    if request.id not in _LOOKS:
        _LOOKS.clear()
    look = _LOOKS.setdefault(request.id, Look())
    look.renew(instance, request)
    work = _Work(study, instance, request, look)
    for name in study.enabled:
        if not request.benchmarks or name in request.benchmarks:
            work.measure(bound(name))
            if work.full:
                break
    if work.requests or look.busy:
        return work.requests
    if batches.waiting(study):
        raise MetacogError("waiting for batches (see: metacog status STUDY --batches)")
    if not look.passes("publish") and (request.force or not board_current(study)):
        work.start("publish", "publish", boards())
        return work.requests
    return None


@dataclass(slots=True)
class _Work:
    study: Study
    instance: dg.DagsterInstance
    request: Request
    look: Look
    requests: list[dg.RunRequest] = field(default_factory=list)

    @property
    def full(self) -> bool:
        """Whether as many runs are under way as are queued at once."""
        return len(self.requests) + len(self.look.busy) >= self.study.deploy.workers + MOST_AT_ONCE

    def measure(self, benchmark: Bound) -> None:
        """Start what a benchmark needs now."""
        if not self._items_there(benchmark):
            return
        arms = later_arms(benchmark)
        waiting = bool(arms) and bool(choices.waiting(benchmark))
        wanted = [
            each for each in tasks.partitions(benchmark) if self.request.wants(each.spec.name, each.run)
        ]
        before = len(self.requests)
        busy = False
        for each in wanted:
            task = f"{benchmark.name} {each.spec.name} {each.run}" + (
                " later" if arms and not waiting else ""
            )
            if task in self.look.busy:
                busy = True
            elif task not in self.look.clean and not self.full:
                self._partition(benchmark, each, task)
        if waiting and wanted and not busy and len(self.requests) == before:
            self._choose(benchmark, arms)

    def _items_there(self, benchmark: Bound) -> bool:
        """Whether the items are as they should be; starts making them where they are not, once."""
        task = f"{benchmark.name} items"
        if task in self.look.clean:
            return True
        if task in self.look.busy:
            return False
        steps = stale_steps(self.instance, benchmark, self.request.force and not self.look.ended[task])
        if not steps:
            self.look.clean.add(task)
            return True
        if not self.look.passes(task):
            asks = {step.name for step in benchmark.construction() if step.asks}
            job = "generate_items" if asks & set(steps) else "build_items"
            self.start(job, task, [dg.AssetKey(f"{benchmark.name}_{step}") for step in steps])
            return False
        return construction.items_current(benchmark)  # where they could not be made, the run says why

    def _partition(self, benchmark: Bound, each: Partition, task: str) -> None:
        ended = self.look.ended[task]
        again = self.request.force and not ended
        spent = self.look.passes(task) >= MOST_PASSES
        stages = () if spent else todo(benchmark, each, self.look.begun.get(task, ()), again)
        if not stages:
            self.look.clean.add(task)
            return
        tags = {STAGES: " ".join(stages), **_account(each.spec)}
        key = dg.MultiPartitionKey({"model": each.spec.name, "run": str(each.run)})
        self.start(job_of(stages), task, assets_of(benchmark, stages), partition=key, tags=tags)

    def _choose(self, benchmark: Bound, arms: Sequence[str]) -> None:
        task = f"{benchmark.name} choice"
        if task in self.look.busy or self.look.passes(task) or choices.unanswered(benchmark):
            return
        self.start("build_items", task, [dg.AssetKey(f"{benchmark.name}_{arm}_choice") for arm in arms])

    def start(
        self,
        job: str,
        task: str,
        assets: Sequence[dg.AssetKey],
        partition: dg.MultiPartitionKey | None = None,
        tags: dict[str, str] | None = None,
    ) -> None:
        """Ask the daemon for one run."""
        self.requests.append(
            dg.RunRequest(
                run_key=f"{self.request.id} {task} {self.look.ended[task]}",
                job_name=job,
                partition_key=partition,
                asset_selection=sorted(assets),
                run_config=QUIET,  # a worker's own log is for what goes wrong; the events are in the history
                tags={BY: QUEUE, ID: self.request.id, TASK: task, **(tags or {})},
            )
        )


def _account(spec: ModelSpec) -> dict[str, str]:
    """Return the tags by which runs at once are limited: who is asked, and on whose account. No key is among them."""
    if spec.provider in IN_PROCESS:
        return {"metacog/provider": spec.provider}
    host = urlsplit(spec.base_url).hostname if spec.base_url else None
    account = ":".join(filter(None, (spec.provider, host, spec.api_key_env)))
    return {"metacog/provider": spec.provider, ACCOUNT_TAG: account[:200]}
