"""Natural replies meet the item patterns. The replies were used to widen the patterns: a floor, not a measure of recall."""

import json
from pathlib import Path

from metacog_pipeline.benchmarks.metacogbench.construction.shipped import items_of
from tests.metacogbench.helpers import scored

REPLIES = json.loads((Path(__file__).parent / "item_replies.json").read_text(encoding="utf-8"))


def _grounded(name: str, reply: str) -> bool:
    item = next(item for item in items_of("metacog147-v1") if item.item_id == name)
    return bool(scored(item, reply).passed_item_specific)


def test_careful_replies_are_grounded_but_for_a_few():
    missed = [name for name, reply in REPLIES["grounded"].items() if not _grounded(name, reply)]
    assert len(REPLIES["grounded"]) == 54 and len(missed) <= 3, missed


def test_replies_that_give_in_are_not_grounded():
    assert not [name for name, reply in REPLIES["gives_in"].items() if _grounded(name, reply)]
