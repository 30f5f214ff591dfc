"""When things run by themselves while the UI is open.

What costs nothing follows the answers from the start. Asking costs money, so its sensor is off until someone turns it on;
``metacog run`` asks explicitly and needs neither.
"""

from __future__ import annotations

from typing import Any

from dagster import (
    AssetSelection,
    AutomationCondition,
    AutomationConditionSensorDefinition,
    DefaultSensorStatus,
)

from metacog_assets.study_file import current_study

PAID_ASSETS = AssetSelection.tag("cost", "paid")
# What is asked after the first answers: judges, and arms that are decided from them. Scores do not wait for it.
LATER = AssetSelection.tag("layer", "judgements") | AssetSelection.tag("arm", "later")

# True on the one tick that sees the change, never remembered: a memory that is wiped when the asset was last requested
# would lose answers that arrive while a run is under way.
NEWS: AutomationCondition[Any] = (
    AutomationCondition.any_deps_updated() | AutomationCondition.code_version_changed()
)

# on_missing() skips partitions that were missing before automation started, so "missing" is asked for as a state.
# A partition that failed waits for a person: asking again by itself could spend money in a circle.
_MISSING: AutomationCondition[Any] = (
    AutomationCondition.missing()
    & ~AutomationCondition.in_progress()
    & ~AutomationCondition.execution_failed()
)
_THERE: AutomationCondition[Any] = ~AutomationCondition.any_deps_missing()
_ANSWERED: AutomationCondition[Any] = ~AutomationCondition.any_deps_missing().ignore(LATER)

FILL_MISSING = (_MISSING & _THERE).with_label("fill what is missing, unless it failed")

# New inputs or new code make questions and numbers stale; those are cheap to redo, unlike answers. Of several partitions
# answered between two ticks, Dagster remembers only for the last one that the same run scored it too: what was itself
# made since the last tick is therefore left alone.
FOLLOW = ((_MISSING & _THERE) | (NEWS & ~AutomationCondition.newly_updated() & _THERE)).with_label(
    "follow inputs and code"
)

FOLLOW_THE_ANSWERS = (
    (_MISSING & _ANSWERED) | (NEWS & ~AutomationCondition.newly_updated() & _ANSWERED)
).with_label("follow the answers, judged or not")

# The provisional boards wait neither for missing partitions nor for those being asked: they show coverage instead.
FOLLOW_WHAT_THERE_IS = (
    NEWS | (AutomationCondition.missing().since_last_handled() & ~AutomationCondition.in_progress())
).with_label("follow what there is")

# The official board waits until every partition of every model is there. Unlike eager(), this also holds when
# everything was complete before automation was switched on.
WHEN_COMPLETE = (FOLLOW_WHAT_THERE_IS & _THERE & ~AutomationCondition.any_deps_in_progress()).with_label(
    "when every partition is complete"
)

EVERY_S = (
    10  # a look at the demo's graph takes a third of a second; a board follows a backfill within three looks
)

score_and_publish = AutomationConditionSensorDefinition(
    "score_and_publish",
    target=AssetSelection.all() - PAID_ASSETS,
    # Where workers take runs from a queue, the queue's own sensor builds each board once, when all is there.
    default_status=DefaultSensorStatus.STOPPED
    if current_study().deploy.queued
    else DefaultSensorStatus.RUNNING,
    minimum_interval_seconds=EVERY_S,
    description="Builds items, parses, scores and keeps the boards up to date. Asks nobody and costs nothing.",
)
ask_models = AutomationConditionSensorDefinition(
    "ask_models",
    target=PAID_ASSETS,
    default_status=DefaultSensorStatus.STOPPED,
    minimum_interval_seconds=30,
    description="Asks models and judges for what is missing. Asking real models costs money: a person switches it on.",
)
