"""From the rows of a data set to the items a study asks. Pure functions.

Items are drawn by the SHA-256 of seed and item id: a larger limit adds items and changes none. FictionalQA is split by
event as its results were published, so that no event is in two parts: the sorted events, shuffled by Python's generator
with seed 42, the first half for ``train``. The shipped facts are split in halves by the same draw for every study.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from metacog_pipeline.benchmark.seeded_sample import seeded_sample
from metacog_pipeline.benchmarks.selfknowledge.construction.rows import Row
from metacog_pipeline.benchmarks.selfknowledge.items import BENCHMARK, Item

SPLIT_SEED = 42


@dataclass(frozen=True, slots=True)
class Part:
    """The rows of one file: what it is called and, where a data set has several, the split it is.

    ``published`` is false where the rows may not be those that were published under the name.
    """

    source: str
    rows: Sequence[Row]
    split: str = ""
    published: bool = True


def build(
    parts: Sequence[Part], dataset: str, split: str, *, limit: int | None = None, seed: int = 0
) -> list[Item]:
    """Return the items of ``split``, at most ``limit``, in the order in which they are drawn by ``seed``."""
    chosen = {
        item_id(dataset, part.split, row.number): (part, row)
        for part in parts
        for row in select(part.rows, dataset, split)
    }
    drawn = seeded_sample(chosen, len(chosen) if limit is None else limit, seed, BENCHMARK)
    return [_item(name, dataset, split, place, *chosen[name]) for place, name in enumerate(drawn)]


def item_id(dataset: str, part: str, number: int) -> str:
    """Return the id of the item made of row ``number``; ``part`` is empty where the data set is one file."""
    return "-".join(("sk", dataset, *([part] if part else []), f"{number:06d}"))


def select(rows: Sequence[Row], dataset: str, split: str) -> list[Row]:
    """Return the rows of ``split`` where the parts of a data set stand in one file, else all."""
    if split == "all" or dataset not in ("sample", "fictional_qa"):
        return list(rows)
    keys = [row.event_id if dataset == "fictional_qa" else row.question_id for row in rows]
    train = _train_events(keys) if dataset == "fictional_qa" else _train_half(keys)
    return [row for row, key in zip(rows, keys, strict=True) if (key in train) == (split == "train")]


def _train_events(events: Sequence[str]) -> set[str]:
    shuffled = sorted(set(events))
    random.Random(SPLIT_SEED).shuffle(shuffled)
    return set(shuffled[: len(shuffled) // 2])


def _train_half(names: Sequence[str]) -> set[str]:
    return set(seeded_sample(names, len(names) // 2, SPLIT_SEED, f"{BENCHMARK}-train"))


def _item(name: str, dataset: str, split: str, position: int, part: Part, row: Row) -> Item:
    return Item(
        item_id=name, dataset=dataset, split=split, position=position, questions=tuple(row.questions.items()),
        answers=tuple(row.answers.items()), question_id=row.question_id, event_id=row.event_id,
        topic=row.topic, difficulty=row.difficulty, source=part.source, source_row=row.number,
    )  # fmt: skip
