"""``fit``: measures of any table of counts or trials."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from metacog_pipeline.cli import printing
from metacog_pipeline.cli.options import PATH, quiet_option, scale_option, words_option
from metacog_pipeline.leaderboard.output import FORMATS, Format, Rows, render

if TYPE_CHECKING:
    from metacog_pipeline.stats.confidence_data import Given

_ROLES = ("stimulus", "response", "correct", "confidence", "subject")
_SHOWN = 20  # rows that cannot be used; all are counted by reason
_MODEL = "\0"  # --group without a column: the hierarchical model


def _column(name: str, says: str) -> Callable[[Any], Any]:
    return click.option(name, metavar="COL", help=says)


@click.command()
@click.argument("file", type=PATH, required=False)
@_column("--stimulus", "What was shown: two labels (S1 and S2), or up to ten.")
@_column("--response", "What was answered, in labels of its own or the same.")
@_column("--correct", "Right or wrong, instead of the stimulus.")
@_column("--confidence", "Confidence: ratings or any numbers.")
@_column("--subject", 'Who answered: each is fitted, and averaged; "none" pools them.')
@click.option(
    "--group", "by", metavar="[COL]", multiple=True, is_flag=False, flag_value=_MODEL,
    help="Without COL: add the hierarchical model of the subjects. With COL: fit each value separately; repeatable.",
)  # fmt: skip
@words_option
@scale_option
@click.option("--bins", type=click.IntRange(1, 1000), help="Cut confidence into this many quantile bins.")
@click.option("--alternatives", type=int, metavar="M", help="Of answers right or wrong: among how many.")
@click.option("--seed", type=click.IntRange(0), default=0, help="Of resamples and posteriors.")
@click.option("--preview", is_flag=True, help="Print what is taken for what, and fit nothing.")
@printing.format_option(*FORMATS)
@quiet_option
def fit(file: Path | None, form: Format, quiet: bool, preview: bool, **given: Any) -> None:
    """Fit FILE: type-1 and type-2 sensitivity, meta-d', efficiency, calibration.

    FILE is CSV, TSV, JSON Lines, JSON or Parquet, also .gz, with a row per trial: stimulus and response (or right and
    wrong), confidence, and the subject; each is fitted, then averaged. Columns and codings are inferred, and what was
    taken for what is printed; options name what is not found. Or FILE is a table of counts, columns nR_S1 and nR_S2 with 2K
    numbers joined by ";" (S1 with highest confidence first, S2 with highest confidence last); other columns name the cell.

    Every number has an interval and n, or a status that says why not. Rows that cannot be used are counted by reason.
    """
    from metacog_pipeline.interchange.confidence_tables import fit_table

    by, model = [name for name in given["by"] if name != _MODEL], _MODEL in given["by"]
    if file is None and by and Path(by[-1]).is_file():
        file, model = Path(by.pop()), True  # as in --group FILE
    if file is None:
        raise click.UsageError("Missing argument 'FILE'.")
    fitted = fit_table(file, _given(given, tuple(by)), given["seed"], model=model, preview=preview)
    if not preview:
        click.echo(render(Rows(fitted.columns, fitted.rows), form), nl=False)
    for number, why in fitted.rejected[:_SHOWN]:
        click.echo(f"{file.name}: line {number}: not used: {why}", err=True)
    for note in fitted.notes if preview or not quiet else ():
        click.echo(f"{file.name}: {note}", err=True)


def _given(given: Mapping[str, Any], by: tuple[str, ...]) -> Given:
    """Return what the options say about the table."""
    from metacog_pipeline.interchange.cells import parse_scale, parse_words
    from metacog_pipeline.stats.confidence_data import Given

    roles = {role: given[role] for role in _ROLES if given[role] is not None}
    words: dict[str, list[str]] = {}
    for pair in (part for text in given["words"] for part in text.split(",")):
        column, colon, rest = pair.rpartition(":") if "=" not in pair.partition(":")[0] else ("", "", pair)
        words.setdefault(column.strip() if colon else "", []).append(rest)
    made = {column: parse_words(texts) for column, texts in words.items()}
    return Given(roles, by, made, parse_scale(given["scale"]), given["bins"], given["alternatives"])
