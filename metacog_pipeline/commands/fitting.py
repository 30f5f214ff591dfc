"""``fit``: meta-d' of any table of counts or trials."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Literal

import click

from metacog_pipeline.commands.options import quiet_option
from metacog_pipeline.errors import StudyError
from metacog_pipeline.files import write_text
from metacog_pipeline.fitting.fits import Options, fit_file
from metacog_pipeline.fitting.tables import Columns
from metacog_pipeline.leaderboard.output import render
from metacog_pipeline.leaderboard.read import Rows

FORMATS: tuple[Literal["table", "csv", "json"], ...] = ("table", "csv", "json")


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--stimulus", metavar="COL", help="Trials: what was shown, 0 (S1) or 1 (S2).")
@click.option("--correct", metavar="COL", help="Trials: 0 or 1, instead of the stimulus.")
@click.option("--response", metavar="COL", help="Trials: what was answered, 0 (S1) or 1 (S2).")
@click.option("--confidence", metavar="COL", help="Trials: confidence, ratings or any numbers.")
@click.option(
    "--group", "groups", metavar="COL", multiple=True, help="Trials: fit each value apart; repeatable."
)
@click.option("--labels", metavar="S1,S2", help="Trials: what S1 and S2 are called in the file.")
@click.option(
    "--ratings", type=click.IntRange(1, 1000), help="Trials: confidence is a rating 1..K, this is K."
)
@click.option(
    "--bins", type=click.IntRange(1, 1000), help="Trials: cut confidence into this many quantile bins."
)
@click.option(
    "--alternatives", metavar="M|COL", help="Trials known as right or wrong: among how many, or the column."
)
@click.option(
    "--padding", default="none", show_default=True, help="Add to each count: none, auto (1/2K), a number."
)
@click.option("--s", "slope", default="1", show_default=True, help="sd(S1)/sd(S2), a number, or zroc.")
@click.option("--conditional", is_flag=True, help="Fit either response alone as well.")
@click.option(
    "--bootstrap",
    type=click.IntRange(0, 100_000),
    default=0,
    show_default=True,
    help="Resamples for intervals of meta-d'.",
)
@click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, help="Of resamples and posterior."
)
@click.option("--bayes", is_flag=True, help="Add the posterior of the single-subject model.")
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    default="table",
    show_default=True,
    help="How to print it.",
)
@click.option("--output", type=click.Path(path_type=Path), help="Write here instead; must not exist yet.")
@quiet_option
def fit(
    file: Path,
    stimulus: str | None,
    correct: str | None,
    response: str | None,
    confidence: str | None,
    groups: tuple[str, ...],
    labels: str | None,
    ratings: int | None,
    bins: int | None,
    alternatives: str | None,
    padding: str,
    slope: str,
    conditional: bool,
    bootstrap: int,
    seed: int,
    bayes: bool,
    form: Literal["table", "csv", "json"],
    output: Path | None,
    quiet: bool,
) -> None:
    """Fit sensitivity, criterion, type-2 area and meta-d' to FILE (CSV, TSV, JSON Lines, JSON, Parquet).

    FILE is a table of counts, columns nR_S1 and nR_S2 with 2K numbers joined by ";" (S1 with highest confidence first,
    S2 with highest confidence last) or wide as nR_S1_1, nR_S1_2, …; other columns name the cell. Or it is a table of
    trials: --confidence with --stimulus and --response, or with --correct. Where the response is not binary, what is
    fitted is the efficiency of a choice among --alternatives, a number or a column, and confidence may have any scale.

    Every number has an interval and n, or a status that says why not.
    """
    columns = _columns(confidence, stimulus, correct, response, groups, labels, ratings, bins, alternatives)
    if output is not None and output.exists():
        raise StudyError(f"{output}: exists already; choose another name")
    options = Options(_padding(padding), _slope(slope), conditional, bootstrap, seed, bayes)
    fitted = fit_file(file, columns, options)
    text = render(Rows(fitted.columns, fitted.rows), form)
    if output is None:
        click.echo(text, nl=False)
    else:
        _write(output, text)
    if not quiet:
        for note in fitted.notes:
            click.echo(f"{file.name}: {note}", err=True)


def _columns(
    confidence: str | None,
    stimulus: str | None,
    correct: str | None,
    response: str | None,
    groups: tuple[str, ...],
    labels: str | None,
    ratings: int | None,
    bins: int | None,
    alternatives: str | None,
) -> Columns | None:
    """Return where a table of trials has what; None for a table of counts."""
    given: dict[str, object] = {
        "--stimulus": stimulus,
        "--correct": correct,
        "--response": response,
        "--labels": labels,
    }
    given |= {"--group": groups or None, "--ratings": ratings, "--bins": bins, "--alternatives": alternatives}
    if confidence is not None:
        if stimulus is None and correct is None:
            raise StudyError("--confidence: give --stimulus or --correct beside it, to tell right from wrong")
        if ratings is not None and bins is not None:
            raise StudyError(
                "--ratings and --bins: give one of them; confidence is either ratings or cut into bins"
            )
        return Columns(
            confidence, stimulus, correct, response, groups, ratings, bins, _labels(labels), alternatives
        )
    if any(value is not None for value in given.values()):
        names = ", ".join(name for name, value in given.items() if value is not None)
        raise StudyError(f"{names}: for trials give --confidence too")
    return None


def _write(output: Path, text: str) -> None:
    try:
        write_text(output, text)
    except OSError as error:
        raise StudyError(f"{output}: cannot be written ({error.strerror}); choose another place") from None


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
