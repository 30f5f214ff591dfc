"""``demo``: see it work in a minute, without a key and without cost."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import click

from metacog_pipeline.cli import printing
from metacog_pipeline.cli.boards import printed_verdict
from metacog_pipeline.cli.options import PATH, quiet_option
from metacog_pipeline.cli.running import launch, nothing_to_do
from metacog_pipeline.errors import StudyError
from metacog_pipeline.files import shipped
from metacog_pipeline.leaderboard.output import objects
from metacog_pipeline.leaderboard.read import verdict_rows
from metacog_pipeline.study import load_study

_DONE = """\

{verdict}
This is the sample set with simulated respondents, not a result about any real model.
Report:       {report}
Study file:   {study}
DuckDB file:  {duckdb}
Dagster UI:   metacog ui {study}
Next: metacog board --all --study {study}"""


@click.command()
@click.option("--folder", type=PATH, default=Path("metacog-demo"), help="Where the demo study is put.")
@quiet_option
@printing.json_option
def demo(folder: Path, quiet: bool) -> None:
    """Run the demo: simulated models answer sample questions, through Dagster, to a leaderboard.

    The study file is copied into the folder; edit it and use `metacog run` to go on from there.
    """
    study_file = folder / "study.toml"
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
    if quiet and not printing.wanted():
        return
    made = {"report": study.home.page, "study": study_file, "duckdb": study.home.leaderboard}
    said = _DONE.format(verdict=printed_verdict(study.home), **made)
    facts = {name: str(path) for name, path in made.items()}
    printing.say(said, verdict=objects(verdict_rows(study.home)), **facts)
