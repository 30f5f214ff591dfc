"""The stages of construction as functions of a study's home: parent, fictional, edits, items.

======================  ==========================================  ==========================  ==================
data set                parent and fictional                        edits                       order by default
======================  ==========================================  ==========================  ==================
``published``           fetched sources                             derived from the two files  the published one
``corrected``           the same                                    the same, see ``corrected``  the published one
``sample``              shipped with this project                   shipped                     the parent's
``custom``              ``parent.jsonl`` and ``fictional.jsonl``    ``edits.jsonl``             the parent's
                        of a folder (or ``.jsonl.gz``)
======================  ==========================================  ==========================  ==================
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from metacog_pipeline.benchmarks.metamedqa import sources
from metacog_pipeline.benchmarks.metamedqa.construction import build, corrected, records
from metacog_pipeline.benchmarks.metamedqa.construction.counts import derivation_counts
from metacog_pipeline.benchmarks.metamedqa.construction.derive import Derivation, derive
from metacog_pipeline.benchmarks.metamedqa.construction.edits import item_id
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
    ChoiceRow,
    EditRecord,
    FictionalRow,
    ParentRow,
)
from metacog_pipeline.benchmarks.metamedqa.construction.screen import MEDIA_TAG, mentions_absent_media
from metacog_pipeline.benchmarks.metamedqa.items import Item
from metacog_pipeline.errors import SourceError
from metacog_pipeline.files import canonical_json, sha256_hex, shipped

Dataset = Literal["published", "corrected", "sample", "custom"]
Order = Literal["default", "published", "parent"]
Place = int | str
"""One row of the published order: a parent row, or the question text of a fictional row."""

DEFAULT_FICTIONAL = 100
_PARENT_PREFIX = {"sample": "sample-", "custom": "custom-"}
_FICTIONAL_PREFIX = {"sample": "sample-fictional-", "custom": "custom-fictional-"}


@dataclass(frozen=True, slots=True)
class EditTable:
    """The edits of a data set and what is known about them.

    ``counts``, ``reports`` and ``order`` come from comparing two files and are empty for author-made tables;
    ``notes`` lists what is wrong with the published data, ``quirks`` the cells to set after building.
    """

    edits: tuple[EditRecord, ...]
    notes: tuple[corrected.Correction, ...] = ()
    quirks: tuple[build.Quirk, ...] = ()
    order: tuple[Place, ...] = ()
    counts: dict[str, Any] | None = None
    reports: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Build:
    """A finished data set: the items in order, the manifest, and the violations found (anomalies included)."""

    items: tuple[Item, ...]
    manifest: dict[str, Any]
    violations: tuple[Violation, ...]


def parent_prefix(dataset: Dataset) -> str:
    """Return what the ids of the non-fictional items of a data set start with."""
    return _PARENT_PREFIX.get(dataset, records.PARENT_PREFIX)


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
        return EditTable(tuple(records.load_edits(_file(home, dataset, "edits", folder))))
    rows = records.load_choice_rows(_file(home, dataset, "published", folder))
    quirks = build.load_quirks(shipped("data", "metamedqa", "published_quirks.json"))
    return edits_from_published(parents, rows, quirks, apply_corrections=dataset == "corrected")


def edits_from_published(
    parents: Sequence[ParentRow],
    rows: Sequence[ChoiceRow],
    quirks: Sequence[build.Quirk] = (),
    *,
    apply_corrections: bool = False,
    prefix: str = records.PARENT_PREFIX,
) -> EditTable:
    """Return the edit table, order and notes of a modified set.

    Raises
    ------
    SourceError
        If a parent row is not in the modified set: the two files do not belong together.
    """
    found = derive(parents, rows, prefix)
    if not found.one_to_one:
        raise SourceError(
            f"published file: {len(found.missing)} of {len(parents)} parent rows are not in it (first: "
            f"{item_id(prefix, found.missing[0])}); fetch both files again"
        )
    notes = corrected.corrections(found.edits, quirks, prefix)
    edits = corrected.corrected_edits(found.edits, notes) if apply_corrections else found.edits
    return EditTable(
        edits=edits,
        notes=notes,
        quirks=() if apply_corrections else tuple(quirks),
        order=_order(found, rows),
        counts=derivation_counts(parents, rows, found),
        reports=found.reports,
    )


def _order(found: Derivation, rows: Sequence[ChoiceRow]) -> tuple[Place, ...]:
    parent_of = {match.position: match.source_index for match in found.matches}
    return tuple(parent_of.get(row.place, row.question) for row in rows)


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
    prefix = parent_prefix(dataset)
    options = build.Options(dataset, prefix, seed, table.quirks)
    chosen = select_fictional(fictional, _fictional_count(dataset, fictional, fictional_count), seed)
    wanted = _item_order(dataset, order, table, prefix, parents, chosen)
    items = build.build_items(parents, table.edits, chosen, options, wanted)
    tags = item_tags(items, parents, table.notes)
    items = [replace(item, tags=tags.get(item.item_id, ())) for item in items]
    violations = validate(dataset, parents, table.edits, items, len(chosen))
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
    write_items(path, done.items)
    write_manifest(path.with_name(MANIFEST_FILE), done.manifest)
    return path


def validate(
    dataset: Dataset,
    parents: Sequence[ParentRow],
    edits: Sequence[EditRecord],
    items: Sequence[Item],
    fictional: int,
) -> list[Violation]:
    """Check every rule on a finished data set: P1-P4, E1-E8, O1-O7."""
    prefix = parent_prefix(dataset)
    rows = [OutputRow(build.item_to_row(item), item.item_id, item.source_index) for item in items]
    return [
        *check_parent(parents, MEDQA_ROWS if dataset in ("published", "corrected") else None, prefix),
        *check_edits(parents, edits, prefix),
        *check_output(rows, parents, edits, fictional, prefix),
    ]


def item_tags(
    items: Sequence[Item], parents: Sequence[ParentRow], notes: Sequence[corrected.Correction]
) -> dict[str, tuple[str, ...]]:
    """Return the tags by item id.

    ``anomaly`` marks items that are wrong in the published data, ``restored`` those given back the parent's text,
    ``media_absent_but_answerable`` unedited items whose stem points at a picture nobody can see but whose key was
    kept. The last is a screen's nomination, not a person's judgement.
    """
    tags: dict[str, list[str]] = defaultdict(list)
    for note in notes:
        tags[note.item_id].append(corrected.ANOMALY)
        restored = any(item.item_id == note.item_id and item.edit_kind is None for item in items)
        if note.action == "restored" and restored:
            tags[note.item_id].append("restored")
    for item in items:
        unedited = item.source_index is not None and item.edit_kind is None
        if unedited and mentions_absent_media(parents[item.source_index or 0].question):
            tags[item.item_id].append(MEDIA_TAG)
    return {name: tuple(sorted(set(own))) for name, own in tags.items()}


def _fictional_count(dataset: Dataset, pool: Sequence[FictionalRow], count: int | None) -> int | None:
    if count is not None or dataset != "custom":
        return count
    english = sum(row.language.strip().casefold().startswith("en") for row in pool)
    return min(english, DEFAULT_FICTIONAL)


def _item_order(
    dataset: Dataset,
    order: Order,
    table: EditTable,
    prefix: str,
    parents: Sequence[ParentRow],
    fictional: Sequence[FictionalRow],
) -> list[str] | None:
    """Return the item ids in the published order, or ``None`` for the parent's order."""
    if order == "parent" or (order == "default" and not table.order):
        return None
    if not table.order:
        raise SourceError(
            f'order "published" is known for the published data only, not for {dataset!r}; use "default"'
        )
    by_question = {row.question: row.item_id for row in fictional}
    listed = [
        item_id(prefix, place) if isinstance(place, int) else by_question.get(place, "")
        for place in table.order
    ]
    known = {*listed} - {""}
    rest = [row.item_id for row in fictional if row.item_id not in known]
    rest += [item_id(prefix, p.source_index) for p in parents if item_id(prefix, p.source_index) not in known]
    return [name for name in listed if name] + rest


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
        raise SourceError(f"{folder}: no {what}.jsonl (or .jsonl.gz); a custom data set needs it")
    return None
