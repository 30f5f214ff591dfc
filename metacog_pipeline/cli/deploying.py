"""``daemon`` and ``worker``: what works on the runs of a study on this host, and ends with Ctrl-C."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from metacog_pipeline.cli import printing
from metacog_pipeline.cli.options import study_argument
from metacog_pipeline.cli.running import call
from metacog_pipeline.errors import StudyError
from metacog_pipeline.study import Study, load_study


@click.command()
@study_argument
@printing.json_option
def daemon(study_file: Path) -> None:
    """Start what is queued: Dagster's daemon alone, without the UI.

    One per study is enough; `metacog ui` has one of its own.
    """
    study = _ready(study_file)
    printing.say(f"daemon of {study.study.name}: Ctrl-C ends it, what is queued stays")
    printing.flush()
    home = str(study.home.dagster)
    where = ["-m", "metacog_assets.definitions", "--working-directory", home]
    command = [sys.executable, "-m", "dagster._daemon", "run", *where]
    sys.exit(call(command, study, "lines", whole_group=True))


@click.command()
@study_argument
@click.option(
    "--processes",
    type=click.IntRange(1, 1000),
    default=os.cpu_count() or 1,
    show_default=False,  # another one on every host
    help="So many runs at once on this host; as many as it has cores where not given.",
)
@printing.json_option
def worker(study_file: Path, processes: int) -> None:
    """Work on the runs of a study whose [deploy] says executor = "celery".

    Start one per host. The first Ctrl-C lets runs end, the second stops them; what was answered is kept.
    """
    study = _ready(study_file)
    if study.deploy.executor != "celery":
        raise StudyError(
            f'{study.path.name}: deploy.executor = "{study.deploy.executor}": workers are for "celery"'
        )
    printing.say(f"worker of {study.study.name}: {processes} at once", processes=processes)
    printing.flush()
    command = [sys.executable, "-m", "metacog_assets.celery_runs", str(processes)]
    sys.exit(call(command, study, "lines", whole_group=True))


def _ready(study_file: Path) -> Study:
    """Return the study, its engines there and its home prepared."""
    study = load_study(study_file)
    study.deploy.check()
    study.prepare()
    return study
