"""``fit``: measures of any table of counts or trials."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import polars as pl

from metacog_pipeline.cli import printing
from metacog_pipeline.cli.options import PATH, quiet_option, scale_option, wide_option, words_option
from metacog_pipeline.errors import StudyError
from metacog_pipeline.files import replacing, write_text
from metacog_pipeline.fitting.columns_given import columns_given
from metacog_pipeline.fitting.fits import Options, fit_file
from metacog_pipeline.interchange.rejected import write_rejected
from metacog_pipeline.leaderboard.output import Format, Rows, render

FORMATS: tuple[Format, ...] = ("table", "csv", "json")
_K = click.IntRange(1, 1000)


class NumberOr(click.FloatRange):
    """A number of a range, or a word that stands for something."""

    def __init__(self, low: float, high: float, **words: str | None) -> None:
        super().__init__(low, high)
        self.words = words
        self.name = f"number from {low:g} to {high:g}, or {', '.join(words)}"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number, or what the word stands for."""
        if value in self.words:
            return self.words[value]
        number = super().convert(value, param, ctx)
        return number if number == number else self.fail(f"{value!r} is not a valid {self.name}.", param, ctx)


def _column(name: str, says: str, **more: Any) -> Callable[[Any], Any]:
    return click.option(name, metavar="COL", help=says, **more)


@click.command()
@click.argument("file", type=PATH)
@_column("--stimulus", "Trials: what was shown, 0 (S1) or 1 (S2).")
@_column("--correct", "Trials: right or wrong (1/0, yes/no), instead of the stimulus.")
@_column("--response", "Trials: what was answered, 0 (S1) or 1 (S2).")
@_column("--confidence", "Trials: confidence, ratings or any numbers.")
@_column("--keep", "Trials known as right or wrong: kept (yes, I know) or not.")
@_column("--group", "Trials: fit each value apart; repeatable.", multiple=True)
@_column("--item", "Trials: which item; where one has several, intervals are over items.")
@_column("--run", "With --item: which run; an item that is twice in a run is rejected.")
@click.option("--labels", metavar="S1,S2", help="Trials: what S1 and S2 are called in the file.")
@words_option
@wide_option
@scale_option
@click.option("--ratings", type=_K, help="Trials: confidence is a rating 1..K, this is K.")
@click.option("--bins", type=_K, help="Trials: cut confidence into this many quantile bins.")
@click.option("--alternatives", metavar="M|COL", help="Of answers right or wrong: among how many.")
@click.option("--padding", type=NumberOr(0, 1000, none=None, auto="auto"), help="Add to each count.")
@click.option("--s", "slope", type=NumberOr(0.01, 100, zroc="zroc"), default=1.0, help="sd(S1)/sd(S2).")
@click.option("--conditional", is_flag=True, help="Fit either response alone as well.")
@click.option("--bootstrap", type=click.IntRange(0, 100_000), default=0, help="Resamples for intervals.")
@click.option("--seed", type=click.IntRange(0), default=0, help="Of resamples and posterior.")
@click.option("--bayes", is_flag=True, help="Add the posterior of the single-subject model.")
@printing.format_option(*FORMATS)
@click.option("--out", "--output", "output", type=PATH, help="Write here instead; must not exist yet.")
@quiet_option
def fit(file: Path, form: Format, output: Path | None, quiet: bool, **given: Any) -> None:
    """Fit FILE: type-1 and type-2 sensitivity, meta-d', efficiency, calibration, d'type2.

    FILE is CSV, TSV, JSON Lines, JSON or Parquet, also .gz, with a row per trial: --correct with --confidence, with --keep
    or with both, or --stimulus and --response with --confidence. COL is a column or a path such as answers[0].p. Of
    answers among several options say how many with --alternatives. Or FILE is a table of counts, columns nR_S1 and nR_S2
    with 2K numbers joined by ";" (S1 with highest confidence first, S2 with highest confidence last) or wide as nR_S1_1,
    nR_S1_2, …; other columns name the cell.

    Every number has an interval and n, or a status that says why not. What was read, used and left out is said; rows that
    cannot be read are listed in FILE.rejected.csv.
    """
    columns = columns_given(given)
    if output is not None and output.exists():
        raise StudyError(f"{output}: exists already; choose another name")
    rest = (given[name] for name in ("padding", "slope", "conditional", "bootstrap", "seed", "bayes"))
    fitted = fit_file(file, columns, Options(*rest))
    rows = Rows(fitted.columns, fitted.rows)
    if output is None:
        click.echo(render(rows, form), nl=False)
    else:
        _write(output, rows, form)
        printing.say(rows=len(rows.rows), wrote=[str(output)])
    rejected = [(each.row, "not used", each.reason) for each in fitted.rejected]
    for line in write_rejected(file, rejected, "line"):
        click.echo(line, err=True)
    if not quiet:
        for note in fitted.notes:
            click.echo(f"{file.name}: {note}", err=True)


def _write(output: Path, rows: Rows, form: Format) -> None:
    """Write what the ending of the file says, else the format."""
    ending: Any = output.suffix.lower().removeprefix(".")
    try:
        if ending == "parquet":
            table = pl.DataFrame(rows.rows, list(rows.columns), orient="row", infer_schema_length=None)
            with replacing(output) as unfinished:
                table.write_parquet(unfinished)
        else:
            write_text(output, render(rows, ending if ending in FORMATS else form))
    except OSError as error:
        raise StudyError(f"{output}: cannot be written ({error.strerror}); choose another place") from None
