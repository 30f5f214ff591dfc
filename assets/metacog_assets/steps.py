"""Shared by all steps: errors that users can act on, one partition after another, a check over all of them."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import dagster as dg

from metacog_assets.partitions import key_of
from metacog_assets.study_file import StudyResource
from metacog_pipeline.asking.endings import INTERRUPTED
from metacog_pipeline.asking.session import Partition
from metacog_pipeline.benchmark.bound import Bound
from metacog_pipeline.errors import MetacogError, StoreError, reason_of
from metacog_pipeline.leaderboard.publishing import catch_up
from metacog_pipeline.storage import derived
from metacog_pipeline.study import Study

SOME_FAILED, UNKNOWN_FAULT = 7, 1
# DuckDB raises a RuntimeError with it in place of KeyboardInterrupt
QUERY_INTERRUPTED = "Query interrupted"
# metadata of a step or check that failed: the UI shows it, and `metacog run` reads it from the events
FAULTS = "faults"
# what failed, why, the exit code of a command in which only that happened
Fault = tuple[str, str, int]


@dataclass(frozen=True, slots=True)
class StageResult:
    """One stage of one partition: its figures, whether its check passed, and what is to be corrected in the benchmark."""

    facts: dict[str, Any]
    passed: bool = True
    # whether later stages are kept from running
    blocks: bool = False
    fault: str | None = None


def faults_of(result: dg.ExecuteInProcessResult) -> Iterator[Fault]:
    """Yield the faults that the steps and checks of a run carry."""
    for event in result.all_events:
        found: Any = None
        if event.is_step_failure:
            found = event.step_failure_data.user_failure_data
        elif event.event_type is dg.DagsterEventType.ASSET_CHECK_EVALUATION:
            found = event.asset_check_evaluation_data
        if found is not None and FAULTS in found.metadata:
            yield from map(tuple, found.metadata[FAULTS].value)


@contextlib.contextmanager
def one_line(context: dg.AssetExecutionContext, study: StudyResource) -> Iterator[None]:
    """End a step that fails with the line that was written for the user; asking again is a person's decision."""
    try:
        own = study.load()
        # With a store the step begins with what other hosts kept. What a benchmark prints is no output of the command.
        with _among_hosts(own), contextlib.redirect_stdout(sys.stderr):
            yield
    except dg.Failure:  # of `each_partition`
        raise
    except Exception as error:
        if QUERY_INTERRUPTED in str(error):
            raise KeyboardInterrupt from None
        raise _failure(context, {_asset(context): error}) from None


def each_partition(
    context: dg.AssetExecutionContext,
    benchmark: Bound,
    check: str,
    work: Callable[[Bound, Partition], StageResult],
) -> dg.MaterializeResult:
    """Do ``work`` on every partition of the run; those that are done stay materialized when another one fails."""
    done: dict[str, StageResult] = {}
    errors: dict[str, Exception] = {}
    try:
        for key, partition in _partitions(context, benchmark):
            try:
                done[key] = work(benchmark, partition)
            except Exception as error:  # a stranger's benchmark may fail in any way
                errors[key] = error
            if INTERRUPTED.is_set():
                raise KeyboardInterrupt
        if errors:
            raise _failure(
                context, {f"{_asset(context)}, {_shown(key)}": each for key, each in errors.items()}
            )
    except BaseException:
        for key, each in done.items():
            context.log_event(dg.AssetMaterialization(context.asset_key, partition=key, metadata=each.facts))
        raise
    for key, each in done.items():
        context.add_asset_metadata(each.facts, context.asset_key, key)
    own, failed = _asset(context), not all(each.passed for each in done.values())
    faults = {f"{own} ({_shown(key)})": each.fault for key, each in done.items() if each.fault is not None}
    code = UNKNOWN_FAULT if any(each.blocks for each in done.values()) else SOME_FAILED
    return dg.MaterializeResult(check_results=[checked(check, faults, code, failed=failed)])


def _partitions(context: dg.AssetExecutionContext, benchmark: Bound) -> Iterator[tuple[str, Partition]]:
    """Yield the partitions a run is about, by key. Raises StudyError where the study file has the model no more."""
    study = benchmark.study
    for key in context.partition_keys:
        assert isinstance(key, dg.MultiPartitionKey)
        model, run = key.keys_by_dimension["model"], int(key.keys_by_dimension["run"])
        yield str(key_of(model, run)), Partition(study, benchmark.name, study.model(model), run)


def _failure(context: dg.AssetExecutionContext, errors: Mapping[str, Exception]) -> dg.Failure:
    faults = [_fault(context, what, error) for what, error in errors.items()]
    says = "; ".join(f"{what}: {reason}" for what, reason, _ in faults)
    return dg.Failure(says, metadata={FAULTS: dg.MetadataValue.json(faults)}, allow_retries=False)


def _fault(context: dg.AssetExecutionContext, what: str, error: Exception) -> Fault:
    """Return the message for an error; one that was not made for users, nor is the disk's, is logged whole."""
    reason, disk = reason_of(error), isinstance(error, OSError) and error.filename is not None
    if isinstance(error, MetacogError) or disk:
        return what, reason, getattr(error, "exit_code", StoreError.exit_code)
    context.log.error(f"{what}: {reason}", exc_info=error)
    more = f"a fault of the program; run {context.run.run_id} in the UI has more"
    return what, f"{reason} ({more})", UNKNOWN_FAULT


def checked(
    name: str, faults: Mapping[str, str], code: int = SOME_FAILED, *, failed: bool = False
) -> dg.AssetCheckResult:
    """Return the result of a check that fails where there are ``faults``, by what has them."""
    severity = dg.AssetCheckSeverity.ERROR if code == UNKNOWN_FAULT else dg.AssetCheckSeverity.WARN
    says = "; ".join(f"{what}: {reason}" for what, reason in faults.items())
    found = {FAULTS: dg.MetadataValue.json([[*fault, code] for fault in faults.items()])}
    passed = not (faults or failed)
    return dg.AssetCheckResult(
        check_name=name, passed=passed, severity=severity, description=says, metadata=found
    )


def _shown(key: str) -> str:
    return key.replace("|", ", run ")


def _asset(context: dg.AssetExecutionContext) -> str:
    return str(context.asset_key.to_user_string())


@contextlib.contextmanager
def _among_hosts(study: Study) -> Iterator[None]:
    """Begin with all that other hosts kept and made, and bring them what is made meanwhile."""
    catch_up(study)
    try:
        yield
    finally:
        derived.send(study.home)
