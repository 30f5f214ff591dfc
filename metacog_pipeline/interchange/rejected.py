"""FILE.rejected.csv: every row of a file that was not taken, with its reason; three of each sort are shown."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from metacog_pipeline.files import replacing

SHOWN = 3


def write_rejected(file: Path, rejected: Sequence[tuple[object, str, str]], kind: str = "") -> list[str]:
    """Write (row, what, reason) next to the file, and return the lines to show: the first of each ``what``.

    A list of an earlier attempt is overwritten. Where it cannot be written, every line is returned.
    """
    beside = file.with_name(f"{file.name}.rejected.csv")
    seen, lines, shown = Counter[str](), [], []
    for row, what, reason in rejected:
        of = kind or ("row" if isinstance(row, int) else "sample")
        lines.append(f"{file.name}: {f'{of} {row}: {what}: ' if row != '' else ''}{reason}")
        seen[what] += 1
        shown += lines[-1:] if seen[what] <= SHOWN else []
    if rejected or beside.is_file():
        try:
            with replacing(beside) as temporary, temporary.open("w", encoding="utf-8", newline="") as out:
                csv.writer(out, lineterminator="\n").writerows([("row", "what", "reason"), *rejected])
        except OSError as error:
            return [f"{beside}: cannot be written ({error.strerror}); every row is listed here", *lines]
    return shown if len(shown) == len(lines) else [*shown, f"{file.name}: the others are in {beside.name}"]
