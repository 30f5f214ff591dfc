"""``demo``: see it work in a minute, without a key and without cost."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from pathlib import Path

import click

from metacog_pipeline.cli import printing
from metacog_pipeline.cli.options import quiet_option
from metacog_pipeline.cli.running import launch, nothing_to_do
from metacog_pipeline.errors import StudyError, one_line
from metacog_pipeline.files import shipped
from metacog_pipeline.home import Home
from metacog_pipeline.leaderboard.output import NOT_AVAILABLE, fixed
from metacog_pipeline.leaderboard.read import read_table
from metacog_pipeline.study import load_study

PAGE = "index.html"  # as `report.page` calls it, which loads what draws figures
_HEADLINES = """
select shown.benchmark, shown.condition, measures.label, shown.model, shown.estimate, shown.low, shown.high
from leaderboard as shown
join measures using (benchmark, measure)
where shown.headline and shown.source <> 'published'
order by shown.benchmark, shown.condition, measures.label, shown.rank nulls last, shown.model
"""


@click.command()
@click.option(
    "--folder",
    type=click.Path(path_type=Path),
    default=Path("metacog-demo"),
    help="Where the demo study is put.",
)
@quiet_option
@printing.json_option
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
    if quiet and not printing.wanted():
        return
    page = study.home.report / PAGE
    if not page.exists():  # the run has written it, unless nothing was to be done
        from metacog_pipeline.report.page import build_report

        page = build_report(study.home, study.study.name)
    metacog = _own_name()
    ranked = list(rankings(study.home))
    printing.say(
        "This is the sample set with simulated respondents, not a result about any real model.\n\n"
        "Best first, with 95 % intervals:\n"
        + "".join(f"  {line}\n" for line in ranked)
        + f"\nReport:       {page}\n"
        f"Study file:   {study_file}\n"
        f"DuckDB file:  {study.home.leaderboard}\n\n"
        "Three things to try:\n"
        f"  {metacog} board --study {study_file}\n"
        f"  {metacog} ui {study_file}\n"
        f"  {metacog} sql --study {study_file} \"from leaderboard where measure = 'unknown_recall'\"",
        rankings=ranked,
        report=str(page),
        study=str(study_file),
        duckdb=str(study.home.leaderboard),
    )


def rankings(home: Home) -> Iterator[str]:
    """Yield one sentence per benchmark of the board in ``home``: its respondents by the headline, best first."""
    found = read_table(home, _HEADLINES).rows
    for (benchmark, condition, label), rows in groupby(found, key=itemgetter(0, 1, 2)):
        ranked = "; ".join(
            f"{model} {_shown(value)} ({_shown(low)} to {_shown(high)})"
            for *_, model, value, low, high in rows
        )
        yield one_line(f"{benchmark}, {condition}, {label}: {ranked}", 500)


def _shown(value: object) -> str:
    return fixed(value, 2) if isinstance(value, float) else NOT_AVAILABLE


def _own_name() -> str:
    """Return how this command can be typed again: its name where the shell finds it, else its path."""
    started = Path(sys.argv[0])
    found = shutil.which("metacog")
    if found is not None and Path(found).resolve() == started.resolve():
        return "metacog"
    return os.path.relpath(started) if started.name == "metacog" else "metacog"
