"""Run a study: launch the Dagster runs that are needed, in this one process, against the study's own instance.

``python -m assets.launch`` with ``METACOG_STUDY`` and ``DAGSTER_HOME`` set; the ``metacog run`` command does that.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field

import click
from dagster import AssetKey, DagsterInstance, ExecuteInProcessResult, MultiPartitionKey

from assets.definitions import CONSTRUCT, MEASURE, PUBLISH, defs
from assets.metamedqa import metamedqa_comparisons
from assets.partitions import MODELS
from assets.study_file import current_study
from assets.warehouse import MODELS as SQL_MODELS
from assets.warehouse import key_of
from metacog_pipeline.benchmarks.metamedqa import stages
from metacog_pipeline.errors import MetacogError, one_line
from metacog_pipeline.querying.session import INTERRUPTED, Partition
from metacog_pipeline.study import Study
from metacog_pipeline.warehouse.status import board_current, partition_states

SOME_FAILED = 7
QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}


@dataclass(slots=True)
class Launcher:
    """Launches runs one after another and remembers which failed and why."""

    study: Study
    instance: DagsterInstance
    quiet: bool
    launched: int = 0
    failures: list[str] = field(default_factory=list)

    def say(self, line: str) -> None:
        """Print one line of progress."""
        if not self.quiet:
            print(line, file=sys.stderr, flush=True)

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
        if not result.success:
            self.failures.append(f"{what}: {_reason(result)}")
        return result.success


def _reason(result: ExecuteInProcessResult) -> str:
    for event in result.all_events:
        if event.is_step_failure:
            data = event.step_failure_data
            if data.user_failure_data is not None and data.user_failure_data.description:
                return str(data.user_failure_data.description)
            if data.error is not None:
                deepest = data.error.cause or data.error
                return one_line(
                    f"{deepest.message} (a fault of the program; run {result.run_id} in the UI has more)"
                )
    return f"run {result.run_id} failed; see it in the UI"


def sync_partitions(study: Study, instance: DagsterInstance) -> None:
    """Make the model partitions equal to the study's models."""
    name = str(MODELS.name)
    wanted = [spec.name for spec in study.models]
    instance.add_dynamic_partitions(name, wanted)
    for retired in set(instance.get_dynamic_partitions(name)) - set(wanted):
        instance.delete_dynamic_partition(name, retired)


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
    try:
        with DagsterInstance.get() as instance:
            launcher = Launcher(current_study(), instance, quiet)
            code = launch(launcher, models, runs, force)
    except MetacogError as error:
        print(f"metacog: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    sys.exit(code)


def launch(launcher: Launcher, models: Sequence[str], runs: Sequence[int], force: bool) -> int:
    """Launch the runs; return the exit code."""
    study = launcher.study
    sync_partitions(study, launcher.instance)
    if (force or not stages.items_current(study)) and not launcher.run(
        CONSTRUCT, "metamedqa: building the questions"
    ):
        return _report(launcher)
    changed = force
    for spec in study.models:
        for number in study.runs:
            if (models and spec.name not in models) or (runs and number not in runs) or INTERRUPTED.is_set():
                continue
            partition = Partition(study, stages.BENCHMARK, spec, number)
            stale = stages.STAGES if force else stages.stale(partition)
            if stale:
                launcher.run(
                    MEASURE,
                    f"metamedqa: {spec.name}, run {number}",
                    [AssetKey(name) for name in stale],
                    partition,
                )
                changed = True
    if changed or not board_current(study):
        publish(launcher)
    if not launcher.launched:
        launcher.say("everything is up to date; nothing was asked")
    return _report(launcher)


def publish(launcher: Launcher) -> None:
    """Rebuild the boards; the official one only when nothing is missing."""
    complete = all(state.state == "complete" for state in partition_states(launcher.study))
    tables = [model.name for model in SQL_MODELS] + (["board_official"] if complete else [])
    launcher.run(PUBLISH, "boards", [metamedqa_comparisons.key, *map(key_of, tables)])
    if not complete:
        launcher.say("the official board waits: some partitions are not complete (see: metacog board)")


def _report(launcher: Launcher) -> int:
    for failure in launcher.failures:
        print(f"metacog: {failure}", file=sys.stderr)
    if INTERRUPTED.is_set():
        return 130
    return SOME_FAILED if launcher.failures else 0


if __name__ == "__main__":
    main()
