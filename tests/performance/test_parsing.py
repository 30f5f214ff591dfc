"""How fast replies are read: answers per second of one core, best of three."""

import time

import pytest

from metacog_pipeline.benchmarks.metamedqa.items import CANNOT_ANSWER, NONE_OF_THE_ABOVE
from metacog_pipeline.benchmarks.metamedqa.parsing import parse

pytestmark = pytest.mark.bench

OPTIONS = (
    "22q11 deletion",
    "Deletion of genes on chromosome 7",
    "Lithium",
    "Alcohol",
    NONE_OF_THE_ABOVE,
    CANNOT_ANSWER,
)
ANSWERS_PER_S = 50_000
REPLIES = {
    "two lines": [f"Answer: {letter}\nConfidence: {rating}" for letter in "ABCDEF" for rating in range(1, 6)],
    "json": [
        f'{{"answer": "{letter}", "confidence": {rating}}}' for letter in "ABCDEF" for rating in range(1, 6)
    ],
    "decorated": [
        f"**Answer:** ({letter})\n**Confidence:** {rating}/5" for letter in "ABCDEF" for rating in range(1, 6)
    ],
    "sentence": [
        f"The correct answer is {letter}. Confidence: {rating}"
        for letter in "ABCDEF"
        for rating in range(1, 6)
    ],
}
# Three quarters of a run keep to the form, the rest does not.
REPLIES["mixed"] = REPLIES["two lines"] * 9 + REPLIES["json"] + REPLIES["decorated"] + REPLIES["sentence"]


@pytest.mark.parametrize("kind", REPLIES)
def test_answers_read_per_second(kind, record_property):
    replies = REPLIES[kind]
    rounds = 30_000 // len(replies)
    best = 0.0
    for _ in range(3):
        start = time.process_time()
        for _ in range(rounds):
            for reply in replies:
                parse(reply, OPTIONS)
        best = max(best, rounds * len(replies) / (time.process_time() - start))
    record_property("answers_per_s", round(best))
    print(f"\nparsing, {kind}: {best:,.0f} answers/s (reach {ANSWERS_PER_S:,})")
    assert best >= ANSWERS_PER_S
