"""The edit table of a data set with what is known about it: order, counts, anomalies, quirk cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from metacog_pipeline.benchmarks.metamedqa.construction import anomalies, records
from metacog_pipeline.benchmarks.metamedqa.construction.counts import derivation_counts
from metacog_pipeline.benchmarks.metamedqa.construction.derive import derive
from metacog_pipeline.benchmarks.metamedqa.construction.edits import item_id
from metacog_pipeline.benchmarks.metamedqa.construction.records import (
    ChoiceRow,
    EditRecord,
    FictionalRow,
    ParentRow,
)
from metacog_pipeline.errors import SourceError

Order = Literal["default", "published", "parent"]
Place = int | str
"""One row of the published order: a parent row, or the question text of a fictional row."""


@dataclass(frozen=True, slots=True)
class EditTable:
    """The edits of a data set and what is known about them.

    ``prefix`` is what the ids of non-fictional items start with. ``counts``, ``reports`` and ``order`` come from
    comparing two files and are empty for author-made tables;
    ``notes`` lists what is wrong with the published data, ``quirks`` the cells to set after building.
    """

    edits: tuple[EditRecord, ...]
    prefix: str = records.PARENT_PREFIX
    notes: tuple[anomalies.Correction, ...] = ()
    quirks: tuple[records.Quirk, ...] = ()
    order: tuple[Place, ...] = ()
    counts: dict[str, Any] | None = None
    reports: tuple[str, ...] = ()


def infer_prefix(edits: Sequence[EditRecord], default: str) -> str:
    """Return what the ids of an edit table start with, before the row number; ``default`` for an empty table."""
    for edit in edits:
        number = f"{edit.source_index:04d}"
        if edit.item_id.endswith(number):
            return edit.item_id.removesuffix(number)
    return default


def edits_from_published(
    parents: Sequence[ParentRow],
    rows: Sequence[ChoiceRow],
    quirks: Sequence[records.Quirk] = (),
    *,
    apply_corrections: bool = False,
    prefix: str = records.PARENT_PREFIX,
) -> EditTable:
    """Return the edit table, order and notes of a modified set.

    Raises SourceError if a parent row is not in the modified set: the two files do not belong together.
    """
    found = derive(parents, rows, prefix)
    if not found.one_to_one:
        raise SourceError(
            f"published file: {len(found.missing)} of {len(parents)} parent rows are not in it (first: "
            f"{item_id(prefix, found.missing[0])}); fetch both files again"
        )
    parent_of = {match.position: match.source_index for match in found.matches}
    notes = anomalies.corrections(found.edits, quirks, prefix)
    edits = anomalies.corrected_edits(found.edits, notes) if apply_corrections else found.edits
    return EditTable(
        edits=edits,
        prefix=prefix,
        notes=notes,
        quirks=() if apply_corrections else tuple(quirks),
        order=tuple(parent_of.get(row.place, row.question) for row in rows),
        counts=derivation_counts(parents, rows, found),
        reports=found.reports,
    )


def item_order(
    dataset: str,
    order: Order,
    table: EditTable,
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
    prefix = table.prefix
    by_question = {row.question: row.item_id for row in fictional}
    listed = [
        item_id(prefix, place) if isinstance(place, int) else by_question.get(place, "")
        for place in table.order
    ]
    known = {*listed} - {""}
    rest = [row.item_id for row in fictional if row.item_id not in known]
    rest += [item_id(prefix, p.source_index) for p in parents if item_id(prefix, p.source_index) not in known]
    return [name for name in listed if name] + rest
