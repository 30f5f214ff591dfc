"""Bring the boards up to date: what stands over all models, the leaderboard file, the report."""

from __future__ import annotations

from metacog_assets import outcomes
from metacog_assets.launch import Launcher
from metacog_assets.sensors import boards
from metacog_pipeline.leaderboard.status import (
    board_current,
    forget_board,
    report_current,
)
from metacog_pipeline.report import PAGE
from metacog_pipeline.study import Study


def publish(launcher: Launcher, changed: bool) -> None:
    """Rebuild the boards where anything they show has changed."""
    study = launcher.study
    if not changed and published(study):
        return
    result = launcher.run("publish", "boards", boards())
    if outcomes.left_empty(result) or not result.success:
        forget_board(study)  # of a disk that failed, perhaps: the next run makes boards and report again


def published(study: Study) -> bool:
    """Whether the boards were built from what there is now, and the report of them was written."""
    return board_current(study) and report_current(study) and (study.home.report / PAGE).is_file()
