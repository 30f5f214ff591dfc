"""``metacog metamedqa``: build, check, screen and author question sets; export one run's answers."""

from __future__ import annotations

import json
import sys
from datetime import date
from pathlib import Path
from typing import Any

import click
import polars as pl

from metacog_pipeline.asking import construction
from metacog_pipeline.asking.judging import responses_path
from metacog_pipeline.asking.session import Partition
from metacog_pipeline.benchmark.item_files import items_path
from metacog_pipeline.benchmarks.metamedqa import MetaMedQA, export, sources
from metacog_pipeline.benchmarks.metamedqa.construction import authoring, reports
from metacog_pipeline.benchmarks.metamedqa.construction.pipeline import FETCHED
from metacog_pipeline.benchmarks.metamedqa.construction.records import EDIT_KINDS
from metacog_pipeline.benchmarks.metamedqa.construction.reports import Inputs, Report
from metacog_pipeline.benchmarks.metamedqa.items import NAME
from metacog_pipeline.cli import printing
from metacog_pipeline.cli.options import study_option
from metacog_pipeline.errors import StudyError
from metacog_pipeline.files import write_text
from metacog_pipeline.scoring.files import run_estimates_path
from metacog_pipeline.study import load_study
from metacog_pipeline.study.frames import read_frame
from metacog_pipeline.transcripts.store import answers_table

FILE = click.Path(path_type=Path)
LAYOUTS = ("records", "samples", "summary")
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
@printing.json_option
def build(study_file: Path | None, output: Path | None, fictional: int | None, seed: int | None) -> None:
    """Build the study's question set and its manifest.

    Parent questions, edits and fictional questions become one file of six-option items; every rule is checked.
    """
    loaded = _study(study_file)
    loaded.context.study.prepare()
    if output is not None:
        if loaded.settings.dataset in FETCHED:
            sources.fetch(loaded.context.home)
        seed = loaded.context.seed if seed is None else seed
        how: dict[str, Any] = {"order": loaded.settings.order, "seed": seed, "fictional_count": fictional}
        _print(reports.build(output, *loaded.files, **how))
        return
    if seed is not None or fictional is not None:
        raise StudyError(
            "metamedqa build: --seed and --fictional need --output; the study's items follow its file"
        )
    done = construction.build(loaded)
    path, rows, dataset = items_path(loaded.context.home, NAME), done.facts["rows"], loaded.settings.dataset
    printing.say(f"{path}: {rows} items ({dataset})", items=rows, dataset=dataset, wrote=[str(path)])


@metamedqa.command()
@click.argument("files", nargs=-1, type=FILE)
@parent
@edits
@click.option(
    "--worksheet", type=FILE, help="Check a filled-in worksheet instead; needs --parent or --study."
)
@study
@click.option("--paper-counts", is_flag=True, help="Print the paper's counts beside the file's.")
@printing.json_option
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
        _print(reports.check_worksheet(_inputs(study_file, parent, edits), worksheet))
        return
    if not files and parent is None:
        raise StudyError(
            "metamedqa check: nothing to check; give files, or --parent with --edits, or --worksheet"
        )
    _print(reports.check(files, parent=parent, edits=edits, paper_counts=paper_counts))


@metamedqa.command()
@click.argument("file", type=FILE)
@printing.json_option
def screen(file: Path) -> None:
    """Nominate malformed questions: pictures not shown, lost context, broken tables. A person decides."""
    _print(reports.screen_file(file))


@metamedqa.command()
@click.argument("output", type=FILE)
@study
@parent
@edits
@click.option("--seed", type=click.IntRange(0), default=0)
@click.option("--size", "-k", "k", default=authoring.SAMPLE_SIZE, type=click.IntRange(1))
@click.option("--purpose", default=authoring.PURPOSE, help="Part of the seed.")
@click.option("--exclude", type=FILE, help="A file of item ids not to draw, one a line.")
@click.option(
    "--quota", "quotas", multiple=True, metavar="KIND=N", help="How many of an edit kind (repeatable)."
)
@printing.json_option
def sample(
    output: Path,
    study_file: Path | None,
    parent: Path | None,
    edits: Path | None,
    exclude: Path | None,
    quotas: tuple[str, ...],
    **drawn: Any,
) -> None:
    """Draw items to edit and write one worksheet stub for each to OUTPUT.

    The draw ranks item ids by SHA-256 of "seed:purpose:item_id", so any program agrees and adding an item changes
    little.
    """
    inputs = _inputs(study_file, parent, edits)
    drawn |= {"exclude": _excluded(exclude), "quotas": _quotas(quotas) or None}
    _print(reports.sample(inputs, output, **drawn))


