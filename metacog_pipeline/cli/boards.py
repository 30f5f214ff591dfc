"""``board``, ``compare``, ``sql`` and ``report``: read the leaderboard."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from metacog_pipeline.cli import printing
from metacog_pipeline.cli.options import PATH, opened, study_argument, study_option
from metacog_pipeline.errors import StudyError
from metacog_pipeline.home import Home
from metacog_pipeline.leaderboard.output import FORMATS, Format, Rows, render
from metacog_pipeline.leaderboard.printing import notes, render_board
from metacog_pipeline.leaderboard.read import board as read_board
from metacog_pipeline.leaderboard.read import one_connection, run_query

_COMPARED = (
    *("benchmark", "condition", "measure", "value_a", "value_b"),
    *("difference", "low", "high", "p_holm", "n_items", "better", "low_n"),
)


@click.command()
@click.argument("benchmark", required=False)
@study_option
@printing.format_option(*FORMATS)
def board(benchmark: str | None, study_file: Path, form: Format) -> None:
    """Print the leaderboard of all benchmarks, or of one.

    For people (table, markdown) one line per model; for programs (json, csv) every row of the table `leaderboard`.
    """
    print_board(opened(study_file).home, benchmark, form)


def print_board(home: Home, benchmark: str | None, form: Format) -> None:
    """Print the board of one benchmark, or of all; for people with notes below."""
    with one_connection(home):
        click.echo(render_board(read_board(home, benchmark), form), nl=False)
        if form in ("table", "markdown"):
            click.echo(f"\n{notes(home, benchmark)}", nl=False)


@click.command()
@click.argument("a")
@click.argument("b")
@study_option
@printing.format_option(*FORMATS)
def compare(a: str, b: str, study_file: Path, form: Format) -> None:
    """Compare models A and B of a study on the items both answered: A minus B, paired.

    Score intervals of accuracy and AUROC2, bootstrap over items with all their runs for the others; Holm's correction
    over the whole table. One rule for every benchmark: confidence is 0 to 1, ECE has ten bins; a board may have the
    scale of its paper (MetaMedQA: 1 to 5). ECE and Brier score: less is better. `better` is empty where the data do
    not favour one at p < 0.05; `low_n`: too few right or wrong answers for the interval to be trusted.
    """
    from metacog_pipeline.scoring.cross_benchmark import compare as compare_models

    found = compare_models(opened(study_file), a, b)
    people = form in ("table", "markdown")
    shown = found.drop_nulls("difference").select(_COMPARED) if people else found
    click.echo(render(Rows(tuple(shown.columns), tuple(shown.iter_rows())), form), nl=False)
    if left := found.height - shown.height:
        click.echo(f"{left} of {found.height} tests have no value; column status of --format csv says why.")


# A query may begin with a comment, as in -- What …
@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("query", required=False)
@study_option
@printing.format_option(*FORMATS)
@click.option("--output", type=PATH, help="Write the answer to this file instead: .parquet, .csv or .json.")
def sql(query: str | None, study_file: Path, form: Format, output: Path | None) -> None:
    """Run one read-only query on the leaderboard's DuckDB file.

    Without a query it is read from standard input. Prompts and replies, a row per call, are the table `transcripts`,
    which is read from the Parquet files below the home. "show tables" and "describe TABLE" list what there is.
    """
    home = opened(study_file).home
    if query is None and not sys.stdin.isatty():
        query = sys.stdin.read()
    if not query or not query.strip():
        raise StudyError("query: empty; give one SELECT as an argument or on standard input")
    if output is None:
        return click.echo(render(run_query(home, query), form), nl=False)
    from metacog_pipeline.leaderboard.read import export_query

    rows = export_query(home, query, output)
    printing.say(f"{rows} {'row' if rows == 1 else 'rows'}: {output}", rows=rows, wrote=[str(output)])


@click.command()
@study_argument
@printing.json_option
def report(study_file: Path) -> None:
    """Write the study's boards, figures, published comparisons and transcripts as HTML pages; print where they are.

    The pages are made from the leaderboard as it stands. They open from disk, need no server and load nothing from a
    network. The explorer beside the report, explore/index.html, shows every item with every answer.
    """
    study = opened(study_file)
    from metacog_pipeline.report.page import build_report

    page = build_report(study.home, study.study.name)
    found = page.parent / "explore" / "index.html"
    explorer = str(found) if found.is_file() else None  # none before anything is answered
    printing.say("\n".join(filter(None, (str(page), explorer))), report=str(page), explorer=explorer)
