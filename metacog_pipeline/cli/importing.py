"""``import``: score answers collected elsewhere: tables, logs of other programs, answers of human respondents."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from metacog_pipeline.cli import printing
from metacog_pipeline.cli.options import quiet_option, scale_option, study_option, wide_option, words_option
from metacog_pipeline.errors import StudyError
from metacog_pipeline.interchange import columns
from metacog_pipeline.interchange.rejected import write_rejected
from metacog_pipeline.study import Study, load_study

if TYPE_CHECKING:
    from metacog_pipeline.interchange.imported import ImportOptions
    from metacog_pipeline.interchange.logs.importing import LogOptions

SOME_UNREADABLE = 8
_OF_TABLES = (
    "pairs",
    "condition",
    "words",
    "wide",
    "where",
    "scale",
    "from_one",
)  # options that no log needs
#: How much was taken of a file; (row, what, reason) of what was not; the study whose board follows.
Taken = tuple[dict[str, int], Sequence[tuple[object, str, str]], Study | None]


@click.command("import")
@click.argument("places", nargs=-1, required=True, metavar="[BENCHMARK] FILE")
@study_option
@click.option("--model", help='A model with provider = "replay"; logs name their own, which this renames.')
@click.option("--run", type=click.IntRange(1, 99), help="Which run these answers are; of a log its first.")
@click.option("--map", "pairs", multiple=True, metavar="FIELD=COLUMN", help="A column, or a path a.b[0].")
@words_option
@wide_option
@scale_option
@click.option("--trust", multiple=True, metavar="FIELD", help="Take the file though this disagrees.")
@click.option("--where", multiple=True, metavar="COLUMN=VALUE", help="Read only rows with this value.")
@click.option("--from-one", is_flag=True, help="Positions in the file begin at 1, not at 0.")
@click.option("--condition", help="Condition of rows that name none.")
@click.option("--respondent", type=click.Choice(["model", "human"]), default="model", help="Who answered.")
@click.option("--group", metavar="COLUMN", help="Of people: the column that names them.")
@quiet_option
@printing.json_option
def import_command(places: tuple[str, ...], study_file: Path, quiet: bool, **given: Any) -> None:
    """Keep answers from FILE (CSV, TSV, JSON Lines, JSON, Parquet, also .gz; a log) as those of a model.

    A log (inspect_ai, lm-eval, HELM, OpenAI Evals, promptfoo, Every Eval Ever, batches) names models and runs itself;
    questions that no benchmark of the study asks are added to those of your own. A study file that is not there is made,
    and where nobody is asked the board follows at once.

    First it is shown how the file was understood. A key, a correctness or a question's text in it must agree with the
    items, or nothing is kept. Every row that is not taken, and every answer that cannot be read, is one line in
    FILE.rejected.csv; then the exit code is 8, and the rest is kept. `metacog run` scores what was imported without
    asking anybody. Options such as --map and --wide are repeated for each column.
    """
    from metacog_pipeline.interchange.imported import ImportOptions

    *named, last = places
    file, benchmark = Path(last), named[0] if named else None
    if len(named) > 1 or (named and Path(named[0]).is_file()):
        raise StudyError(
            f"import {' '.join(places)}: give one file at a time, after the name of one benchmark"
        )
    show = None if quiet else lambda line: printing.say(f"{file.name}: {line}", understood=[line])
    shape = columns.Shape(given["wide"], columns.parse_words(given["words"]))
    where, scale = tuple(map(_pair, given["where"])), columns.parse_scale(given["scale"])
    options = ImportOptions(given["trust"], scale, shape, where, given["from_one"], show)
    people = given["respondent"] == "human" or given["group"] is not None
    taken = None if people else _log(file, study_file, benchmark, given, options)
    kind = "row" if taken is None else "sample"
    if taken is None:
        take = _people if people else _answers
        taken = take(load_study(study_file), benchmark, file, given, options)
    counts, rejected, follows = taken
    for line in write_rejected(file, rejected, kind):
        click.echo(line, err=True)
    told = ", ".join(f"{n} {name.replace('_', ' ')}" for name, n in counts.items())
    printing.say("" if quiet else f"{file.name}: {told.replace('kept', 'answers kept')}", **counts)
    if follows is not None:
        _board(follows, quiet)
    if rejected:
        sys.exit(SOME_UNREADABLE)


def _pair(text: str) -> tuple[str, str]:
    column, equals, value = text.partition("=")
    if not column or not equals:
        raise StudyError(f"--where {text}: give COLUMN=VALUE, as in --where model=gpt-4o")
    return column, value.strip()


def _log(
    file: Path, study_file: Path, benchmark: str | None, given: dict[str, Any], options: ImportOptions
) -> Taken | None:
    """Import a log, an export, or a table that brings its own questions; None of a table about items of the study."""
    from metacog_pipeline.interchange.logs import exported, importing, reading
    from metacog_pipeline.interchange.logs.importing import LogOptions

    about = LogOptions(given["model"], given["run"] or 1, benchmark, given["trust"], options.show)
    as_table = any(given[each] for each in _OF_TABLES)
    if not as_table and exported.is_export(file):
        done = exported.import_export(file, study_file, about)
    else:
        samples = None if as_table else reading.samples_of(file, about.trust)
        samples = _questions(file, study_file, about, given, options) if samples is None else samples
        if samples is None:
            return None
        done = importing.import_log(file, study_file, samples, about)
    return {"kept": done.kept, "known": done.known, "left_out": len(done.left_out)}, done.left_out, done.study


def _questions(
    file: Path, study_file: Path, about: LogOptions, given: dict[str, Any], options: ImportOptions
) -> Any:
    """Return the rows of a table that brings its own questions as samples; None of another table."""
    from metacog_pipeline.interchange.logs import tables
    from metacog_pipeline.interchange.logs.importing import brings_questions

    study = load_study(study_file) if study_file.exists() else None
    named = (about.model, given["run"], about.benchmark)
    if given["condition"] is not None or not brings_questions(study, file, named, given["pairs"], options):
        return None
    rows = tables.read(file, given["pairs"], options)
    if rows is None and study is None:
        needs = "--map question=…, key=… or correct=…, and choice=… or response=…, each by a --map of its own"
        raise StudyError(f"{file}: {study_file} is not there; for a study of its own a table needs {needs}")
    return rows


def _answers(
    study: Study, named: str | None, file: Path, given: dict[str, Any], options: ImportOptions
) -> Taken:
    """Keep the answers of a table to items of the study as those of one model and run."""
    from metacog_pipeline.interchange import answer_files, choosing

    model, run, pairs = given["model"], given["run"], given["pairs"]
    if model is None or run is None:
        answer_files.kind_of(file)
        lacking = [name for name, each in (("--model NAME", model), ("--run N", run)) if each is None]
        why = f"is a table, no log: give {' and '.join(lacking)} of these answers"
        raise StudyError(f"{file}: {why if file.exists() else 'there is no such file; check the path'}")
    into = choosing.benchmark_of(study, named, file, pairs, options)
    assert into.importer is not None
    condition = given["condition"] or into.importer.condition
    done = into.importer.read(into, file, model, run, pairs, condition, options)
    counts = {"kept": len(done.records), "not_taken": len(done.rejected), "not_readable": len(done.warnings)}
    rejected: list[tuple[object, str, str]] = [(each.row, "not taken", each.reason) for each in done.rejected]
    return counts, [*rejected, *(("", "not readable", warning) for warning in done.warnings)], None


def _people(
    study: Study, named: str | None, file: Path, given: dict[str, Any], options: ImportOptions
) -> Taken:
    """Keep the answers of human respondents."""
    from metacog_pipeline.interchange import choosing
    from metacog_pipeline.scoring import human_respondents

    if given["respondent"] != "human" or given["group"] is None:
        raise StudyError("import: people need both --respondent human and --group COLUMN, which names them")
    into = choosing.benchmark_of(study, named, file, given["pairs"], options)
    about = (given["group"], given["pairs"], given["condition"])
    kept, who, left = human_respondents.keep(into, file, *about, options)
    counts = {"kept": kept, "people": who, "not_taken": len(left)}
    return counts, [(each.row, "not taken", each.reason) for each in left], study


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
