"""``metacog run``: materialise what is stale, in few runs of this process, against the study's own Dagster instance."""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import subprocess
import sys
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import dagster as dg

from metacog_assets.benchmark_assets import later_conditions
from metacog_assets.definitions import defs
from metacog_assets.graph import LEFT_OUT
from metacog_assets.partitions import Key, key_of, known_models, ranges, sync_partitions
from metacog_assets.steps import FAILURES, SOME_FAILED, UNKNOWN_FAULT
from metacog_assets.study_file import Bound, bound, current_study
from metacog_pipeline.asking import batches, construction, judging, tasks
from metacog_pipeline.asking.endings import INTERRUPTED
from metacog_pipeline.asking.session import WAITING, Partition
from metacog_pipeline.asking.unusable import to_ask_again
from metacog_pipeline.asking.variables import LEAVE_BATCHES, REASK, UNUSABLE, WATCH_PARENT
from metacog_pipeline.errors import MetacogError, StudyError, one_line
from metacog_pipeline.llm.batch import job
from metacog_pipeline.scoring import files, staleness
from metacog_pipeline.scoring.staleness import ESTIMATES, JUDGEMENTS, RESPONSES, TRANSCRIPTS
from metacog_pipeline.study import Study

STOPPED = 130
MOST_PASSES = 4
INTERRUPTIONS = (dg.DagsterExecutionInterruptedError.__name__, KeyboardInterrupt.__name__)
QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}


@dataclass(slots=True)
class Work:
    """One partition of a benchmark, and the stages of it that this command has tried."""

    benchmark: Bound
    partition: Partition
    again: bool  # all stages are to run, stale or not
    tried: set[str] = field(default_factory=set)

    @property
    def key(self) -> Key:
        """Model and run."""
        return self.partition.spec.name, self.partition.run

    def stale(self) -> set[str]:
        """Return the assets of the stages that are stale and were not tried."""
        stages: tuple[str, ...]
        if self.again and not self.tried:
            judged = (JUDGEMENTS,) if judging.wanted(self.benchmark) is not None else ()
            stages = (TRANSCRIPTS, RESPONSES, *judged, ESTIMATES)
        else:
            stages = staleness.stale_stages(self.benchmark, self.partition)
        if TRANSCRIPTS in stages and TRANSCRIPTS in self.tried:
            # Stopped on the way: what was answered is scored all the same, and nobody is asked to judge it.
            stages = (RESPONSES, ESTIMATES) if files.has_answers(self.partition) else ()
        if {RESPONSES, ESTIMATES} & self.tried & set(stages):
            return set()
        names = set(stages) - self.tried
        if TRANSCRIPTS in names:
            later = later_conditions(self.benchmark)
            names |= {
                f"{c.name}_transcripts" for c in later if tasks.chosen_items(self.benchmark, c) is not None
            }
        return {f"{self.benchmark.name}_{name}" for name in names}


