"""Tags on items: subsets that are reported apart."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from metacog_pipeline.benchmarks.metamedqa.construction.corrected import ANOMALY, RESTORED, Correction
from metacog_pipeline.benchmarks.metamedqa.construction.records import ParentRow
from metacog_pipeline.benchmarks.metamedqa.construction.screen import MEDIA_TAG, mentions_absent_media
from metacog_pipeline.benchmarks.metamedqa.items import Item


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
