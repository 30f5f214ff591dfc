"""What each model has cost, and what a provider's invoice says of the same calls: ``status --costs`` and ``--invoice``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from metacog_pipeline.cli import printing
from metacog_pipeline.leaderboard.output import Rows
from metacog_pipeline.leaderboard.read import run_query
from metacog_pipeline.study import Study

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


def print_costs(study: Study) -> None:
    """Print what each model has cost on each benchmark and condition, of all calls that were kept."""
    printing.table("costs", run_query(study.home, _COSTS))


def print_invoice(study: Study, invoice: Path) -> None:
    """Print the invoice's dollars next to those charged, per day and model."""
    from metacog_pipeline.asking.spent import spent_figures
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
