"""When things run by themselves while the UI is open.

What costs nothing follows the answers from the start. Asking costs money, so its sensor is off until someone turns it on;
``metacog run`` asks explicitly and needs neither.
"""

from __future__ import annotations

import warnings
from typing import Any

import dagster as dg
from dagster._core.definitions.sensor_definition import SensorExecutionData
from dagster_shared.record import replace

from metacog_assets import request as asked
from metacog_assets.behind import Catching
from metacog_assets.study_file import current_study
from metacog_pipeline.errors import MetacogError
from metacog_pipeline.leaderboard.status import board_current

PAID_ASSETS = dg.AssetSelection.tag("cost", "paid")
# What is asked after the first answers: judges, and arms that are decided from them. Scores do not wait for it.
LATER = dg.AssetSelection.tag("layer", "judgements") | dg.AssetSelection.tag("arm", "later")

# True on the one tick that sees the change, never remembered: a memory that is wiped when the asset was last requested
# would lose answers that arrive while a run is under way.
NEWS: dg.AutomationCondition[Any] = (
    dg.AutomationCondition.any_deps_updated() | dg.AutomationCondition.code_version_changed()
)

# on_missing() skips partitions that were missing before automation started, so "missing" is asked for as a state.
# A partition that failed waits for a person: asking again by itself could spend money in a circle. Of what costs nothing
# and was only planned in a run that failed, the files tell (see `behind`).
_MISSING: dg.AutomationCondition[Any] = (
    dg.AutomationCondition.missing()
    & ~dg.AutomationCondition.in_progress()
    & ~dg.AutomationCondition.execution_failed()
)
_THERE: dg.AutomationCondition[Any] = ~dg.AutomationCondition.any_deps_missing()
_ANSWERED: dg.AutomationCondition[Any] = ~dg.AutomationCondition.any_deps_missing().ignore(LATER)

FILL_MISSING = (_MISSING & _THERE).with_label("fill what is missing, unless it failed")

# New inputs or new code make questions and numbers stale; those are cheap to redo, unlike answers. Of several partitions
# answered between two ticks, Dagster remembers only for the last one that the same run scored it too: what was itself
# made since the last tick is therefore left alone.
FOLLOW = ((_MISSING & _THERE) | (NEWS & ~dg.AutomationCondition.newly_updated() & _THERE)).with_label(
    "follow inputs and code"
)

# Judges cost money: answers of a partition that stopped early are scored, but not judged before a person went on with it.
FOLLOW_WHAT_IS_WHOLE = (
    FOLLOW
    & ~dg.AutomationCondition.any_deps_match(
        dg.AutomationCondition.any_deps_match(dg.AutomationCondition.execution_failed())
    )
).with_label("follow answers whose asking did not fail")

FOLLOW_THE_ANSWERS = (
    (_MISSING & _ANSWERED) | (NEWS & ~dg.AutomationCondition.newly_updated() & _ANSWERED)
).with_label("follow the answers, judged or not")

# The provisional boards wait neither for missing partitions nor for those being asked: they show coverage instead.
FOLLOW_WHAT_THERE_IS = (
    NEWS | (dg.AutomationCondition.missing().since_last_handled() & ~dg.AutomationCondition.in_progress())
).with_label("follow what there is")

EVERY_S = (
    10  # a look at the demo's graph takes a third of a second; a board follows a backfill within three looks
)

BOARDS = dg.AssetSelection.tag("layer", "tables")
RESTS = "a queued request is worked off, which scores and publishes by itself"


class Following(dg.AutomationConditionSensorDefinition):
    """Dagster's own sensor, but for two things that would be done twice, and for what its conditions cannot see.

    It rests while what ``metacog run --detach`` queued is worked off, and it asks for no boards that were built from what
    there is. What changes meanwhile is seen by the next look: the cursor stays where it was. A look that finds nothing else
    asks for what is behind (see `behind`).
    """

    def evaluate_tick(self, context: dg.SensorEvaluationContext) -> SensorExecutionData:
        """Look once."""
        request = asked.read(context.instance)
        if request is not None and not request.done:
            return SensorExecutionData(skip_message=RESTS, cursor=context.cursor)
        found = super().evaluate_tick(context)
        wanted = [each for each in found.run_requests or () if not _standing(context, each)]
        if wanted:
            return replace(found, run_requests=wanted)
        wanted = self._behind(context)
        return replace(found, run_requests=wanted, skip_message=None if wanted else found.skip_message)

    def _behind(self, context: dg.SensorEvaluationContext) -> list[dg.RunRequest]:
        assert context.repository_def is not None
        free = self.asset_selection.resolve(context.repository_def.asset_graph)
        try:
            found = Catching(current_study(), context.instance, free).requests()
        except MetacogError:
            return []  # whoever starts a run is told
        with dg.partition_loading_context(dynamic_partitions_store=context.instance):
            resolved = self.resolve_run_requests(found, context, self.asset_selection, [])
        own = dg.DagsterRun.tags_for_sensor(self)
        return [each.with_replaced_attrs(tags={**each.tags, **own}) for each in resolved]


def _standing(context: dg.SensorEvaluationContext, request: dg.RunRequest) -> bool:
    """Whether a run would only build boards that stand already."""
    keys = set(request.asset_selection or ())
    graph = context.repository_def.asset_graph if context.repository_def is not None else None
    if not keys or graph is None or not keys <= BOARDS.resolve(graph):
        return False
    try:
        current = board_current(current_study())
    except MetacogError:
        return False
    return current and all(context.instance.get_latest_materialization_event(key) for key in keys)


with warnings.catch_warnings():
    warnings.simplefilter(
        "ignore", dg.BetaWarning
    )  # conditions looked at where they are defined, not by the daemon
    score_and_publish = Following(
        "score_and_publish",
        target=dg.AssetSelection.all() - PAID_ASSETS,
        # Where workers take runs from a queue, the queue's own sensor builds each board once, when all is there.
        default_status=dg.DefaultSensorStatus.STOPPED
        if current_study().deploy.queued
        else dg.DefaultSensorStatus.RUNNING,
        minimum_interval_seconds=EVERY_S,
        use_user_code_server=True,
        description="Builds items, parses, scores and keeps the boards up to date, also with what failed or was stopped. "
        "Asks nobody and costs nothing.",
    )
ask_models = dg.AutomationConditionSensorDefinition(
    "ask_models",
    target=PAID_ASSETS,
    default_status=dg.DefaultSensorStatus.STOPPED,
    minimum_interval_seconds=30,
    description="Asks models and judges what nobody asked yet; what failed or is incomplete waits for a person. Asking "
    "real models costs money: a person switches it on.",
)
