"""The stages of construction as functions of a study's home: parent, fictional, edits, items.

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

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from metacog_pipeline.benchmarks.metamedqa import sources
from metacog_pipeline.benchmarks.metamedqa.construction import build, records
from metacog_pipeline.benchmarks.metamedqa.construction.anomalies import item_tags
from metacog_pipeline.benchmarks.metamedqa.construction.edit_table import (
    EditTable,
    Order,
    edits_from_published,
    infer_prefix,
    item_order,
)
from metacog_pipeline.benchmarks.metamedqa.construction.fictional import select_fictional
from metacog_pipeline.benchmarks.metamedqa.construction.files import (
    MANIFEST_FILE,
    items_path,
    write_items,
    write_manifest,
)
from metacog_pipeline.benchmarks.metamedqa.construction.invariants import (
    MEDQA_ROWS,
    Violation,
    check_edits,
    check_parent,
)
from metacog_pipeline.benchmarks.metamedqa.construction.output_rules import OutputRow, check_output
from metacog_pipeline.benchmarks.metamedqa.construction.records import (
    EditRecord,
    FictionalRow,
    ParentRow,
)
from metacog_pipeline.benchmarks.metamedqa.items import Item
from metacog_pipeline.errors import SourceError
from metacog_pipeline.files import canonical_json, sha256_hex, shipped

Dataset = Literal["published", "corrected", "sample", "custom"]
DEFAULT_FICTIONAL = 100
_FICTIONAL_PREFIX = {"sample": "sample-fictional-", "custom": "custom-fictional-"}


@dataclass(frozen=True, slots=True)
class Build:
    """A finished data set: the items in order, the manifest, and the violations found (anomalies included)."""

    items: tuple[Item, ...]
    manifest: dict[str, Any]
    violations: tuple[Violation, ...]


def load_parent(home: Path, dataset: Dataset, folder: Path | None = None) -> list[ParentRow]:
    """Return the parent rows; ``folder`` is for ``custom``. Raises SourceError when a file is missing or wrong."""
    return records.load_parents(_file(home, dataset, "parent", folder))


def load_fictional(home: Path, dataset: Dataset, folder: Path | None = None) -> list[FictionalRow]:
    """Return the pool of fictional questions; a custom set without the file has none."""
    if dataset == "custom" and _in_folder(folder, "fictional", needed=False) is None:
        return []
    prefix = _FICTIONAL_PREFIX.get(dataset, records.FICTIONAL_PREFIX)
    return records.load_fictional(_file(home, dataset, "fictional", folder), prefix)


def load_or_derive_edits(
    home: Path, dataset: Dataset, parents: Sequence[ParentRow], folder: Path | None = None
) -> EditTable:
    """Return the edit table: from its file, or derived from the parent and the published file."""
    if dataset in ("sample", "custom"):
        edits = records.load_edits(_file(home, dataset, "edits", folder))
        return EditTable(tuple(edits), infer_prefix(edits, f"{dataset}-"))
    rows = records.load_choice_rows(_file(home, dataset, "published", folder))
    quirks = records.load_quirks(shipped("data", "metamedqa", "published_quirks.json"))
    return edits_from_published(parents, rows, quirks, apply_corrections=dataset == "corrected")


def build_items(
    dataset: Dataset,
    parents: Sequence[ParentRow],
    fictional: Sequence[FictionalRow],
    table: EditTable,
    *,
    order: Order = "default",
    seed: int = 0,
    fictional_count: int | None = None,
    limit: int | None = None,
) -> Build:
    """Return the finished data set with its manifest, validated.

    ``fictional_count`` questions are drawn from the pool; by default all of a set's own, 100 of a custom pool with
    more. ``limit`` keeps that many items, drawn by ``seed``, for trials.

    Raises
    ------
    SourceError
        If an edit does not fit, an order is not known, or a rule is broken by an item not known to be anomalous.
    """
    options = build.Options(dataset, table.prefix, seed, table.quirks)
    chosen = select_fictional(fictional, _fictional_count(dataset, fictional, fictional_count), seed)
    wanted = item_order(dataset, order, table, parents, chosen)
    items = build.build_items(parents, table.edits, chosen, options, wanted)
    tags = item_tags(items, parents, table.notes)
    items = [replace(item, tags=tags.get(item.item_id, ())) for item in items]
    rows = MEDQA_ROWS if dataset in ("published", "corrected") else None
    violations = validate(parents, table.edits, items, len(chosen), table.prefix, rows)
    known = {note.item_id for note in table.notes} if dataset != "corrected" else set()
    broken = [v for v in violations if not v.advisory and v.item_id not in known]
    if broken:
        raise SourceError(
            f"{dataset} data set: {len(broken)} broken rule(s), first {broken[0].render()}; "
            "list them with `metacog metamedqa check`"
        )
    kept = build.limit_items(items, limit, seed)
    digests = {
        "parent": _digest(parents),
        "edits": _digest(table.edits),
        "fictional": _digest(chosen),
        "fictional_pool": _digest(fictional),
    }
    facts = build.manifest(kept, table.edits, options, digests)
    facts |= {
        "anomalies": [asdict(note) for note in table.notes],
        "items_digest": sha256_hex(canonical_json([[item.item_id, item.item_hash] for item in kept])),
        "limit": limit,
        "order": order if order != "default" else ("published" if table.order else "parent"),
        "violations": [asdict(violation) for violation in violations],
    }
    return Build(tuple(kept), facts, tuple(violations))


def construct(
    home: Path,
    dataset: Dataset,
    *,
    order: Order = "default",
    seed: int = 0,
    fictional_count: int | None = None,
    limit: int | None = None,
    folder: Path | None = None,
) -> Build:
    """Run every stage and write ``items/metamedqa.parquet`` and its manifest under ``home``."""
    parents = load_parent(home, dataset, folder)
    fictional = load_fictional(home, dataset, folder)
    table = load_or_derive_edits(home, dataset, parents, folder)
    done = build_items(
        dataset,
        parents,
        fictional,
        table,
        order=order,
        seed=seed,
        fictional_count=fictional_count,
        limit=limit,
    )
    write_build(home, done)
    return done


def write_build(home: Path, done: Build) -> Path:
    """Write items and manifest under ``home/items``; return the path of the items."""
    path = items_path(home)
    try:
        write_items(path, done.items)
        write_manifest(path.with_name(MANIFEST_FILE), done.manifest)
    except OSError as error:
        raise SourceError(
            f"{path}: cannot be written ({error.strerror or error}); check the folder and its space"
        ) from None
    return path


def validate(
    parents: Sequence[ParentRow],
    edits: Sequence[EditRecord],
    items: Sequence[Item],
    fictional: int,
    prefix: str,
    expected_rows: int | None = None,
) -> list[Violation]:
    """Check every rule on a finished data set: P1-P4, E1-E8, O1-O7."""
    rows = [OutputRow(build.item_to_row(item), item.item_id, item.source_index) for item in items]
    return [
        *check_parent(parents, expected_rows, prefix),
        *check_edits(parents, edits, prefix),
        *check_output(rows, parents, edits, fictional, prefix),
    ]


def _fictional_count(dataset: Dataset, pool: Sequence[FictionalRow], count: int | None) -> int | None:
    if count is not None or dataset != "custom":
        return count
    english = sum(row.language.strip().casefold().startswith("en") for row in pool)
    return min(english, DEFAULT_FICTIONAL)


def _digest(rows: Sequence[ParentRow | FictionalRow | EditRecord]) -> str:
    return sha256_hex("".join(canonical_json(asdict(row)) + "\n" for row in rows))


def _file(home: Path, dataset: Dataset, what: str, folder: Path | None) -> Path:
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
    for name in (f"{what}.jsonl", f"{what}.jsonl.gz"):
        if (folder / name).is_file():
            return folder / name
    if needed:
        hint = ", an empty one where there are no edits yet" if what == "edits" else ""
        raise SourceError(f"{folder}: no {what}.jsonl (or .jsonl.gz); a custom data set needs it{hint}")
    return None
