"""Rules the shipped sample question set must hold, checked on the raw JSON without the construction code."""

import json
import re
import unicodedata
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.tables import every

SAMPLE = Path(__file__).resolve().parents[2] / "data" / "metamedqa" / "sample"
CHOICES = ["A", "B", "C", "D"]
NONE_TEXT = "None of the above"
UNKNOWN_TEXT = "I don't know or cannot answer"
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
ALLOWED_OUTCOMES = {
    "answer_replaced": {"E"},
    "answer_altered": {"E"},
    "question_altered": {"E", "F"},
    "malformed": {"F"},
}
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


def fold(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split()).removesuffix(".").rstrip()


def apply(record: dict[str, Any], row: dict[str, Any]) -> tuple[str, dict[str, str]]:
    """Stem and options after the edit; asserts that every change finds what it names and has an effect."""
    question, options = row["question"], dict(row["options"])
    for change in record["changes"]:
        field = change["field"]
        current = question if field == "question" else options[field.removeprefix("options.")]
        if "find" in change:
            assert set(change) == {"field", "find", "replace", "count"}
            assert field == "question"
            assert change["find"] and current.count(change["find"]) == change["count"] >= 1
            after = current.replace(change["find"], change["replace"])
        else:
            assert set(change) == {"field", "before", "after"}
            assert current == change["before"]
            after = change["after"]
        assert after != current and after.strip() == after and "  " not in after
        if field == "question":
            question = after
        else:
            options[field.removeprefix("options.")] = after
    return question, options


def ident(record: dict[str, Any]) -> str:
    return str(record["item_id"])


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


def test_every_question_has_four_different_options_none_of_them_the_added_ones():
    for row in PARENT + FICTION:
        assert list(row["options"]) == CHOICES
        folded = [fold(text) for text in row["options"].values()]
        assert all(folded) and len(set(folded)) == 4, row["question"]
        assert not {fold(NONE_TEXT), fold(UNKNOWN_TEXT)} & set(folded)
        assert not any(re.match(r"(all|none|both|neither) of\b", text) for text in folded)


def test_questions_are_unique_and_cleanly_spaced():
    stems = [row["question"] for row in PARENT + FICTION]
    assert len({fold(stem) for stem in stems}) == len(stems)
    for stem in stems:
        assert stem == " ".join(stem.split()) and stem.endswith("?")


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


@every("record", EDITS, ids=ident)
def test_an_edit_applies_and_its_outcome_is_allowed_for_its_kind(record):
    row = PARENT[record["source_index"]]
    assert record["answer_before"] == row["answer_idx"]
    assert record["answer_after"] in ALLOWED_OUTCOMES[record["edit_kind"]]
    assert (record["edit_kind"] == "malformed") == (record["changes"] == [])
    question, options = apply(record, row)
    folded = [fold(text) for text in [*options.values(), NONE_TEXT, UNKNOWN_TEXT]]
    assert len(set(folded)) == 6
    others = {fold(other["question"]) for other in PARENT if other is not row}
    assert fold(question) not in others and question.endswith("?")


@every("record", edits_of("answer_replaced", "answer_altered"), ids=ident)
def test_an_answer_edit_removes_the_right_answer_and_nothing_else(record):
    row = PARENT[record["source_index"]]
    assert [change["field"] for change in record["changes"]] == [f"options.{row['answer_idx']}"]
    _, options = apply(record, row)
    assert fold(row["answer"]) not in {fold(text) for text in options.values()}


@every("record", edits_of("question_altered"), ids=ident)
def test_a_question_edit_leaves_the_options_and_shortens_the_stem_when_undecidable(record):
    row = PARENT[record["source_index"]]
    question, options = apply(record, row)
    assert options == row["options"]
    if record["answer_after"] == "F":
        assert len(question) < len(row["question"])
        assert set(re.findall(r"[\w.%/]+", question)) <= set(re.findall(r"[\w.%/]+", row["question"]))


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


def test_the_built_set_adds_up():
    english = [row for row in FICTION if row["language"].startswith("en")]
    keys = Counter(
        EDIT_OF[row["realidx"]]["answer_after"] if row["realidx"] in EDIT_OF else row["answer_idx"]
        for row in PARENT
    )
    keys["F"] += len(english)
    assert sum(keys[letter] for letter in CHOICES) == len(PARENT) - len(EDITS)
    assert keys["E"] == sum(record["answer_after"] == "E" for record in EDITS)
    assert keys.total() == len(PARENT) + len(english)
    readme = (SAMPLE / "README.md").read_text(encoding="utf-8")
    lettered = sum(keys[letter] for letter in CHOICES)
    stated = f"{keys.total()} rows: {lettered} keyed A to D, {keys['E']} keyed E and {keys['F']} keyed F"
    assert stated in readme


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
