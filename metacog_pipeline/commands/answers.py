"""``import``: score answers collected elsewhere."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from metacog_pipeline.benchmarks.metamedqa import stages
from metacog_pipeline.benchmarks.metamedqa.importing import FIELDS, parse_mapping
from metacog_pipeline.commands.options import FoldingCommand, quiet_option, study_option
from metacog_pipeline.errors import StudyError
from metacog_pipeline.study import load_study

SOME_UNREADABLE = 8


@click.command("import", cls=FoldingCommand)
@click.argument("benchmark")
@click.argument("file", type=click.Path(path_type=Path))
@study_option
@click.option("--model", required=True, help='A model of the study with provider = "replay".')
@click.option(
    "--run", type=click.IntRange(1, 99), required=True, help="Which run of the model these answers are."
)
@click.option(
    "--map",
    "pairs",
    multiple=True,
    metavar="FIELD=COLUMN...",
    help=f"Where a field is found ({', '.join(FIELDS)}); usual names are found by themselves.",
)
@click.option("--condition", default="baseline", show_default=True, help="Condition of rows that name none.")
@quiet_option
def import_command(
    benchmark: str,
    file: Path,
    study_file: Path,
    model: str,
    run: int,
    pairs: tuple[str, ...],
    condition: str,
    quiet: bool,
) -> None:
    """Keep answers from FILE (CSV, TSV, JSON Lines, JSON, Parquet) as those of a model.

    Every row that is not taken is listed with its reason, and so is every answer whose letter or confidence cannot be
    read; then the exit code is 8, and the rest is kept. `metacog run` scores what was imported without asking anybody.
    """
    study = load_study(study_file)
    known = study.benchmarks.enabled()
    if benchmark not in known:
        raise StudyError(
            f'import: "{benchmark}" is not enabled in {study_file.name}; it has: {", ".join(known)}'
        )
    if benchmark != stages.BENCHMARK:
        raise StudyError(
            f"import: answers to {benchmark} cannot be imported; `metacog fit FILE` fits a table of trials"
        )
    done = stages.import_answers(study, file, model, run, parse_mapping(pairs), condition)
    for rejected in done.rejected:
        click.echo(f"{file.name} row {rejected.row}: not taken: {rejected.reason}", err=True)
    for warning in done.warnings:
        click.echo(f"{file.name}: {warning}", err=True)
    if not quiet:
        kept = f"{len(done.records)} answers kept for {model}, run {run}"
        click.echo(
            f"{file.name}: {kept}; {len(done.rejected)} rows not taken, {len(done.warnings)} not readable"
        )
    if done.rejected or done.warnings:
        sys.exit(SOME_UNREADABLE)
