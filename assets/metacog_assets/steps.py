"""What the steps of a run do alike: a line for each failure, one partition after another, one check over all of them."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import dagster as dg

from metacog_assets.partitions import key_of
from metacog_assets.study_file import Bound, StudyResource
from metacog_pipeline.asking.endings import INTERRUPTED
from metacog_pipeline.asking.session import Partition
from metacog_pipeline.errors import MetacogError, StoreError, StudyError, reason_of
from metacog_pipeline.leaderboard.shared import among_hosts
from metacog_pipeline.study import digests

SOME_FAILED, UNKNOWN_FAULT = 7, 1
QUERY_INTERRUPTED = "Query interrupted"  # DuckDB raises a RuntimeError with it in place of KeyboardInterrupt
WARN, ERROR = dg.AssetCheckSeverity.WARN, dg.AssetCheckSeverity.ERROR

#: What failed in the steps of this process, why, and the exit code of a command in which only that happened.
FAILURES: list[tuple[str, str, int]] = []


@dataclass(frozen=True, slots=True)
class StageResult:
    """One stage of one partition: its figures, whether its check passed, and what is to be mended in the benchmark.

    One that ``blocks`` keeps later stages from running.
    """

    facts: dict[str, Any]
    passed: bool = True
    blocks: bool = False
    fault: str | None = None


@contextlib.contextmanager
def one_line(context: dg.AssetExecutionContext, study: StudyResource) -> Iterator[None]:
    """End a step with the line that was written for the user, not with a traceback; asking again is a person's decision.

    With a store the step begins with what other hosts kept, and what it makes goes there. What a benchmark prints goes to
    standard error: standard output is that of the command.
    """
    try:
        own = study.load()
        digests.begin(own.home)
        with among_hosts(own), contextlib.redirect_stdout(sys.stderr):
            yield
    except dg.Failure:  # of `each_partition`, which has noted it
        raise
    except Exception as error:
        if QUERY_INTERRUPTED in str(error):
            raise KeyboardInterrupt from None
        if not _note(context, _asset(context), error):
            raise
        raise dg.Failure(reason_of(error), allow_retries=False) from None


def each_partition(
    context: dg.AssetExecutionContext,
    benchmark: Bound,
    check: str,
    work: Callable[[Bound, Partition], StageResult],
) -> dg.MaterializeResult:
    """Do ``work`` on every partition of the run; those that are done stay materialized when another one fails."""
    done: dict[str, StageResult] = {}
    failed: dict[str, str] = {}
    try:
        for key, partition in _partitions(context, benchmark):
            try:
                done[key] = work(benchmark, partition)
            except Exception as error:  # a stranger's benchmark may fail in any way
                failed[key] = reason_of(error)
                if not _note(context, f"{_asset(context)}, {_shown(key)}", error):
                    context.log.exception(f"{key}: {failed[key]}")
            if INTERRUPTED.is_set():
                raise KeyboardInterrupt
        if failed:
            said = "; ".join(f"{key}: {reason}" for key, reason in failed.items())
            raise dg.Failure(said, allow_retries=False)
    except BaseException:
        for key, each in done.items():
            context.log_event(dg.AssetMaterialization(context.asset_key, partition=key, metadata=each.facts))
        for key, reason in failed.items():  # the page of each partition says why, not only the log of the run
            context.log_event(dg.AssetObservation(context.asset_key, description=reason, partition=key))
        raise
    for key, each in done.items():
        context.add_asset_metadata(each.facts, context.asset_key, key)
    return dg.MaterializeResult(check_results=[_checked(context, check, done)])


def _partitions(context: dg.AssetExecutionContext, benchmark: Bound) -> Iterator[tuple[str, Partition]]:
    """Yield the partitions a run is about, by key; StudyError where the study file has them no more."""
    study = benchmark.context.study
    try:
        keys = [
            key.keys_by_dimension for key in context.partition_keys if isinstance(key, dg.MultiPartitionKey)
        ]
    except dg.DagsterInvalidInvocationError:
        raise StudyError(
            f"{study.path.name}: the partitions of this run are not part of the study (runs = {study.study.runs}): "
            'raise runs, or list the model again, and press "Reload definitions"'
        ) from None
    for key in keys:
        model, run = key["model"], int(key["run"])
        yield str(key_of(model, run)), Partition(study, benchmark.name, study.model(model), run)


def _note(context: dg.AssetExecutionContext, what: str, error: Exception) -> bool:
    """Note a failure; return whether it was made for users, or is the disk's: then its line says what to do."""
    reason, disk = reason_of(error), isinstance(error, OSError) and error.filename is not None
    if isinstance(error, MetacogError) or disk:
        FAILURES.append((what, reason, getattr(error, "exit_code", StoreError.exit_code)))
        return True
    more = f"a fault of the program; run {context.run.run_id} in the UI has more"
    FAILURES.append((what, f"{reason} ({more})", UNKNOWN_FAULT))
    return False


def _checked(
    context: dg.AssetExecutionContext, check: str, done: Mapping[str, StageResult]
) -> dg.AssetCheckResult:
    """Return one result over all partitions; those in which something does not hold are named."""
    broken = {key: each for key, each in done.items() if not each.passed}
    blocks = any(each.blocks for each in broken.values())
    code, own = UNKNOWN_FAULT if blocks else SOME_FAILED, _asset(context)
    faults = {f"{own} ({_shown(key)})": each.fault for key, each in broken.items() if each.fault is not None}
    _note_faults(faults, code)
    if blocks and not faults:
        figures = f"check {check} failed; the figures are in run {context.run.run_id} in the UI"
        FAILURES.append((own, f"{figures}, nothing was passed on", code))
    return _check(check, faults or dict.fromkeys(broken, "does not hold"), ERROR if blocks else WARN)


def computed(faults: Mapping[str, str]) -> dg.AssetCheckResult:
    """Return the check that nothing is empty because it failed; ``faults`` are the reasons by table."""
    _note_faults(faults, SOME_FAILED)
    return _check("computed", faults, WARN)


def _note_faults(faults: Mapping[str, str], code: int) -> None:
    """Note faults of a benchmark, one line for all of which the same is said."""
    for reason in dict.fromkeys(faults.values()):
        FAILURES.append(("; ".join(what for what, why in faults.items() if why == reason), reason, code))


def _check(name: str, faults: Mapping[str, str], severity: dg.AssetCheckSeverity) -> dg.AssetCheckResult:
    says = "; ".join(f"{what}: {reason}" for what, reason in faults.items())
    return dg.AssetCheckResult(check_name=name, passed=not faults, severity=severity, description=says)


def _shown(key: str) -> str:
    return key.replace("|", ", run ")


def _asset(context: dg.AssetExecutionContext) -> str:
    return str(context.asset_key.to_user_string())
