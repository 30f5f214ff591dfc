"""The edit table is recovered from the two sets, in any order, labelled or not."""

import difflib
import random
import unicodedata
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metacog_pipeline.benchmarks.metamedqa.construction import derive as module
from metacog_pipeline.benchmarks.metamedqa.construction.build import Options, build_items, item_to_row
from metacog_pipeline.benchmarks.metamedqa.construction.derive import derive, infer_kind
from metacog_pipeline.benchmarks.metamedqa.construction.edits import apply_edit
from metacog_pipeline.benchmarks.metamedqa.construction.pipeline import (
    load_fictional,
    load_or_derive_edits,
    load_parent,
)
from metacog_pipeline.benchmarks.metamedqa.construction.records import Change, ChoiceRow, ParentRow
from metacog_pipeline.benchmarks.metamedqa.construction.text import fold, similarity, word_jaccard
from metacog_pipeline.home import Home
from tests.tables import every


@pytest.fixture(scope="module")
def sample(tmp_path_factory):
    home = Home(tmp_path_factory.mktemp("home"))
    parents = load_parent(home, "sample")
    edits = load_or_derive_edits(home, "sample", parents).edits
    fictional = [row for row in load_fictional(home, "sample") if row.language == "en"]
    items = build_items(parents, edits, fictional, Options("sample", "sample-"))
    return parents, edits, [item_to_row(item) for item in items]


def shuffled(rows, seed=1):
    mixed = random.Random(seed).sample(rows, len(rows))
    return [replace(row, place=place) for place, row in enumerate(mixed)]


def outcome(parents, edit):
    return (
        edit.item_id,
        edit.edit_kind,
        edit.answer_before,
        edit.answer_after,
        apply_edit(parents[edit.source_index], edit),
    )


def test_a_built_set_gives_back_its_edits(sample):
    parents, edits, rows = sample
    found = derive(parents, shuffled(rows), "sample-")
    assert [outcome(parents, e) for e in found.edits] == [outcome(parents, e) for e in edits if e.counts]
    assert len(found.fictional) == len(rows) - len(parents) and found.one_to_one and not found.reports


def test_without_kinds_keys_and_texts_are_still_recovered(sample):
    parents, edits, rows = sample
    bare = [replace(row, kind=None, item_id=None) for row in shuffled(rows)]
    found = derive(parents, bare, "sample-")
    assert [outcome(parents, e)[2:] for e in found.edits] == [
        outcome(parents, e)[2:] for e in edits if e.counts
    ]
    kinds = {e.item_id: e.edit_kind for e in found.edits}
    for edit in edits:
        if edit.edit_kind in ("malformed", "question_altered"):
            assert kinds[edit.item_id] == edit.edit_kind


def test_without_any_label_the_fictional_rows_are_told_by_resembling_nothing(sample):
    parents, _, rows = sample
    bare = [replace(row, kind=None, meta_info="", item_id=None) for row in rows]
    found = derive(parents, bare, "sample-")
    assert [m.source_index for m in found.matches] == list(range(len(parents)))
    assert len(found.reports) == len(rows) - len(parents)


def test_a_parent_row_that_is_gone_is_reported_missing(sample):
    parents, _, rows = sample
    found = derive(parents, rows[1:], "sample-")
    assert found.missing == (0,) and not found.one_to_one


def test_close_rivals_are_reported():
    parents = [
        ParentRow(i, f"A man aged {i}{i} has pain. Why?", ("a", "b", "c", "d"), "A", "a", "")
        for i in range(2)
    ]
    rows = [
        ChoiceRow(i, f"A man aged {i}{i} has pains. Why?", tuple("ABCDEF"), tuple("abcdef"), "F")
        for i in range(2)
    ]
    found = derive(parents, rows)
    assert [m.source_index for m in found.matches] == [0, 1]
    assert len(found.reports) == 2 and "within 10 points" in found.reports[0]


def test_a_match_below_sixty_is_reported_but_kept_when_one_to_one():
    parents = [ParentRow(0, "abcdefghij", ("a", "b", "c", "d"), "A", "a", "")]
    found = derive(parents, [ChoiceRow(0, "qrstuvwxij", tuple("ABCDEF"), tuple("abcdef"), "F")])
    assert found.one_to_one and "below 60" in found.reports[0]


def test_every_row_rewritten_is_still_matched(monkeypatch):
    monkeypatch.setattr(module, "_RIVALS", 5)
    words = [f"word{i}" for i in range(400)]
    rng = random.Random(0)
    parents = [
        ParentRow(i, " ".join(rng.sample(words, 30)), ("a", "b", "c", "d"), "A", "a", "") for i in range(60)
    ]
    rows = [
        ChoiceRow(
            p.source_index, p.question.replace(" ", "  extra ", 3), tuple("ABCDEF"), tuple("abcdef"), "F"
        )
        for p in parents
    ]
    found = derive(parents, rows)
    assert [m.source_index for m in found.matches] == list(range(60))


@every(
    ("changes", "kind"),
    [
        ((), "malformed"),
        ((Change("question", "a", "b"),), "question_altered"),
        ((Change("question", "a", "b"), Change("options.B", "a", "b")), "question_altered"),
        ((Change("options.A", "raises blood pressure", "lowers blood pressure"),), "answer_altered"),
        ((Change("options.A", "raises blood pressure", "a tumour of the lung"),), "answer_replaced"),
        ((Change("question", "a", "b"), Change("options.A", "one", "two")), "answer_replaced"),
        ((Change("options.C", "one", "two"),), "answer_replaced"),
    ],
)
def test_the_kind_of_an_unlabelled_edit_is_inferred(changes, kind):
    assert infer_kind(changes, "A") == kind


@settings(max_examples=150)
@given(st.text("abcd ", max_size=30), st.text("abcd ", max_size=30))
def test_similarity_is_symmetric_bounded_and_one_hundred_only_for_equal_texts(a, b):
    value = similarity(a, b)
    assert value == similarity(b, a) and 0.0 <= value <= 100.0
    assert (value == 100.0) == (a == b)
    # difflib finds some common subsequence, never one longer than the longest.
    assert value >= 100 * difflib.SequenceMatcher(None, a, b, autojunk=False).ratio() - 1e-9


@settings(max_examples=100)
@given(st.text(max_size=30), st.text(max_size=30))
def test_word_overlap_is_symmetric_and_bounded(a, b):
    assert 0.0 <= word_jaccard(a, b) == word_jaccard(b, a) <= 1.0
    assert word_jaccard(a, a) == 1.0


@settings(max_examples=200)
@given(st.text(max_size=30))
def test_folding_ignores_case_space_and_one_final_stop_only(text):
    assert fold(f"  {text}\n") == fold(text)
    if "." not in unicodedata.normalize("NFKC", text):
        assert fold(text + ".") == fold(text)


@pytest.mark.parametrize(("a", "b"), [("↑ TSH", "↓ TSH"), ("+2", "-2"), ("a.b", "ab"), ("IL-4", "IL 4")])
def test_folding_keeps_arrows_signs_and_inner_punctuation(a, b):
    assert fold(a) != fold(b)
