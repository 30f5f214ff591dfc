"""FILE.rejected.csv: every row of a table that was not taken, with its reason; three of them are shown."""

from __future__ import annotations

import csv
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any

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


def write_rejected(
    file: Path, *kinds: Lines | list[str], listed: Iterable[tuple[object, str, str]]
) -> Iterator[str]:
    """Write ``listed``, (row, what, reason), beside the file, and return the lines to show: the first of each kind.

    A list of an earlier attempt is overwritten. Where it cannot be written, every line is returned.
    """
    beside = file.with_name(f"{file.name}.rejected.csv")
    total = sum(len(kind) for kind in kinds)
    lines: Iterable[str] = (f"{file.name}{line}" for kind in kinds for line in islice(kind, SHOWN))
    if total > sum(min(len(kind), SHOWN) for kind in kinds):
        lines = chain(lines, [f"{file.name}: the others are in {beside.name}"])
    if total or beside.is_file():
        try:
            with replacing(beside) as temporary, temporary.open("w", encoding="utf-8", newline="") as out:
                writer = csv.writer(out, lineterminator="\n")
                writer.writerow(_HEADER)
                writer.writerows(listed)
        except OSError as error:
            why = f"{beside}: cannot be written ({error.strerror}); every row is listed here"
            lines = chain([why], (f"{file.name}{line}" for line in chain.from_iterable(kinds)))
    return iter(lines)