@dataclass(slots=True)
class Command:
    """One command: launches runs one after another and remembers what failed, with the exit code of each kind."""

    study: Study
    instance: dg.DagsterInstance
    quiet: bool = False
    benchmarks: Sequence[str] = ()  # which to run, and which models and runs of them: all where none is named
    models: Sequence[str] = ()
    runs: Sequence[int] = ()
    force: bool = False
    launched: int = 0
    failures: list[str] = field(default_factory=list)
    exit_code: int = 0
    stay: bool = False  # go on with batches when they have ended
    waiting: bool = False

    def say(self, line: str) -> None:
        """Print one line of progress."""
        if not self.quiet:
            with contextlib.suppress(OSError):  # nobody listens any more: no reason to stop what is paid for
                print(line, file=sys.stderr, flush=True)

    def fail(self, what: str, reason: str, code: int = SOME_FAILED) -> None:
        """Remember a failure. Failures of one kind keep their exit code; different ones are "some failed"."""
        self.waiting |= code == WAITING
        if code == WAITING and self.stay:
            self.say(f"{what}: {reason}")
            return
        self.failures.append(f"{what}: {reason}")
        self.exit_code = code if self.exit_code in (0, code) else SOME_FAILED

    @contextlib.contextmanager
    def named(self, name: str) -> Iterator[None]:
        """Remember an error made for users as one of benchmark ``name``: the others go on."""
        try:
            yield
        except MetacogError as error:
            self.fail(name, str(error), error.exit_code)

    def materialize(
        self, what: str, assets: Collection[str], tags: Mapping[str, str] | None = None
    ) -> set[str]:
        """Launch one run and remember what failed; return the steps begun. KeyboardInterrupt where it was told to end."""
        self.say(f"{what} ...")
        self.launched += 1
        keys = sorted(dg.AssetKey(name) for name in assets)
        job = defs.resolve_implicit_job_def_def_for_assets(keys)
        assert job is not None
        FAILURES.clear()
        result = job.execute_in_process(
            instance=self.instance,
            asset_selection=keys,
            run_config=QUIET,
            raise_on_error=False,
            tags=dict(tags or {}),
        )
        if _interrupted(result):
            raise KeyboardInterrupt
        for failed, reason, code in FAILURES:
            self.fail(failed, one_line(reason), code)
        if not result.success and not FAILURES:
            self.fail(what, f"a fault of the program; run {result.run_id} in the UI has more", UNKNOWN_FAULT)
        return {str(event.step_key) for event in result.all_events if event.is_step_start}


def _interrupted(result: dg.ExecuteInProcessResult) -> bool:
    """Whether a run ended because this process, or the run in the UI, was told to."""
    errors = [event.job_failure_data.error for event in result.all_events if event.is_job_failure]
    named = any(error is not None and error.cls_name in INTERRUPTIONS for error in errors)
    cancelled = dg.DagsterEventType.RUN_CANCELED in {event.event_type for event in result.all_events}
    return named or cancelled or INTERRUPTED.is_set()


def run(command: Command) -> int:
    """Ask, score and publish what is stale; return the exit code."""
    sync_partitions(command.study, command.instance)
    built = build_items(command, usable(command))
    lost, work = len(command.failures), work_of(command, built)
    changed = measure(command, work) or command.force
    if command.exit_code not in (0, WAITING) and len(command.failures) - lost < len(work):
        command.exit_code = SOME_FAILED  # others are finished
    if built and not INTERRUPTED.is_set() and (changed or staleness.boards_stale(command.study)):
        publish(command, [each.name for each in built])
    if not command.launched:
        command.say("everything is up to date; nothing was asked")
    for failure in command.failures:
        print(f"metacog: {failure}", file=sys.stderr)
    return STOPPED if INTERRUPTED.is_set() else command.exit_code


def usable(command: Command) -> list[Bound]:
    """Return the benchmarks to run; of those whose package is broken it is remembered that they are left out."""
    said = "left out, for the reason that was said at the start"
    broken, found = {**dict.fromkeys(command.study.broken_plugins, said), **LEFT_OUT}, []
    for name in command.benchmarks or (*command.study.broken_plugins, *command.study.enabled):
        with command.named(name):
            if name in broken:
                raise StudyError(broken[name])
            found.append(bound(name))
    return found


def build_items(command: Command, benchmarks: Sequence[Bound]) -> list[Bound]:
    """Make what is stale of the items of all benchmarks, in one run; return the benchmarks whose items are there."""
    todo: dict[str, set[str]] = {}
    for each in benchmarks:
        every = [f"{each.name}_{step.name}" for step in each.construction()]
        # Another command may have built them already: the graph must show it all the same.
        unseen = command.instance.get_latest_materialization_event(dg.AssetKey(every[-1])) is None
        stale = {f"{each.name}_{step}" for step in staleness.stale_steps(each)}
        todo[each.name] = set(every) if command.force or unseen else stale
    if assets := set().union(*todo.values()):
        names = ", ".join(name for name, steps in todo.items() if steps)
        command.materialize(f"{names}: building the items", assets)
    return [
        each for each in benchmarks if construction.for_items(each).isdisjoint(staleness.stale_steps(each))
    ]


