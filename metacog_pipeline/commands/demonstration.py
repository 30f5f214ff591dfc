"""``demo``: see it work in a minute, without a key and without cost."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import click

from metacog_pipeline.commands.options import quiet_option
from metacog_pipeline.commands.running import launch, nothing_to_do
from metacog_pipeline.errors import StudyError
from metacog_pipeline.files import shipped
from metacog_pipeline.leaderboard.printing import notes, render_board
from metacog_pipeline.leaderboard.read import board
from metacog_pipeline.report.page import PAGE, build_report
from metacog_pipeline.study import load_study


@click.command()
@click.option(
    "--folder",
    type=click.Path(path_type=Path),
    default=Path("metacog-demo"),
    show_default=True,
    help="Where the demo study is put.",
)
@quiet_option
def demo(folder: Path, quiet: bool) -> None:
    """Run the demo: simulated models answer sample questions, through Dagster, to a leaderboard.

    The study file is copied into the folder; edit it and use `metacog run` to go on from there.
    """
    study_file = folder / "study.toml"
    if folder.exists() and not folder.is_dir():
        raise StudyError(f"--folder {folder}: is a file; give another folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not study_file.exists():
            shutil.copyfile(shipped("data", "demo", "study.toml"), study_file)
    except OSError as error:
        raise StudyError(f"--folder {folder}: {error.strerror}; give a folder you can write to") from None
    study = load_study(study_file)
    code = 0 if nothing_to_do(study, quiet) else launch(study, quiet=quiet)
    if code:
        sys.exit(code)
    if quiet:
        return
    click.echo(render_board(board(study.home.path), "table"), nl=False)
    click.echo(f"\n{notes(study.home.path)}", nl=False)
    page = study.home.path / "report" / PAGE
    if not page.exists():  # the run has written it, unless nothing was to be done
        page = build_report(study.home.path, study.study.name)
    metacog = _own_name()
    click.echo(
        f"\nThis is the sample set with simulated respondents, not a result about any real model.\n"
        f"Report:       {page}\n"
        f"Study file:   {study_file}\n"
        f"DuckDB file:  {study.home.leaderboard}\n"
        f"Dagster UI:   {metacog} ui {study_file}\n"
        f"Ask it:       {metacog} sql --study {study_file} \"from leaderboard where measure = 'unknown_recall'\""
    )


def _own_name() -> str:
    """Return how this command can be typed again: its name where the shell finds it, else its path."""
    started = Path(sys.argv[0])
    found = shutil.which("metacog")
    if found is not None and Path(found).resolve() == started.resolve():
        return "metacog"
    return os.path.relpath(started) if started.name == "metacog" else "metacog"
