"""``import``: score answers collected elsewhere."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from metacog_pipeline.benchmarks.common.importing import Imported
from metacog_pipeline.benchmarks.medley import stages as medley
from metacog_pipeline.benchmarks.medley.importing import FIELDS as MEDLEY_FIELDS
from metacog_pipeline.benchmarks.medley.importing import parse_mapping as medley_mapping
from metacog_pipeline.benchmarks.metamedqa import stages as metamedqa
from metacog_pipeline.benchmarks.metamedqa.importing import FIELDS, parse_mapping
from metacog_pipeline.commands.options import FoldingCommand, quiet_option, study_option
from metacog_pipeline.errors import StudyError
from metacog_pipeline.study import Study, load_study

SOME_UNREADABLE = 8
#: Benchmark → how its answer files are read, what their columns are mapped by, and the condition of rows that name none.
READERS = {
    metamedqa.BENCHMARK: (metamedqa.import_answers, parse_mapping, "baseline"),
    medley.BENCHMARK: (medley.import_answers, medley_mapping, "normal"),
}


@click.command("import", cls=FoldingCommand)
@click.argument("benchmark")
@click.argument("file", type=click.Path(path_type=Path), required=False)
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
    help=f"Where a field is found (metamedqa: {', '.join(FIELDS)}; medley: {', '.join(MEDLEY_FIELDS)}); usual names "
    "are found by themselves.",
)
@click.option(
    "--condition", help="Condition of rows that name none; baseline for metamedqa, normal for medley."
)
@click.option(
    "--analyst",
    help='Medley, without FILE: keep what this analyst of the instances wrote, "Analyst A" to "Analyst H" or by model.',
)
@quiet_option
def import_command(
    benchmark: str,
    file: Path | None,
    study_file: Path,
    model: str,
    run: int,
    pairs: tuple[str, ...],
    condition: str | None,
    analyst: str | None,
    quiet: bool,
) -> None:
    """Keep answers from FILE (CSV, TSV, JSON Lines, JSON, Parquet) as those of a model.

    Every row that is not taken is listed with its reason, and so is every answer that cannot be read; then the exit
    code is 8, and the rest is kept. `metacog run` scores what was imported without asking anybody. A file for medley
    has one row per instance and condition, with the raw replies in the columns step_a, b_private and b_social; where
    there is no more than step A, what rests on it alone is scored.
    """
    study = load_study(study_file)
    known = study.enabled
    if benchmark not in known:
        raise StudyError(
            f'import: "{benchmark}" is not enabled in {study_file.name}; it has: {", ".join(known)}'
        )
    if benchmark not in READERS:
        raise StudyError(
            f"import: answers to {benchmark} cannot be imported; `metacog fit FILE` fits a table of trials"
        )
    if analyst is not None:
        done = _analyst(study, benchmark, file, analyst, model, run)
    elif file is None:
        raise StudyError("import: give the FILE of answers; for medley, --analyst NAME does without one")
    else:
        read, mapping, usual = READERS[benchmark]
        done = read(study, file, model, run, mapping(pairs), condition or usual)
    name = "import" if file is None else file.name
    for rejected in done.rejected:
        click.echo(f"{name} row {rejected.row}: not taken: {rejected.reason}", err=True)
    for warning in done.warnings:
        click.echo(f"{name}: {warning}", err=True)
    if not quiet:
        kept = f"{len(done.records)} answers kept for {model}, run {run}"
        click.echo(f"{name}: {kept}; {len(done.rejected)} rows not taken, {len(done.warnings)} not readable")
    if done.rejected or done.warnings:
        sys.exit(SOME_UNREADABLE)


def _analyst(study: Study, benchmark: str, file: Path | None, analyst: str, model: str, run: int) -> Imported:
    if benchmark != medley.BENCHMARK:
        raise StudyError(f"--analyst: the questions of {benchmark} have no analysts; give a FILE")
    if file is not None:
        raise StudyError(f"--analyst {analyst}: give this or the FILE {file}, not both")
    return medley.import_analyst(study, analyst, model, run)
