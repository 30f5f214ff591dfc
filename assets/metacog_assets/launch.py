"""Run a study: launch the Dagster runs that are needed, in this one process, against the study's own instance.

``python -m metacog_assets`` with ``METACOG_STUDY`` and ``DAGSTER_HOME`` set; the ``metacog run`` command does that.
"""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import click
from dagster import AssetKey, DagsterInstance, MultiPartitionKey
from dagster._core.errors import DagsterExecutionInterruptedError
from sqlalchemy.exc import SQLAlchemyError

from metacog_assets.benchmarks import ENABLED
from metacog_assets.catalogue import BenchmarkAssets
from metacog_assets.definitions import PUBLISH, defs
from metacog_assets.outcomes import exit_code_of, reason_of, was_interrupted
from metacog_assets.sensors import PROVISIONAL, sync_partitions
from metacog_assets.study_file import current_study
from metacog_assets.warehouse import leaderboard_official
from metacog_pipeline.benchmarks.common.benchmark import Benchmark
from metacog_pipeline.benchmarks.common.judging import judged_partition, judgements_current
from metacog_pipeline.benchmarks.common.scoring import has_answers, stale
from metacog_pipeline.errors import MetacogError, StoreError, one_line
from metacog_pipeline.leaderboard.status import board_current, helper_states, partition_states
from metacog_pipeline.progress import keep_terminal
from metacog_pipeline.querying.session import INTERRUPTED, Partition
from metacog_pipeline.study import Study

SOME_FAILED = 7
STOPPED = 130
QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}


@dataclass(slots=True)
class Launcher:
    """Launches runs one after another and remembers what went wrong, by what was being done."""

    study: Study
    instance: DagsterInstance
    quiet: bool = False
    launched: int = 0
    exit_code: int = 0
    failures: list[str] = field(default_factory=list)

    def say(self, line: str) -> None:
        """Print one line of progress."""
        if not self.quiet:
            with contextlib.suppress(OSError):  # nobody listens any more: no reason to stop what is paid for
                print(line, file=sys.stderr, flush=True)

    def fail(self, what: str, reason: str, code: int = SOME_FAILED) -> None:
        """Remember a failure. Failures of one kind keep their exit code; different ones are "some failed"."""
        self.failures.append(f"{what}: {reason}")
        self.exit_code = code if self.exit_code in (0, code) else SOME_FAILED

    def run(
        self,
        job: str,
        what: str,
        assets: Sequence[AssetKey] | None = None,
        partition: Partition | None = None,
    ) -> bool:
        """Launch one run; return whether it succeeded."""
        key = None
        if partition is not None:
            key = MultiPartitionKey({"model": partition.spec.name, "run": str(partition.run)})
        self.say(f"{what} ...")
        self.launched += 1
        result = defs.resolve_job_def(job).execute_in_process(
            instance=self.instance,
            partition_key=key,
            asset_selection=assets,
            run_config=QUIET,
            raise_on_error=False,
            tags={"metacog/launched_by": "metacog run"},
        )
        if was_interrupted(result):
            raise KeyboardInterrupt  # in the middle of something: nothing more is started
        if not result.success:
            self.fail(what, reason_of(result), exit_code_of(result))
        return result.success


