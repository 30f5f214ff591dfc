"""Work on the partitions of a run, one after another: one that fails does not stop the others."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Mapping

import dagster as dg

from metacog_assets.partitions import key_of
from metacog_assets.stages import StageResult
from metacog_assets.study_file import Bound, StudyResource
from metacog_pipeline.asking.endings import INTERRUPTED
from metacog_pipeline.asking.session import Partition
from metacog_pipeline.errors import MetacogError, StoreError, StudyError, reason_of
from metacog_pipeline.leaderboard.shared import among_hosts
from metacog_pipeline.study import digests

FAILED = "failures"  # of a step: {what: [reason, exit code]}
FAULTS = "what to mend"  # of a check: {partition key: a fault of the benchmark}
SOME_FAILED = 7
MOST_NAMED = 20


@contextlib.contextmanager
def one_line(study: StudyResource) -> Iterator[None]:
    """End a step with the line that was written for the user, not with a traceback; asking again is a person's decision.

    With a store the step begins with what other hosts kept, and what it makes goes there. What a benchmark prints goes to
    standard error: standard output is that of the command.
    """
    try:
        home = study.load().home
        digests.begin(home)
        with among_hosts(study.load()), contextlib.redirect_stdout(sys.stderr):
            yield
    except (MetacogError, OSError) as error:
        if isinstance(error, OSError) and error.filename is None:
            raise
        raise dg.Failure(
            reason_of(error),
            metadata={FAILED: dg.MetadataValue.json({"": _reason(error)})},
            allow_retries=False,
        ) from None


def each_partition(
    context: dg.AssetExecutionContext,
    benchmark: Bound,
    check: str,
    work: Callable[[Bound, Partition], StageResult],
) -> dg.MaterializeResult:
    """Do ``work`` on every partition of the run; those that are done stay materialized when another one fails."""
    done: dict[str, StageResult] = {}
    failed: dict[str, Exception] = {}
    partitions = _partitions(context, benchmark)
    try:
        for key, partition in partitions:
            try:
                done[key] = work(benchmark, partition)
            except Exception as error:  # a stranger's benchmark may fail in any way
                failed[key] = error
                if not isinstance(error, MetacogError | OSError):
                    context.log.exception(f"{key}: {reason_of(error)}")
            if INTERRUPTED.is_set():
                raise KeyboardInterrupt
        if failed:
            raise _failure(context, failed)
    except BaseException:
        for key, each in done.items():
            context.log_event(dg.AssetMaterialization(context.asset_key, partition=key, metadata=each.facts))
        raise
    for key, each in done.items():
        context.add_asset_metadata(each.facts, context.asset_key, key)
    return dg.MaterializeResult(check_results=[_checked(check, done)])


def _partitions(context: dg.AssetExecutionContext, benchmark: Bound) -> list[tuple[str, Partition]]:
    """Return the partitions a run is about, by key; StudyError where the study file has them no more."""
    study = benchmark.context.study
    try:
        keys = [key for key in context.partition_keys if isinstance(key, dg.MultiPartitionKey)]
    except dg.DagsterInvalidInvocationError:
        raise StudyError(
            f"{study.path.name}: the partitions of this run are not part of the study (runs = {study.study.runs}): "
            'raise runs, or list the model again, and press "Reload definitions"'
        ) from None
    found = [(key.keys_by_dimension["model"], int(key.keys_by_dimension["run"])) for key in keys]
    return [
        (str(key_of(model, run)), Partition(study, benchmark.name, study.model(model), run))
        for model, run in found
    ]


def _failure(context: dg.AssetExecutionContext, failed: Mapping[str, Exception]) -> dg.Failure:
    """Return the failure of a step that names its partitions; the page of each says why, not only the log of the run."""
    for key, error in failed.items():
        reason = reason_of(error)
        context.log_event(
            dg.AssetObservation(
                context.asset_key, description=reason, partition=key, metadata={"reason": reason}
            )
        )
    named = {key: _reason(error, context.run.run_id) for key, error in failed.items()}
    said = "; ".join(f"{key}: {reason}" for key, (reason, _) in named.items())
    return dg.Failure(said, metadata={FAILED: dg.MetadataValue.json(named)}, allow_retries=False)


def _reason(error: Exception, run_id: str = "") -> list[str | int]:
    """Return what is reported of an error, and the exit code of a command that did only that."""
    if isinstance(error, MetacogError):
        return [str(error), error.exit_code]
    if isinstance(error, OSError) and error.filename is not None:
        return [reason_of(error), StoreError.exit_code]
    return [f"{reason_of(error)} (a fault of the program; run {run_id} in the UI has more)", 1]


def _checked(check: str, done: Mapping[str, StageResult]) -> dg.AssetCheckResult:
    """Return one result over all partitions; those in which something does not hold are named."""
    broken = {key: each for key, each in done.items() if not each.passed}
    shown = dict(list((broken or done).items())[:MOST_NAMED])
    faults = {key: each.fault for key, each in broken.items() if each.fault is not None}
    blocks = any(each.blocks for each in broken.values())
    metadata = {
        "partitions": len(done),
        "not passed": len(broken),
        **{f"{key} {what}": value for key, each in shown.items() for what, value in each.checked.items()},
        **({FAULTS: dg.MetadataValue.json(faults)} if faults else {}),
    }
    severity = dg.AssetCheckSeverity.ERROR if blocks else dg.AssetCheckSeverity.WARN
    return dg.AssetCheckResult(check_name=check, passed=not broken, severity=severity, metadata=metadata)
