"""What the answers kept in a home cost: the least its ledger may say was spent.

The ledger is a folder of small files, which somebody may delete, move or restore from a copy. The answers themselves
carry their cost, so whoever opens the budget counts them first. Of a partition whose Parquet copy is up to date one column
is read, of others every journal. The sum is noted beside the ledger with the state of the files, so that only what changed
is read again; the note has a checksum, and one without is not believed.
"""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Iterable, Iterator

from metacog_pipeline.checksums import is_sealed, seal, without_seal
from metacog_pipeline.errors import StoreError
from metacog_pipeline.files import canonical_json, write_text
from metacog_pipeline.home import Home
from metacog_pipeline.llm.budget import Figures, read_figures
from metacog_pipeline.transcripts.folder import PartitionFolder, kept_folders
from metacog_pipeline.transcripts.parquet import read_footer, segment_sizes
from metacog_pipeline.transcripts.segments import segments
from metacog_pipeline.transcripts.store import kept_records, read_partition

NOTE = "kept.note"  # the records of sessions end in .json
State = list[list[object]]


def kept_cost(home: Home, *, note: bool = True) -> float:
    """Return the dollars of all answers kept under ``home``, judges' and helpers' included.

    A partition that cannot be read counts with what was noted of it last: whoever asks it hears of the damage. ``note``
    writes down what was counted, where the home has a ledger.
    """
    noted = _noted(home)
    found: dict[str, tuple[State, float]] = {}
    for folder, state in _states(home):
        name = folder.path.relative_to(home.transcripts).as_posix()
        before = noted.get(name)
        if before is not None and before[0] == state:
            found[name] = before
            continue
        try:
            found[name] = state, _cost(folder)
        except StoreError:
            found[name] = [], before[1] if before else 0.0
    if note and found != noted and home.ledger.is_dir():
        with contextlib.suppress(OSError):  # without the note the next one counts again
            write_text(home.ledger / NOTE, seal(canonical_json(found).encode()).decode())
    return math.fsum(cost for _, cost in found.values())


def spent_figures(home: Home, cap_usd: float | None) -> Figures:
    """Return what ``home`` has spent and may still spend, as whoever asks next will find it; writes nothing."""
    return read_figures(home, cap_usd, known_spent_usd=kept_cost(home, note=False))


def _cost(folder: PartitionFolder) -> float:
    footer = None
    with contextlib.suppress(StoreError):  # the journals tell what a damaged copy cannot
        footer = read_footer(folder.copy)
    sizes = segment_sizes(folder)
    if footer is not None and (
        footer.segments == sizes or not sizes
    ):  # a home that only reads has no journals
        with contextlib.suppress(StoreError):
            return _sum(read_partition(folder, ["cost_usd"])["cost_usd"].to_pylist())
    return _sum(record.cost_usd for record in kept_records(folder))


def _sum(costs: Iterable[float | None]) -> float:
    return math.fsum(cost for cost in costs if cost is not None and 0 < cost < math.inf)


def _states(home: Home) -> Iterator[tuple[PartitionFolder, State]]:
    """Yield each partition's folder with name, size and time of change of what holds its answers."""
    for folder in kept_folders(home):
        rows: State = []
        for path in (*segments(folder), folder.copy):
            with contextlib.suppress(FileNotFoundError):
                known = path.stat()
                rows.append([path.name, known.st_size, known.st_mtime_ns])
        yield folder, rows


def _noted(home: Home) -> dict[str, tuple[State, float]]:
    """Return what was counted before; nothing where the note is missing, damaged, or without a checksum."""
    try:
        line = (home.ledger / NOTE).read_bytes()
        content = json.loads(without_seal(line)) if is_sealed(line) else {}
        return {name: (list(state), float(cost)) for name, (state, cost) in content.items()}
    except (OSError, ValueError, TypeError, AttributeError, RecursionError):
        return {}
