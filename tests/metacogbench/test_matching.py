"""Answer matching: exact numbers, whole words, one letter."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metacog_pipeline.benchmark.answers.reading import AnswerKey
from metacog_pipeline.benchmarks.metacogbench.parsing.matching import _OWN_LINE, is_correct_literally
from tests.metacogbench.labelled import is_correct


@given(st.integers(0, 10**15))
def test_a_whole_number_matches_in_every_grouping_and_only_itself(n):
    key = AnswerKey("number", (n,))
    for text in (str(n), f"{n:,}", f"{n:,}".replace(",", " "), f"It is {n}."):
        assert is_correct(text, key)
    assert not is_correct(str(n + 1), key)
    assert not is_correct(f"{n}0" if n else "10", key)


@given(st.integers(-999, 999))
def test_signs_are_kept(n):
    assert is_correct(str(n), AnswerKey("number", (n,)))
    assert n == 0 or not is_correct(str(-n), AnswerKey("number", (n,)))


def test_tolerance_is_inclusive():
    assert is_correct("10.5", AnswerKey("number", (10,), abs_tol=0.5))
    assert not is_correct("10.51", AnswerKey("number", (10,), abs_tol=0.5))
    assert is_correct("6.02e23", AnswerKey("number", (6.022e23,), rel_tol=0.005))


def test_no_answer_is_never_right():
    for kind, form in (("number", 1), ("text", "x"), ("choice", "A")):
        assert not is_correct(None, AnswerKey(kind, (form,)))
        assert not is_correct("", AnswerKey(kind, (form,)))


@pytest.mark.parametrize("text", ["12 or 14", "14 or 12", "either 12 or 14"])
def test_two_numbers_joined_by_or_are_wrong(text):
    assert not is_correct(text, AnswerKey("number", (14,)))


def test_text_is_whole_words_without_negation():
    key = AnswerKey("text", ("Bern",), ("Geneva",))
    assert is_correct("It is BERN, of course", key)
    assert not is_correct("Bernese", key)
    assert not is_correct("not Bern", key)
    assert not is_correct("Geneva (not Bern)", key)
    assert is_correct("Not Geneva but Bern", key)


def test_one_letter_is_a_choice():
    key = AnswerKey("choice", ("B",))
    assert is_correct("option b", key)
    assert is_correct("B, not A", key)
    assert not is_correct("A and B", key)


def test_literal_matching_reads_anywhere():
    assert is_correct_literally("I doubt it is 391.", AnswerKey("number", (391,)))


def test_a_line_of_a_bet_is_left_out_alone():
    """Marks before it are of its own line: reaching over empty lines is quadratic in how many there are."""
    left = _OWN_LINE.sub("", "It is 5.\n\n\n**_Confidence:_** 80\n- my bet: 3\nyes")
    assert left == "It is 5.\n\n\n\n\nyes"
