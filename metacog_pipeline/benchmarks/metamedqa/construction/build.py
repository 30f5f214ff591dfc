"""Parent set + edit table + fictional questions -> the items, in order, with a manifest. A pure function."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import metacog_pipeline
from metacog_pipeline.benchmark.seeded_sample import seeded_sample
from metacog_pipeline.benchmarks.metamedqa.construction import edits as editing
from metacog_pipeline.benchmarks.metamedqa.construction import records
from metacog_pipeline.benchmarks.metamedqa.construction.counts import kind_by_key
from metacog_pipeline.benchmarks.metamedqa.construction.records import EditRecord, FictionalRow, ParentRow
from metacog_pipeline.benchmarks.metamedqa.items import (
    CANNOT_ANSWER,
    LETTERS,
    NONE_OF_THE_ABOVE,
    Item,
    Kind,
    Letter,
)
from metacog_pipeline.errors import SourceError
from metacog_pipeline.sources import JsonRow

FICTIONAL_META = "glianorex"
CONSTRUCTION_VERSION = 1


@dataclass(frozen=True, slots=True)
class Options:
    """Names and labels of a build. ``dataset`` is the label every item carries."""

    dataset: str = "published"
    prefix: str = records.PARENT_PREFIX
    seed: int = 0
    quirks: tuple[records.Quirk, ...] = ()


def build_items(
    parents: Sequence[ParentRow],
    edits: Sequence[EditRecord],
    fictional: Sequence[FictionalRow],
    options: Options = Options(),
    order: Sequence[str] | None = None,
) -> list[Item]:
    """Return the items: each parent row after its edit, then ``fictional`` with key F.

    ``order`` lists every item id in the order wanted; without it the parent's order, then the fictional rows, so that
    the order of keys leaks nothing.

    Raises SourceError if an edit does not fit its parent row, or ``order`` is not a permutation of the item ids.
    """
    chosen = editing.edits_by_index(parents, edits, options.prefix)
    items = [_parent_item(parent, chosen.get(parent.source_index), options) for parent in parents]
    items += [
        _item(options, row.item_id, (row.question, row.options), "F", "Fictional",
              meta_info=FICTIONAL_META, source_target=row.source_answer_idx)
        for row in fictional
    ]  # fmt: skip
    items = [_quirky(item, options.quirks) for item in items]
    name, times = Counter(item.item_id for item in items).most_common(1)[0] if items else ("", 0)
    if times > 1:
        raise SourceError(f"item id {name!r} is used {times} times; ids must be unique")
    return [item.model_copy(update={"position": place}) for place, item in enumerate(_ordered(items, order))]


def _parent_item(parent: ParentRow, edit: EditRecord | None, options: Options) -> Item:
    question, four = (parent.question, parent.options) if edit is None else editing.apply_edit(parent, edit)
    return _item(
        options,
        editing.item_id(options.prefix, parent.source_index),
        (question, four),
        editing.edited_key(parent, edit),
        "Original" if edit is None else editing.PUBLISHED_KIND[edit.edit_kind],
        meta_info=parent.meta_info,
        source_index=parent.source_index,
        source_target=parent.answer_idx,
        edit_kind=None if edit is None else edit.edit_kind,
    )


def _item(
    options: Options, name: str, texts: tuple[str, records.Four], key: str, kind: Kind, **more: Any
) -> Item:
    question, four = texts
    return Item(
        item_id=name,
        position=0,
        question=question,
        options=(*four, NONE_OF_THE_ABOVE, CANNOT_ANSWER),
        target=cast(Letter, key),
        kind=kind,
        dataset=options.dataset,
        **more,
    )


def _quirky(item: Item, quirks: Sequence[records.Quirk]) -> Item:
    for quirk in quirks:
        if item.source_index is None or quirk.source_index != item.source_index:
            continue
        if quirk.field == "kind":
            found: str = item.kind
            changed = item.model_copy(update={"kind": cast(Kind, quirk.published)})
        else:
            place = LETTERS.index(cast(Letter, quirk.field[-1]))
            found = item.options[place]
            texts = (*item.options[:place], quirk.published, *item.options[place + 1 :])
            changed = item.model_copy(update={"options": texts})
        if found != quirk.standard:
            raise SourceError(
                f"{item.item_id}: quirk on {quirk.field} expects {quirk.standard!r}, found {found!r}; mend the quirk file"
            )
        item = changed
    return item


def _ordered(items: Sequence[Item], order: Sequence[str] | None) -> list[Item]:
    if order is None:
        return list(items)
    by_id = {item.item_id: item for item in items}
    listed = Counter(order)
    wrong = sorted(set(by_id) ^ set(listed)) + [name for name, times in listed.items() if times > 1]
    if wrong:
        raise SourceError(f"order: {wrong[0]!r} is missing, unknown or listed twice ({len(wrong)} such ids)")
    return [by_id[name] for name in order]


def limit_items(items: Sequence[Item], limit: int | None, seed: int) -> list[Item]:
    """Return at most ``limit`` items, drawn by SHA-256 rank (purpose ``limit``); order and positions stay."""
    if limit is None or limit >= len(items):
        return list(items)
    chosen = set(seeded_sample([item.item_id for item in items], limit, seed, "limit"))
    return [item for item in items if item.item_id in chosen]


def manifest(
    items: Sequence[Item], edits: Sequence[EditRecord], options: Options, digests: Mapping[str, str]
) -> dict[str, Any]:
    """Return what was built from what: counts, seed, digests of the inputs, versions. Keys sort as JSON is written."""
    statuses = Counter(edit.status or "unknown" for edit in edits)
    return {
        "construction_version": CONSTRUCTION_VERSION,
        "counts_by_key": dict(sorted(Counter(item.target for item in items).items())),
        "counts_by_kind": dict(sorted(Counter(item.kind for item in items).items())),
        "counts_by_kind_and_key": kind_by_key((item.kind, item.target) for item in items),
        "dataset": options.dataset,
        "edit_records_by_status": dict(sorted(statuses.items())),
        "edit_records_unknown": records.unknown_fields(edits),
        "inputs": dict(sorted(digests.items())),
        "items": len(items),
        "metacog_pipeline": metacog_pipeline.__version__,
        "quirks": len(options.quirks),
        "seed": options.seed,
        "tags": dict(sorted(Counter(tag for item in items for tag in item.tags).items())),
    }


def item_to_row(item: Item) -> records.ChoiceRow:
    """Return the item as a row of a multiple-choice file."""
    return records.ChoiceRow(
        item.position, item.question, LETTERS, item.options, item.target, item.answer, item.meta_info, item.kind,
        item.item_id,
    )  # fmt: skip


def published_layout(item: Item) -> JsonRow:
    """Return the item in the layout of the published file, with its id and source row beside it."""
    row: JsonRow = {
        "question": item.question,
        "options": dict(zip(LETTERS, item.options, strict=True)),
        "answer_idx": item.target,
        "answer": item.answer,
        "meta_info": item.meta_info,
        "kind": item.kind,
        "item_id": item.item_id,
        "source_index": item.source_index,
    }
    if item.kind == "Fictional":
        row["source_answer_idx"] = item.source_target
    return row
