"""When things run by themselves, once the ``automation`` sensor is switched on in the UI.

Asking costs money, so the sensor is off until someone turns it on; ``metacog run`` asks explicitly and needs none of it.
"""

from __future__ import annotations

from dagster import (
    AssetSelection,
    AutomationCondition,
    AutomationConditionSensorDefinition,
    DefaultSensorStatus,
    SensorEvaluationContext,
    SensorResult,
    sensor,
)

from assets.partitions import MODELS
from assets.study_file import current_study
from metacog_pipeline.study import load_study

# on_missing() skips partitions that were missing before automation started, so "missing" is asked for as a state.
# A partition that failed waits for a person: asking again by itself could spend money in a circle.
FILL_MISSING = (
    AutomationCondition.missing()
    & ~AutomationCondition.in_progress()
    & ~AutomationCondition.execution_failed()
    & ~AutomationCondition.any_deps_missing()
)

# New answers or new scoring code make a partition's numbers stale; both are cheap to redo.
FOLLOW_PARTITION = FILL_MISSING | (
    (
        AutomationCondition.any_deps_updated().since_last_handled()
        | AutomationCondition.code_version_changed().since_last_handled()
    )
    & ~AutomationCondition.in_progress()
    & ~AutomationCondition.any_deps_missing()
    & ~AutomationCondition.any_deps_in_progress()
)

# The provisional boards do not wait for missing partitions: they show coverage instead.
FOLLOW_WHAT_THERE_IS = (
    (
        AutomationCondition.missing()
        | AutomationCondition.any_deps_updated()
        | AutomationCondition.code_version_changed()
    ).since_last_handled()
    & ~AutomationCondition.in_progress()
    & ~AutomationCondition.any_deps_in_progress()
)

# The official board waits until every partition of every model is there.
WHEN_COMPLETE = AutomationCondition.eager()

automation = AutomationConditionSensorDefinition(
    "automation",
    target=AssetSelection.all(),
    default_status=DefaultSensorStatus.STOPPED,
    minimum_interval_seconds=30,
    description="Asks for missing partitions and keeps numbers and boards up to date. Asking real models costs money.",
)


@sensor(minimum_interval_seconds=30, default_status=DefaultSensorStatus.RUNNING)
def study_models(context: SensorEvaluationContext) -> SensorResult:
    """Keep the model partitions equal to the study file; retired models keep their data."""
    wanted = [spec.name for spec in load_study(current_study().path).models]
    known = set(context.instance.get_dynamic_partitions(str(MODELS.name)))
    requests = []
    if added := [name for name in wanted if name not in known]:
        requests.append(MODELS.build_add_request(added))
    if retired := sorted(known - set(wanted)):
        requests.append(MODELS.build_delete_request(retired))
    return SensorResult(dynamic_partitions_requests=requests)
