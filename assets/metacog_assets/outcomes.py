"""Why a run failed, in one line for whoever started it from a shell; the UI has the rest."""

from __future__ import annotations

from dagster import DagsterEvent, DagsterEventType, ExecuteInProcessResult
from dagster._core.errors import DagsterExecutionInterruptedError

from metacog_assets.reporting import EXIT_CODE
from metacog_pipeline.errors import one_line

UNKNOWN_FAULT = 1
INTERRUPTIONS = (DagsterExecutionInterruptedError.__name__, KeyboardInterrupt.__name__)


def reason_of(result: ExecuteInProcessResult) -> str:
    """Return why ``result`` failed: the failed check, the error made for users, or the fault and where to read more."""
    if failed := _failed_checks(result):
        return f"{', '.join(failed)} failed; the figures are in run {result.run_id} in the UI, nothing was passed on"
    for event in _step_failures(result):
        data = event.step_failure_data
        if data.user_failure_data is not None and data.user_failure_data.description:
            return one_line(str(data.user_failure_data.description))
        if data.error is not None:
            deepest = data.error
            while deepest.cause is not None:
                deepest = deepest.cause
            return one_line(
                f"{deepest.message} (a fault of the program; run {result.run_id} in the UI has more)"
            )
    return f"run {result.run_id} failed; see it in the UI"


def exit_code_of(result: ExecuteInProcessResult) -> int:
    """Return the exit code of the error made for users that ended ``result``, or 1."""
    for event in _step_failures(result):
        made = event.step_failure_data.user_failure_data
        if made is not None and EXIT_CODE in made.metadata:
            code = made.metadata[EXIT_CODE].value
            return code if isinstance(code, int) else UNKNOWN_FAULT
    return UNKNOWN_FAULT


def was_interrupted(result: ExecuteInProcessResult) -> bool:
    """Whether ``result`` failed because its process was told to stop."""
    if any(event.event_type is DagsterEventType.RUN_CANCELED for event in result.all_events):
        return True
    errors = [event.step_failure_data.error for event in _step_failures(result)]
    errors += [event.job_failure_data.error for event in result.all_events if event.is_job_failure]
    return any(error is not None and error.cls_name in INTERRUPTIONS for error in errors)


def _step_failures(result: ExecuteInProcessResult) -> list[DagsterEvent]:
    return [event for event in result.all_events if event.is_step_failure]


def _failed_checks(result: ExecuteInProcessResult) -> list[str]:
    return [
        f"check {evaluation.check_name} of {evaluation.asset_key.to_user_string()}"
        for evaluation in result.get_asset_check_evaluations()
        if not evaluation.passed and evaluation.blocking
    ]
