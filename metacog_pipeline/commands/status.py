"""``status``: how far a study is, without asking anybody and without Dagster."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from metacog_pipeline.commands import printing
from metacog_pipeline.commands.opening import opened
from metacog_pipeline.commands.options import study_argument
from metacog_pipeline.study import Study

if TYPE_CHECKING:
    from metacog_pipeline.leaderboard.status import PartitionState

DONE = "complete"
SHOWN = 12  # lines; a screen holds them with the summary


@click.command()
@study_argument
@click.option("--all", "everything", is_flag=True, help="List complete partitions as well.")
@click.option(
    "--watch", is_flag=True, help="Follow what is queued or under way until it ends; Ctrl-C stops only this."
)
@printing.format_option("lines", "json")
def status(study_file: Path, everything: bool, watch: bool, form: str) -> None:
    """Say how far a study is: answered, failed and missing per benchmark, dollars spent, whether the boards are current.

    Asks nobody and writes nothing. With --watch it ends with the exit code of what it followed.
    """
    from metacog_pipeline.leaderboard.status import board_current, helper_states, partition_states
    from metacog_pipeline.querying.spent import spent_figures

    study = opened(study_file)
    if watch:
        if everything or form == "json":
            raise click.UsageError("--watch prints lines as things change; leave out --all and JSON")
        from metacog_pipeline.commands.running import launch

        sys.exit(launch(study, flags={"--watch": True}))
    if form == "json":
        printing.value(state_of(study))
        return
    states = [*partition_states(study), *helper_states(study)]
    money = spent_figures(study.home.path, study.study.budget_usd)
    current = board_current(study)
    for benchmark in dict.fromkeys(state.benchmark for state in states):
        click.echo(_summary(benchmark, [state for state in states if state.benchmark == benchmark]))
    # What failed or stopped on the way says why; what was not asked yet says nothing new and comes last.
    shown = (
        states
        if everything
        else sorted((s for s in states if s.state != DONE), key=lambda s: s.state == "missing")
    )
    for state in shown if everything else shown[:SHOWN]:
        why = f": {state.message}" if state.message else ""
        counts = f"{state.n_answered:,} of {state.n_expected:,}"
        click.echo(f"  {state.benchmark}, {state.model}, run {state.run}: {state.state}, {counts}{why}")
    if not everything and len(shown) > SHOWN:
        click.echo(f"  and {len(shown) - SHOWN} more: --all lists them")
    of_budget = "" if money.cap is None else f" of ${money.cap:.2f}"
    click.echo(f"spent ${money.spent:.4f}{of_budget}")
    if not study.home.leaderboard.exists():
        click.echo("there are no boards yet: metacog run builds them")
    else:
        click.echo(
            "the boards are current"
            if current
            else "the boards are older than the answers: metacog run renews them"
        )


def state_of(study: Study) -> dict[str, Any]:
    """Return how far a study is, as data."""
    from metacog_pipeline.leaderboard.status import board_current, helper_states, partition_states
    from metacog_pipeline.querying.spent import spent_figures

    money = spent_figures(study.home.path, study.study.budget_usd)
    return {
        "study": study.study.name,
        "home": str(study.home.path),
        "board_current": board_current(study),
        "spent_usd": money.spent,
        "budget_usd": money.cap,
        "partitions": [asdict(state) for state in [*partition_states(study), *helper_states(study)]],
    }


def _summary(benchmark: str, states: Sequence[PartitionState]) -> str:
    """One line: partitions complete, items answered and failed."""
    complete = f"{sum(state.state == DONE for state in states)} of {len(states)} model runs complete"
    answered, expected = sum(s.n_answered for s in states), sum(s.n_expected for s in states)
    failed = sum(s.n_failed for s in states)
    lost = f", {failed:,} failed" if failed else ""
    return f"{benchmark}: {complete}, {answered:,} of {expected:,} items answered{lost}"
