"""``status``: how far a study and its batches are, without Dagster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from metacog_pipeline.cli import printing
from metacog_pipeline.cli.options import PATH, opened, study_argument
from metacog_pipeline.study import Study

DONE = "complete"
SHOWN = 12  # lines; a screen holds them with the summary
_COSTS = """
select benchmark, condition, model, calls, failed, input_tokens, output_tokens, cost_usd, unpriced, billed_again
from costs order by cost_usd desc, benchmark, condition, model
"""
# What others paid for is on no invoice of ours; days are days in UTC.
_CHARGED = """
select date '1970-01-01' + floor(epoch(started_at) / 86400)::int as day, model_id, sum(cost_usd) as usd
from transcripts where cost_usd is not null and source <> 'imported' and started_at is not null group by all
"""
_COLUMNS = ("day", "model", "invoice_usd", "charged_usd", "difference_usd")


@click.command()
@study_argument
@click.option("--batches", is_flag=True, help="List the batches the study has submitted instead.")
@click.option("--cancel", metavar="BATCH", help="Have this batch stopped; what it answered is collected.")
@click.option(
    "--give-up", metavar="BATCH", help="Forget this batch, ask again; its worst case counts as spent."
)
@click.option("--costs", is_flag=True, help="Print what each model has cost on each benchmark instead.")
@click.option("--invoice", type=PATH, metavar="FILE.csv", help="Compare with what a provider has invoiced.")
@printing.json_option
def status(
    study_file: Path,
    batches: bool,
    cancel: str | None,
    give_up: str | None,
    costs: bool,
    invoice: Path | None,
) -> None:
    """Print how far a study is: answered, failed and missing per benchmark, dollars spent, whether the boards are current.

    Asks no model and writes nothing.

    With --batches, --cancel or --give-up it lists the batches a study has submitted. Dollars of one that is not settled are
    the most it can cost, which is set aside. `metacog run` collects what has ended.

    With --invoice a provider's CSV export (a day, a model, dollars per row) is compared with what was charged for the calls
    of that day, per model and day in UTC. A call that was cut off before it was kept is in the ledger at its worst case and
    in no line of a day; the last line says how much that is.
    """
    study = opened(study_file)
    if batches or cancel or give_up:
        _print_batches(study, cancel, give_up)
    elif invoice is not None:
        _print_invoice(study, invoice)
    elif costs:
        _print_costs(study)
    elif printing.wanted():
        printing.value(state_of(study))
    else:
        _print_state(study)


def _print_costs(study: Study) -> None:
    """Print what each model has cost on each benchmark and condition, of all calls that were kept."""
    # late: few calls read the leaderboard
    from metacog_pipeline.leaderboard.read import run_query

    printing.table("costs", run_query(study.home, _COSTS))


def _print_invoice(study: Study, invoice: Path) -> None:
    """Print the invoice's dollars next to those charged, per day and model."""
    from metacog_pipeline.asking.spent import spent_figures
    from metacog_pipeline.leaderboard.output import Rows
    from metacog_pipeline.leaderboard.read import run_query
    from metacog_pipeline.llm.invoice import compared, read_invoice

    rows: Any = run_query(study.home, _CHARGED).rows
    lines = compared(read_invoice(invoice), {(day, model): usd for day, model, usd in rows})
    table = tuple((each.day, each.model, each.invoiced, each.charged, each.difference) for each in lines)
    printing.table("invoice", Rows(_COLUMNS, table))
    if not printing.wanted():
        invoiced, charged = sum(each.invoiced for each in lines), sum(each.charged for each in lines)
        spent = spent_figures(study.home, study.study.budget_usd).spent
        beyond = max(0.0, spent - charged)
        click.echo(
            f"\nThe invoice says ${invoiced:.2f}, the kept calls ${charged:.2f}: ${invoiced - charged:+.2f}.\n"
            f"The ledger says ${spent:.2f}; ${beyond:.2f} of it is for calls that were cut off before they were kept."
        )


def state_of(study: Study) -> dict[str, Any]:
    """Return how far a study is, as data."""
    from metacog_pipeline.asking.spent import spent_figures
    from metacog_pipeline.leaderboard.status import partition_states
    from metacog_pipeline.scoring import staleness

    money = spent_figures(study.home, study.study.budget_usd)
    return {
        "study": study.study.name,
        "home": str(study.home),
        "board_current": not staleness.leaderboard_stale(study),
        "spent_usd": money.spent,
        "budget_usd": money.cap,
        "partitions": [asdict(state) for state in partition_states(study)],
    }


def _print_state(study: Study) -> None:
    found = state_of(study)
    states = found["partitions"]
    for benchmark in dict.fromkeys(state["benchmark"] for state in states):
        click.echo(_summary(benchmark, [state for state in states if state["benchmark"] == benchmark]))
    # What failed or stopped on the way says why; what was not asked yet comes last.
    open_ones = sorted((s for s in states if s["state"] != DONE), key=lambda s: s["state"] == "missing")
    for state in open_ones[:SHOWN]:
        where = f"{state['benchmark']}, {state['model']}, run {state['run']}: {state['state']}"
        why = f": {state['message']}" if state["message"] else ""
        click.echo(f"  {where}, {state['n_answered']:,} of {state['n_expected']:,}{why}")
    if len(open_ones) > SHOWN:
        click.echo(f"  and {len(open_ones) - SHOWN} more: --json has all")
    cap = "" if found["budget_usd"] is None else f" of ${found['budget_usd']:.4f}"
    click.echo(f"spent ${found['spent_usd']:.4f}{cap}")
    boards = "current" if found["board_current"] else "older than the answers: metacog run renews them"
    there = study.home.leaderboard.exists()
    click.echo(f"the boards are {boards}" if there else "there are no boards yet: metacog run builds them")
    following = ("board", "--study") if there and found["board_current"] else ("run",)
    printing.next_step(*following, study.path)


def _summary(benchmark: str, states: Sequence[dict[str, Any]]) -> str:
    counts = ("n_answered", "n_expected", "n_failed")
    answered, expected, failed = (sum(state[name] for state in states) for name in counts)
    complete = f"{sum(state['state'] == DONE for state in states)} of {len(states)} model runs complete"
    lost = f", {failed:,} failed" if failed else ""
    return f"{benchmark}: {complete}, {answered:,} of {expected:,} items answered{lost}"


def _print_batches(study: Study, cancel: str | None, give_up: str | None) -> None:
    from metacog_pipeline.asking import batches

    if cancel is not None:
        batches.cancel(study, cancel)
    if give_up is not None:
        batches.give_up(study, give_up)
    rows = batches.rows(study)
    if printing.wanted():
        return printing.value(rows)
    if not rows:
        return click.echo("no batches were submitted")
    printing.records(rows, f"Batches of {study.study.name}")
