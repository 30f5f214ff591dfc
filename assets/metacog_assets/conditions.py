"""When assets are made while the UI is open: what costs nothing follows its inputs, what costs money waits for a person."""

from __future__ import annotations

from typing import Any

import dagster as dg

Condition = dg.AutomationCondition[Any]
PAID = dg.AssetSelection.tag("cost", "paid")
LATER = dg.AssetSelection.tag(
    "asked", "later"
)  # judges, and conditions that are chosen from the first answers

_WAITS: Condition = ~dg.AutomationCondition.any_deps_missing()

# Items, responses and choices: new inputs make them stale.
FOLLOW = dg.AutomationCondition.eager()

# Estimates of a run are shown before judges were asked, which costs money and may never be done.
FOLLOW_ANSWERS: Condition = FOLLOW.without(_WAITS) & ~dg.AutomationCondition.any_deps_missing().ignore(LATER)

# Boards show coverage: one model that failed must not keep the others from them.
FOLLOW_WHAT_THERE_IS: Condition = FOLLOW.without(_WAITS)

# on_missing() leaves out what was missing before it was first evaluated, so that it would ask nobody when it is switched
# on. What failed waits for a person: asking again by itself could spend money in a circle.
FILL_MISSING: Condition = (
    dg.AutomationCondition.missing()
    & ~dg.AutomationCondition.in_progress()
    & ~dg.AutomationCondition.execution_failed()
    & _WAITS
).with_label("fill what is missing, unless it failed")
