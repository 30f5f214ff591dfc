"""The items of the three tasks, drawn and built from their sources. Pure functions.

Rows are drawn uniformly without replacement, in the order of the SHA-256 of seed, task and item id: a larger number of
trials adds items and changes none. Nothing balances the labels, as in the published experiments.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, cast

from metacog_pipeline.benchmark.seeded_sample import seeded_sample
from metacog_pipeline.benchmarks.signaldetection.construction import deletion
from metacog_pipeline.benchmarks.signaldetection.construction.texts import Texts
from metacog_pipeline.benchmarks.signaldetection.items import TASKS, Item, Task
from metacog_pipeline.files import sha256_hex

PREFIXES = {"published": "sdt", "sample": "sample-sdt"}
P_DELETE = 0.5


def build(
    reviews: Texts | None,
    sentences: Texts | None,
    *,
    dataset: str = "published",
    tasks: Sequence[str] = TASKS,
    trials: int = 100,
    seed: int = 0,
) -> list[Item]:
    """Return the items of ``tasks`` in the order A, B, C: A from ``reviews``, B and C from ``sentences``.

    ``trials`` are items per task; a source with fewer gives all it has. ``seed`` decides which rows are drawn and, in
    task C, whether and where a word is deleted.
    """
    made = (("A", reviews, build_task_a), ("B", sentences, build_task_b), ("C", sentences, build_task_c))
    return [
        item
        for task, source, build_task in made
        if task in tasks and source is not None
        for item in build_task(source, trials, seed, dataset)
    ]


def build_task_a(reviews: Texts, trials: int, seed: int, dataset: str = "published") -> list[Item]:
    """Return sentences of film reviews with their labels (1 positive), byte for byte as in the source."""
    return _labelled("A", reviews, trials, seed, dataset)


def build_task_b(sentences: Texts, trials: int, seed: int, dataset: str = "published") -> list[Item]:
    """Return sentences with their origin (1 written), byte for byte as in the source."""
    return _labelled("B", sentences, trials, seed, dataset)


def build_task_c(sentences: Texts, trials: int, seed: int, dataset: str = "published") -> list[Item]:
    """Return sentences that held "the": one of them deleted (label 1) with probability `P_DELETE`, else unchanged.

    Sentences are trimmed first, and an unchanged one is otherwise as in the source. The pool is every sentence with
    the word, save one that consists of nothing else.
    """
    pool = (row for row, text in enumerate(sentences.sentences) if deletion.can_be_asked(text))
    items = []
    for position, (name, row) in enumerate(_drawn("C", pool, trials, seed, dataset)):
        whole = sentences.sentences[row].strip()
        deleted = _uniform(seed, "delete", name) < P_DELETE
        text = whole
        if deleted:
            places = deletion.matches(whole)
            text = deletion.delete(whole, places[int(_uniform(seed, "place", name) * len(places))])
        items.append(_item(name, "C", int(deleted), text, dataset, sentences.name, row, position))
    return items


def _labelled(task: Task, source: Texts, trials: int, seed: int, dataset: str) -> list[Item]:
    return [
        _item(name, task, source.labels[row], source.sentences[row], dataset, source.name, row, position)
        for position, (name, row) in enumerate(_drawn(task, range(len(source)), trials, seed, dataset))
    ]


def _item(
    item_id: str, task: Task, label: int, text: str, dataset: str, source: str, row: int, position: int
) -> Item:
    return Item(
        item_id=item_id,
        dataset=dataset,
        position=position,
        task=task,
        stimulus=cast(Literal[0, 1], label),
        text=text,
        source=source,
        source_row=row,
    )


def _drawn(task: Task, rows: Iterable[int], trials: int, seed: int, dataset: str) -> list[tuple[str, int]]:
    """Return (item id, row) of the rows drawn, in the order of the draw."""
    prefix = PREFIXES.get(dataset, dataset)
    by_name = {f"{prefix}-{task}-{row:06d}": row for row in rows}
    return [(name, by_name[name]) for name in seeded_sample(by_name, trials, seed, f"signaldetection-{task}")]


def _uniform(seed: int, purpose: str, name: str) -> float:
    """Return a number from 0 up to but not including 1, the same for the same arguments everywhere."""
    digest = sha256_hex(f"{seed}:signaldetection-{purpose}:{name}")
    return int(digest[:13], 16) / float(16**13)
