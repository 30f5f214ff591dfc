"""``metacog metacogbench audit``: have people label replies, and see how right the scorers are."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path

import click
import polars as pl

from metacog_pipeline.asking.judging import judgements_path, responses_path
from metacog_pipeline.asking.session import Partition
from metacog_pipeline.benchmark.bound import bound
from metacog_pipeline.benchmarks.metacogbench import audit as auditing
from metacog_pipeline.benchmarks.metacogbench.items import BENCHMARK, TIERS
from metacog_pipeline.cli import printing
from metacog_pipeline.cli.options import study_argument
from metacog_pipeline.errors import StudyError
from metacog_pipeline.files import write_text
from metacog_pipeline.leaderboard.output import FORMATS, Format, Rows, render, to_csv
from metacog_pipeline.study import Study, load_study
from metacog_pipeline.study.frames import read_frame

_FIELD = 10_000_000  # characters of a cell; a reply is shorter


@click.group()
def audit() -> None:
    """Draw replies of MetaCog-Bench for people to label; compare the labels with the scorers."""


_PATH = click.Path(path_type=Path)
_SEED_HELP = "Kept in the key; another seed, another sample."
_TIER_HELP = "Repeatable; by default 2a and 2b."


@audit.command()
@study_argument
@click.option("--n", type=click.IntRange(1), default=200, show_default=True, help="How many replies.")
@click.option("--seed", type=click.IntRange(0), required=True, help=_SEED_HELP)
@click.option("--tier", "tiers", type=click.Choice(TIERS), multiple=True, help=_TIER_HELP)
@click.option("--output", type=_PATH, required=True, help="CSV for the raters; must not exist yet.")
@printing.json_option
def sample(study_file: Path, n: int, seed: int, tiers: tuple[str, ...], output: Path) -> None:
    """Write a stratified sample of STUDY's replies without verdicts, and beside it the key with them."""
    study = load_study(study_file)
    key = key_path(output)
    for path in (output, key):
        if path.exists():
            raise StudyError(f"{path}: exists already; choose another name")
    responses = _kept(study, responses_path)
    if responses is None:
        raise StudyError(
            f"{study.path}: no scored replies of {BENCHMARK}; run metacog run {study.path} first"
        )
    drawn = auditing.draw(responses, n, seed, tiers or auditing.TIERS_BY_CUES)
    tasks = {item.item_id: item.stem for item in bound(study, BENCHMARK).items}
    shown = Rows(auditing.FOR_RATERS, tuple(auditing.for_raters(drawn, tasks)))
    truth = auditing.key_table(drawn, seed, _kept(study, lambda each: judgements_path(study.home, each)))
    kept = Rows(tuple(truth.columns), tuple(truth.iter_rows()))
    try:
        write_text(output, to_csv(shown))
        write_text(key, to_csv(kept))
    except OSError as error:
        raise StudyError(f"{output}: cannot be written ({error.strerror}); choose another place") from None
    fewer = "" if drawn.height == n else f" (all there are, fewer than {n})"
    printing.say(
        f"{output}: {drawn.height} replies{fewer}; write yes or no into the column label. Key: {key}",
        replies=drawn.height,
        wrote=[str(output), str(key)],
    )


@audit.command()
@click.argument("file", type=_PATH)
@click.option("--key", type=_PATH, help="By default the key written beside FILE.")
@printing.format_option(*FORMATS)
def score(file: Path, key: Path | None, form: Format) -> None:
    """Print precision, recall and agreement of the scorers with the labels in FILE."""
    truth = _read(key or key_path(file), auditing.KEY_COLUMNS)
    found = auditing.figures(_read(file, ("sample_id", "label")), truth)
    rows = tuple(
        (each.tier, each.measure, each.found.value, each.found.low, each.found.high, each.found.n,
         each.about if each.found.status == "ok" else f"{each.about}; {each.found.status}")
        for each in found
    )  # fmt: skip
    columns = ("tier", "measure", "estimate", "low", "high", "n", "about")
    click.echo(render(Rows(columns, rows), form), nl=False)


def key_path(output: Path) -> Path:
    """Return where the key of a raters' file stands."""
    return output.with_name(f"{output.stem}.key.csv")


def _kept(study: Study, path_of: Callable[[Partition], Path]) -> pl.DataFrame | None:
    """Return what is kept of all models and runs; None where there is nothing."""
    partitions = [Partition(study, BENCHMARK, spec, run) for spec in study.models for run in study.runs]
    found = [read_frame(path) for path in map(path_of, partitions) if path.exists()]
    return pl.concat(found) if found else None


def _read(path: Path, needed: tuple[str, ...]) -> list[dict[str, str]]:
    """Read a CSV file as a spreadsheet may have saved it: with a byte-order mark, or semicolons."""
    try:
        text = path.read_text("utf-8-sig")
    except OSError as error:
        raise StudyError(f"{path}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise StudyError(f"{path}: not UTF-8; save it as CSV UTF-8") from None
    head = text.split("\n", 1)[0]
    delimiter = ";" if head.count(";") > head.count(",") else ","
    csv.field_size_limit(_FIELD)
    try:
        reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter, restkey="_", restval="")
        names = reader.fieldnames or []
        if lacking := [name for name in needed if name not in names]:
            there = ", ".join(map(str, names))[:200]
            raise StudyError(f"{path}: no column {lacking[0]}; columns are: {there}")
        if twice := [name for name in needed if names.count(name) > 1]:
            raise StudyError(f"{path}: two columns {twice[0]}; keep one")
        return [{name: str(value) for name, value in row.items() if name != "_"} for row in reader]
    except csv.Error as error:
        raise StudyError(f"{path}: not a CSV file ({error})") from None
