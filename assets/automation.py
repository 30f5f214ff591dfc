"""When things run by themselves, once the ``automation`` sensor is switched on in the UI.

Asking costs money, so the sensor is off until someone turns it on; ``metacog run`` asks explicitly and needs none of it.
"""

from __future__ import annotations

from typing import Any

from dagster import (
    AssetSelection,
    AutomationCondition,
    AutomationConditionSensorDefinition,
    DefaultSensorStatus,
)

# True on the one tick that sees the change, never remembered: a memory that is wiped when the asset was last requested
# would lose answers that arrive while a run is under way.
NEWS: AutomationCondition[Any] = (
    AutomationCondition.any_deps_updated() | AutomationCondition.code_version_changed()
)

# on_missing() skips partitions that were missing before automation started, so "missing" is asked for as a state.
# A partition that failed waits for a person: asking again by itself could spend money in a circle.
FILL_MISSING = (
    AutomationCondition.missing()
    & ~AutomationCondition.in_progress()
    & ~AutomationCondition.execution_failed()
    & ~AutomationCondition.any_deps_missing()
).with_label("fill what is missing, unless it failed")

# New inputs or new code make questions and numbers stale; those are cheap to redo, unlike answers. Of several partitions
# answered between two ticks, Dagster remembers only for the last one that the same run scored it too: what was itself
# made since the last tick is therefore left alone.
FOLLOW = (
    FILL_MISSING | (NEWS & ~AutomationCondition.newly_updated() & ~AutomationCondition.any_deps_missing())
).with_label("follow inputs and code")

# The provisional boards wait neither for missing partitions nor for those being asked: they show coverage instead.
FOLLOW_WHAT_THERE_IS = (
    NEWS | (AutomationCondition.missing().since_last_handled() & ~AutomationCondition.in_progress())
).with_label("follow what there is")

# The official board waits until every partition of every model is there. Unlike eager(), this also holds when
# everything was complete before automation was switched on.
WHEN_COMPLETE = (
    FOLLOW_WHAT_THERE_IS
    & ~AutomationCondition.any_deps_missing()
    & ~AutomationCondition.any_deps_in_progress()
).with_label("when every partition is complete")

automation = AutomationConditionSensorDefinition(
    "automation",
    target=AssetSelection.all(),
    default_status=DefaultSensorStatus.STOPPED,
    minimum_interval_seconds=30,
    description="Asks for missing partitions and keeps numbers and boards up to date. Asking real models costs money.",
)
