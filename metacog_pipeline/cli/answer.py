"""``answer``: everything kept of one call."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from metacog_pipeline.cli import printing
from metacog_pipeline.cli.options import opened, study_argument

LEAST_DIGITS, MOST_DIGITS = 8, 64  # of an id


def _checked(ctx: click.Context, param: click.Parameter, value: str) -> str:
    if not LEAST_DIGITS <= len(value) <= MOST_DIGITS or set(value) - set("0123456789abcdef"):
        raise click.BadParameter(
            f"{value!r} is not an id: give {LEAST_DIGITS} to {MOST_DIGITS} of its digits, 0-9 and a-f"
        )
    return value


@click.command()
@study_argument
@click.argument("answer_id", callback=_checked)
@click.option("--raw", is_flag=True, help="Write the reply's body as it came (keep_raw = true keeps it).")
@printing.json_option
def answer(study_file: Path, answer_id: str, raw: bool) -> None:
    """Print everything kept of one call, as JSON: request, reply, thoughts, tokens, prices, times.

    ANSWER_ID is the answer_id of `calls` in `metacog sql`, or how it begins. A call that failed, was asked again, or
    served several items is printed once for each; with --json they are one list.
    """
    from metacog_pipeline.transcripts import lookup

    records = lookup.records_of(opened(study_file).home, answer_id)
    if raw:
        if printing.wanted():
            raise click.UsageError("--raw and --json: give one of them")
        body = lookup.newest_body(records)
        if sys.stdout.isatty():
            raise click.UsageError(
                "--raw writes what a provider sent as it came: send it to a file with > FILE"
            )
        sys.stdout.buffer.write(body)
        return
    shown = [lookup.shown(record) for record in records]
    for each in [shown] if printing.wanted() else shown:
        printing.value(each, exact=True)
