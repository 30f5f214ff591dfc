"""A small question set, written for these tests, with every kind of item."""

import random

import pytest

from metacog_pipeline.benchmarks.metamedqa.items import CANNOT_ANSWER, LETTERS, NONE_OF_THE_ABOVE, Item
from metacog_pipeline.benchmarks.metamedqa.prompts import load_wording

KINDS = (
    *(("Original", letter) for letter in "ABCDABCDABCD"),
    ("Answer removed", "E"),
    ("Answer modified", "E"),
    ("Bad", "F"),
    ("Question modified", "F"),
    ("Fictional", "F"),
)


def make_items(number: int) -> list[Item]:
    found = []
    for n in range(number):
        kind, target = KINDS[n % len(KINDS)]
        options = (*(f"Mechanism {n}{letter}" for letter in "abcd"), NONE_OF_THE_ABOVE, CANNOT_ANSWER)
        found.append(Item(
            item_id=f"test-{n:04d}", position=n, options=options, target=target, kind=kind, meta_info="step1",
            question=f"Patient {n} has finding {n * 7}. Which mechanism explains it?", dataset="sample",
            source_target="B" if kind == "Fictional" else None,
            tags=("media_absent_but_answerable",) if n % len(KINDS) == 1 else (),
        ))  # fmt: skip
    return found


@pytest.fixture(scope="session")
def items():
    return make_items(170)


@pytest.fixture(scope="session")
def shuffled(items):
    """Items whose keys have no period, so that a shift shows."""
    drawn = random.Random(3)
    return [item.model_copy(update={"target": drawn.choice(LETTERS)}) for item in items]


@pytest.fixture(scope="session")
def wording():
    return load_wording()
