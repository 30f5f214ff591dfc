"""``metacog run``: materialise what is stale, in few runs of this process, against the study's own Dagster instance."""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import subprocess
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

import dagster as dg

from metacog_assets.benchmark_assets import assets_of, keys
from metacog_assets.definitions import defs
from metacog_assets.graph import LEFT_OUT, boards_of
from metacog_assets.partitions import Key, key_of, known_models, ranges, sync_partitions
from metacog_assets.steps import SOME_FAILED, UNKNOWN_FAULT, faults_of
from metacog_assets.study_file import bound
from metacog_pipeline.asking import construction, tasks
from metacog_pipeline.asking.endings import INTERRUPTED
from metacog_pipeline.asking.session import WAITING, Partition
from metacog_pipeline.benchmark.bound import Bound
from metacog_pipeline.errors import MetacogError, StudyError, one_line
from metacog_pipeline.scoring import staleness
from metacog_pipeline.scoring.staleness import JUDGEMENTS, TRANSCRIPTS
from metacog_pipeline.study import Study

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
        """Return the assets that are stale. Nothing is tried twice; what was answered is scored though asking failed."""
        stages = staleness.stale_stages(self.benchmark, self.partition)
        if self.again and not self.tried:
            stages = staleness.every_stage(self.benchmark)
        if {TRANSCRIPTS, JUDGEMENTS} & self.tried & set(stages):
            stages = staleness.free_stages(self.benchmark, self.partition)
        return set() if self.tried & set(stages) else assets_of(self.benchmark, stages)


# the tag by which the UI's list of runs shows what a run is of
NAME = "metacog/run"
LONGEST_TAG = 200  # characters: the UI cuts longer ones


@dataclass(slots=True)
class Command:
    """One command: launches runs one after another and remembers what failed, with the exit code of each kind."""

    study: Study
    instance: dg.DagsterInstance
    quiet: bool = False
    # which to run, and which models and runs of them: all where none is named
    benchmarks: Sequence[str] = ()
    models: Sequence[str] = ()
    runs: Sequence[int] = ()
    force: bool = False
    launched: int = 0
    # what, why, exit code
    failures: list[tuple[str, str, int]] = field(default_factory=list)
    others_finished: bool = False

    @property
    def exit_code(self) -> int:
        """That of the failures where all are of one kind and no other finished, else "some failed"."""
        codes = {code for *_, code in self.failures}
        alike = len(codes) == 1 and (not self.others_finished or codes == {WAITING})
        return codes.pop() if alike else SOME_FAILED if codes else 0

    def say(self, line: str) -> None:
        """Print one line of progress."""
        if not self.quiet:
            # no reader is left: no reason to stop what is paid for
            with contextlib.suppress(OSError):
                print(line, file=sys.stderr, flush=True)

    def fail(self, what: str, reason: str, code: int = SOME_FAILED) -> None:
        """Remember a failure."""
        self.failures.append((what, one_line(reason), code))

    def end(self, nothing: str) -> int:
        """Print ``nothing`` where nothing was launched, and a line for each reason with all that failed for it."""
        if not self.launched:
            self.say(f"everything is up to date; nothing {nothing}")
        for reason in dict.fromkeys(why for _, why, _ in self.failures):
            failed = "; ".join(what for what, why, _ in self.failures if why == reason)
            print(f"metacog: {failed}: {reason}", file=sys.stderr)
        return self.exit_code

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
        """Launch one run and remember what failed; return the assets begun. KeyboardInterrupt after a signal to end."""
        self.say(f"{what} ...")
        self.launched += 1
        selected = keys(assets)
        job = defs.resolve_implicit_job_def_def_for_assets(selected)
        assert job is not None
        result = job.execute_in_process(
            instance=self.instance,
            asset_selection=selected,
            run_config=QUIET,
            raise_on_error=False,
            tags={NAME: what[:LONGEST_TAG], **(tags or {})},
        )
        if _interrupted(result):
            raise KeyboardInterrupt
        faults = list(faults_of(result))
        for fault in faults:
            self.fail(*fault)
        if not result.success and not faults:
            self.fail(what, f"a fault of the program; run {result.run_id} in the UI has more", UNKNOWN_FAULT)
        # Dagster joins the parts of a key with two underscores where it names a step.
        return {
            str(event.step_key).replace("__", "/", 1) for event in result.all_events if event.is_step_start
        }


def _interrupted(result: dg.ExecuteInProcessResult) -> bool:
    """Whether a run ended by a signal to this process or from the UI."""
    errors = [event.job_failure_data.error for event in result.all_events if event.is_job_failure]
    named = any(error is not None and error.cls_name in INTERRUPTIONS for error in errors)
    cancelled = dg.DagsterEventType.RUN_CANCELED in {event.event_type for event in result.all_events}
    return named or cancelled or INTERRUPTED.is_set()


