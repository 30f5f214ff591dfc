"""How a run ended, in one line per failure for whoever started it from a shell; the UI has the rest."""

from __future__ import annotations

from dataclasses import dataclass

import dagster as dg
from dagster._core.errors import DagsterExecutionInterruptedError

from metacog_assets import apart
from metacog_assets.reporting import EXIT_CODE, LEFT_EMPTY, PARTITIONS, SOME_FAILED
from metacog_assets.work import WHY
from metacog_pipeline.errors import one_line

UNKNOWN_FAULT = 1
INTERRUPTIONS = (DagsterExecutionInterruptedError.__name__, KeyboardInterrupt.__name__)


@dataclass(frozen=True, slots=True)
class Failed:
    """What failed (an asset, or the step that makes several), why, and the exit code of a command that did only that."""

    what: str
    reason: str
    exit_code: int


def failures_of(result: dg.ExecuteInProcessResult) -> list[Failed]:
    """Return what failed: blocking checks, errors made for users, faults with where to read more."""
    checks = [each for each in result.get_asset_check_evaluations() if not each.passed]
    failed = [each for check in checks for each in _of_check(result, check)]
    blocked = {each.asset_key.to_user_string() for each in checks if _blocks(each)}
    failed += [
        each
        for event in _step_failures(result)
        if str(event.step_key) not in blocked
        for each in of_step(result, event)
    ]
    if not failed and not result.success:
        failed.append(Failed("the run", f"run {result.run_id} failed; see it in the UI", UNKNOWN_FAULT))
    return failed


def _blocks(evaluation: dg.AssetCheckEvaluation) -> bool:
    return bool(evaluation.blocking) and evaluation.severity is dg.AssetCheckSeverity.ERROR


def _of_check(result: dg.ExecuteInProcessResult, evaluation: dg.AssetCheckEvaluation) -> list[Failed]:
    """Return what a check that did not pass tells: what to mend, once for all partitions of which the same is said."""
    asset = evaluation.asset_key.to_user_string()
    blocks = _blocks(evaluation)
    said: dict[str, list[str]] = {}
    for name, value in evaluation.metadata.items():
        if name == WHY or name.endswith(f" {WHY}"):
            said.setdefault(str(value.value), []).append(
                name.removesuffix(WHY).strip().replace("|", ", run ")
            )
    if said:
        code = UNKNOWN_FAULT if blocks else SOME_FAILED
        named = {why: "; ".join(filter(None, those)) for why, those in said.items()}
        return [
            Failed(f"{asset} ({those})" if those else asset, one_line(why), code)
            for why, those in named.items()
        ]
    if not blocks:
        return []
    reason = (
        f"check {evaluation.check_name} of {asset} failed; the figures are in run {result.run_id} in the UI"
    )
    return [Failed(asset, f"{reason}, nothing was passed on", UNKNOWN_FAULT)]


def left_empty(result: dg.ExecuteInProcessResult) -> list[Failed]:
    """Return the assets that were published empty because they failed, as their checks say."""
    return [
        Failed(str(asset), f"published without it: {one_line(str(reason))}", SOME_FAILED)
        for evaluation in result.get_asset_check_evaluations()
        if LEFT_EMPTY in evaluation.metadata
        and isinstance(named := evaluation.metadata[LEFT_EMPTY].value, dict)
        for asset, reason in named.items()
    ]


def started(result: dg.ExecuteInProcessResult) -> set[str]:
    """Return the names of the assets whose step was begun."""
    return {str(event.step_key) for event in result.all_events if event.is_step_start}


def made(result: dg.ExecuteInProcessResult) -> set[dg.AssetKey]:
    """Return the assets that were materialized."""
    return {
        event.asset_key
        for event in result.all_events
        if event.event_type is dg.DagsterEventType.ASSET_MATERIALIZATION and event.asset_key is not None
    }


def was_interrupted(result: dg.ExecuteInProcessResult) -> bool:
    """Whether ``result`` failed because its process was told to stop."""
    if any(event.event_type is dg.DagsterEventType.RUN_CANCELED for event in result.all_events):
        return True
    errors = [event.step_failure_data.error for event in _step_failures(result)]
    errors += [event.job_failure_data.error for event in result.all_events if event.is_job_failure]
    told = [each.reason for each in (*failures_of(result), *left_empty(result))]
    return any(error is not None and error.cls_name in INTERRUPTIONS for error in errors) or any(
        apart.QUERY_INTERRUPTED in reason for reason in told
    )


def of_step(result: dg.ExecuteInProcessResult | dg.DagsterRun, event: dg.DagsterEvent) -> list[Failed]:
    """Return the failures of a step: one per partition where it was about several."""
    data, what = event.step_failure_data, str(event.step_key)
    told = data.user_failure_data
    if (
        told is not None
        and PARTITIONS in told.metadata
        and isinstance(named := told.metadata[PARTITIONS].value, dict)
    ):
        return [
            Failed(f"{what}, {key.replace('|', ', run ')}", one_line(str(reason)), int(code))
            for key, (reason, code) in named.items()
        ]
    return [_one(result, event, what)]


def _one(result: dg.ExecuteInProcessResult | dg.DagsterRun, event: dg.DagsterEvent, what: str) -> Failed:
    data = event.step_failure_data
    told = data.user_failure_data
    if told is not None and told.description:
        code = told.metadata[EXIT_CODE].value if EXIT_CODE in told.metadata else UNKNOWN_FAULT
        return Failed(what, one_line(str(told.description)), code if isinstance(code, int) else UNKNOWN_FAULT)
    if data.error is None:
        return Failed(what, f"run {result.run_id} failed; see it in the UI", UNKNOWN_FAULT)
    deepest = data.error
    while deepest.cause is not None:
        deepest = deepest.cause
    said = deepest.message.partition(apart.NOTE)[0]
    reason = f"{said} (a fault of the program; run {result.run_id} in the UI has more)"
    return Failed(what, one_line(reason), UNKNOWN_FAULT)


def _step_failures(result: dg.ExecuteInProcessResult) -> list[dg.DagsterEvent]:
    return [event for event in result.all_events if event.is_step_failure]
