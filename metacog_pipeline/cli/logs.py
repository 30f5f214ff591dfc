"""``import`` of logs of other programs, and the board that follows where nobody is asked."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from metacog_pipeline.cli import printing, rejected
from metacog_pipeline.errors import StudyError
from metacog_pipeline.study import load_study

if TYPE_CHECKING:
    from metacog_pipeline.interchange.imported import ImportOptions
    from metacog_pipeline.interchange.logs.importing import Done
    from metacog_pipeline.study import Study

SOME_LEFT_OUT = 8


Told = tuple[str | None, int | None, str | None, tuple[str, ...]]  # model, run, benchmark, what is trusted


def imported(file: Path, study_file: Path, about: Told, quiet: bool) -> bool:
    """Import a log; return False where the file is none. Ends with exit code 8 where something was not kept or scored."""
    from metacog_pipeline.interchange.importing import nothing_collected
    from metacog_pipeline.interchange.logs import exported, importing, reading

    folder = exported.is_export(file)
    samples = None if folder else reading.samples_of(file, about[3])
    if samples is None and not folder:
        return False
    show = None if quiet else lambda line: printing.say(f"{file.name}: {line}", understood=[line])
    model, run, benchmark, trust = about
    options = importing.LogOptions(model, run or 1, benchmark, trust, show)
    with nothing_collected():
        if samples is None:
            done = exported.import_export(file, study_file, options)
        else:
            done = importing.import_log(file, study_file, samples, options)
        _report(file, done, quiet)
    return True


def of_questions(
    file: Path, study_file: Path, about: Told, pairs: Sequence[str], options: ImportOptions, quiet: bool
) -> bool:
    """Import a table that brings its own questions; return False where it is about items of the study, or brings none."""
    from metacog_pipeline.interchange.logs import importing, tables

    study = load_study(study_file) if study_file.exists() else None
    if not importing.brings_questions(study, file, about[:3], pairs, options):
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
    model, run, benchmark, trust = about
    told = importing.LogOptions(model, run or 1, benchmark, trust, options.show)
    _report(file, importing.import_log(file, study_file, samples, told), quiet)
    return True


def _report(file: Path, done: Done, quiet: bool) -> None:
    left = done.left_out
    rejected.report(
        file, rejected.Lines(left, lambda each: f": sample {each[0]}: {each[1]}: {each[2]}"), listed=left
    )
    told = (
        f"{file.name}: {done.kept} answers kept, {done.known} were there, {len(left)} not kept or not scored"
    )
    printing.say("" if quiet else told, kept=done.kept, known=done.known, left_out=len(left))
    _board(done.study, quiet)
    if left:
        sys.exit(SOME_LEFT_OUT)


def people(
    file: Path, study: Study, benchmark: str | None, respondent: str, group: str | None, pairs: Sequence[str],
    condition: str | None, options: ImportOptions, quiet: bool,
) -> None:  # fmt: skip
    """Keep the answers of people; where nobody is asked, print the board with their place beside the models."""
    from metacog_pipeline.scoring import people as scoring

    if respondent != "human" or group is None:
        raise StudyError(
            "import: people need both --respondent human and --group COLUMN, the column that names them"
        )
    into = scoring.fitting(study, benchmark)
    kept, who, left = scoring.keep(into, file, group, pairs, condition, options)
    lines = rejected.Lines(left, lambda each: f": row {each.row}: not taken: {each.reason}")
    rejected.report(file, lines, listed=scoring.told(left))
    told = f"{file.name}: {kept} answers of {who} people kept for {into.name}; {len(left)} {printing.rows(left)} not taken"
    printing.say("" if quiet else told, kept=kept, people=who, not_taken=len(left))
    _board(study, quiet)
    if left:
        sys.exit(SOME_LEFT_OUT)


def _board(study: Study, quiet: bool) -> None:
    """Make and print the board where every model is replayed: that asks nobody."""
    from metacog_pipeline.leaderboard import replayed
    from metacog_pipeline.study import digests

    if not replayed.asks_nobody(study):
        digests.note_again(study.home, study.home.people, study.home.imported)
        return
    replayed.publish(study)
    if quiet or printing.wanted():
        return
    from metacog_pipeline.leaderboard.printing import notes, render_board
    from metacog_pipeline.leaderboard.read import board, one_connection

    with one_connection(study.home):
        click.echo(render_board(board(study.home, None), "table"), nl=False)
        click.echo(f"\n{notes(study.home, None)}", nl=False)
