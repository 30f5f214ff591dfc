"""The rules of what a paper prints: the numbers a benchmark ships, the tests between them, the exhibits drawn of them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

import duckdb
import polars as pl

from metacog_pipeline.conformance.case import Broken, Tried, held
from metacog_pipeline.errors import MetacogError
from metacog_pipeline.leaderboard.build import BrokenError, require_none
from metacog_pipeline.leaderboard.sql_folder import load_project
from metacog_pipeline.scoring.comparisons import as_table
from metacog_pipeline.scoring.printed import fitted
from metacog_pipeline.scoring.schemas import PUBLISHED_CLAIM, PUBLISHED_VALUE

_TABLES = {"values": PUBLISHED_VALUE, "claims": PUBLISHED_CLAIM}


def printed_numbers_stand_on_their_tables(tried: Tried) -> None:
    """Rows that lack what every printed number has are left out of the board, all of them."""
    declared = tried.benchmark.published
    if declared is None:
        return
    for part, schema in _TABLES.items():
        said, to_do = (
            f"{tried.name}.published.{part}",
            f"return a polars frame with columns of published_{part}",
        )
        with held(said, to_do):
            given = getattr(declared, part)(tried.benchmark)
        if not isinstance(given, pl.DataFrame):
            raise Broken(f"{said} returns a {type(given).__name__}; {to_do}")
        with held(
            f"{said}: to put it into the columns of its table",
            "give each the type docs/own_benchmark.md says",
        ):
            kept = fitted(tried.benchmark, given, schema)
        if why := _left_out(f"published_{part}", kept):
            raise Broken(f"{said}: {why}; fill these columns, or leave the rows out (docs/own_benchmark.md)")
    with held(f"{tried.name}.published.contrasts", "yield Comparisons"):
        as_table(tried.benchmark, () if declared.contrasts is None else declared.contrasts(tried.benchmark))


def _left_out(table: str, rows: pl.DataFrame) -> str | None:
    """Return what of the board's own tests of ``table`` the rows break."""
    project = load_project()
    with duckdb.connect() as connection:
        connection.execute("set threads = 1")
        connection.register("given", rows.to_arrow())
        connection.execute(f"create table {table} as from given")
        try:
            tests = [test for model in project.models for test in model.tests]
            for test in (each for each in (*tests, *project.tests) if each.reads == (table,)):
                require_none(connection, test)
        except BrokenError as error:
            return str(error)
    return None


def exhibits_of_the_paper_are_text(tried: Tried) -> None:
    """An exhibit that fails stands on the page of the paper with its error; one may say that there is no board yet."""
    with held(f"{tried.name}.exhibits()", "return Exhibits"):
        exhibits = type(tried.benchmark).exhibits()
    for each in exhibits:
        with held(f"{tried.name}.exhibits()", "return Exhibits"):
            said, render = f"{tried.name}: exhibit {each.number}", each.render
        if render is None:
            continue
        made: object = ""
        to_do = "return text for a study without answers, too"
        with held(said, to_do), contextlib.suppress(MetacogError):
            made = render(tried.benchmark.context.home)
        if not isinstance(made, str):
            raise Broken(f"{said} is a {type(made).__name__}; return text")


CHECKS: tuple[Callable[[Tried], None], ...] = (
    printed_numbers_stand_on_their_tables,
    exhibits_of_the_paper_are_text,
)