def _decision(accept: bool) -> click.Command:
    verb = "accept" if accept else "reject"

    @click.argument("file", type=FILE)
    @click.argument("items", nargs=-1, required=True)
    @click.option("--auditor", required=True, help="Who decides; written into the record.")
    @click.option("--second", is_flag=True, help="Record this as the second auditor's decision.")
    @study
    @parent
    @edits
    @printing.json_option
    def decide(
        file: Path,
        items: tuple[str, ...],
        study_file: Path | None,
        parent: Path | None,
        edits: Path | None,
        **how: Any,
    ) -> None:
        inputs = _inputs(study_file, parent, edits)
        _print(reports.decide(inputs, file, items, accept=accept, today=date.today(), **how))

    decide.__doc__ = (
        f"{verb.capitalize()} the records of ITEMS in FILE, an edit table or worksheet, under a name."
    )
    return click.command(verb)(decide)


metamedqa.add_command(_decision(accept=True))
metamedqa.add_command(_decision(accept=False))


@metamedqa.command()
@click.argument("first", type=FILE)
@click.argument("second", type=FILE)
@printing.json_option
def agreement(first: Path, second: Path) -> None:
    """Print Cohen's kappa of two auditors' copies of one edit table."""
    _print(reports.compare_auditors(first, second))


@metamedqa.command("export")
@click.argument("output", type=FILE)
@study_option
@click.option("--model", required=True, help="A model of the study.")
@click.option("--run", type=click.IntRange(1, 99), default=1)
@click.option("--condition", help="One condition; needed by samples and summary when the study has several.")
@click.option(
    "--layout",
    type=click.Choice(LAYOUTS),
    default="records",
    help="records: JSON Lines, one object per item; samples, summary: the JSON files of the public runner.",
)
@printing.json_option
def export_command(
    output: Path, study_file: Path, model: str, run: int, condition: str | None, layout: str
) -> None:
    """Write one run's answers or figures to OUTPUT, a file that must not exist yet."""
    loaded = _study(study_file)
    partition = Partition(loaded.context.study, NAME, loaded.context.study.model(model), run)
    path = responses_path(partition)
    if not path.exists():
        raise StudyError(f"{model}, run {run}: nothing is scored yet; run metacog run {study_file} first")
    if output.exists():
        raise StudyError(f"{output}: exists already; choose another name")
    found = _of_condition(read_frame(path), condition, layout)
    try:
        if layout == "records":
            calls = pl.DataFrame(pl.from_arrow(answers_table(partition.folder))).filter(~pl.col("superseded"))
            export.write_records(output, export.item_records(found, calls))
        elif layout == "samples":
            write_text(output, json.dumps(export.samples(found, loaded.built), indent=1) + "\n")
        else:
            estimates = _of_condition(read_frame(run_estimates_path(partition)), condition, layout)
            write_text(output, json.dumps(export.summary(estimates), indent=1, sort_keys=True) + "\n")
    except OSError as error:
        raise StudyError(f"{output}: cannot be written ({error.strerror}); choose another place") from None
    said = f"{output}: {layout} of {model}, run {run}: {found.height} observations"
    printing.say(said, observations=found.height, wrote=[str(output)])


def _inputs(study_file: Path | None, parent: Path | None, edits: Path | None) -> Inputs:
    if parent is not None:
        return reports.inputs_from_files(parent, edits)
    loaded = _study(study_file)
    return reports.inputs_of(*loaded.files)


def _study(study_file: Path | None) -> MetaMedQA:
    if study_file is None:
        raise StudyError("metamedqa: give --study STUDY (or --parent FILE where the command takes it)")
    found: MetaMedQA = MetaMedQA.of(load_study(study_file))
    return found


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
        printing.say(line)
    printing.say(ok=report.ok, lines=report.lines, rows=report.rows)
    if not report.ok:
        sys.exit(1)


def _of_condition(frame: pl.DataFrame, condition: str | None, layout: str) -> pl.DataFrame:
    names = frame["condition"].unique(maintain_order=True).to_list()
    if condition is None and (layout == "records" or len(names) == 1):
        return frame
    if condition not in names:
        raise StudyError(f"--condition {condition or '(none)'}: give one of {', '.join(names)}")
    return frame.filter(pl.col("condition") == condition)