@click.command()
@click.option("--benchmark", "benchmarks", multiple=True)
@click.option("--model", "models", multiple=True)
@click.option("--run", "runs", multiple=True, type=int)
@click.option("--force", is_flag=True)
@click.option("--quiet", is_flag=True)
def main(
    benchmarks: tuple[str, ...], models: tuple[str, ...], runs: tuple[int, ...], force: bool, quiet: bool
) -> None:
    """Launch what is missing or stale, then rebuild the boards."""
    logging.getLogger("dagster").setLevel(logging.CRITICAL)
    keep_terminal()
    try:
        with _instance() as instance:
            code = launch(Launcher(current_study(), instance, quiet), benchmarks, models, runs, force)
    except MetacogError as error:
        print(f"metacog: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    except SQLAlchemyError as error:
        reason = one_line(str(getattr(error, "orig", None) or error))
        print(
            f"metacog: the run history in {os.environ.get('DAGSTER_HOME')} cannot be read or written ({reason}): "
            "free space or check the folder, then run again; answers are kept",
            file=sys.stderr,
        )
        sys.exit(StoreError.exit_code)
    except (KeyboardInterrupt, DagsterExecutionInterruptedError):
        print("metacog: interrupted; everything answered so far is kept", file=sys.stderr)
        sys.exit(STOPPED)
    sys.exit(code)


@contextlib.contextmanager
def _instance() -> Iterator[DagsterInstance]:
    """Open the study's Dagster instance; two first commands in a fresh home must not both make its tables."""
    with (Path(os.environ["DAGSTER_HOME"]) / ".opening").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        instance = DagsterInstance.get()
        fcntl.flock(lock, fcntl.LOCK_UN)
    with instance:
        yield instance


def launch(
    launcher: Launcher,
    benchmarks: Sequence[str] = (),
    models: Sequence[str] = (),
    runs: Sequence[int] = (),
    force: bool = False,
) -> int:
    """Launch the runs that are needed; return the exit code."""
    study = launcher.study
    sync_partitions(study, launcher.instance)
    switched_on = study.enabled  # the file may have changed since this process loaded the definitions
    names = [name for name in switched_on if not benchmarks or name in benchmarks]
    chosen = [each for each in ENABLED if each.benchmark.name in names]
    built = [each for each in chosen if generate(launcher, each, force) and construct(launcher, each, force)]
    wanted = [
        (each, partition)
        for each in built
        for partition in each.benchmark.partitions(study)
        if (not models or partition.spec.name in models) and (not runs or partition.run in runs)
    ]
    changed = [measure(launcher, each, partition, force) for each, partition in wanted]
    settled = [each for each in built if not INTERRUPTED.is_set() and each.benchmark.settle(study)]
    # What could only be decided now that there are answers: more to ask.
    changed += [measure(launcher, each, partition, False) for each, partition in wanted if each in settled]
    if launcher.exit_code and len(launcher.failures) < len(wanted):
        launcher.exit_code = SOME_FAILED  # others are finished
    if built and (force or any(changed) or not board_current(study)):
        publish(launcher)
    if not launcher.launched:
        launcher.say("everything is up to date; nothing was asked")
    return _report(launcher)


def generate(launcher: Launcher, each: BenchmarkAssets, force: bool) -> bool:
    """Make new questions where the study wants that and something is missing; return whether they are there.

    From the first stage that is stale on; whoever has answered is not asked again.
    """
    made = each.generation
    if made is None:
        return True
    known = all(
        launcher.instance.get_latest_materialization_event(one.key) is not None for one in made.assets
    )
    todo = made.stale(launcher.study) if known and not force else [one.key.path[-1] for one in made.assets]
    if not todo:
        return True
    return launcher.run(each.generate_job, f"{each.benchmark.name}: making new questions", _keys(todo))


def construct(launcher: Launcher, each: BenchmarkAssets, force: bool) -> bool:
    """Build the questions of a benchmark where that is needed; return whether they are there."""
    # Another command may have built the questions already; the graph must show who answered what all the same.
    known = launcher.instance.get_latest_materialization_event(each.items.key) is not None
    if known and each.benchmark.items_current(launcher.study) and not force:
        return True
    return launcher.run(each.construct_job, f"{each.benchmark.name}: building the questions")


def measure(launcher: Launcher, each: BenchmarkAssets, partition: Partition, force: bool) -> bool:
    """Ask, parse and score one partition where that is needed; return whether there was anything to do."""
    benchmark = each.benchmark
    todo = benchmark.stages if force else _todo(benchmark, partition)
    if not todo or INTERRUPTED.is_set():
        return False
    what = f"{benchmark.name}: {partition.spec.name}, run {partition.run}"
    done = launcher.run(each.measure_job, what, _keys(todo), partition)
    if not done and set(todo) - set(benchmark.free_stages) and has_answers(partition):
        # Stopped on the way: what was answered is shown all the same, with its coverage.
        scoring = _keys(benchmark.free_stages)
        launcher.run(each.measure_job, f"{what}: scoring what was answered", scoring, partition)
    if done:
        _report_missing(launcher, each, partition, what)
    return True


def _report_missing(launcher: Launcher, each: BenchmarkAssets, partition: Partition, what: str) -> None:
    """Say what has no answer, or no judgement, after all went well otherwise."""
    state = partition.manifest()
    if state.get("state") != "complete":
        if partition.spec.provider == "replay":
            launcher.say(f"{what}: {state.get('message')}; import the rest to complete it")
        else:
            launcher.fail(what, f"{state.get('message')}; run again to ask for the rest")
    if judging := each.benchmark.judged_by(partition.study):
        judged = judged_partition(judging, partition).manifest()
        if judged.get("state") != "complete":
            launcher.fail(f"{what}, judgements", f"{judged.get('message')}; run again to ask for the rest")


def _todo(benchmark: Benchmark, partition: Partition) -> tuple[str, ...]:
    """Return which assets of a partition must run: what is stale, and judges that have not been heard."""
    todo = stale(benchmark, partition)
    if len(todo) <= 1 and not judgements_current(benchmark, partition):
        return benchmark.stages[2:]
    return todo


def publish(launcher: Launcher) -> None:
    """Rebuild the boards; the official one only when nothing is missing."""
    states = [*partition_states(launcher.study), *helper_states(launcher.study)]
    complete = all(state.state == "complete" for state in states)
    launcher.run(PUBLISH, "boards", [*PROVISIONAL, *([leaderboard_official.key] if complete else [])])
    if not complete:
        launcher.say("the official board waits: some partitions are not complete (see: metacog board)")


def _keys(names: Sequence[str]) -> list[AssetKey]:
    return [AssetKey(name) for name in names]


def _report(launcher: Launcher) -> int:
    for failure in launcher.failures:
        print(f"metacog: {failure}", file=sys.stderr)
    return STOPPED if INTERRUPTED.is_set() else launcher.exit_code
