"""``import``: score answers collected elsewhere: tables, logs of other programs, answers of human respondents."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from metacog_pipeline.cli import options as shared
from metacog_pipeline.cli import printing
from metacog_pipeline.cli.options import quiet_option, scale_option, study_option, wide_option, words_option
from metacog_pipeline.errors import StudyError
from metacog_pipeline.interchange import columns
from metacog_pipeline.interchange.rejected import write_rejected
from metacog_pipeline.study import load_study

if TYPE_CHECKING:
    from metacog_pipeline.interchange.imported import Imported, ImportOptions
    from metacog_pipeline.interchange.logs.importing import Done, LogOptions
    from metacog_pipeline.study import Study

SOME_UNREADABLE = 8
_WHO = click.Choice(["model", "human"])
_OF_TABLES = ("words", "wide", "where", "scale", "from_one")  # options that no log needs
#: What was taken of a file: in words, as counts, and (row, what, reason) of what was not.
Taken = tuple[str, dict[str, Any], Sequence[tuple[object, str, str]]]


@click.command("import", cls=shared.FoldingCommand)
@click.argument("places", nargs=-1, required=True, metavar="[BENCHMARK] FILE")
@study_option
@click.option("--benchmark", help="The same as BENCHMARK; not needed where the file fits one only.")
@click.option("--model", help='A model with provider = "replay"; logs name their own, which this renames.')
@click.option("--run", type=click.IntRange(1, 99), help="Which run these answers are; of a log its first.")
@click.option("--map", "pairs", multiple=True, metavar="FIELD=COLUMN...", help="A column, or a path a.b[0].")
@words_option
@wide_option
@scale_option
@click.option("--trust", multiple=True, metavar="FIELD...", help="Take the file though this disagrees.")
@click.option("--where", multiple=True, metavar="COLUMN=VALUE...", help="Read only rows with this value.")
@click.option("--from-one", is_flag=True, help="Positions in the file begin at 1, not at 0.")
@click.option("--condition", help="Condition of rows that name none.")
@click.option("--respondent", type=_WHO, default="model", help="Who answered; people stand apart.")
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

    file, named = Path(places[-1]), _one_named(places, benchmark)
    show = None if quiet else lambda line: printing.say(f"{file.name}: {line}", understood=[line])
    shape = columns.Shape(given["wide"], columns.parse_words(given["words"]))
    where = tuple(_pair(each) for each in given["where"])
    scale = columns.parse_scale(given["scale"])
    options = ImportOptions(given["trust"], scale, shape, where, given["from_one"], show)
    about = LogOptions(given["model"], given["run"] or 1, named, given["trust"], show)
    done = None
    if given["respondent"] == "human" or given["group"] is not None:
        study = load_study(study_file)
        told, counts, rejected, follows = *_people(study, named, file, given, options), study
    elif (done := _log(file, study_file, about, given, options)) is not None:
        left = len(done.left_out)
        told = f"{done.kept} answers kept, {done.known} were there, {left} not kept or not scored"
        counts = {"kept": done.kept, "known": done.known, "left_out": left}
        rejected, follows = done.left_out, done.study
    else:
        told, counts, rejected = _answers(file, study_file, named, given, options)
        follows = None
    for line in write_rejected(file, rejected, "row" if done is None else "sample"):
        click.echo(line, err=True)
    printing.say("" if quiet else f"{file.name}: {told}", **counts)
    if follows is not None:
        _board(follows, quiet)
    if rejected:
        sys.exit(SOME_UNREADABLE)


def _one_named(places: Sequence[str], benchmark: str | None) -> str | None:
    """Return the benchmark that is named, by an argument or by --benchmark."""
    names = {*places[:-1], *([benchmark] if benchmark is not None else [])}
    if len(places) > 1 and Path(places[0]).is_file():
        raise StudyError(f"import {' '.join(places)}: give one file at a time")
    if len(names) > 1:
        raise StudyError(f"import {' '.join(places)}: name one benchmark and one file")
    return next(iter(names), None)


def _pair(text: str) -> tuple[str, str]:
    column, equals, value = text.partition("=")
    if not column or not equals:
        raise StudyError(f"--where {text}: give COLUMN=VALUE, as in --where model=gpt-4o")
    return column, value.strip()


def _log(
    file: Path, study_file: Path, about: LogOptions, given: dict[str, Any], options: ImportOptions
) -> Done | None:
    """Import a log, an export, or a table that brings its own questions; None of a table about items of the study."""
    from metacog_pipeline.interchange.importing import nothing_collected
    from metacog_pipeline.interchange.logs import exported, importing, reading, tables

    pairs, condition = given["pairs"], given["condition"]
    as_table = pairs or condition or any(given[each] for each in _OF_TABLES)
    if not as_table and exported.is_export(file):
        with nothing_collected():
            return exported.import_export(file, study_file, about)
    if not as_table and (samples := reading.samples_of(file, about.trust)) is not None:
        with nothing_collected():
            return importing.import_log(file, study_file, samples, about)
    study = load_study(study_file) if study_file.exists() else None
    named = (about.model, given["run"], about.benchmark)
    if condition is not None or not importing.brings_questions(study, file, named, pairs, options):
        return None
    rows = tables.read(file, pairs, options)
    if rows is None and study is None:
        raise StudyError(
            f"{file}: {study_file} is not there, and for a study of its own a table needs a question, key or correct, and "
            "choice or response: --map question=… key=… choice=… (a path such as inputs.text leads into objects), of "
            "models side by side with --wide; `metacog fit` measures right and wrong without questions"
        )
    return None if rows is None else importing.import_log(file, study_file, rows, about)


def _answers(
    file: Path, study_file: Path, named: str | None, given: dict[str, Any], options: ImportOptions
) -> Taken:
    """Keep the answers of a table to items of the study as those of one model and run."""
    from metacog_pipeline.interchange import answer_files, choosing

    study, model, run, pairs = load_study(study_file), given["model"], given["run"], given["pairs"]
    if model is None or run is None:
        answer_files.kind_of(file)
        lacking = [name for name, each in (("--model NAME", model), ("--run N", run)) if each is None]
        why = f"is a table, no log: give {' and '.join(lacking)} of these answers"
        raise StudyError(f"{file}: {why if file.exists() else 'there is no such file; check the path'}")
    into = choosing.benchmark_of(study, named, file, pairs, options)
    assert into.importer is not None
    condition = given["condition"] or into.importer.condition
    done: Imported = into.importer.read(into, file, model, run, pairs, condition, options)
    left, unreadable = len(done.rejected), len(done.warnings)
    told = f"{len(done.records)} answers kept for {model}, run {run}; {_rows(left)} not taken, {unreadable} not readable"
    counts = {"kept": len(done.records), "not_taken": left, "not_readable": unreadable}
    rejected: list[tuple[object, str, str]] = [(each.row, "not taken", each.reason) for each in done.rejected]
    rejected += [("", "not readable", warning) for warning in done.warnings]
    return told, {"model": model, "run": run, **counts}, rejected


def _people(
    study: Study, benchmark: str | None, file: Path, given: dict[str, Any], options: ImportOptions
) -> Taken:
    """Keep the answers of human respondents."""
    from metacog_pipeline.interchange import choosing
    from metacog_pipeline.scoring import human_respondents

    if given["respondent"] != "human" or given["group"] is None:
        raise StudyError("import: people need both --respondent human and --group COLUMN, which names them")
    into = choosing.benchmark_of(study, benchmark, file, given["pairs"], options)
    kept, who, left = human_respondents.keep(
        into, file, given["group"], given["pairs"], given["condition"], options
    )
    told = f"{kept} answers of {who} people kept for {into.name}; {_rows(len(left))} not taken"
    rejected = [(each.row, "not taken", each.reason) for each in left]
    return told, {"kept": kept, "people": who, "not_taken": len(left)}, rejected


def _rows(n: int) -> str:
    return "1 row" if n == 1 else f"{n} rows"


def _board(study: Study, quiet: bool) -> None:
    """Make and print the board where every model is replayed: that asks nobody."""
    from metacog_pipeline.leaderboard import replayed
    from metacog_pipeline.study import digests

    if any(each.provider != "replay" for each in study.askable):  # a model, a judge or a helper is asked
        digests.note(study.home, study.home.people, study.home.imported)
        return
    replayed.publish(study)
    if not quiet and not printing.wanted():
        from metacog_pipeline.cli.boards import print_board

        print_board(study.home, None, "table")
