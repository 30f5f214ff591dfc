"""What the shipped sample question set must hold besides the rules of its construction."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from metacog_pipeline.benchmarks.metamedqa import construction
from metacog_pipeline.home import Home

SAMPLE = Path(__file__).resolve().parents[2] / "data" / "metamedqa" / "sample"
CHOICES = ["A", "B", "C", "D"]
PARENT_FIELDS = ["realidx", "question", "options", "answer_idx", "answer", "meta_info"]
POOL_FIELDS = ["question", "options", "answer_idx", "language", "generator"]
EDIT_FIELDS = [
    "item_id",
    "source_index",
    "edit_kind",
    "changes",
    "answer_before",
    "answer_after",
    "reason",
    "auditor",
    "created",
    "status",
    "second_auditor",
]
INVENTED_ROOTS = (
    "brisolun",
    "quelmorin",
    "kavostatin",
    "tesselocyt",
    "vornecyt",
    "drovantin",
    "tarvenholt",
    "jundravik",
    "tempo quotient",
)
ABSENT_MATERIAL_CUES = {
    "media shown": r"(radiograph|photograph|electrocardiogram)( of the \w+)? is shown",
    "figure label": r"\bFigure \d",
    "graph point": r"\bbased on the graph\b",
    "lost context": r"\bprevious question\b",
    "pointer": r"\bmarked with an arrow\b",
    "see image": r"\(see image\)",
    "result missing": r"\bvalues are found\b",
    "broken table": r"(\$\$\$.*){3}",
}


def rows(name: str) -> list[dict[str, Any]]:
    text = (SAMPLE / name).read_text(encoding="utf-8")
    assert text.endswith("\n") and "\r" not in text
    return [json.loads(line) for line in text.splitlines()]


PARENT = rows("parent.jsonl")
EDITS = rows("edits.jsonl")
FICTION = rows("fictional.jsonl")
EDIT_OF = {record["source_index"]: record for record in EDITS}


def edits_of(*kinds: str) -> list[dict[str, Any]]:
    return [record for record in EDITS if record["edit_kind"] in kinds]


def test_parent_rows_have_the_parent_layout_and_count_from_zero():
    assert len(PARENT) >= 72
    assert [row["realidx"] for row in PARENT] == list(range(len(PARENT)))
    for row in PARENT:
        assert list(row) == PARENT_FIELDS
        assert row["meta_info"] in {"step1", "step2&3"}
        assert row["answer_idx"] in CHOICES
        assert row["answer"] == row["options"][row["answer_idx"]]


def test_pool_rows_have_the_pool_layout():
    languages = Counter(row["language"] for row in FICTION)
    assert set(languages) == {"en", "fr"} and languages["en"] >= 18 and languages["fr"] == 4
    for row in FICTION:
        assert list(row) == POOL_FIELDS
        assert row["answer_idx"] in CHOICES
        assert row["generator"] == "sample"


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


def test_edit_records_have_the_author_layout_in_order_of_source_index():
    indices = [record["source_index"] for record in EDITS]
    assert indices == sorted(set(indices)) and set(indices) <= set(range(len(PARENT)))
    for record in EDITS:
        assert list(record) == EDIT_FIELDS
        assert record["item_id"] == f"sample-{record['source_index']:04d}"
        assert record["reason"].strip()
        assert (record["auditor"], record["created"]) == ("sample-author", "2026-11-21")
        assert (record["status"], record["second_auditor"]) == ("accepted", None)


def test_every_kind_of_edit_is_there_in_number():
    counts = Counter((record["edit_kind"], record["answer_after"]) for record in EDITS)
    assert counts["answer_replaced", "E"] >= 8
    assert counts["answer_altered", "E"] >= 5
    assert counts["question_altered", "E"] >= 2
    assert counts["question_altered", "F"] >= 3
    assert counts["malformed", "F"] >= 5
    forms = {frozenset(change) for record in EDITS for change in record["changes"]}
    assert len(forms) == 2, "both ways of writing a change are exercised"


def cue_classes(stem: str) -> set[str]:
    return {name for name, cue in ABSENT_MATERIAL_CUES.items() if re.search(cue, stem, re.IGNORECASE)}


def test_malformed_questions_point_at_absent_material_in_different_ways():
    classes = [cue_classes(PARENT[record["source_index"]]["question"]) for record in edits_of("malformed")]
    assert all(classes)
    assert len(set().union(*classes)) >= 5


def test_a_few_questions_name_an_absent_image_and_keep_their_key():
    kept = [row for row in PARENT if cue_classes(row["question"]) and row["realidx"] not in EDIT_OF]
    assert 1 <= len(kept) <= 2


def test_invented_terms_stay_in_the_fiction():
    for row in PARENT:
        text = json.dumps(row, ensure_ascii=False).casefold()
        assert not [root for root in INVENTED_ROOTS if root in text]
    for record in EDITS:
        text = json.dumps(record, ensure_ascii=False).casefold()
        assert not [root for root in INVENTED_ROOTS if root in text]
    for row in FICTION:
        text = json.dumps(row, ensure_ascii=False).casefold()
        assert [root for root in INVENTED_ROOTS if root in text], row["question"]


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


def test_stems_are_cleanly_spaced_and_the_readme_states_what_is_built():
    stems = [row["question"] for row in PARENT + FICTION]
    assert all(stem == " ".join(stem.split()) and stem.endswith("?") for stem in stems)
    keys = construction.construct(Home(SAMPLE), "sample").manifest["counts_by_key"]
    lettered = sum(keys[letter] for letter in CHOICES)
    stated = (
        f"{sum(keys.values())} rows: {lettered} keyed A to D, {keys['E']} keyed E and {keys['F']} keyed F"
    )
    assert stated in (SAMPLE / "README.md").read_text(encoding="utf-8")
