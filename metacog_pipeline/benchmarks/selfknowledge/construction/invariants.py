"""What must hold for built items, checked against the rows without the code that built them.

====  ==========================================================================================
I1    item ids are unique, and each row of a source is asked at most once
I2    positions count from 0 in order
I3    an item has a question in some language, and answers or an empty list in just these
I4    no question and no accepted answer is blank: a blank one would be found in every reply
I5    questions and answers are those of the item's source row
I6    something can be right: an item has an answer
I7    no event is both in ``train`` and in ``validation``
====  ==========================================================================================
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence

from metacog_pipeline.benchmarks.selfknowledge.construction.build import SPLIT_SEED, Part
from metacog_pipeline.benchmarks.selfknowledge.construction.rows import Row
from metacog_pipeline.benchmarks.selfknowledge.items import LANGUAGES, Item


def check(items: Sequence[Item], parts: Sequence[Part]) -> list[str]:
    """Return one line per violation: rule, item, what is wrong. Empty when all holds."""
    rows = {(part.source, row.number): row for part in parts for row in part.rows}
    lines = [f"I1 {name}: the item id is used {n} times" for name, n in _repeated(i.item_id for i in items)]
    taken = _repeated(f"row {item.source_row} of {item.source}" for item in items)
    lines += [f"I1 {where}: asked {n} times" for where, n in taken]
    if [item.position for item in items] != list(range(len(items))):
        lines.append("I2 positions do not count from 0")
    lines += [line for item in items for line in _check_item(item, rows.get((item.source, item.source_row)))]
    if items and not any(item.answerable(language) for item in items for language in item.languages):
        lines.append("I6 no question has an answer: nothing could be right")
    return lines + _split_events(items, parts)


def _repeated(names: Iterator[str]) -> list[tuple[str, int]]:
    return [(name, n) for name, n in Counter(names).items() if n > 1]


def _check_item(item: Item, row: Row | None) -> Iterator[str]:
    asked_in, answered_in = item.languages, tuple(language for language, _ in item.answers)
    if not asked_in or asked_in != answered_in or not set(asked_in) <= set(LANGUAGES):
        yield f"I3 {item.item_id}: questions in {asked_in}, answers in {answered_in}"
    for language, question in item.questions:
        if not question.strip():
            yield f"I4 {item.item_id}: the question in {language} is blank"
    for language, accepted in item.answers:
        if any(not answer.strip() for answer in accepted):
            yield f"I4 {item.item_id}: an answer in {language} is blank"
    if row is None:
        yield f"I5 {item.item_id}: no row {item.source_row} in {item.source!r}"
    elif (dict(item.questions), dict(item.answers)) != (dict(row.questions), dict(row.answers)):
        yield f"I5 {item.item_id}: questions or answers are not those of row {item.source_row} of {item.source}"


def _split_events(items: Sequence[Item], parts: Sequence[Part]) -> list[str]:
    """Return the events of ``items`` that belong to the other half; only FictionalQA ties questions by event."""
    events = sorted({row.event_id for part in parts for row in part.rows if row.event_id})
    if not events or not items or items[0].split not in ("train", "validation"):
        return []
    random.Random(SPLIT_SEED).shuffle(events)
    half = len(events) // 2
    mine = set(events[:half] if items[0].split == "train" else events[half:])
    return [
        f"I7 {i.item_id}: event {i.event_id} is not of {i.split}" for i in items if i.event_id not in mine
    ]
