"""Labelled batches of replies in four languages: abstentions and right answers are read as labelled."""

from collections import Counter

import pytest

from metacog_pipeline.benchmarks.selfknowledge.matching import matches
from metacog_pipeline.benchmarks.selfknowledge.parsing import abstains
from tests import batches
from tests.tables import every

NAMES = tuple(batches.FILES)


@every("name", [name for name in NAMES if name.startswith("abstaining")])
def test_abstentions_are_read_in_each_language(name):
    found = batches.by_group(name)
    assert {"en"} <= set(found) <= {"en", "zh", "ko", "es"}
    for language, group in found.items():
        assert batches.kappa((each.label, each.read) for each in group) >= 0.8, language


@every("name", [name for name in NAMES if name.startswith("matching")])
def test_the_headline_rule_agrees_with_the_labels(name):
    pairs = [(each.label, each.read) for each in batches.readings(name)]
    assert batches.kappa(pairs) >= (0.8 if "fresh" in name else 0.9), Counter(pairs)


@pytest.mark.parametrize("name", ["matching_apart", "matching_tuned"])
def test_inclusion_agrees_far_less(name):
    rows = batches.rows(name)
    found = [(row["correct"], int(matches(row["response"], row["answers"], "inclusion"))) for row in rows]
    assert batches.kappa(found) < 0.5


@every(
    ("text", "withheld"),
    [
        ("Paris. I don't know more details", False), ("I don't knowingly lie: Paris", False),
        ("北京。其他细节我不知道", False), ("서울입니다. 더는 모르겠습니다", False),
        ("Madrid. No sé nada más", False), ("不知道", True), ("모르겠습니다", True), ("No lo sé", True),
    ],
)  # fmt: skip
def test_an_answer_before_the_phrase_is_an_answer(text, withheld):
    assert abstains(text) is withheld


@every("text", ["I don't know " * 2_000, "(" * 50_000, "不知道" * 9_000, "\x00" * 50_000, "\u202eNo lo sé"])
def test_any_text_is_read(text):
    assert abstains(text) in (True, False)
    assert matches(text, ["Paris", "7", "法国"], "entities") is False
