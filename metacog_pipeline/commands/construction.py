"""``metamedqa``: build, check, screen and author question sets."""

from __future__ import annotations

import sys
from datetime import date
from pathlib import Path

import click

from metacog_pipeline.benchmarks.metamedqa import stages
from metacog_pipeline.benchmarks.metamedqa.construction import authoring, commands
from metacog_pipeline.benchmarks.metamedqa.construction.commands import Inputs, Report
from metacog_pipeline.benchmarks.metamedqa.construction.records import EDIT_KINDS
from metacog_pipeline.commands.export import export
from metacog_pipeline.errors import StudyError
from metacog_pipeline.study import Study, load_study

FILE = click.Path(path_type=Path)
study = click.option(
    "--study", "study_file", metavar="STUDY", type=FILE, help="Take the data set of this study."
)
parent = click.option(
    "--parent", type=FILE, help="Parent questions, four options each (.jsonl or .jsonl.gz)."
)
edits = click.option("--edits", type=FILE, help="Edit table of the parent questions.")


@click.group()
def metamedqa() -> None:
    """Build, check, screen and author MetaMedQA question sets; export answers."""


@metamedqa.command()
@study
@click.option("--output", type=FILE, help="Write the published layout here instead of the study's items.")
@click.option(
    "--fictional", type=click.IntRange(0), help="How many fictional questions to draw from the pool."
)
@click.option("--seed", type=click.IntRange(0), help="Seed of the draw; the study's own by default.")
def build(study_file: Path | None, output: Path | None, fictional: int | None, seed: int | None) -> None:
    """Build the study's question set and its manifest.

    Parent questions, edits and fictional questions become one file of six-option items; every rule is checked.
    """
    loaded = _study(study_file)
    loaded.home.prepare()
    stages.fetch_sources(loaded)
    section = stages.settings(loaded)
    _print(
        commands.build(
            loaded.home.path,
            section.dataset,
            order=section.order,
            seed=loaded.study.seed if seed is None else seed,
            fictional_count=fictional,
            folder=stages.folder(loaded),
            output=output,
        )
    )


@metamedqa.command()
@click.argument("files", nargs=-1, type=FILE)
@parent
@edits
@click.option(
    "--worksheet", type=FILE, help="Check a filled-in worksheet instead; needs --parent or --study."
)
@study
@click.option("--paper-counts", is_flag=True, help="Print the paper's counts beside the file's.")
def check(
    files: tuple[Path, ...],
    parent: Path | None,
    edits: Path | None,
    worksheet: Path | None,
    study_file: Path | None,
    paper_counts: bool,
) -> None:
    """Check multiple-choice files, an edit table, or a worksheet; exit code 1 when a rule is broken.

    Works on any multiple-choice file in JSON Lines. With --parent the edits between the two are checked too.
    """
    if worksheet is not None:
        _print(commands.check_worksheet(_inputs(study_file, parent, edits), worksheet))
        return
    if not files and parent is None:
        raise StudyError(
            "metamedqa check: nothing to check; give files, or --parent with --edits, or --worksheet"
        )
    _print(commands.check(files, parent=parent, edits=edits, paper_counts=paper_counts))


@metamedqa.command()
@click.argument("file", type=FILE)
def screen(file: Path) -> None:
    """Nominate malformed questions: pictures not shown, lost context, broken tables. A person decides."""
    _print(commands.screen_file(file))


@metamedqa.command()
@click.argument("output", type=FILE)
@study
@parent
@edits
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@click.option("--size", "-k", default=authoring.SAMPLE_SIZE, show_default=True, type=click.IntRange(1))
@click.option("--purpose", default=authoring.PURPOSE, show_default=True, help="Part of the seed.")
@click.option("--exclude", type=FILE, help="A file of item ids not to draw, one a line.")
@click.option(
    "--quota", "quotas", multiple=True, metavar="KIND=N", help="How many of an edit kind (repeatable)."
)
def sample(
    output: Path,
    study_file: Path | None,
    parent: Path | None,
    edits: Path | None,
    seed: int,
    size: int,
    purpose: str,
    exclude: Path | None,
    quotas: tuple[str, ...],
) -> None:
    """Draw items to edit and write one worksheet stub for each to OUTPUT.

    The draw ranks item ids by SHA-256 of "seed:purpose:item_id", so any program agrees and adding an item changes
    little.
    """
    _print(
        commands.sample(
            _inputs(study_file, parent, edits),
            output,
            seed=seed,
            k=size,
            purpose=purpose,
            exclude=_excluded(exclude),
            quotas=_quotas(quotas) or None,
        )
    )


def _decision(accept: bool) -> click.Command:
    verb = "accept" if accept else "reject"

    @click.argument("file", type=FILE)
    @click.argument("items", nargs=-1, required=True)
    @click.option("--auditor", required=True, help="Who decides; written into the record.")
    @click.option("--second", is_flag=True, help="Record this as the second auditor's decision.")
    @study
    @parent
    @edits
    def decide(
        file: Path,
        items: tuple[str, ...],
        auditor: str,
        second: bool,
        study_file: Path | None,
        parent: Path | None,
        edits: Path | None,
    ) -> None:
        inputs = _inputs(study_file, parent, edits)
        today = date.today()
        _print(commands.decide(inputs, file, items, auditor, accept=accept, today=today, second=second))

    decide.__doc__ = (
        f"{verb.capitalize()} the records of ITEMS in FILE, an edit table or worksheet, under a name."
    )
    return click.command(verb)(decide)


metamedqa.add_command(_decision(accept=True))
metamedqa.add_command(_decision(accept=False))


@metamedqa.command()
@click.argument("first", type=FILE)
@click.argument("second", type=FILE)
def agreement(first: Path, second: Path) -> None:
    """Print Cohen's kappa of two auditors' copies of one edit table."""
    _print(commands.compare_auditors(first, second))


metamedqa.add_command(export)


def _inputs(study_file: Path | None, parent: Path | None, edits: Path | None) -> Inputs:
    if parent is not None:
        return commands.inputs_from_files(parent, edits)
    loaded = _study(study_file)
    return commands.inputs_of(loaded.home.path, stages.settings(loaded).dataset, stages.folder(loaded))


def _study(study_file: Path | None) -> Study:
    if study_file is None:
        raise StudyError("metamedqa: give --study STUDY (or --parent FILE where the command takes it)")
    return load_study(study_file)


def _excluded(path: Path | None) -> list[str]:
    if path is None:
        return []
    try:
        return path.read_text(encoding="utf-8").split()
    except (OSError, UnicodeDecodeError) as error:
        raise StudyError(
            f"--exclude {path}: cannot be read ({error}); give a text file of item ids"
        ) from None


def _quotas(words: tuple[str, ...]) -> dict[str, int]:
    quotas: dict[str, int] = {}
    for word in words:
        kind, _, count = word.partition("=")
        if kind not in EDIT_KINDS or not count.isdecimal():
            raise StudyError(f'--quota "{word}": give KIND=N with KIND one of {", ".join(EDIT_KINDS)}')
        quotas[kind] = int(count)
    return quotas


def _print(report: Report) -> None:
    for line in report.lines:
        click.echo(line)
    if not report.ok:
        sys.exit(1)
