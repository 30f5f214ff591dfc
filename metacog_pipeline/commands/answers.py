"""``import``: score answers collected elsewhere."""

from __future__ import annotations

import sys
from pathlib import Path

import click

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
    help="Where a field is found; usual names are found by themselves. An unknown field is answered with those there are.",
)
@click.option("--condition", help="Condition of rows that name none.")
@quiet_option
def import_command(
    benchmark: str,
    file: Path,
    study_file: Path,
    model: str,
    run: int,
    pairs: tuple[str, ...],
    condition: str | None,
    quiet: bool,
) -> None:
    """Keep answers from FILE (CSV, TSV, JSON Lines, JSON, Parquet) as those of a model.

    Every row that is not taken is listed with its reason, and so is every answer that cannot be read; then the exit
    code is 8, and the rest is kept. `metacog run` scores what was imported without asking anybody.
    """
    from metacog_pipeline.benchmark.bound import bound

    study = load_study(study_file)
    if benchmark not in study.enabled:
        raise StudyError(
            f'import: "{benchmark}" is not enabled in {study_file.name}; it has: {", ".join(study.enabled)}'
        )
    into = bound(study, benchmark)
    if into.importer is None:
        raise StudyError(
            f"import: answers to {benchmark} cannot be imported; `metacog fit FILE` fits a table of trials"
        )
    done = into.importer.read(into, file, model, run, pairs, condition or into.importer.condition)
    report_import(done, file.name, model, run, quiet)


def report_import(done: object, name: str, model: str, run: int, quiet: bool) -> None:
    """Print what was taken of a file called ``name``; end with exit code 8 where something was not."""
    from metacog_pipeline.asking.importing import Imported

    assert isinstance(done, Imported)
    for rejected in done.rejected:
        click.echo(f"{name} row {rejected.row}: not taken: {rejected.reason}", err=True)
    for warning in done.warnings:
        click.echo(f"{name}: {warning}", err=True)
    if not quiet:
        kept = f"{len(done.records)} answers kept for {model}, run {run}"
        click.echo(f"{name}: {kept}; {len(done.rejected)} rows not taken, {len(done.warnings)} not readable")
    if done.rejected or done.warnings:
        sys.exit(SOME_UNREADABLE)
