"""An edit applies to exactly the text it was made for, and sets the key its kind allows."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metacog_pipeline.benchmarks.metamedqa.construction import edits
from metacog_pipeline.benchmarks.metamedqa.construction.records import (
    EDIT_KINDS,
    Change,
    EditRecord,
    ParentRow,
)
from metacog_pipeline.errors import SourceError

PARENT = ParentRow(0, "Pulse 80, pulse 80. Why?", ("one", "two", "three", "four"), "B", "two", "step1")


def edit(*changes: Change, kind="answer_replaced", after="E") -> EditRecord:
    return EditRecord("x-0000", 0, kind, changes, "B", after)


def test_a_change_replaces_exactly_the_named_field():
    question, options = edits.apply_edit(PARENT, edit(Change("options.B", before="two", after="2")))
    assert (question, options) == (PARENT.question, ("one", "2", "three", "four"))


def test_before_that_does_not_match_names_id_field_and_both_texts():
    with pytest.raises(SourceError, match=r"x-0000: options\.B: .*expected 'Two', found 'two'"):
        edits.apply_edit(PARENT, edit(Change("options.B", before="Two", after="2")))


def test_one_different_character_in_a_long_text_is_shown():
    long = "word " * 300
    parent = replace(PARENT, question=long + "end!")
    with pytest.raises(SourceError) as caught:
        edits.apply_edit(
            parent, edit(Change("question", before=long + "end?", after="x"), kind="question_altered")
        )
    assert "end?" in str(caught.value) and "end!" in str(caught.value) and len(str(caught.value)) < 700


@pytest.mark.parametrize(("count", "fits"), [(1, False), (2, True), (3, False)])
def test_find_must_occur_exactly_count_times(count, fits):
    change = Change("question", find="ulse 80", replace="ulse 90", count=count)
    if fits:
        assert edits.apply_edit(PARENT, edit(change))[0] == "Pulse 90, pulse 90. Why?"
    else:
        with pytest.raises(SourceError, match="occurs 2 times"):
            edits.apply_edit(PARENT, edit(change))


def test_changes_of_one_field_apply_in_their_order():
    steps = (Change("options.B", before="two", after="2"), Change("options.B", before="2", after="II"))
    assert edits.apply_edit(PARENT, edit(*steps))[1][1] == "II"


def test_keys_follow_the_kind_of_edit():
    assert {kind: edits.allowed_keys(kind) for kind in EDIT_KINDS} == {
        "answer_replaced": ("E",),
        "answer_altered": ("E",),
        "question_altered": ("E", "F"),
        "malformed": ("F",),
    }
    assert edits.edited_key(PARENT, None) == "B"
    assert edits.edited_key(PARENT, edit(kind="malformed", after="F")) == "F"
    with pytest.raises(SourceError, match="malformed leads to F"):
        edits.edited_key(PARENT, edit(kind="malformed", after="E"))
    with pytest.raises(SourceError, match="answer_before is A"):
        edits.edited_key(PARENT, replace(edit(), answer_before="A"))


def test_records_must_name_a_row_once_and_by_its_id():
    good = edit()
    assert edits.edits_by_index([PARENT], [good, replace(good, status="proposed")], "x-") == {0: good}
    for wrong in ([good, good], [replace(good, source_index=1)], [replace(good, item_id="y-0000")]):
        with pytest.raises(SourceError):
            edits.edits_by_index([PARENT], wrong, "x-")


@given(st.text(min_size=1), st.text())
def test_applying_a_whole_text_change_gives_the_text_after(before, after):
    parent = replace(PARENT, question=before)
    question, options = edits.apply_edit(parent, edit(Change("question", before=before, after=after)))
    assert (question, options) == (after, PARENT.options)


@pytest.mark.parametrize("lacking", ["auditor", "reason", "created"])
def test_an_author_made_record_counts_only_with_a_name_a_reason_and_a_date(lacking):
    given = replace(edit(), status="accepted", auditor="Ada", reason="why", created="2026-01-31")
    assert edits.edits_by_index([PARENT], [given], "x-") == {0: given}
    with pytest.raises(SourceError, match=f"accepted without {lacking}"):
        edits.edits_by_index([PARENT], [replace(given, **{lacking: None})], "x-")
