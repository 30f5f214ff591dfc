"""Bring the boards up to date: what stands over all models, the leaderboard file, the report."""

from __future__ import annotations

import dagster as dg

from metacog_assets import outcomes
from metacog_assets.launch import Launcher
from metacog_assets.sensors import boards
from metacog_assets.tables import OFFICIAL
from metacog_pipeline.leaderboard.status import (
    board_current,
    forget_board,
    helper_states,
    partition_states,
    report_current,
)
from metacog_pipeline.report import PAGE
from metacog_pipeline.study import Study


def publish(launcher: Launcher, changed: bool) -> None:
    """Rebuild the boards where anything they show has changed; the official one only when nothing is missing."""
    study = launcher.study
    if not changed and published(study):
        return
    keys = wanted_boards(study)
    result = launcher.run("publish", "boards", keys)
    if outcomes.left_empty(result) or not result.success:
        forget_board(study)  # of a disk that failed, perhaps: the next run makes boards and report again
    if OFFICIAL not in keys:
        launcher.say("the official board waits: some partitions are not complete (see: metacog board)")


def published(study: Study) -> bool:
    """Whether the boards were built from what there is now, and the report of them was written."""
    return board_current(study) and report_current(study) and (study.home.report / PAGE).is_file()


def wanted_boards(study: Study) -> list[dg.AssetKey]:
    """Return what stands over all models; the official board only when nothing is missing."""
    states = [*partition_states(study), *helper_states(study)]
    complete = all(state.state == "complete" for state in states)
    return [*boards(), *([OFFICIAL] if complete else [])]
