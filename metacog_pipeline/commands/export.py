"""``metamedqa export``: one run's answers in the layouts other tools read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

import click
import polars as pl

from metacog_pipeline.benchmarks.common.files import read_frame
from metacog_pipeline.benchmarks.common.scoring import estimates_path, observations_path
from metacog_pipeline.benchmarks.metamedqa import records, stages
from metacog_pipeline.commands.options import study_option
from metacog_pipeline.errors import StudyError
from metacog_pipeline.files import write_text
from metacog_pipeline.querying.session import Partition
from metacog_pipeline.study import load_study
from metacog_pipeline.transcripts.store import read_partition

LAYOUTS = ("records", "samples", "summary")


@click.command()
@click.argument("output", type=click.Path(path_type=Path))
@study_option
@click.option("--model", required=True, help="A model of the study.")
@click.option("--run", type=click.IntRange(1, 99), default=1, show_default=True)
@click.option("--condition", help="One condition; needed by samples and summary when the study has several.")
@click.option(
    "--layout",
    type=click.Choice(LAYOUTS),
    default="records",
    show_default=True,
    help="records: JSON Lines, one object per item; samples, summary: the JSON files of the public runner.",
)
def export(
    output: Path,
    study_file: Path,
    model: str,
    run: int,
    condition: str | None,
    layout: Literal["records", "samples", "summary"],
) -> None:
    """Write one run's answers or figures to OUTPUT, a file that must not exist yet."""
    study = load_study(study_file)
    partition = Partition(study, stages.BENCHMARK, study.model(model), run)
    path = observations_path(partition)
    if not path.exists():
        raise StudyError(f"{model}, run {run}: nothing is scored yet; run metacog run {study_file} first")
    if output.exists():
        raise StudyError(f"{output}: exists already; choose another name")
    found = _of_condition(read_frame(path), condition, layout)
    try:
        if layout == "records":
            calls = pl.DataFrame(pl.from_arrow(read_partition(partition.folder)))
            rows = records.item_records(found, calls)
            records.write_records(output, rows)
        elif layout == "samples":
            write_text(
                output, json.dumps(records.samples(found, stages.selected_items(study)), indent=1) + "\n"
            )
        else:
            estimates = _of_condition(read_frame(estimates_path(partition)), condition, layout)
            write_text(output, json.dumps(records.summary(estimates), indent=1, sort_keys=True) + "\n")
    except OSError as error:
        raise StudyError(f"{output}: cannot be written ({error.strerror}); choose another place") from None
    click.echo(f"{output}: {layout} of {model}, run {run}: {found.height} observations")


def _of_condition(frame: pl.DataFrame, condition: str | None, layout: str) -> pl.DataFrame:
    names = frame["condition"].unique(maintain_order=True).to_list()
    if condition is None and (layout == "records" or len(names) == 1):
        return frame
    if condition not in names:
        raise StudyError(f"--condition {condition or '(none)'}: give one of {', '.join(names)}")
    return frame.filter(pl.col("condition") == condition)
