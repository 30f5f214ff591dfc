"""``import``: score answers collected elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import click

from metacog_pipeline import columns
from metacog_pipeline.cli import printing, rejected
from metacog_pipeline.cli.options import (
    FoldingCommand,
    quiet_option,
    study_option,
    wide_option,
    words_option,
)
from metacog_pipeline.errors import StudyError, one_line, suggestion
from metacog_pipeline.study import load_study

if TYPE_CHECKING:
    from metacog_pipeline.benchmark.bound import Bound
    from metacog_pipeline.interchange.imported import ImportOptions
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
    places: tuple[str, ...],
    study_file: Path,
    benchmark: str | None,
    model: str | None,
    run: int | None,
    pairs: tuple[str, ...],
    words: tuple[str, ...],
    wide: tuple[str, ...],
    scale: str | None,
    trust: tuple[str, ...],
    where: tuple[str, ...],
    from_one: bool,
    condition: str | None,
    respondent: str,
    group: str | None,
    quiet: bool,
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
    from metacog_pipeline.cli import logs
    from metacog_pipeline.interchange.imported import ImportOptions

    names, file = [*places[:-1], *([benchmark] if benchmark is not None else [])], Path(places[-1])
    named = _one_named(names, places)
    options = ImportOptions(
        trust,
        columns.parse_scale(scale),
        columns.Shape(wide, columns.parse_words(words)),
        tuple(_pair(each) for each in where),
        from_one,
        None if quiet else lambda line: printing.say(f"{file.name}: {line}", understood=[line]),
    )
    if respondent == "human" or group is not None:
        who = load_study(study_file), named, respondent, group
        return logs.people(file, *who, pairs, condition, options, quiet)
    about = model, run, named, trust
    as_table = pairs or words or wide or where or scale or from_one or condition
    if not as_table and logs.imported(file, study_file, about, quiet):
        return None
    if condition is None and logs.of_questions(file, study_file, about, pairs, options, quiet):
        return None
    study = load_study(study_file)
    if model is None or run is None:
        raise _unnamed(
            file, *(name for name, given in (("--model NAME", model), ("--run N", run)) if given is None)
        )
    into = _named(study, names[0]) if names else _only_fitting(study, file, pairs, options)
    assert into.importer is not None
    done = into.importer.read(into, file, model, run, pairs, condition or into.importer.condition, options)
    return report_import(done, file, model, run, quiet)


def _unnamed(file: Path, *lacking: str) -> StudyError:
    """Return what to say where nobody is named who answered: there is no such file, or it is a table."""
    from metacog_pipeline.interchange import answer_files

    answer_files.kind_of(file)
    why = f"is a table, no log: give {' and '.join(lacking)} of these answers"
    return StudyError(f"{file}: {why if file.exists() else 'there is no such file; check the path'}")


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


def _named(study: Study, name: str) -> Bound:
    """Return the benchmark of this name; raise `StudyError` where the study has none, or it takes no imports."""
    from metacog_pipeline.benchmark.bound import bound

    if name not in study.enabled:
        raise StudyError(
            f'import: "{name}" is not enabled in {study.path.name}{suggestion(name, study.enabled)}; '
            f"it has: {', '.join(study.enabled)}"
        )
    into = bound(study, name)
    if into.importer is None:
        raise StudyError(
            f"import: answers to {name} cannot be imported; `metacog fit FILE` fits a table of trials"
        )
    return into


def _only_fitting(study: Study, file: Path, pairs: Sequence[str], options: ImportOptions) -> Bound:
    """Return the only benchmark of the study that the file is about; raise `StudyError` for none or several."""
    from metacog_pipeline.benchmark.bound import bound
    from metacog_pipeline.interchange.importing import takes

    found = [into for name in study.enabled if (into := bound(study, name)).importer is not None]
    if len(found) == 1:
        return found[0]
    if pairs and len(takers := [into for into in found if takes(into, pairs)]) == 1:
        return _taken(takers[0], "the only benchmark of the study with the fields that are mapped", options)
    why: dict[str, str | None] = {}
    for into in found:
        if into.importer is not None and into.importer.misfit is not None:
            why[into.name] = into.importer.misfit(into, file, pairs, options)
    fitting = [into for into in found if into.name in why and why[into.name] is None]
    if len(fitting) != 1:
        names = ", ".join(into.name for into in fitting or found)
        told = "several benchmarks fit" if fitting else "no benchmark of the study fits"
        reasons = "" if fitting else "".join(f"; {name}: {one_line(str(why[name]), 160)}" for name in why)
        raise StudyError(f"{file}: {told}; name one with --benchmark, out of {names}{reasons}")
    return _taken(fitting[0], "the only benchmark of the study that it fits", options)


def _taken(into: Bound, why: str, options: ImportOptions) -> Bound:
    if options.show is not None:
        options.show(f"taken as answers to {into.name}, {why}")
    return into


def report_import(done: object, file: Path, model: str, run: int, quiet: bool) -> None:
    """Print what was taken of ``file``; end with exit code 8 where something was not, all of it in a file beside it."""
    from metacog_pipeline.interchange.imported import Imported

    assert isinstance(done, Imported)
    rejected.report(
        file,
        rejected.Lines(done.rejected, lambda each: f": row {each.row}: not taken: {each.reason}"),
        rejected.Lines(done.warnings, lambda warning: f": {warning}"),
        listed=chain(
            ((each.row, "not taken", each.reason) for each in done.rejected),
            (("", "not readable", warning) for warning in done.warnings),
        ),
    )
    kept = f"{len(done.records)} answers kept for {model}, run {run}"
    left = f"{len(done.rejected)} {printing.rows(done.rejected)} not taken"
    told = f"{file.name}: {kept}; {left}, {len(done.warnings)} not readable"
    counts = {"kept": len(done.records), "not_taken": len(done.rejected), "not_readable": len(done.warnings)}
    printing.say("" if quiet else told, model=model, run=run, **counts)
    if done.rejected or done.warnings:
        sys.exit(SOME_UNREADABLE)
