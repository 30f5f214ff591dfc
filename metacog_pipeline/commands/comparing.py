"""``compare``: which of two models is better, on the items both answered."""

from __future__ import annotations

from pathlib import Path

import click

from metacog_pipeline.commands import printing
from metacog_pipeline.commands.opening import opened
from metacog_pipeline.commands.options import study_option
from metacog_pipeline.leaderboard.output import FORMATS, Format, render
from metacog_pipeline.leaderboard.read import Rows
from metacog_pipeline.scoring.cross_benchmark import compare as compare_models

_SHOWN = (
    *("benchmark", "condition", "measure", "value_a", "value_b"),
    *("difference", "low", "high", "p_holm", "n_items", "better", "low_n"),
)


@click.command()
@click.argument("a")
@click.argument("b")
@study_option
@printing.format_option(*FORMATS)
def compare(a: str, b: str, study_file: Path, form: Format) -> None:
    """Compare models A and B of a study on the items both answered: A minus B, paired.

    Score intervals of accuracy and AUROC2, bootstrap over items with all their runs for the others; Holm's correction
    over the whole table. ECE and Brier score: less is better. `better` is empty where the data do not favour one at
    p < 0.05; `low_n`: too few right or wrong answers for the interval to be trusted.
    """
    found = compare_models(opened(study_file), a, b)
    shown = found.select(_SHOWN) if form in ("table", "markdown") else found
    click.echo(render(Rows(tuple(shown.columns), tuple(shown.iter_rows())), form), nl=False)
