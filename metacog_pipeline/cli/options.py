"""Options and argument types several commands share, and how they open a study."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from metacog_pipeline.study import Study, load_study

PATH = click.Path(path_type=Path)

study_argument = click.argument("study_file", metavar="STUDY", type=PATH)
study_option = click.option(
    "--study", "study_file", metavar="STUDY", type=PATH, required=True, help="The study."
)
quiet_option = click.option("--quiet", is_flag=True, help="Print results and errors only.")
words_option = click.option(
    "--map-values", "words", multiple=True, metavar="WORD=VALUE,...", help='As in "KEEP=1,WITHDRAW=0".'
)
scale_option = click.option(
    "--scale", metavar="LOW..HIGH", help="Of confidence: 0..1, 0..100, 1..5 or another."
)


def port_option(default: int) -> Callable[[Any], Any]:
    """Return the option ``--port``."""
    help = "Port of the server; 0 takes the next free one."
    return click.option("--port", default=default, type=click.IntRange(0, 65535), help=help)


def read_study(study_file: Path) -> Study:
    """Return the study; a benchmark whose package is broken is named on standard error."""
    study = load_study(study_file)
    for why in study.broken_plugins.values():
        click.echo(f"metacog: {why}; the others go on without it", err=True)
    return study


def opened(study_file: Path) -> Study:
    """Return the study, its home with all that is in its store. Raises as `load_study` and `catch_up`."""
    study = read_study(study_file)
    if study.deploy.store is not None:
        from metacog_pipeline.leaderboard.publishing import catch_up

        catch_up(study)
    return study
