"""``report``: the study as a folder of HTML pages."""

from __future__ import annotations

from pathlib import Path

import click

from metacog_pipeline.commands import printing
from metacog_pipeline.commands.opening import opened
from metacog_pipeline.commands.options import study_argument


@click.command()
@study_argument
@printing.json_option
def report(study_file: Path) -> None:
    """Write the study's boards, figures, published comparisons and transcripts as HTML pages; print where they are.

    The pages are made from the leaderboard as it stands. They open from disk and load nothing from a network.
    """
    from metacog_pipeline.report.page import build_report

    study = opened(study_file)
    page = build_report(study.home.path, study.study.name)
    printing.say(str(page), report=str(page))
