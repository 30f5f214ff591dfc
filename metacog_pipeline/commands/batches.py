"""``batches``: where the batches of a study stand."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from metacog_pipeline.commands import printing
from metacog_pipeline.commands.opening import opened
from metacog_pipeline.commands.options import study_argument
from metacog_pipeline.leaderboard.output import to_table
from metacog_pipeline.leaderboard.read import Rows

HEADINGS = (
    "batch",
    "model",
    "benchmark",
    "run",
    "state",
    "at the provider",
    "age",
    "requests",
    "answered",
    "dollars",
)
HOUR_S, MINUTE_S = 3600.0, 60.0


@click.command()
@study_argument
@click.option(
    "--cancel", metavar="BATCH", help="Ask the provider to stop this batch; what it answered is collected."
)
@click.option(
    "--give-up", metavar="BATCH", help="Forget this batch: ask again; its worst case counts as spent."
)
@printing.format_option("table", "json")
def batches(study_file: Path, cancel: str | None, give_up: str | None, form: str) -> None:
    """List the batches a study has submitted: state, age, requests, cost.

    Dollars are what a batch has cost, or with "<=" the most it can cost, which is set aside. `metacog run` collects
    what has ended.
    """
    from metacog_pipeline.asking import batches as listed

    study = opened(study_file)
    if cancel is not None:
        listed.cancel(study, cancel)
    if give_up is not None:
        listed.give_up(study, give_up)
    rows = listed.rows(study)
    if form == "json":
        printing.value([asdict(row) for row in rows])
        return
    if not rows:
        click.echo("no batches were submitted")
        return
    table = tuple(
        (
            *(
                row.mark,
                row.model,
                row.benchmark,
                row.run,
                row.state,
                row.at_provider or "-",
                _age(row.age_s),
            ),
            *(
                row.requests,
                "-" if row.answered is None else row.answered,
                _dollars(row.cost_usd, row.settled),
            ),
        )
        for row in rows
    )
    click.echo(to_table(Rows(HEADINGS, table), title=f"Batches of {study.study.name}"))
    for row in rows:
        if row.message is not None:
            click.echo(f"{row.mark}: {row.message}")


def _age(seconds: float) -> str:
    if seconds >= HOUR_S:
        return f"{seconds / HOUR_S:.1f} h"
    return f"{seconds / MINUTE_S:.0f} min" if seconds >= MINUTE_S else f"{seconds:.0f} s"


def _dollars(usd: float | None, settled: bool) -> str:
    if usd is None:
        return "no price"
    return f"{usd:.4f}" if settled else f"<= {usd:.4f}"
