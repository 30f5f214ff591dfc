"""``costs``: what each model has cost, and what a provider's invoice says beside it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from metacog_pipeline.cli import printing
from metacog_pipeline.cli.options import PATH, opened, study_argument
from metacog_pipeline.leaderboard.output import FORMATS, Format, Rows, render
from metacog_pipeline.leaderboard.read import run_query

_COSTS = """
select benchmark, model, calls, failed, input_tokens, output_tokens, cost_usd, unpriced, billed_again
from costs order by cost_usd desc, benchmark, model
"""
# What others paid for is on no invoice of ours; days are days in UTC.
_CHARGED = """
select date '1970-01-01' + floor(epoch(started_at) / 86400)::int as day, model_id, sum(cost_usd) as usd
from calls where cost_usd is not null and source <> 'imported' and started_at is not null group by all
"""
_COLUMNS = ("day", "model", "invoice_usd", "charged_usd", "difference_usd")


@click.command()
@study_argument
@click.option("--invoice", type=PATH, metavar="FILE.csv", help="Compare with what a provider has invoiced.")
@printing.format_option(*FORMATS)
def costs(study_file: Path, invoice: Path | None, form: Format) -> None:
    """Print what each model has cost on each benchmark, of all calls that were kept.

    With --invoice a provider's CSV export (a day, a model, dollars per row) stands beside what was charged for the calls
    of that day, per model and day in UTC, and the difference is named. A call that was cut off before it was kept is in
    the ledger at its worst case and in no line of a day; the last line says how much that is.
    """
    study = opened(study_file)
    if invoice is None:
        return click.echo(render(run_query(study.home, _COSTS), form), nl=False)
    from metacog_pipeline.asking.spent import spent_figures
    from metacog_pipeline.llm.invoice import compared, read_invoice

    rows: Any = run_query(study.home, _CHARGED).rows
    lines = compared(read_invoice(invoice), {(day, model): usd for day, model, usd in rows})
    table = tuple((each.day, each.model, each.invoiced, each.charged, each.difference) for each in lines)
    click.echo(render(Rows(_COLUMNS, table), form), nl=False)
    if form in ("table", "markdown"):
        invoiced, charged = sum(each.invoiced for each in lines), sum(each.charged for each in lines)
        spent = spent_figures(study.home, study.study.budget_usd).spent
        beyond = max(0.0, spent - charged)
        click.echo(
            f"\nThe invoice says ${invoiced:.2f}, the kept calls ${charged:.2f}: ${invoiced - charged:+.2f}.\n"
            f"The ledger says ${spent:.2f}; ${beyond:.2f} of it is for calls that were cut off before they were kept."
        )
