"""What the answers kept in a home cost: the least its ledger may say was spent.

The ledger is a folder of small files, which somebody may delete, move or restore from a copy. The answers themselves
carry their cost, so whoever opens the budget counts them first. Imported answers do not count: somebody else paid for
them. Of a partition whose Parquet copy is up to date two columns are read, of others every journal. The sums are noted
beside the ledger with the state of the files, so that only what changed is read again; the note has a checksum, and one
without is not believed.
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
from metacog_pipeline.transcripts.journal import segment_sizes, segments
from metacog_pipeline.transcripts.parquet import read_footer
from metacog_pipeline.transcripts.store import kept_records, read_partition

NOTE = "kept.note"  # the records of sessions end in .json
State = list[list[object]]


Found = dict[str, tuple[State, float]]  # dollars that this home paid, by the partition's folder


def kept_cost(home: Home, *, note: bool = True) -> float:
    """Return the dollars of all answers that were asked for under ``home``, judges' and helpers' included.

    A partition that cannot be read counts with what was noted of it last: whoever asks it hears of the damage. ``note``
    writes down what was counted, where the home has a ledger.
    """
    found = _found(home)
    if note and home.ledger.is_dir() and found != _noted(home):
        with contextlib.suppress(OSError):  # without the note the next one counts again
            write_text(home.ledger / NOTE, seal(canonical_json(found).encode()).decode())
    return _paid(found)


def spent_figures(home: Home, cap_usd: float | None) -> Figures:
    """Return what ``home`` has spent and may still spend, as whoever asks next will find it; writes nothing."""
    found = _found(home)
    return read_figures(home, cap_usd, known_spent_usd=_paid(found))


def _found(home: Home) -> Found:
    noted = _noted(home)
    found: Found = {}
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
    return found


def _paid(found: Found) -> float:
    return math.fsum(cost for _, cost in found.values())


def _cost(folder: PartitionFolder) -> float:
    footer = None
    with contextlib.suppress(StoreError):  # the journals tell what a damaged copy cannot
        footer = read_footer(folder.copy)
    sizes = segment_sizes(folder)
    if footer is not None and (
        footer.segments == sizes or not sizes
    ):  # a home that only reads has no journals
        with contextlib.suppress(StoreError):
            kept = read_partition(folder, ["cost_usd", "source"])
            return _sum(zip(kept["cost_usd"].to_pylist(), kept["source"].to_pylist(), strict=True))
    return _sum((record.cost_usd, record.source) for record in kept_records(folder))


def _sum(costs: Iterable[tuple[float | None, str]]) -> float:
    paid = (cost for cost, source in costs if cost is not None and source != "imported")
    return math.fsum(cost for cost in paid if 0 < cost < math.inf)


def _states(home: Home) -> Iterator[tuple[PartitionFolder, State]]:
    """Yield each partition's folder with name, size and time of change of what holds its answers."""
    for folder in kept_folders(home):
        rows: State = []
        for path in (*segments(folder), folder.copy):
            with contextlib.suppress(FileNotFoundError):
                known = path.stat()
                rows.append([path.name, known.st_size, known.st_mtime_ns])
        yield folder, rows


def _noted(home: Home) -> Found:
    """Return what was counted before; nothing where the note is missing, damaged, older, or without a checksum."""
    try:
        line = (home.ledger / NOTE).read_bytes()
        content = json.loads(without_seal(line)) if is_sealed(line) else {}
        return {name: (list(state), float(paid)) for name, (state, paid) in content.items()}
    except (OSError, ValueError, TypeError, AttributeError, RecursionError):
        return {}
