"""``demo``: see it work in a minute, without a key and without cost."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import click

from metacog_pipeline.cli import printing
from metacog_pipeline.cli.options import PATH, quiet_option
from metacog_pipeline.cli.running import launch, nothing_to_do
from metacog_pipeline.errors import StudyError
from metacog_pipeline.files import shipped
from metacog_pipeline.leaderboard.read import run_query
from metacog_pipeline.study import load_study

_DONE = """\

This is the sample set with simulated respondents, not a result about any real model. Best first, with 95 % intervals.

Report:       {report}
Study file:   {study}
DuckDB file:  {duckdb}

Three things to try:
  metacog board --study {study}
  metacog ui {study}
  metacog sql --study {study} "from leaderboard where measure = 'unknown_recall'\""""
_HEADLINES = """
select benchmark, condition, measure, model, round(estimate, 2) as estimate, round(low, 2) as low, round(high, 2) as high
from leaderboard where headline and source <> 'published'
order by benchmark, condition, measure, rank nulls last, model
"""


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
    printing.table("rankings", run_query(study.home, _HEADLINES))
    made = {"report": study.home.page, "study": study_file, "duckdb": study.home.leaderboard}
    printing.say(_DONE.format(**made), **{name: str(path) for name, path in made.items()})
