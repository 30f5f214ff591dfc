"""What the shipped sample question set must hold besides the rules of its construction."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

SAMPLE = Path(__file__).resolve().parents[2] / "data" / "metamedqa" / "sample"
CHOICES = ["A", "B", "C", "D"]


def rows(name: str) -> list[dict[str, Any]]:
    text = (SAMPLE / name).read_text(encoding="utf-8")
    assert text.endswith("\n") and "\r" not in text
    return [json.loads(line) for line in text.splitlines()]


PARENT = rows("parent.jsonl")
EDITS = rows("edits.jsonl")
FICTION = rows("fictional.jsonl")
EDIT_OF = {record["source_index"]: record for record in EDITS}


@pytest.mark.parametrize(
    "some_rows",
    [
        PARENT,
        [row for row in PARENT if row["realidx"] not in EDIT_OF],
        [row for row in FICTION if row["language"] == "en"],
    ],
    ids=["parent", "unedited", "fictional-en"],
)
def test_keys_are_balanced_over_the_letters(some_rows):
    counts = Counter(row["answer_idx"] for row in some_rows)
    assert set(counts) == set(CHOICES)
    assert max(counts.values()) - min(counts.values()) <= 3


def test_the_keyed_option_is_not_given_away_by_its_length():
    longest = [row for row in PARENT if len(row["answer"]) == max(map(len, row["options"].values()))]
    assert 0.15 <= len(longest) / len(PARENT) <= 0.45


def test_every_kind_of_edit_is_there_in_number():
    counts = Counter((record["edit_kind"], record["answer_after"]) for record in EDITS)
    assert counts["answer_replaced", "E"] >= 8
    assert counts["answer_altered", "E"] >= 5
    assert counts["question_altered", "E"] >= 2
    assert counts["question_altered", "F"] >= 3
    assert counts["malformed", "F"] >= 5
    forms = {frozenset(change) for record in EDITS for change in record["changes"]}
    assert len(forms) == 2, "both ways of writing a change are exercised"


def test_the_readme_states_the_counts_of_the_files():
    cells = (line.strip("| ").split(" | ") for line in (SAMPLE / "README.md").read_text("utf-8").splitlines())
    stated = {row[0]: row[1] for row in cells if len(row) >= 2}
    expected = {"`parent.jsonl`": len(PARENT), "`edits.jsonl`": len(EDITS), "`fictional.jsonl`": len(FICTION)}
    for meta in ("step1", "step2&3"):
        expected[f"parent questions, `{meta}`"] = sum(row["meta_info"] == meta for row in PARENT)
    for letter in CHOICES:
        expected[f"parent key {letter}"] = sum(row["answer_idx"] == letter for row in PARENT)
    for (kind, after), n in Counter((r["edit_kind"], r["answer_after"]) for r in EDITS).items():
        expected[f"edits `{kind}`, key after {after}"] = n
    expected["parent questions without an edit"] = len(PARENT) - len(EDITS)
    for language, n in Counter(row["language"] for row in FICTION).items():
        expected[f"fictional questions, `{language}`"] = n
    assert {name: stated.get(name) for name in expected} == {name: str(n) for name, n in expected.items()}
