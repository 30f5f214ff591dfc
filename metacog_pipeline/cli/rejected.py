"""FILE.rejected.csv: every row of a table that was not taken, with its reason; three of them are shown."""

from __future__ import annotations

import csv
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any

import click

from metacog_pipeline.files import replacing

SHOWN = 3
_HEADER = ("row", "what", "reason")


@dataclass(frozen=True, slots=True)
class Lines:
    """One line for each of many things, made when it is asked for."""

    of: Collection[Any]
    say: Callable[[Any], str]

    def __len__(self) -> int:
        return len(self.of)

    def __iter__(self) -> Iterator[str]:
        return map(self.say, self.of)


def report(file: Path, *kinds: Lines | list[str], listed: Iterable[tuple[object, str, str]]) -> None:
    """Show the first lines of each kind and write ``listed``, (row, what, reason), beside the file.

    A list of an earlier attempt is overwritten. Where it cannot be written, every line is shown.
    """
    beside = file.with_name(f"{file.name}.rejected.csv")
    total = sum(len(kind) for kind in kinds)
    shown: Iterable[str] = [line for kind in kinds for line in islice(kind, SHOWN)]
    more = total > sum(min(len(kind), SHOWN) for kind in kinds)
    if total or beside.is_file():
        try:
            _write(beside, listed)
        except OSError as error:
            shown, more = chain.from_iterable(kinds), False
            click.echo(f"{beside}: cannot be written ({error.strerror}); every row is listed here", err=True)
    for line in shown:
        click.echo(f"{file.name}{line}", err=True)
    if more:
        click.echo(f"{file.name}: the others are in {beside.name}", err=True)


def _write(beside: Path, listed: Iterable[tuple[object, str, str]]) -> None:
    with replacing(beside) as temporary, temporary.open("w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(_HEADER)
        writer.writerows(listed)
