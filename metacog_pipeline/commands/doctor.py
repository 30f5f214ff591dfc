"""``doctor``: whether a run can start, before anything is spent."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from metacog_pipeline.commands import printing
from metacog_pipeline.commands.options import study_argument
from metacog_pipeline.study import load_study


@click.command()
@study_argument
@click.option("--offline", is_flag=True, help="Ask nobody and connect to nothing.")
@click.option(
    "--port", default=3000, show_default=True, type=click.IntRange(1, 65535), help="Port the UI is wanted on."
)
@printing.format_option("lines", "json")
def doctor(study_file: Path, offline: bool, port: int, form: str) -> None:
    """Check that a run can start: keys, addresses, models, prices, data sets, disk, ports.

    Asks each model, judge and author at most two short calls, none where it is known already how it answers; they count
    against the budget. Exit code 0 if a run can start, otherwise that of what failed (1 where failures differ).
    """
    from metacog_pipeline.asking.doctor import examine, exit_code

    study = load_study(study_file)
    found = examine(study, offline=offline, port=port)
    code = exit_code(found)
    if form == "json":
        rows = [{"state": each.state, "subject": each.subject, "text": each.text} for each in found]
        printing.value(rows)
        sys.exit(code)
    for each in found:
        click.echo(each.line)
    failed = sum(each.state == "fail" for each in found)
    asked = " (nobody was asked)" if offline else ""
    click.echo(
        f"{failed} of {len(found)} checks failed: mend them and run `metacog doctor` again{asked}"
        if failed
        else f"A run can start{asked}."
    )
    sys.exit(code)
