"""``fit``: measures of any table of counts or trials."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, Literal

import click
import polars as pl

from metacog_pipeline.cli import printing
from metacog_pipeline.cli.options import FoldingCommand, quiet_option, wide_option, words_option
from metacog_pipeline.errors import StudyError
from metacog_pipeline.files import replacing, write_text
from metacog_pipeline.fitting.fits import Fitted, Options, fit_file
from metacog_pipeline.fitting.trials import Columns
from metacog_pipeline.interchange import columns as named
from metacog_pipeline.interchange.rejected import write_rejected
from metacog_pipeline.leaderboard.output import Rows, render

FORMATS: tuple[Literal["table", "csv", "json"], ...] = ("table", "csv", "json")
#: What is written where --out has this ending, whatever --format says of the terminal.
ENDINGS: dict[str, Literal["csv", "json", "parquet"]] = {
    ".csv": "csv",
    ".json": "json",
    ".parquet": "parquet",
}


@click.command(cls=FoldingCommand)
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--stimulus", metavar="COL", help="Trials: what was shown, 0 (S1) or 1 (S2).")
@click.option(
    "--correct", metavar="COL", help="Trials: right or wrong (1/0, yes/no), instead of the stimulus."
)
@click.option("--response", metavar="COL", help="Trials: what was answered, 0 (S1) or 1 (S2).")
@click.option("--confidence", metavar="COL", help="Trials: confidence, ratings or any numbers.")
@click.option("--keep", metavar="COL", help="Trials known as right or wrong: kept (yes, I know) or not.")
@click.option(
    "--group", "groups", metavar="COL", multiple=True, help="Trials: fit each value apart; repeatable."
)
@click.option(
    "--item", metavar="COL", help="Trials: which item; where one has several, intervals are over items."
)
@click.option(
    "--run", metavar="COL", help="With --item: which run; an item that is twice in a run is rejected."
)
@click.option("--labels", metavar="S1,S2", help="Trials: what S1 and S2 are called in the file.")
@words_option
@wide_option
@click.option(
    "--scale", metavar="LOW..HIGH", help="Confidence lies on 0..1, 0..10, 0..100, 1..5 or another scale."
)
@click.option(
    "--ratings", type=click.IntRange(1, 1000), help="Trials: confidence is a rating 1..K, this is K."
)
@click.option(
    "--bins", type=click.IntRange(1, 1000), help="Trials: cut confidence into this many quantile bins."
)
@click.option(
    "--alternatives", metavar="M|COL", help="Trials known as right or wrong: among how many, or the column."
)
@click.option("--padding", default="none", help="Add to each count: none, auto (1/2K), a number.")
@click.option("--s", "slope", default="1", help="sd(S1)/sd(S2), a number, or zroc.")
@click.option("--conditional", is_flag=True, help="Fit either response alone as well.")
@click.option(
    "--bootstrap",
    type=click.IntRange(0, 100_000),
    default=0,
    help="Resamples for intervals of fitted measures.",
)
@click.option("--seed", type=click.IntRange(0), default=0, help="Of resamples and posterior.")
@click.option("--bayes", is_flag=True, help="Add the posterior of the single-subject model.")
@printing.format_option(*FORMATS)
@click.option(
    "--out",
    "--output",
    "output",
    type=click.Path(path_type=Path),
    help="Write here instead, .parquet, .csv or .json by its ending; must not exist yet.",
)
@quiet_option
def fit(
    file: Path, form: Literal["table", "csv", "json"], output: Path | None, quiet: bool, **given: Any
) -> None:
    """Fit FILE: type-1 and type-2 sensitivity, meta-d', efficiency, calibration, d'type2.

    FILE is CSV, TSV, JSON Lines, JSON or Parquet, also .gz, with a row per trial: --correct with --confidence, with --keep
    or with both, or --stimulus and --response with --confidence. COL is a column or a path such as answers[0].p. Of
    answers among several options say how many with --alternatives. Or FILE is a table of counts, columns nR_S1 and nR_S2
    with 2K numbers joined by ";" (S1 with highest confidence first, S2 with highest confidence last) or wide as nR_S1_1,
    nR_S1_2, …; other columns name the cell.

    Every number has an interval and n, or a status that says why not. What was read, used and left out is said; rows that
    cannot be read are listed in FILE.rejected.csv.
    """
    columns = _columns(given)
    if output is not None and output.exists():
        raise StudyError(f"{output}: exists already; choose another name")
    rest = (given[name] for name in ("conditional", "bootstrap", "seed", "bayes"))
    options = Options(_padding(given["padding"]), _slope(given["slope"]), *rest)
    fitted = fit_file(file, columns, options)
    if output is None:
        click.echo(render(Rows(fitted.columns, fitted.rows), form), nl=False)
    else:
        _write(output, fitted, "table" if printing.wanted() else form)
        printing.say(rows=len(fitted.rows), wrote=[str(output)])
    lines = [f" {each.where}: not used: {each.reason}" for each in fitted.rejected]
    listed = [(each.row, "not used", each.reason) for each in fitted.rejected]
    for line in write_rejected(file, lines, listed=listed):
        click.echo(line, err=True)
    if not quiet:
        for note in fitted.notes:
            click.echo(f"{file.name}: {note}", err=True)


def _columns(given: dict[str, Any]) -> Columns | None:
    """Return where a table of trials has what; None for a table of counts."""
    only = (
        "stimulus", "correct", "response", "item", "run", "labels", "groups", "ratings", "bins", "alternatives", "words",
        "wide", "scale",
    )  # fmt: skip
    told = [name for name in only if given[name] not in (None, ())]
    confidence, keep = given["confidence"], given["keep"]
    if confidence is None and keep is None:
        if told:
            names = ", ".join(f"--{_OPTION.get(name, name)}" for name in told)
            raise StudyError(f"{names}: for trials give --confidence too, or --correct and --keep")
        return None
    if confidence is not None and given["stimulus"] is None and given["correct"] is None:
        raise StudyError("--confidence: give --stimulus or --correct beside it, to tell right from wrong")
    if confidence is not None and confidence == given["correct"]:
        raise StudyError(
            f"--confidence {confidence}: is the column of --correct; name that of the confidence"
        )
    if keep is not None and given["correct"] is None:
        raise StudyError("--keep: give --correct beside it, to tell right from wrong")
    if given["ratings"] is not None and given["bins"] is not None:
        raise StudyError(
            "--ratings and --bins: give one of them; confidence is either ratings or cut into bins"
        )
    if given["run"] is not None and given["item"] is None:
        raise StudyError("--run: give --item beside it, to tell which rows are runs of one item")
    shape = named.Shape(given["wide"], named.parse_words(given["words"]))
    same = ("stimulus", "correct", "response", "keep", "groups", "item", "run", "ratings", "bins")
    scale, labels = named.parse_scale(given["scale"]), _labels(given["labels"])
    taken = {name: given[name] for name in (*same, "alternatives")}
    return Columns(confidence, **taken, labels=labels, scale=scale, shape=shape)


_OPTION = {"groups": "group", "words": "map-values"}


def _write(output: Path, fitted: Fitted, form: Literal["table", "csv", "json"]) -> None:
    kind = ENDINGS.get(output.suffix.lower(), form)
    if form != "table" and kind != form:
        raise StudyError(f"{output}: --format {form} is not {output.suffix}; leave one of them out")
    try:
        if kind == "parquet":
            frame = _frame(fitted)
            with replacing(output) as unfinished:
                frame.write_parquet(unfinished)
        else:
            write_text(output, render(Rows(fitted.columns, fitted.rows), kind))
    except OSError as error:
        raise StudyError(f"{output}: cannot be written ({error.strerror}); choose another place") from None


def _frame(fitted: Fitted) -> pl.DataFrame:
    numbers = dict.fromkeys(("value", "low", "high", "sem"), pl.Float64) | dict.fromkeys(
        ("n", "dropped"), pl.Int64
    )
    schema = {name: numbers.get(name, pl.String) for name in fitted.columns}
    return pl.DataFrame(fitted.rows, schema=schema, orient="row")


def _labels(text: str | None) -> tuple[str, str] | None:
    if text is None:
        return None
    parts = [part.strip() for part in text.split(",")]
    if len(parts) != 2 or not all(parts) or parts[0].lower() == parts[1].lower():
        raise StudyError(f"--labels {text}: give two different ones, S1 before S2, as in --labels old,new")
    return parts[0], parts[1]


def _padding(text: str) -> float | Literal["auto"] | None:
    if text == "none":
        return None
    if text == "auto":
        return "auto"
    return _number("--padding", text, "none, auto or a number from 0 to 1000", 0, 1000)


def _slope(text: str) -> float | Literal["zroc"]:
    return "zroc" if text == "zroc" else _number("--s", text, "zroc or a number from 0.01 to 100", 0.01, 100)


def _number(option: str, text: str, wanted: str, least: float, most: float) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not least <= number <= most:
        raise StudyError(f"{option} {text}: give {wanted}")
    return number
