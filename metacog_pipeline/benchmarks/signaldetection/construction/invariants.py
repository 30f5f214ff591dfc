"""What must hold for built items, checked against the sources without the code that built them.

====  ===================================================================================================
I1    item ids are unique, and a task has each source row at most once
I2    positions of a task count from 0 in order
I3    tasks are A, B, C, labels 0 or 1, texts not empty
I4    a text of A or B, and its label, are those of its source row
I5    an unchanged text of C is its source row, trimmed
I6    a changed text of C is its source row without one "the", and otherwise differs in white space only
====  ===================================================================================================
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from metacog_pipeline.benchmarks.signaldetection.construction.texts import Texts
from metacog_pipeline.benchmarks.signaldetection.items import TASKS, Item

_WORD = re.compile("the", re.IGNORECASE | re.ASCII)


def violations(items: Sequence[Item], sources: Sequence[Texts]) -> list[str]:
    """Return one line per violation: rule, item, what is wrong. Empty when all holds."""
    by_name = {source.name: source for source in sources}
    lines = [f"I1 {name}: the item id is used {n} times" for name, n in _repeated(i.item_id for i in items)]
    rows = _repeated(f"{item.task}, row {item.source_row} of {item.source}" for item in items)
    lines += [f"I1 task {where}: drawn {n} times" for where, n in rows]
    for task in TASKS:
        places = [item.position for item in items if item.task == task]
        if places != list(range(len(places))):
            lines.append(f"I2 task {task}: positions do not count from 0")
    return lines + [line for item in items for line in _check_item(item, by_name)]


def _repeated(names: Iterator[str]) -> list[tuple[str, int]]:
    return [(name, n) for name, n in Counter(names).items() if n > 1]


def _check_item(item: Item, sources: Mapping[str, Texts]) -> Iterator[str]:
    if item.task not in TASKS or item.stimulus not in (0, 1) or not item.text.strip():
        yield f"I3 {item.item_id}: task {item.task!r}, label {item.stimulus!r}, text {item.text[:40]!r}"
    source = sources.get(item.source)
    if source is None or not 0 <= item.source_row < len(source):
        yield f"I4 {item.item_id}: no row {item.source_row} in source {item.source!r}"
        return
    original, label = source.sentences[item.source_row], source.labels[item.source_row]
    if item.task != "C":
        if (item.text, item.stimulus) != (original, label):
            yield f"I4 {item.item_id}: text or label is not that of row {item.source_row} of {item.source}"
    elif item.stimulus == 0:
        if item.text != original.strip():
            yield f"I5 {item.item_id}: marked as unchanged, but changed"
    elif not _lacks_one(item.text, original):
        yield f'I6 {item.item_id}: marked as changed, but not by taking out one "the"'


def _lacks_one(text: str, original: str) -> bool:
    """Whether ``text`` is ``original`` without one standing "the", white space apart."""
    left = "".join(text.split())
    for match in _WORD.finditer(original):
        beside = original[max(match.start() - 1, 0) : match.start()] + original[match.end() :][:1]
        stands = not any(c.isascii() and c.isalpha() for c in beside)
        if stands and "".join((original[: match.start()] + original[match.end() :]).split()) == left:
            return True
    return False
