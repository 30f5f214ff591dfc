"""FILE.rejected.csv: every row of a table that was not taken, with its reason; three of them are shown."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from itertools import chain
from pathlib import Path

import click

from metacog_pipeline.files import write_text

SHOWN = 3
_HEADER = ("row", "what", "reason")


def report(file: Path, *kinds: list[str], listed: Iterable[tuple[object, str, str]]) -> None:
    """Show the first lines of each kind and write ``listed``, (row, what, reason), beside the file.

    A list of an earlier attempt is overwritten. Where it cannot be written, every line is shown.
    """
    beside = file.with_name(f"{file.name}.rejected.csv")
    every = list(chain.from_iterable(kinds))
    shown = list(chain.from_iterable(lines[:SHOWN] for lines in kinds))
    if every or beside.is_file():
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(_HEADER)
        writer.writerows(listed)
        try:
            write_text(beside, out.getvalue())
        except OSError as error:
            shown = every
            click.echo(f"{beside}: cannot be written ({error.strerror}); every row is listed here", err=True)
    for line in shown:
        click.echo(f"{file.name}{line}", err=True)
    if len(shown) < len(every):
        click.echo(f"{file.name}: the others are in {beside.name}", err=True)
