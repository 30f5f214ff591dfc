"""FILE.rejected.csv: every row of a table that was not taken, with its reason; three of each sort are shown."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from metacog_pipeline.files import replacing

SHOWN = 3
_HEADER = ("row", "what", "reason")


def write_rejected(file: Path, rejected: Sequence[tuple[object, str, str]], kind: str = "row") -> list[str]:
    """Write (row, what, reason) next to the file, and return the lines to show: the first of each ``what``.

    A list of an earlier attempt is overwritten. Where it cannot be written, every line is returned.
    """
    beside = file.with_name(f"{file.name}.rejected.csv")
    lines = [
        f"{file.name}: {reason}" if row == "" else f"{file.name}: {kind} {row}: {what}: {reason}"
        for row, what, reason in rejected
    ]
    seen: Counter[str] = Counter()
    shown = []
    for (_, what, _), line in zip(rejected, lines, strict=True):
        seen[what] += 1
        if seen[what] <= SHOWN:
            shown.append(line)
    if rejected or beside.is_file():
        try:
            with replacing(beside) as temporary, temporary.open("w", encoding="utf-8", newline="") as out:
                writer = csv.writer(out, lineterminator="\n")
                writer.writerow(_HEADER)
                writer.writerows(rejected)
        except OSError as error:
            return [f"{beside}: cannot be written ({error.strerror}); every row is listed here", *lines]
    return shown if len(shown) == len(lines) else [*shown, f"{file.name}: the others are in {beside.name}"]
