"""What is wrong in the published data, what the ``corrected`` data set does about it, and the tags that tell.

The rules find the items; none is listed by number:

=========================================  ==========================================  =================
what is wrong                              what is done                                published items
=========================================  ==========================================  =================
an answer edit leaves the keyed choice     the edit is dropped: the item is the        175, 950
alone, so the right answer is still        parent's again, text and key
offered although the key is E
an answer edit changes more than the       kept and tagged: the right answer is        998
keyed choice                               gone, so key E holds
option F or the kind departs from the      standard text and the kind of the edit      1124
file's own rules                           (the quirk cells are not applied)
=========================================  ==========================================  =================

With 175 and 950 keyed E, someone who answers every published item perfectly loses 2 of 115 on
missing-answer recall; scores on this set carry the label ``corrected`` and do not compare with published ones.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from metacog_pipeline.benchmarks.metamedqa.construction.edits import item_id
from metacog_pipeline.benchmarks.metamedqa.construction.invariants import changes_more, misses_key
from metacog_pipeline.benchmarks.metamedqa.construction.records import EditRecord, ParentRow, Quirk
from metacog_pipeline.benchmarks.metamedqa.construction.screen import MEDIA_TAG, mentions_absent_media
from metacog_pipeline.benchmarks.metamedqa.items import Item

ANOMALY = "anomaly"
RESTORED = "restored"


@dataclass(frozen=True, slots=True)
class Correction:
    """One item of the published set that is wrong; ``action`` is what the corrected set does.

    One of ``restored``, ``kept``, ``repaired``."""

    item_id: str
    source_index: int
    action: str
    why: str


def corrections(edits: Sequence[EditRecord], quirks: Sequence[Quirk], prefix: str) -> tuple[Correction, ...]:
    """Return what is wrong with a published edit table and its quirk cells, by parent row."""
    found = [
        Correction(
            edit.item_id,
            edit.source_index,
            RESTORED,
            f"the edit leaves keyed choice {edit.answer_before} alone, so the right answer is still offered",
        )
        for edit in edits
        if misses_key(edit)
    ]
    found += [
        Correction(edit.item_id, edit.source_index, "kept", "the edit changes more than the keyed choice")
        for edit in edits
        if changes_more(edit)
    ]
    cells: dict[int, list[str]] = {}
    for quirk in quirks:
        cells.setdefault(quirk.source_index, []).append(f"{quirk.field} reads {quirk.published!r}")
    found += [
        Correction(item_id(prefix, index), index, "repaired", " and ".join(sorted(texts)))
        for index, texts in cells.items()
    ]
    return tuple(sorted(found, key=lambda note: (note.source_index, note.action)))


def corrected_edits(edits: Sequence[EditRecord], notes: Sequence[Correction]) -> tuple[EditRecord, ...]:
    """Return the records without those whose items go back to the parent's text and key."""
    dropped = {note.source_index for note in notes if note.action == RESTORED}
    return tuple(edit for edit in edits if edit.source_index not in dropped)


def item_tags(
    items: Sequence[Item], parents: Sequence[ParentRow], notes: Sequence[Correction]
) -> dict[str, tuple[str, ...]]:
    """Return the tags by item id.

    ``anomaly`` marks items that are wrong in the published data, ``restored`` those given back the parent's text,
    ``media_absent_but_answerable`` unedited items whose stem points at a picture nobody can see but whose key was
    kept. The last is a screen's nomination, not a person's judgement.
    """
    tags: dict[str, set[str]] = defaultdict(set)
    action = {note.item_id: note.action for note in notes}
    for item in items:
        unedited = item.source_index is not None and item.edit_kind is None
        if item.item_id in action:
            tags[item.item_id].add(ANOMALY)
            if unedited and action[item.item_id] == RESTORED:
                tags[item.item_id].add(RESTORED)
        if unedited and mentions_absent_media(parents[item.source_index or 0].question):
            tags[item.item_id].add(MEDIA_TAG)
    return {name: tuple(sorted(own)) for name, own in tags.items()}
