"""``import``: score answers collected elsewhere: tables, logs of other programs, answers of human respondents."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from metacog_pipeline.cli import printing
from metacog_pipeline.cli.options import (
    FoldingCommand,
    quiet_option,
    study_option,
    wide_option,
    words_option,
)
from metacog_pipeline.errors import StudyError
from metacog_pipeline.interchange import columns
from metacog_pipeline.study import load_study

if TYPE_CHECKING:
    from metacog_pipeline.interchange.imported import Imported, ImportOptions
    from metacog_pipeline.interchange.logs.importing import Done, LogOptions
    from metacog_pipeline.interchange.rejected import Lines
    from metacog_pipeline.study import Study

SOME_UNREADABLE = 8


@click.command("import", cls=FoldingCommand)
@click.argument("places", nargs=-1, required=True, metavar="[BENCHMARK] FILE")
@study_option
@click.option("--benchmark", help="The same as BENCHMARK; not needed where the file fits one only.")
@click.option(
    "--model", help='A model of the study with provider = "replay"; logs name their own, which this renames.'
)
@click.option(
    "--run",
    type=click.IntRange(1, 99),
    help="Which run these answers are; of a log its first one, usually 1.",
)
@click.option(
    "--map",
    "pairs",
    multiple=True,
    metavar="FIELD=COLUMN...",
    help="Where a field is found: a column, or a path like a.b[0]. Usual names are found by themselves. An unknown field "
    "is answered with those there are.",
)
@words_option
@wide_option
@click.option(
    "--scale", metavar="LOW..HIGH", help="Confidence is on 0..1, 0..10, 0..100, 1..5 or another scale."
)
@click.option(
    "--trust",
    multiple=True,
    metavar="FIELD...",
    help="Take the file although this field or column disagrees with the items; repeatable.",
)
@click.option(
    "--where",
    multiple=True,
    metavar="COLUMN=VALUE...",
    help="Read only rows with this value, as in model=gpt-4o; repeatable.",
)
@click.option("--from-one", is_flag=True, help="Positions in the file begin at 1, not at 0.")
@click.option("--condition", help="Condition of rows that name none.")
@click.option(
    "--respondent",
    type=click.Choice(["model", "human"]),
    default="model",
    help="Who answered; people stand apart.",
)
@click.option("--group", metavar="COLUMN", help="Of people: the column that names them.")
@quiet_option
@printing.json_option
def import_command(
    places: tuple[str, ...], study_file: Path, benchmark: str | None, quiet: bool, **given: Any
) -> None:
    """Keep answers from FILE (CSV, TSV, JSON Lines, JSON, Parquet, also .gz; a log) as those of a model.

    A log (inspect_ai, lm-eval, HELM, OpenAI Evals, promptfoo, Every Eval Ever, batches) names models and runs itself;
    questions that no benchmark of the study asks are added to those of your own. A study file that is not there is made,
    and where nobody is asked the board follows at once.

    First it is shown how the file was understood. A key, a correctness or a question's text in it must agree with the
    items, or nothing is kept. Every row that is not taken, and every answer that cannot be read, is one line in
    FILE.rejected.csv; then the exit code is 8, and the rest is kept. `metacog run` scores what was imported without
    asking anybody.
    """
    from metacog_pipeline.interchange.imported import ImportOptions
    from metacog_pipeline.interchange.logs.importing import LogOptions

    names, file = [*places[:-1], *([benchmark] if benchmark is not None else [])], Path(places[-1])
    named = _one_named(names, places)
    show = None if quiet else lambda line: printing.say(f"{file.name}: {line}", understood=[line])
    options = ImportOptions(
        given["trust"],
        columns.parse_scale(given["scale"]),
        columns.Shape(given["wide"], columns.parse_words(given["words"])),
        tuple(_pair(each) for each in given["where"]),
        given["from_one"],
        show,
    )
    if given["respondent"] == "human" or given["group"] is not None:
        _import_people(load_study(study_file), named, file, given, options, quiet)
        return
    model, run, condition, pairs = given["model"], given["run"], given["condition"], given["pairs"]
    about = LogOptions(model, run or 1, named, given["trust"], show)
    as_table = (
        pairs or condition or any(given[name] for name in ("words", "wide", "where", "scale", "from_one"))
    )
    if not as_table and _import_log(file, study_file, about, quiet):
        return
    if condition is None and _import_questions(file, study_file, about, run, pairs, options, quiet):
        return
    _import_answers(file, study_file, named, (model, run), pairs, condition, options, quiet)


def _one_named(names: Sequence[str], places: Sequence[str]) -> str | None:
    """Return the benchmark that is named, by an argument or by --benchmark."""
    if len(places) > 1 and Path(places[0]).is_file():
        raise StudyError(f"import {' '.join(places)}: give one file at a time")
    if len(set(names)) > 1:
        raise StudyError(
            f"import {' '.join(places)}: name one benchmark and one file; benchmarks named: {', '.join(names)}"
        )
    return next(iter(names), None)


def _pair(text: str) -> tuple[str, str]:
    column, equals, value = text.partition("=")
    if not column or not equals:
        raise StudyError(f"--where {text}: give COLUMN=VALUE, as in --where model=gpt-4o")
    return column, value.strip()


def _import_answers(
    file: Path,
    study_file: Path,
    named: str | None,
    whose: tuple[str | None, int | None],
    pairs: Sequence[str],
    condition: str | None,
    options: ImportOptions,
    quiet: bool,
) -> None:
    """Keep the answers of a table to items of the study as those of one model and run."""
    from metacog_pipeline.interchange import answer_files, choosing

    study, (model, run) = load_study(study_file), whose
    if model is None or run is None:
        answer_files.kind_of(file)
        lacking = [name for name, given in (("--model NAME", model), ("--run N", run)) if given is None]
        why = f"is a table, no log: give {' and '.join(lacking)} of these answers"
        raise StudyError(f"{file}: {why if file.exists() else 'there is no such file; check the path'}")
    into = (
        choosing.fitting_benchmark(study, file, pairs, options)
        if named is None
        else choosing.named_benchmark(study, named)
    )
    assert into.importer is not None
    done: Imported = into.importer.read(
        into, file, model, run, pairs, condition or into.importer.condition, options
    )
    from metacog_pipeline.interchange.rejected import Lines

    kinds = (
        Lines(done.rejected, lambda each: f": row {each.row}: not taken: {each.reason}"),
        Lines(done.warnings, lambda warning: f": {warning}"),
    )
    listed = chain(
        ((each.row, "not taken", each.reason) for each in done.rejected),
        (("", "not readable", warning) for warning in done.warnings),
    )
    left = f"{len(done.rejected)} {printing.rows(done.rejected)} not taken"
    counts = {"kept": len(done.records), "not_taken": len(done.rejected), "not_readable": len(done.warnings)}
    _report(
        file,
        f"{len(done.records)} answers kept for {model}, run {run}; {left}, {len(done.warnings)} not readable",
        {"model": model, "run": run, **counts},
        kinds,
        listed,
        quiet,
    )
    if done.rejected or done.warnings:
        sys.exit(SOME_UNREADABLE)


def _import_log(file: Path, study_file: Path, about: LogOptions, quiet: bool) -> bool:
    """Import a log or an export; return False where the file is none."""
    from metacog_pipeline.interchange.importing import nothing_collected
    from metacog_pipeline.interchange.logs import exported, importing, reading

    folder = exported.is_export(file)
    samples = None if folder else reading.samples_of(file, about.trust)
    if samples is None and not folder:
        return False
    with nothing_collected():
        if samples is None:
            _report_log(file, exported.import_export(file, study_file, about), quiet)
        else:
            _report_log(file, importing.import_log(file, study_file, samples, about), quiet)
    return True


def _import_questions(
    file: Path,
    study_file: Path,
    about: LogOptions,
    run: int | None,
    pairs: Sequence[str],
    options: ImportOptions,
    quiet: bool,
) -> bool:
    """Import a table that brings its own questions; return False where it is about items of the study, or brings none."""
    from metacog_pipeline.interchange.logs import importing, tables

    study = load_study(study_file) if study_file.exists() else None
    named = (about.model, run, about.benchmark)
    if not importing.brings_questions(study, file, named, pairs, options):
        return False
    samples = tables.read(file, pairs, options)
    if samples is None and study is None:
        raise StudyError(
            f"{file}: {study_file} is not there, and for a study of its own a table needs a question, key or correct, and "
            "choice or response: --map question=… key=… choice=… (a path such as inputs.text leads into objects), of "
            "models side by side with --wide; `metacog fit` measures right and wrong without questions"
        )
    if samples is None:
        return False
    _report_log(file, importing.import_log(file, study_file, samples, about), quiet)
    return True


def _report_log(file: Path, done: Done, quiet: bool) -> None:
    from metacog_pipeline.interchange.rejected import Lines

    left = done.left_out
    lines = Lines(left, lambda each: f": sample {each[0]}: {each[1]}: {each[2]}")
    told = f"{done.kept} answers kept, {done.known} were there, {len(left)} not kept or not scored"
    counts = {"kept": done.kept, "known": done.known, "left_out": len(left)}
    _report(file, told, counts, [lines], left, quiet)
    _board(done.study, quiet)
    if left:
        sys.exit(SOME_UNREADABLE)


def _import_people(
    study: Study,
    benchmark: str | None,
    file: Path,
    given: dict[str, Any],
    options: ImportOptions,
    quiet: bool,
) -> None:
    """Keep the answers of human respondents; where nobody is asked, print the board with their place beside the models."""
    from metacog_pipeline.interchange.rejected import Lines
    from metacog_pipeline.scoring import people

    if given["respondent"] != "human" or given["group"] is None:
        raise StudyError(
            "import: people need both --respondent human and --group COLUMN, the column that names them"
        )
    into = people.fitting(study, benchmark)
    kept, who, left = people.keep(into, file, given["group"], given["pairs"], given["condition"], options)
    lines = Lines(left, lambda each: f": row {each.row}: not taken: {each.reason}")
    told = f"{kept} answers of {who} people kept for {into.name}; {len(left)} {printing.rows(left)} not taken"
    counts = {"kept": kept, "people": who, "not_taken": len(left)}
    _report(file, told, counts, [lines], people.told(left), quiet)
    _board(study, quiet)
    if left:
        sys.exit(SOME_UNREADABLE)


def _report(
    file: Path,
    told: str,
    counts: dict[str, Any],
    kinds: Sequence[Lines],
    listed: Iterable[tuple[object, str, str]],
    quiet: bool,
) -> None:
    """Print what was taken of ``file``; what was not is in a file beside it."""
    from metacog_pipeline.interchange.rejected import write_rejected

    for line in write_rejected(file, *kinds, listed=listed):
        click.echo(line, err=True)
    printing.say("" if quiet else f"{file.name}: {told}", **counts)


def _board(study: Study, quiet: bool) -> None:
    """Make and print the board where every model is replayed: that asks nobody."""
    from metacog_pipeline.leaderboard import replayed
    from metacog_pipeline.study import digests

    if not replayed.asks_nobody(study):
        digests.note(study.home, study.home.people, study.home.imported)
        return
    replayed.publish(study)
    if quiet or printing.wanted():
        return
    from metacog_pipeline.leaderboard.printing import notes, render_board
    from metacog_pipeline.leaderboard.read import board, one_connection

    with one_connection(study.home):
        click.echo(render_board(board(study.home, None), "table"), nl=False)
        click.echo(f"\n{notes(study.home, None)}", nl=False)