def run(command: Command) -> int:
    """Ask, score and publish what is stale; return the exit code."""
    sync_partitions(command.study, command.instance)
    built = build_items(command)
    before, work = len(command.failures), work_of(command, built)
    # what one pass has made lets the next one find more
    while _stages(command, work):
        pass
    command.others_finished = len(command.failures) - before < len(work)
    found = staleness.stale(command.study)
    if built and (command.force or found.compared or found.leaderboard or found.report):
        before = len(command.failures)
        command.materialize("boards", boards_of(each.name for each in built))
        # of a disk that failed, perhaps: the next run makes them again
        if len(command.failures) > before:
            staleness.forget(command.study)
    return command.end("was asked")


def build_items(command: Command) -> list[Bound]:
    """Make what is stale of the items of all benchmarks, in one run; return the benchmarks whose items are there."""
    benchmarks, todo = list(_usable(command)), dict[str, set[str]]()
    for each in benchmarks:
        steps = [s.name for s in each.construction()] if command.force else staleness.stale_steps(each)
        if steps:
            todo[each.name] = assets_of(each, steps)
    if todo:
        command.materialize(f"{', '.join(todo)}: building the items", {*chain(*todo.values())})
    return [
        each for each in benchmarks if construction.for_items(each).isdisjoint(staleness.stale_steps(each))
    ]


def _usable(command: Command) -> Iterator[Bound]:
    """Yield the benchmarks to run; of those whose package is broken it is remembered that they are left out."""
    said = "left out, for the reason given at the start"
    broken = {**dict.fromkeys(command.study.broken_plugins, said), **LEFT_OUT}
    for name in command.benchmarks or (*command.study.broken_plugins, *command.study.enabled):
        with command.named(name):
            if name in broken:
                raise StudyError(broken[name])
            yield bound(name)


def work_of(command: Command, benchmarks: Sequence[Bound]) -> list[Work]:
    """Return the partitions that are to run."""
    found = []
    for benchmark in benchmarks:
        with command.named(benchmark.name):
            for each in tasks.partitions(benchmark):
                chosen = not command.models or each.spec.name in command.models
                if chosen and (not command.runs or each.run in command.runs):
                    found.append(Work(benchmark, each, command.force))
    return found


def _stages(command: Command, work: Sequence[Work]) -> bool:
    """Launch the stale stages, partitions that lack the same in one run; return whether there were any."""
    stale: dict[Key, set[str]] = {}
    for each in work:
        with command.named(each.benchmark.name):
            stale.setdefault(each.key, set()).update(each.stale())
    for assets in {frozenset(each): None for each in stale.values() if each}:
        alike = [key for key, each in stale.items() if each == assets]
        for tags, own in ranges(alike, known_models(command.instance)):
            begun = command.materialize(_label(assets, work, own), assets, tags) or assets
            for each in (one for one in work if one.key in own):
                name = f"{each.benchmark.name}/"
                each.tried |= {asset.removeprefix(name) for asset in begun if asset.startswith(name)}
    return any(stale.values())


def _label(assets: Collection[str], work: Sequence[Work], partitions: Collection[Key]) -> str:
    names = {each.benchmark.name for each in work}
    own = ", ".join(sorted(name for name in names if any(each.startswith(f"{name}/") for each in assets)))
    asked = "; ".join(f"{model} · run {run}" for model, run in sorted(partitions))
    return one_line(f"{own} · {asked}", 150)


def detach(command: Command) -> int:
    """Build the items, then start a backfill per benchmark for Dagster's daemon; a sensor publishes the boards."""
    sync_partitions(command.study, command.instance)
    queued: dict[str, list[str]] = {}
    for each in work_of(command, build_items(command)):
        with command.named(each.benchmark.name):
            if each.stale():
                queued.setdefault(each.benchmark.name, []).append(str(key_of(*each.key)))
    for name, own in queued.items():
        command.launched += 1
        if why := _backfill(name, own):
            command.fail(name, f"no backfill was started: {why}")
        else:
            daemon = "Dagster's daemon (metacog ui, or dagster-daemon run)"
            command.say(f"{name}: {len(own)} model runs queued for {daemon}")
    return command.end("is queued")


def _backfill(name: str, partitions: Sequence[str]) -> str:
    where = ["-m", "metacog_assets.definitions", "--working-directory", os.environ["DAGSTER_HOME"]]
    chosen = ["-j", f"ask_{name}", "--partitions", ",".join(partitions), "--noprompt"]
    command = [sys.executable, "-m", "dagster", "job", "backfill", *where, *chosen]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return one_line(done.stdout.strip()[-300:]) if done.returncode else ""


@contextlib.contextmanager
def opened_instance() -> Iterator[dg.DagsterInstance]:
    """Open the study's Dagster instance; two first commands in a fresh home must not both make its tables."""
    # the latter shows how an interrupt broke off its connections
    for name in ("dagster", "sqlalchemy"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    with contextlib.ExitStack() as locked:
        # a folder of the user's own may be mounted to be read only
        with contextlib.suppress(OSError):
            lock = locked.enter_context((Path(os.environ["DAGSTER_HOME"]) / ".opening").open("w"))
            fcntl.flock(lock, fcntl.LOCK_EX)
        instance = dg.DagsterInstance.get()
    with instance:
        yield instance
