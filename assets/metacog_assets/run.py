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

from metacog_assets import backlog
from metacog_assets.definitions import defs
from metacog_assets.graph import LEFT_OUT
from metacog_assets.partitioned import FAILED, FAULTS, SOME_FAILED
from metacog_assets.partitions import Key, key_of, known_models, ranges, sync_partitions
from metacog_assets.study_file import Bound, bound, current_study
from metacog_pipeline.asking import batches, construction, judging, tasks
from metacog_pipeline.asking.endings import INTERRUPTED
from metacog_pipeline.asking.session import WAITING, Partition
from metacog_pipeline.asking.unusable import to_ask_again
from metacog_pipeline.asking.variables import LEAVE_BATCHES, REASK, UNUSABLE, WATCH_PARENT
from metacog_pipeline.errors import MetacogError, one_line
from metacog_pipeline.llm.batch import desk
from metacog_pipeline.scoring import choices, staleness
from metacog_pipeline.study import Study

STOPPED = 130
UNKNOWN_FAULT = 1
MOST_PASSES = 4
INTERRUPTIONS = (dg.DagsterExecutionInterruptedError.__name__, KeyboardInterrupt.__name__)
QUERY_INTERRUPTED = "Query interrupted"  # DuckDB raises a RuntimeError with it in place of KeyboardInterrupt
QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which part of the study is to run; nothing named is everything."""

    benchmarks: Sequence[str] = ()
    models: Sequence[str] = ()
    runs: Sequence[int] = ()
    force: bool = False

    def of(self, benchmark: Bound) -> list[Partition]:
        """Return the partitions of a benchmark."""
        return [
            each
            for each in tasks.partitions(benchmark)
            if (not self.models or each.spec.name in self.models) and (not self.runs or each.run in self.runs)
        ]


@dataclass(slots=True)
class Command:
    """One command: launches runs one after another and remembers what failed, with the exit code of each kind."""

    study: Study
    instance: dg.DagsterInstance
    quiet: bool = False
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
    ) -> dg.ExecuteInProcessResult:
        """Launch one run and remember what failed in it; KeyboardInterrupt where it was told to end."""
        self.say(f"{what} ...")
        self.launched += 1
        keys = sorted(dg.AssetKey(name) for name in assets)
        job = defs.resolve_implicit_job_def_def_for_assets(keys)
        assert job is not None
        result = job.execute_in_process(
            instance=self.instance,
            asset_selection=keys,
            run_config=QUIET,
            raise_on_error=False,
            tags=dict(tags or {}),
        )
        if _was_interrupted(result):
            raise KeyboardInterrupt
        for each in _failures(result):
            self.fail(*each)
        return result


def run(command: Command, wanted: Wanted) -> int:
    """Ask, score and publish what is stale; return the exit code."""
    study = command.study
    sync_partitions(study, command.instance)
    built = build_items(command, usable(command, wanted), wanted.force)
    lost, changed = len(command.failures), wanted.force
    partitions: dict[str, list[Partition]] = {}
    for each in built:
        with command.named(each.name):
            partitions[each.name] = wanted.of(each)
    changed |= measure(command, [each for each in built if each.name in partitions], partitions, wanted.force)
    asked = sum(map(len, partitions.values()))
    if command.exit_code not in (0, WAITING) and len(command.failures) - lost < asked:
        command.exit_code = SOME_FAILED  # others are finished
    if built and not INTERRUPTED.is_set() and (changed or staleness.boards_stale(study)):
        publish(command, [each.name for each in built])
    if not command.launched:
        command.say("everything is up to date; nothing was asked")
    for failure in command.failures:
        print(f"metacog: {failure}", file=sys.stderr)
    return STOPPED if INTERRUPTED.is_set() else command.exit_code


def usable(command: Command, wanted: Wanted) -> list[Bound]:
    """Return the benchmarks to run; of those whose package is broken it is remembered that they are left out."""
    names = wanted.benchmarks or (*command.study.broken_plugins, *command.study.enabled)
    found = []
    for name in names:
        if name in command.study.broken_plugins:
            command.fail(name, "left out, for the reason that was said at the start")
        elif name in LEFT_OUT:
            command.fail(name, LEFT_OUT[name], 2)
        else:
            with command.named(name):
                found.append(bound(name))
    return found


def build_items(command: Command, benchmarks: Sequence[Bound], force: bool) -> list[Bound]:
    """Make what is stale of the items of all benchmarks, in one run; return the benchmarks whose items are there."""
    todo = {each.name: steps_of(command.instance, each, force) for each in benchmarks}
    assets = {name for steps in todo.values() for name in steps}
    if not assets:
        return list(benchmarks)
    names = ", ".join(name for name, steps in todo.items() if steps)
    result = command.materialize(f"{names}: building the items", assets)
    made = {
        event.asset_key.to_user_string()
        for event in result.get_asset_materialization_events()
        if event.asset_key
    }
    return [
        each
        for each in benchmarks
        if {f"{each.name}_{step}" for step in construction.for_items(each)} & set(todo[each.name]) <= made
    ]


def steps_of(instance: dg.DagsterInstance, benchmark: Bound, force: bool) -> list[str]:
    """Return the steps to run. Another command may have run them already: the graph must show it all the same."""
    every = [f"{benchmark.name}_{step.name}" for step in benchmark.construction()]
    if force or instance.get_latest_materialization_event(dg.AssetKey(every[-1])) is None:
        return every
    return backlog.stale_steps(benchmark)


def measure(
    command: Command, benchmarks: Sequence[Bound], partitions: Mapping[str, list[Partition]], force: bool
) -> bool:
    """Ask, read, judge and score what is stale; return whether there was anything to do.

    Each pass looks again. What fails on the way does not keep the rest from being scored, and is not tried twice: what was
    answered is shown, with its coverage.
    """
    tried: dict[Key, set[str]] = {}
    before = command.launched
    for _ in range(MOST_PASSES):
        stale: dict[Key, set[str]] = {}
        for each in benchmarks:
            with command.named(each.name):
                again = [one for one in partitions[each.name] if force or _to_reask(each, one)]
                for key, assets in backlog.stale_partitions(
                    each, partitions[each.name], tried, again
                ).items():
                    stale.setdefault(key, set()).update(assets)
        stale = {key: assets - tried.get(key, set()) for key, assets in stale.items()}
        choice = {} if stale else choose(command, benchmarks, tried)
        if not stale and not choice:
            break
        for assets, keys in _alike(stale):
            for tags, own in ranges(keys, known_models(command.instance)):
                label = ", ".join(sorted(set(_owners(assets, benchmarks))))
                result = command.materialize(f"{label}: {_named(own)}", assets, tags)
                begun = {str(event.step_key) for event in result.all_events if event.is_step_start}
                for key in own:
                    tried.setdefault(key, set()).update(begun & assets)
    if command.launched > before:
        for each in benchmarks:
            for one in partitions[each.name]:
                report_missing(command, each, one)
    return command.launched > before


def choose(command: Command, benchmarks: Sequence[Bound], tried: dict[Key, set[str]]) -> set[str]:
    """Choose what later conditions ask, where all models have answered; what was asked before them is read once more."""
    names: set[str] = set()
    for each in benchmarks:
        waiting = choices.waiting(each)
        if waiting and tried.get(("", 0), set()).isdisjoint(
            own := {f"{each.name}_{one.name}_choice" for one in waiting}
        ):
            names |= set() if choices.unanswered(each) else own
    if names:
        command.materialize(f"{', '.join(sorted(names))}", names)
        tried.setdefault(("", 0), set()).update(names)
        for key in tried.keys() - {("", 0)}:
            tried[key] = set()
    return names


def publish(command: Command, built: Sequence[str]) -> None:
    """Compute what stands over all models, then the leaderboard and the report."""
    before = len(command.failures)
    command.materialize("boards", [*(f"{name}_comparisons" for name in built), "leaderboard", "report"])
    if len(command.failures) > before:
        staleness.forget(
            command.study
        )  # of a disk that failed, perhaps: the next run makes boards and report again


def _alike(stale: Mapping[Key, set[str]]) -> Iterator[tuple[set[str], list[Key]]]:
    """Yield each set of assets with the partitions that need exactly these."""
    for assets in {frozenset(each): None for each in stale.values() if each}:
        yield set(assets), [key for key, each in stale.items() if each == assets]


def _owners(assets: Collection[str], benchmarks: Sequence[Bound]) -> Iterator[str]:
    return (each.name for each in benchmarks if any(name.startswith(f"{each.name}_") for name in assets))


def _named(keys: Collection[Key]) -> str:
    models = sorted({model for model, _ in keys})
    runs = sorted({run for _, run in keys})
    shown = ", ".join(models) if len(models) <= 3 else f"{len(models)} models"
    return f"{shown}, run {runs[0]}" if len(runs) == 1 else f"{shown}, runs {runs[0]} to {runs[-1]}"


def _to_reask(benchmark: Bound, partition: Partition) -> bool:
    """Whether answers or judgements of a partition are to be asked again on request."""
    if os.environ.get(REASK) != UNUSABLE or partition.spec.provider == "replay":
        return False
    kept = [partition, *([judging.judged_as(partition)] if judging.wanted(benchmark) is not None else [])]
    return any(to_ask_again(each.folder) for each in kept)


def report_missing(command: Command, benchmark: Bound, partition: Partition) -> None:
    """Report what has no answer, or no judgement, after all went well otherwise."""
    what = f"{benchmark.name}: {partition.spec.name}, run {partition.run}"
    state = partition.manifest()
    if state.get("state") == "incomplete" and partition.spec.provider == "replay":
        scored = "what is there is scored with its coverage (allow_incomplete = true)"
        if not benchmark.settings.allow_incomplete:
            scored = f"import the rest, or set allow_incomplete = true in [benchmarks.{benchmark.name}]"
        command.say(f"{what}: {state.get('message')}; {scored}")
    elif state.get("state") == "incomplete":
        command.fail(what, _missing(state))
    elif state.get("state") == "complete" and judging.wanted(benchmark) is not None:
        judged = judging.judged_as(partition).manifest()
        if judged.get("state") == "incomplete":
            command.fail(f"{what}, judgements", _missing(judged))


def _missing(manifest: Mapping[str, object]) -> str:
    """Return what is missing and what to do; where everything is answered the message says that itself."""
    all_there = manifest.get("n_answered") == manifest.get("n_expected")
    return str(manifest.get("message")) + ("" if all_there else "; run again to ask for the rest")


def _failures(result: dg.ExecuteInProcessResult) -> Iterator[tuple[str, str, int]]:
    """Yield what failed in a run (an asset, or one partition of it), why, and the exit code: steps, then checks."""
    for event in result.get_step_failure_events():
        data, step = event.step_failure_data, str(event.step_key)
        told = data.user_failure_data
        if (
            told is not None
            and FAILED in told.metadata
            and isinstance(named := told.metadata[FAILED].value, dict)
        ):
            for key, (reason, code) in named.items():
                what = f"{step}, {key.replace('|', ', run ')}" if key else step
                yield what, one_line(str(reason)), int(code)
        elif data.error is not None:
            deepest = data.error
            while deepest.cause is not None:
                deepest = deepest.cause
            said = (
                f"{deepest.message.strip()} (a fault of the program; run {result.run_id} in the UI has more)"
            )
            yield step, one_line(said), UNKNOWN_FAULT
    for check in result.get_asset_check_evaluations():
        if check.passed:
            continue
        asset = check.asset_key.to_user_string()
        blocks = check.severity is dg.AssetCheckSeverity.ERROR
        code = UNKNOWN_FAULT if blocks else SOME_FAILED
        if FAULTS in check.metadata and isinstance(named := check.metadata[FAULTS].value, dict):
            for what, reasons in _by_reason(named).items():
                whole = "|" not in what
                yield (what if whole else f"{asset} ({what.replace('|', ', run ')})"), one_line(reasons), code
        elif blocks:
            reason = f"check {check.check_name} failed; the figures are in run {result.run_id} in the UI"
            yield asset, f"{reason}, nothing was passed on", UNKNOWN_FAULT


def _by_reason(named: Mapping[str, object]) -> dict[str, str]:
    """Return reasons by what they are about, one line for all partitions of which the same is said."""
    said: dict[str, list[str]] = {}
    for what, reason in named.items():
        said.setdefault(str(reason), []).append(what)
    return {"; ".join(those): reason for reason, those in said.items()}


def _was_interrupted(result: dg.ExecuteInProcessResult) -> bool:
    """Whether a run failed because its process was told to end."""
    if INTERRUPTED.is_set() or any(
        event.event_type is dg.DagsterEventType.RUN_CANCELED for event in result.all_events
    ):
        return True
    errors = [event.step_failure_data.error for event in result.get_step_failure_events()]
    errors += [event.job_failure_data.error for event in result.all_events if event.is_job_failure]
    told = [reason for _, reason, _ in _failures(result)]
    return any(error is not None and error.cls_name in INTERRUPTIONS for error in errors) or any(
        QUERY_INTERRUPTED in reason for reason in told
    )


def run_until_answered(command: Command, wanted: Wanted) -> int:
    """Run, and where batches are under way wait for them and run again; no partition waits for another.

    With ``METACOG_LEAVE_BATCHES`` nothing is waited for: the exit code says that batches are under way.
    """
    command.stay = os.environ.get(LEAVE_BATCHES) != "1"
    os.environ[LEAVE_BATCHES] = "1"  # all batches are submitted before any is waited for
    code = failed = run(command, wanted)
    while command.stay and command.waiting and not INTERRUPTED.is_set():
        os.environ.pop(REASK, None)  # once
        _wait(command)
        command = Command(current_study(), command.instance, command.quiet, stay=True)
        code = run(command, Wanted(wanted.benchmarks, wanted.models, wanted.runs))
        failed = code if failed in (0, code) else SOME_FAILED
    return code if INTERRUPTED.is_set() else failed


def _wait(command: Command) -> None:
    """Wait until a batch can go on, or whoever started this process is gone."""
    parent, pause = os.getppid(), desk.PACE.first_s
    command.say("waiting for batches (see: metacog status STUDY --batches; stop and run again as you like)")
    while not batches.ended(command.study):
        if os.environ.get(WATCH_PARENT) and os.getppid() != parent:
            raise KeyboardInterrupt
        time.sleep(pause)
        pause = min(pause * desk.PACE.factor, desk.PACE.most_s)


def detach(command: Command, wanted: Wanted) -> int:
    """Build the items, then start a backfill per benchmark that Dagster's daemon works off; sensors publish the boards."""
    sync_partitions(command.study, command.instance)
    for each in build_items(command, usable(command, wanted), wanted.force):
        with command.named(each.name):
            partitions = wanted.of(each)
            stale = backlog.stale_partitions(each, partitions, {}, partitions if wanted.force else ())
            if stale:
                _backfill(command, each.name, [str(key_of(*key)) for key in stale])
    if not command.launched:
        command.say("everything is up to date; nothing is queued")
    for failure in command.failures:
        print(f"metacog: {failure}", file=sys.stderr)
    return command.exit_code


def _backfill(command: Command, name: str, keys: Sequence[str]) -> None:
    command.launched += 1
    where = ["-m", "metacog_assets.definitions", "--working-directory", os.environ["DAGSTER_HOME"]]
    chosen = ["-j", f"ask_{name}", "--partitions", ",".join(keys), "--noprompt"]
    done = subprocess.run(
        [sys.executable, "-m", "dagster", "job", "backfill", *where, *chosen],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        command.fail(name, f"no backfill was started: {one_line(done.stdout.strip()[-300:])}")
    else:
        command.say(
            f"{name}: {len(keys)} model runs queued for Dagster's daemon (metacog ui, or dagster-daemon run)"
        )


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
