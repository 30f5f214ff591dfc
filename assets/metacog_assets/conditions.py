"""When assets are made while the UI is open: what costs nothing follows its inputs, what costs money waits for a person."""

from __future__ import annotations

from typing import Any

import dagster as dg

Condition = dg.AutomationCondition[Any]
PAID = dg.AssetSelection.tag("cost", "paid")
ASKED_LATER = {"asked": "later"}  # tags of judges, and of conditions that are chosen from the first answers

_WAITS: Condition = ~dg.AutomationCondition.any_deps_missing()

# on_missing() and eager() leave out what was missing before they were first evaluated, so that nothing would be made when
# a sensor is switched on: missing is asked for as a state. What failed waits for a person: asking again by itself could
# spend money in a circle.
_IDLE: Condition = ~dg.AutomationCondition.in_progress()
_MISSING: Condition = dg.AutomationCondition.missing() & _IDLE & ~dg.AutomationCondition.execution_failed()
_EAGER = dg.AutomationCondition.eager()
_ANSWERED: Condition = ~dg.AutomationCondition.any_deps_missing().ignore(
    dg.AssetSelection.tag("asked", "later")
)

FILL_MISSING: Condition = (_MISSING & _WAITS).with_label("fill what is missing, unless it failed")

# Items and responses: new inputs make them stale.
FOLLOW: Condition = (_EAGER | FILL_MISSING).with_label("follow inputs")

# Estimates of a run are shown before judges were asked, which costs money and may never be done.
FOLLOW_ANSWERS: Condition = ((_EAGER.without(_WAITS) | _MISSING) & _ANSWERED).with_label(
    "follow the answers, judged or not"
)

# Boards show coverage: one model that failed must not keep the others from them.
FOLLOW_WHAT_THERE_IS: Condition = (
    _EAGER.without(_WAITS) | (dg.AutomationCondition.missing().since_last_handled() & _IDLE)
).with_label("follow what there is")
