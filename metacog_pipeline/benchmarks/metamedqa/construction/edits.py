"""Applying edit records to their parent rows, and the rule that sets the key."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import get_args

from metacog_pipeline.benchmarks.metamedqa.construction import records
from metacog_pipeline.benchmarks.metamedqa.construction.records import Change, EditRecord, ParentRow
from metacog_pipeline.benchmarks.metamedqa.items import Kind
from metacog_pipeline.errors import SourceError

PUBLISHED_KIND: dict[records.EditKind, Kind] = {
    "answer_replaced": "Answer removed",
    "answer_altered": "Answer modified",
    "question_altered": "Question modified",
    "malformed": "Bad",
}


def allowed_keys(kind: records.EditKind) -> tuple[str, ...]:
    """Return the keys an edit may lead to: E when no listed choice is right, F when it cannot be decided."""
    if kind in records.ANSWER_EDITS:
        return ("E",)
    return ("E", "F") if kind == "question_altered" else ("F",)


def fields_of(question: str, options: Sequence[str]) -> dict[records.ChangedField, str]:
    """Return the texts an edit may change, by field: ``question`` and ``options.A`` .. ``options.D``."""
    return dict(zip(get_args(records.ChangedField), (question, *options), strict=True))


def apply_change(text: str, change: Change, item_id: str) -> str:
    """Return ``text`` after ``change``.

    Raises SourceError if ``before`` is not exactly the text, or ``find`` does not occur exactly ``count`` times;
    names the item, the field and both texts.
    """
    if change.find is not None:
        seen = text.count(change.find)
        if seen != change.count:
            raise SourceError(
                f"{item_id}: {change.field}: the text to find occurs {seen} times, not {change.count}: "
                f"looked for {_clip(change.find)}, found {_clip(text)}; mend the edit record"
            )
        return text.replace(change.find, change.replace or "")
    if text != change.before:
        expected, found = _apart(change.before or "", text)
        raise SourceError(
            f"{item_id}: {change.field}: the text before the edit does not match: expected {expected}, "
            f"found {found}; mend the edit record or use its parent set"
        )
    return change.after or ""


def apply_edit(parent: ParentRow, edit: EditRecord) -> tuple[str, records.Four]:
    """Return the question and the choices A..D of ``parent`` after ``edit``; changes apply in their order."""
    texts = fields_of(parent.question, parent.options)
    for change in edit.changes:
        texts[change.field] = apply_change(texts[change.field], change, edit.item_id)
    question, a, b, c, d = texts.values()
    return question, (a, b, c, d)


def edited_key(parent: ParentRow, edit: EditRecord | None) -> str:
    """Return the key: the parent's own without an edit, else E or F as the kind of edit allows."""
    if edit is None:
        return parent.answer_idx
    if edit.answer_before != parent.answer_idx:
        raise SourceError(
            f"{edit.item_id}: answer_before is {edit.answer_before} but the parent's key is {parent.answer_idx}; "
            "mend the edit record"
        )
    if edit.answer_after not in allowed_keys(edit.edit_kind):
        raise SourceError(
            f"{edit.item_id}: answer_after is {edit.answer_after} but {edit.edit_kind} leads to "
            f"{' or '.join(allowed_keys(edit.edit_kind))}; mend the edit record"
        )
    return edit.answer_after


def edits_by_index(
    parents: Sequence[ParentRow], edits: Iterable[EditRecord], prefix: str
) -> dict[int, EditRecord]:
    """Return the records that count, by ``source_index``.

    Raises SourceError if two records that count name one item, a record names no parent row or another id than its
    row has, or an author-made record counts without saying who stands for it, why and when.
    """
    chosen: dict[int, EditRecord] = {}
    for edit in edits:
        if not edit.counts:
            continue
        if edit.source_index >= len(parents):
            raise SourceError(
                f"{edit.item_id}: source_index {edit.source_index} is outside the parent's {len(parents)} rows; "
                "mend the edit record or use its parent set"
            )
        if edit.item_id != item_id(prefix, edit.source_index):
            raise SourceError(
                f"{edit.item_id}: the id does not belong to source_index {edit.source_index} "
                f"({item_id(prefix, edit.source_index)}); mend the edit record"
            )
        lacking = missing_provenance(edit)
        if lacking:
            raise SourceError(f"{edit.item_id}: accepted without {', '.join(lacking)}; mend the edit record")
        if edit.source_index in chosen:
            raise SourceError(f"{edit.item_id}: two accepted edit records; keep one")
        chosen[edit.source_index] = edit
    return chosen


def missing_provenance(edit: EditRecord) -> tuple[str, ...]:
    """Return what an accepted author-made record lacks of auditor, reason and date; derived records lack nothing."""
    if edit.status != "accepted":
        return ()
    return tuple(name for name in ("auditor", "reason", "created") if not getattr(edit, name))


def item_id(prefix: str, source_index: int) -> str:
    """Return the id of a parent row: ``prefix`` and its 0-based row in four digits."""
    return f"{prefix}{source_index:04d}"


def _clip(text: str, around: int = 0) -> str:
    start = max(0, around - 40)
    return ("…" if start else "") + repr(text[start : start + 120]) + ("…" if start + 120 < len(text) else "")


def _apart(a: str, b: str) -> tuple[str, str]:
    """Return both texts clipped around the first character where they part."""
    first = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    return _clip(a, first), _clip(b, first)