def work_of(command: Command, benchmarks: Sequence[Bound]) -> list[Work]:
    """Return the partitions that are to run."""
    found = []
    for benchmark in benchmarks:
        with command.named(benchmark.name):
            for each in tasks.partitions(benchmark):
                chosen = not command.models or each.spec.name in command.models
                if chosen and (not command.runs or each.run in command.runs):
                    found.append(Work(benchmark, each, command.force or _to_reask(benchmark, each)))
    return found


def _to_reask(benchmark: Bound, partition: Partition) -> bool:
    """Whether answers or judgements of a partition are to be asked again on request."""
    if os.environ.get(REASK) != UNUSABLE or partition.spec.provider == "replay":
        return False
    kept = [partition, *([judging.judged_as(partition)] if judging.wanted(benchmark) is not None else [])]
    return any(to_ask_again(each.folder) for each in kept)


def measure(command: Command, work: Sequence[Work]) -> bool:
    """Ask, read, judge and score what is stale; return whether there was anything to do.

    Each pass looks again. What fails on the way does not keep the rest from being scored, and is not tried twice: what was
    answered is shown, with its coverage.
    """
    before, chosen = command.launched, set[str]()
    for _ in range(MOST_PASSES):
        stale: dict[Key, set[str]] = {}
        for each in work:
            with command.named(each.benchmark.name):
                stale.setdefault(each.key, set()).update(each.stale())
        if not any(stale.values()):
            names = _choices(work) - chosen
            if not names:
                break
            command.materialize(", ".join(sorted(names)), names)
            chosen |= names
            for each in work:  # what was asked before the choice is read once more
                each.tried.clear()
        for assets in {frozenset(each): None for each in stale.values() if each}:
            alike = [key for key, each in stale.items() if each == assets]
            for tags, own in ranges(alike, known_models(command.instance)):
                begun = command.materialize(_label(assets, work, own), assets, tags)
                for each in (one for one in work if one.key in own):
                    name = f"{each.benchmark.name}_"
                    each.tried |= {
                        step.removeprefix(name) for step in begun & assets if step.startswith(name)
                    }
    if command.launched > before:
        for each in work:
            report_missing(command, each.benchmark, each.partition)
    return command.launched > before


def _choices(work: Sequence[Work]) -> set[str]:
    """Return the assets that choose what later conditions ask, where all models have answered."""
    benchmarks = {each.benchmark.name: each.benchmark for each in work}.values()
    waiting = {each.name: files.waiting(each) for each in benchmarks}
    ready = [each.name for each in benchmarks if waiting[each.name] and not files.unanswered(each)]
    return {f"{name}_{condition.name}_choice" for name in ready for condition in waiting[name]}


def _label(assets: Collection[str], work: Sequence[Work], keys: Collection[Key]) -> str:
    """Return what a run is about: benchmarks, models and runs."""
    names = sorted({each.benchmark.name for each in work})
    own = ", ".join(name for name in names if any(asset.startswith(f"{name}_") for asset in assets))
    return one_line(f"{own}: {'; '.join(f'{model}, run {run}' for model, run in sorted(keys))}", 150)


def publish(command: Command, built: Sequence[str]) -> None:
    """Compute what stands over all models, then the leaderboard and the report."""
    before = len(command.failures)
    command.materialize("boards", [*(f"{name}_comparisons" for name in built), "leaderboard", "report"])
    if (
        len(command.failures) > before
    ):  # of a disk that failed, perhaps: the next run makes boards and report again
        staleness.forget(command.study)


