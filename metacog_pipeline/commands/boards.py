"""``board`` and ``sql``: read the leaderboard."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from metacog_pipeline.commands import printing
from metacog_pipeline.commands.opening import opened
from metacog_pipeline.commands.options import study_option
from metacog_pipeline.commands.prompting import prompt
from metacog_pipeline.errors import StudyError, suggestion
from metacog_pipeline.leaderboard.output import FORMATS, Format, render
from metacog_pipeline.leaderboard.printing import notes, render_board
from metacog_pipeline.leaderboard.read import board as read_board
from metacog_pipeline.leaderboard.read import one_connection, run_query


@click.command()
@click.argument("benchmark", required=False)
@study_option
@click.option("--official", is_flag=True, help="The last board at a moment when nothing was missing.")
@printing.format_option(*FORMATS)
def board(benchmark: str | None, study_file: Path, official: bool, form: Format) -> None:
    """Print the leaderboard of all benchmarks, or of one.

    For people (table, markdown) one line per model; for programs (json, csv) every row of the table `leaderboard`.
    """
    home = opened(study_file).home.path
    with one_connection(home):
        rows = read_board(home, benchmark, official=official)
        click.echo(render_board(rows, form), nl=False)
        if form in ("table", "markdown"):
            click.echo(f"\n{notes(home, benchmark)}", nl=False)


@click.command()
@click.argument("query", required=False)
@study_option
@printing.format_option(*FORMATS)
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    help="Write the answer to this file instead: .parquet, .csv or .json.",
)
@click.option("--saved", help="Ask one of the queries that come with the program: profile, reliability, …")
@click.option("--dictionary", is_flag=True, help="Print what every table and column means, as Markdown.")
def sql(
    query: str | None,
    study_file: Path,
    form: Format,
    output: Path | None,
    saved: str | None,
    dictionary: bool,
) -> None:
    """Ask the leaderboard's DuckDB file one read-only query.

    Without a query it is read from standard input; on a terminal a prompt with a history takes one after another. Texts of
    prompts and replies stand in the attached file `texts`: join texts.answers by answer_id.
    """
    home = opened(study_file).home.path
    if dictionary:
        from metacog_pipeline.leaderboard import dictionary as said

        if printing.wanted():
            printing.value(said.tables(home))
        else:
            click.echo(said.dictionary(home), nl=False)
        return
    if saved is not None:
        from metacog_pipeline.leaderboard.dictionary import saved_queries

        known = saved_queries()
        if saved not in known:
            raise StudyError(
                f'--saved "{saved}": no such query{suggestion(saved, known)}; there are: {", ".join(sorted(known))}'
            )
        query = known[saved]
    if query is None and output is None and sys.stdin.isatty():
        prompt(home, lambda said: render(run_query(home, said), form))
        return
    if query is None:
        query = sys.stdin.read()
    if not query.strip():
        raise StudyError("query: empty; give one SELECT as an argument or on standard input")
    if output is not None:
        from metacog_pipeline.leaderboard.export import export_query

        rows = export_query(home, query, output)
        printing.say(f"{rows} rows: {output}", rows=rows, wrote=[str(output)])
        return
    click.echo(render(run_query(home, query), form), nl=False)
