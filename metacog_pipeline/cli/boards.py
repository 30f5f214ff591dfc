"""``board``, ``compare``, ``sql``, ``report`` and ``export``: read the leaderboard, write results."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from metacog_pipeline.benchmark.display import board_condition
from metacog_pipeline.cli import printing
from metacog_pipeline.cli.options import PATH, opened, study_argument, study_option
from metacog_pipeline.errors import StudyError
from metacog_pipeline.exporting import FORMATS as EXPORTED
from metacog_pipeline.home import Home
from metacog_pipeline.leaderboard.output import FORMATS, Format, Rows, printable, render, to_table
from metacog_pipeline.leaderboard.printing import notes, render_board
from metacog_pipeline.leaderboard.read import board as read_board
from metacog_pipeline.leaderboard.read import one_connection, run_query, verdict_rows, verdicts
from metacog_pipeline.leaderboard.read import pairs as read_pairs
from metacog_pipeline.leaderboard.verdict import ends, p_text, short, verdict_text

_COMPARED = (
    *("question", "benchmark", "condition", "measure", "family"),
    *("difference", "95 % interval", "p", "n", "verdict", "low_n"),
)


@click.command()
@click.argument("benchmark", required=False)
@study_option
@click.option(
    "--all", "whole", is_flag=True, help="Print the boards of all benchmarks, with every condition."
)
@printing.format_option(*FORMATS)
def board(benchmark: str | None, study_file: Path, whole: bool, form: Format) -> None:
    """Print the verdict: who knows what it knows, by which benchmark, how sure; or a whole board.

    With a BENCHMARK, or --all, one line per model and condition. For programs (json, csv) the rows of the table
    `verdict`, or of the table `leaderboard`.
    """
    home = opened(study_file).home
    if benchmark is None and not whole:
        click.echo(printed_verdict(home, form), nl=False)
        return printing.next_step("report", study_file)
    print_board(home, benchmark, form)
    printing.next_step("show", study_file, "BENCHMARK", "CONDITION", "MODEL", "MEASURE")


def print_board(home: Home, benchmark: str | None, form: Format) -> None:
    """Print the board of one benchmark, or of all; as text with notes below."""
    with one_connection(home):
        click.echo(render_board(read_board(home, benchmark), form), nl=False)
        if form == "table":
            click.echo(f"\n{notes(home, benchmark)}", nl=False)


def printed_verdict(home: Home, form: Format = "table") -> str:
    """Return the verdict of the study at ``home`` as text."""
    if form == "table":
        return verdict_text(verdicts(home))
    return render(verdict_rows(home), form)


@click.command()
@click.argument("a")
@click.argument("b")
@study_option
@printing.format_option(*FORMATS)
def compare(a: str, b: str, study_file: Path, form: Format) -> None:
    """Compare models A and B of a study on the items both answered: A minus B, paired.

    Prints the tests of the study as the board has them: first those that answer a question of the verdict, then the
    exploratory ones. Intervals and p are at the level of the family of tests.
    """
    found = read_pairs(opened(study_file), a, b)
    if form != "table":
        return click.echo(render(found, form), nl=False)
    click.echo(_compared_text(found, a, b), nl=False)
    printing.next_step("show", study_file, "BENCHMARK", "CONDITION", "MODEL", "MEASURE")


def _compared_text(found: Rows, a: str, b: str) -> str:
    """Return the tests of two models as text: those that answer a question of the verdict first, then all others."""
    rows = [dict(zip(found.columns, row, strict=True)) for row in found.rows]
    text = f"{printable(a)} minus {printable(b)}, on the items both answered. p and interval are those of the family.\n"
    for title, answers in (("Primary tests", True), ("Exploratory tests", False)):
        own = [row for row in rows if (row["question"] is not None) is answers and row["value"] is not None]
        if own:
            text += f"\n{title}\n{to_table(Rows(_COMPARED, tuple(map(_compared, own))))}"
    if left := sum(row["value"] is None for row in rows):
        text += f"\n{left} of {len(rows)} tests have no value; column status of --format csv says why.\n"
    return text


def _compared(row: Mapping[str, Any]) -> tuple[object, ...]:
    condition = board_condition(row["task"], row["condition"])
    interval = ends(row["low_adjusted"], row["high_adjusted"])
    about = (row["question"] or "", row["benchmark"], condition, row["measure"], row["family"])
    few = "yes" if row["low_n"] else ""
    tested = (p_text(row["p_adjusted"]), row["n"], row["verdict"] or "", few)
    return (*about, short(row["value"]), interval, *tested)


# A query may begin with a comment, as in -- What …
@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("query", required=False)
@study_option
@printing.format_option(*FORMATS)
def sql(query: str | None, study_file: Path, form: Format) -> None:
    """Run one read-only query on the leaderboard's DuckDB file.

    Without a query it is read from standard input. Prompts and replies, a row per call, are the table `transcripts`,
    which is read from the Parquet files below the home. "show tables" and "describe TABLE" list what there is.
    """
    home = opened(study_file).home
    if query is None and not sys.stdin.isatty():
        query = sys.stdin.read()
    if not query or not query.strip():
        raise StudyError("query: empty; give one SELECT as an argument or on standard input")
    click.echo(render(run_query(home, query), form), nl=False)


@click.command()
@study_argument
@printing.json_option
def report(study_file: Path) -> None:
    """Write the study's boards, figures, published comparisons and transcripts as HTML pages; print where they are.

    The pages show the leaderboard as it is. They open from disk, need no server and load nothing from a
    network. The explorer, explore/index.html, shows every item with every answer.
    """
    study = opened(study_file)
    from metacog_pipeline.report.page import build_report

    page = build_report(study.home, study.study.name)
    found = page.parent / "explore" / "index.html"
    # none before anything is answered
    explorer = str(found) if found.is_file() else None
    printing.say("\n".join(filter(None, (str(page), explorer))), report=str(page), explorer=explorer)
    printing.next_step("show", study_file, "BENCHMARK", "ITEM")


@click.command()
@study_argument
@click.option(
    "--to", "target", type=PATH, metavar="PATH", required=True, help="A new folder; of a bundle a new file."
)
@click.option(
    "--format", "form", type=click.Choice(EXPORTED), required=True, help="What others read it with."
)
@printing.json_option
def export(study_file: Path, target: Path, form: str) -> None:
    """Write the results of a study to a new folder, in a format that others read.

    Keys, credentials and personal paths are taken out; items whose licence forbids copies leave as id and digest. No model
    is asked, and no existing file is overwritten. The same study gives the same bytes.

    `bundle` is one zip archive that a paper can cite: study file, items, every answer, versions, seed, checksums and all
    tables; `metacog doctor --bundle` rebuilds the boards from it.
    """
    from metacog_pipeline.exporting import bundle, formats

    study = opened(study_file)
    line = bundle.write(study, target) if form == "bundle" else formats.write(study, target, form)
    printing.say(f"wrote {target}: {line}", wrote=[str(target)], told=[line])