def report_missing(command: Command, benchmark: Bound, partition: Partition) -> None:
    """Report what has no answer, or no judgement, after all went well otherwise."""
    what = f"{benchmark.name}: {partition.spec.name}, run {partition.run}"
    noted = partition.manifest()
    if noted.get("state") == "complete" and judging.wanted(benchmark) is not None:
        what, noted = f"{what}, judgements", judging.judged_as(partition).manifest()
    if noted.get("state") != "incomplete":
        return
    message = noted.get("message")
    if partition.spec.provider == "replay":
        allow = f"allow_incomplete = true in [benchmarks.{benchmark.name}]"
        command.say(f"{what}: {message}; import the rest, or with {allow} it is scored with its coverage")
    else:  # where everything is answered the message itself says what to do
        rest = "" if noted.get("n_answered") == noted.get("n_expected") else "; run again to ask for the rest"
        command.fail(what, f"{message}{rest}")


def run_until_answered(command: Command) -> int:
    """Run, and where batches are under way wait for them and run again; no partition waits for another.

    With ``METACOG_LEAVE_BATCHES`` nothing is waited for: the exit code says that batches are under way.
    """
    command.stay = os.environ.get(LEAVE_BATCHES) != "1"
    os.environ[LEAVE_BATCHES] = "1"  # all batches are submitted before any is waited for
    code = failed = run(command)
    while command.stay and command.waiting and not INTERRUPTED.is_set():
        os.environ.pop(REASK, None)  # once
        _wait(command)
        chosen = (command.benchmarks, command.models, command.runs)
        command = Command(current_study(), command.instance, command.quiet, *chosen, stay=True)
        code = run(command)
        failed = code if failed in (0, code) else SOME_FAILED
    return code if INTERRUPTED.is_set() else failed


def _wait(command: Command) -> None:
    """Wait until a batch can go on, or whoever started this process is gone."""
    parent, pause = os.getppid(), job.PACE.first_s
    command.say("waiting for batches (see: metacog status STUDY --batches; stop and run again as you like)")
    while not batches.ended(command.study):
        if os.environ.get(WATCH_PARENT) and os.getppid() != parent:
            raise KeyboardInterrupt
        time.sleep(pause)
        pause = min(pause * job.PACE.factor, job.PACE.most_s)


def detach(command: Command) -> int:
    """Build the items, then start a backfill per benchmark that Dagster's daemon works off; sensors publish the boards."""
    sync_partitions(command.study, command.instance)
    keys: dict[str, list[str]] = {}
    for each in work_of(command, build_items(command, usable(command))):
        with command.named(each.benchmark.name):
            if each.stale():
                keys.setdefault(each.benchmark.name, []).append(str(key_of(*each.key)))
    for name, own in keys.items():
        if why := _backfill(name, own):
            command.fail(name, f"no backfill was started: {why}")
        else:
            daemon = "Dagster's daemon (metacog ui, or dagster-daemon run)"
            command.say(f"{name}: {len(own)} model runs queued for {daemon}")
    if not keys and not command.launched:
        command.say("everything is up to date; nothing is queued")
    for failure in command.failures:
        print(f"metacog: {failure}", file=sys.stderr)
    return command.exit_code


def _backfill(name: str, keys: Sequence[str]) -> str:
    """Queue partitions of a benchmark; return why not where it failed."""
    where = ["-m", "metacog_assets.definitions", "--working-directory", os.environ["DAGSTER_HOME"]]
    chosen = ["-j", f"ask_{name}", "--partitions", ",".join(keys), "--noprompt"]
    command = [sys.executable, "-m", "dagster", "job", "backfill", *where, *chosen]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return one_line(done.stdout.strip()[-300:]) if done.returncode else ""


@contextlib.contextmanager
def opened_instance() -> Iterator[dg.DagsterInstance]:
    """Open the study's Dagster instance; two first commands in a fresh home must not both make its tables."""
    logging.getLogger("dagster").setLevel(logging.CRITICAL)
    with contextlib.ExitStack() as locked:
        with contextlib.suppress(OSError):  # a folder of the user's own may be mounted to be read only
            lock = locked.enter_context((Path(os.environ["DAGSTER_HOME"]) / ".opening").open("w"))
            fcntl.flock(lock, fcntl.LOCK_EX)
        instance = dg.DagsterInstance.get()
    with instance:
        yield instance
