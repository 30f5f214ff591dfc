"""From the files of a data set to its items: parent rows, fictional questions, edits, items, every rule checked.

======================  ==========================================  ==========================  ==================
data set                parent and fictional                        edits                       order by default
======================  ==========================================  ==========================  ==================
``published``           fetched sources                             derived from the two files  the published one
``corrected``           the same                                    the same, see ``anomalies``  the published one
``sample``              shipped with this project                   shipped                     the parent's
``custom``              ``parent.jsonl`` and ``fictional.jsonl``    ``edits.jsonl``             the parent's
                        of a folder (or ``.jsonl.gz``)
======================  ==========================================  ==========================  ==================
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from metacog_pipeline.benchmark.seeded_sample import seeded_sample
from metacog_pipeline.benchmarks.metamedqa import sources
from metacog_pipeline.benchmarks.metamedqa.construction import build, edit_table, invariants, records
from metacog_pipeline.benchmarks.metamedqa.construction.anomalies import item_tags
from metacog_pipeline.benchmarks.metamedqa.construction.edit_table import EditTable, Order
from metacog_pipeline.benchmarks.metamedqa.construction.invariants import Violation
from metacog_pipeline.benchmarks.metamedqa.construction.output_rules import OutputRow, check_output
from metacog_pipeline.benchmarks.metamedqa.construction.records import FictionalRow, ParentRow
from metacog_pipeline.benchmarks.metamedqa.items import Item
from metacog_pipeline.errors import SourceError
from metacog_pipeline.files import canonical_json, sha256_hex, shipped, state_of
from metacog_pipeline.home import Home

Dataset = Literal["published", "corrected", "sample", "custom"]
FETCHED = ("published", "corrected")
DEFAULT_FICTIONAL = 100
_FICTIONAL_PREFIX = {"sample": "sample-fictional-", "custom": "custom-fictional-"}


@dataclass(frozen=True, slots=True)
class Build:
    """A finished data set: the items in order, the manifest, and the violations found (anomalies included)."""

    items: tuple[Item, ...]
    manifest: dict[str, Any]
    violations: tuple[Violation, ...]


def load_parent(home: Home, dataset: Dataset, folder: Path | None = None) -> list[ParentRow]:
    """Return the parent rows; ``folder`` is for ``custom``. Raises SourceError when a file is missing or wrong."""
    return list(_once(records.load_parents, _file(home, dataset, "parent", folder)))


def load_fictional(home: Home, dataset: Dataset, folder: Path | None = None) -> list[FictionalRow]:
    """Return the pool of fictional questions; a custom set without the file has none."""
    if dataset == "custom" and _in_folder(folder, "fictional", needed=False) is None:
        return []
    prefix = _FICTIONAL_PREFIX.get(dataset, records.FICTIONAL_PREFIX)
    return list(_once(records.load_fictional, _file(home, dataset, "fictional", folder), prefix))


def select_fictional(
    dataset: Dataset, pool: Sequence[FictionalRow], count: int | None, seed: int
) -> list[FictionalRow]:
    """Return ``count`` English questions in pool order, drawn by SHA-256 rank (purpose ``fictional``).

    By default all of a set's own, 100 of a custom pool with more. Raises SourceError when there are fewer than
    ``count``, or two rows with one id.
    """
    fitting = [row for row in pool if row.language.strip().casefold().startswith("en")]
    if len({row.item_id for row in fitting}) != len(fitting):
        raise SourceError("fictional pool: an item_id is given twice; ids must be unique")
    if count is None:
        count = min(len(fitting), DEFAULT_FICTIONAL) if dataset == "custom" else len(fitting)
    if count > len(fitting):
        raise SourceError(
            f"fictional pool: {count} questions asked for, {len(fitting)} of {len(pool)} rows have a language "
            "starting with 'en'; lower the count or add rows"
        )
    chosen = set(seeded_sample([row.item_id for row in fitting], count, seed, "fictional"))
    return [row for row in fitting if row.item_id in chosen]


def load_or_derive_edits(
    home: Home, dataset: Dataset, parents: Sequence[ParentRow], folder: Path | None = None
) -> EditTable:
    """Return the edit table: from its file, or derived from the parent and the published file."""
    if dataset not in FETCHED:
        edits = records.load_edits(_file(home, dataset, "edits", folder))
        return EditTable(tuple(edits), edit_table.infer_prefix(edits, f"{dataset}-"))
    published = _file(home, dataset, "published", folder)
    return _derived(tuple(parents), published, dataset == "corrected", *state_of(published))


@functools.lru_cache(maxsize=1)  # a step shows the edits, the last one applies them
def _derived(parents: tuple[ParentRow, ...], published: Path, corrected: bool, *state: int) -> EditTable:
    rows = _once(records.load_choice_rows, published)
    quirks = records.load_quirks(shipped("data", "metamedqa", "published_quirks.json"))
    return edit_table.edits_from_published(parents, rows, quirks, apply_corrections=corrected)


def construct(
    home: Home,
    dataset: Dataset,
    *,
    order: Order = "default",
    seed: int = 0,
    fictional_count: int | None = None,
    folder: Path | None = None,
) -> Build:
    """Return the finished data set of files that are at home, shipped, or in ``folder``."""
    parents, pool = load_parent(home, dataset, folder), load_fictional(home, dataset, folder)
    table = load_or_derive_edits(home, dataset, parents, folder)
    return build_items(dataset, parents, pool, table, order=order, seed=seed, fictional_count=fictional_count)


def build_items(
    dataset: Dataset,
    parents: Sequence[ParentRow],
    fictional: Sequence[FictionalRow],
    table: EditTable,
    *,
    order: Order = "default",
    seed: int = 0,
    fictional_count: int | None = None,
) -> Build:
    """Return the finished data set with its manifest, validated.

    Raises SourceError if an edit does not fit, an order is not known, or a rule is broken by an item not known to be
    anomalous.
    """
    options = build.Options(dataset, table.prefix, seed, table.quirks)
    chosen = select_fictional(dataset, fictional, fictional_count, seed)
    wanted = edit_table.item_order(dataset, order, table, parents, chosen)
    items = build.build_items(parents, table.edits, chosen, options, wanted)
    tags = item_tags(items, parents, table.notes)
    items = [
        item.model_copy(update={"tags": tags[item.item_id]}) if item.item_id in tags else item
        for item in items
    ]
    violations = validate(
        parents, table, items, len(chosen), invariants.MEDQA_ROWS if dataset in FETCHED else None
    )
    known = {note.item_id for note in table.notes} if dataset != "corrected" else set()
    broken = [v for v in violations if not v.advisory and v.item_id not in known]
    if broken:
        raise SourceError(
            f"{dataset} data set: {len(broken)} broken rule(s), first {broken[0].render()}; "
            "list them with `construction.reports.check`"
        )
    inputs = {"parent": parents, "edits": table.edits, "fictional": chosen, "fictional_pool": fictional}
    digests = {name: _digest(rows) for name, rows in inputs.items()}
    facts = build.manifest(items, table.edits, options, digests)
    facts |= {
        "anomalies": [asdict(note) for note in table.notes],
        "items_digest": sha256_hex(canonical_json([[item.item_id, item.item_hash] for item in items])),
        "order": order if order != "default" else ("published" if table.order else "parent"),
        "violations": [asdict(violation) for violation in violations],
    }
    return Build(tuple(items), facts, tuple(violations))


def validate(
    parents: Sequence[ParentRow],
    table: EditTable,
    items: Sequence[Item],
    fictional: int,
    expected_rows: int | None = None,
) -> list[Violation]:
    """Check every rule on a finished data set: P1-P4, E1-E8, O1-O7."""
    rows = [OutputRow(build.item_to_row(item), item.item_id, item.source_index) for item in items]
    return [
        *invariants.check_parent(parents, expected_rows, table.prefix),
        *invariants.check_edits(parents, table.edits, table.prefix),
        *check_output(rows, parents, table.edits, fictional, table.prefix),
    ]


def _digest(rows: Sequence[Any]) -> str:
    return sha256_hex("".join(canonical_json(records.fields_of_record(row)) + "\n" for row in rows))


def _once(load: Callable[..., list[Any]], path: Path, *how: str) -> tuple[Any, ...]:
    """Return the rows of a file, read once for each state of it: every step reads what it needs anew."""
    return _loaded(load, path, how, *state_of(path))


@functools.lru_cache(maxsize=3)
def _loaded(load: Callable[..., list[Any]], path: Path, how: tuple[str, ...], *state: int) -> tuple[Any, ...]:
    return tuple(load(path, *how))


def _file(home: Home, dataset: Dataset, what: str, folder: Path | None) -> Path:
    if dataset == "sample":
        return shipped("data", "metamedqa", "sample", f"{what}.jsonl")
    if dataset == "custom":
        return _in_folder(folder, what, needed=True) or Path()
    names = {"parent": "medqa", "published": "metamedqa", "fictional": "glianorex"}
    return sources.load_source(home, names[what])


def _in_folder(folder: Path | None, what: str, *, needed: bool) -> Path | None:
    if folder is None:
        raise SourceError(
            'dataset "custom" needs a folder with parent.jsonl, edits.jsonl and fictional.jsonl'
        )
    if not folder.is_dir():
        raise SourceError(f"{folder}: no such folder; give the folder of a custom data set")
    for name in (f"{what}.jsonl", f"{what}.jsonl.gz"):
        if (folder / name).is_file():
            return folder / name
    if needed:
        hint = ", an empty one where there are no edits yet" if what == "edits" else ""
        raise SourceError(f"{folder}: no {what}.jsonl (or .jsonl.gz); a custom data set needs it{hint}")
    return None
