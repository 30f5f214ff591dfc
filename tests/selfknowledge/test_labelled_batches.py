"""Labelled batches of replies in four languages: abstentions and right answers are read as labelled."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from metacog_pipeline.benchmarks.selfknowledge.matching import RULES, matches
from metacog_pipeline.benchmarks.selfknowledge.parsing import abstains

HERE = Path(__file__).parent
Table = Counter[tuple[int, int]]


def kappa(table: Table) -> float:
    n = sum(table.values())
    same = (table[0, 0] + table[1, 1]) / n
    first, second = (table[1, 0] + table[1, 1]) / n, (table[0, 1] + table[1, 1]) / n
    chance = first * second + (1 - first) * (1 - second)
    return (same - chance) / (1 - chance)


def rows(name: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in (HERE / f"{name}.jsonl").read_text("utf-8").splitlines()]


FRESH = sorted(
    path.stem for path in HERE.glob("*_fresh_*.jsonl")
)  # written and labelled before they were read


@pytest.mark.parametrize("name", ["abstaining_apart", "abstaining_tuned", *(n for n in FRESH if "abst" in n)])
def test_abstentions_are_read_in_each_language(name: str) -> None:
    tables: dict[str, Table] = defaultdict(Counter)
    for row in rows(name):
        found = abstains(str(row["response"]), question=str(row["question"]))
        tables[str(row["language"])][int(str(row["abstained"])), int(found)] += 1
    assert set(tables) == {"en", "zh", "ko", "es"}
    for language, table in tables.items():
        assert kappa(table) >= 0.8, (language, table)


@pytest.mark.parametrize("name", ["matching_apart", "matching_tuned"])
def test_the_headline_rule_agrees_with_the_labels_and_inclusion_does_not(name: str) -> None:
    tables: dict[str, Table] = defaultdict(Counter)
    for row in rows(name):
        for rule in RULES:
            found = matches(str(row["response"]), row["answers"], rule, str(row["question"]))  # type: ignore[arg-type]
            tables[rule][int(str(row["correct"])), int(found)] += 1
    assert kappa(tables["entities"]) >= 0.9, tables["entities"]
    assert kappa(tables["inclusion"]) < 0.5


@pytest.mark.parametrize("name", [name for name in FRESH if "matching" in name])
def test_a_batch_of_adversarial_replies_is_matched_as_labelled(name: str) -> None:
    table: Table = Counter()
    for row in rows(name):
        found = matches(str(row["response"]), row["answers"], "entities", str(row["question"]))  # type: ignore[arg-type]
        table[int(str(row["correct"])), int(found)] += 1
    assert sum(table.values()) >= 90 and kappa(table) >= 0.8, table


@pytest.mark.parametrize(
    ("text", "withheld"),
    [
        ("Paris. I don't know more details", False),
        ("I don't knowingly lie: Paris", False),
        ("北京。其他细节我不知道", False),
        ("서울입니다. 더는 모르겠습니다", False),
        ("Madrid. No sé nada más", False),
        ("不知道", True),
        ("모르겠습니다", True),
        ("No lo sé", True),
    ],
)
def test_an_answer_before_the_phrase_is_an_answer(text: str, withheld: bool) -> None:
    assert abstains(text) is withheld


@pytest.mark.parametrize(
    "text", ["I don't know " * 2_000, "(" * 50_000, "不知道" * 9_000, "\x00" * 50_000, "\u202eNo lo sé"]
)
def test_any_text_is_read(text: str) -> None:
    assert abstains(text) in (True, False)
    assert matches(text, ["Paris", "7", "法国"], "entities") is False
