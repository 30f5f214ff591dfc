"""Replies in the accepted spelling: dates, transliterations, people, lists, titles, years and shares."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metacog_pipeline.benchmark.answers import word_answers
from metacog_pipeline.benchmark.answers.dates import as_date, date_of
from metacog_pipeline.benchmarks.selfknowledge.matching import matches
from metacog_pipeline.benchmarks.selfknowledge.person_names import as_person
from metacog_pipeline.benchmarks.selfknowledge.sounds import alike
from metacog_pipeline.benchmarks.selfknowledge.variants import forms_of
from tests.tables import every


@every(
    "said",
    [
        "12/25/1991", "25/12/1991", "1991-12-25", "25.12.1991", "25.12.91", "the 25th of December, 1991",
        "Dec. 25 1991", "25 de diciembre de 1991", "le 25 décembre 1991", "25. Dezember 1991", "1991年12月25日",
        "1991년 12월 25일",
    ],
)  # fmt: skip
def test_a_date_is_the_same_in_every_way_of_writing_it(said):
    assert matches(said, ["December 25, 1991"], "entities", "When was it dissolved?")
    assert not matches(said, ["December 26, 1991"], "entities", "When was it dissolved?")
    assert not matches(said, ["November 25, 1991"], "entities", "When was it dissolved?")


def test_a_coarser_date_does_not_say_a_finer_one_and_a_finer_says_a_coarser():
    for said, accepted, right in [
        ("December 1991", "December 25, 1991", False),
        ("1991", "December 25, 1991", False),
        ("December 25, 1991", "December 1991", True),
        ("December 25, 1991", "25 December", True),
        ("14/7", "July 14", True),
    ]:
        assert matches(said, [accepted], "entities", "When was it?") is right, said


@given(st.text(max_size=60), st.sampled_from(["May 4, 1979", "July 1776", "14 July"]))
def test_any_text_is_read_for_dates(text, form):
    wanted = date_of(form)
    assert wanted and as_date(as_date(text, wanted), wanted) is not None


@every(
    ("said", "wanted", "same"),
    [
        ("Chaikovskii", "Tchaikovsky", True), ("Tschaikowsky", "Tchaikovsky", True),
        ("Dostoïevski", "Dostoevsky", True), ("Rachmaninov", "Rachmaninoff", True), ("Flemming", "Fleming", True),
        ("Mediteranean", "Mediterranean", True), ("Muhammad", "Mohammed", True), ("Monet", "Manet", False),
        ("Zambia", "Gambia", False), ("Iranian", "Iran", False), ("Christine", "Christina", False),
        ("Slovenia", "Slovakia", False), ("nitrite", "nitrate", False), ("Australian", "Australia", False),
    ],
)  # fmt: skip
def test_another_spelling_is_the_same_name_and_another_name_is_not(said, wanted, same):
    assert alike(said, wanted) is same


@every(
    ("said", "name", "written"),
    [
        ("F. O. Gehry", "Frank Gehry", "Frank Gehry"),
        ("Bill Shakespeare", "William Shakespeare", "William Shakespeare"),
        ("Orwell, George", "George Orwell", "George Orwell"),
        ("Fedor Dostoevskii", "Fyodor Dostoevsky", "Fyodor Dostoevsky"),
        ("Johannes (Jan) Vermeer", "Johannes Vermeer", "Johannes Vermeer"),
        ("Modest Tchaikovsky", "Pyotr Tchaikovsky", "Modest Tchaikovsky"),
        ("Robert Downey Sr", "Robert Downey Jr", "Robert Downey Sr"),
        ("George W Bush", "George H W Bush", "George W Bush"),
    ],
)
def test_a_person_is_written_as_accepted_and_somebody_else_is_left(said, name, written):
    assert as_person(said, [name]) == written


@every(
    ("said", "accepted", "question", "right"),
    [
        ("Blue, green and red", "red, green and blue", "Which colours?", True),
        ("red/blue/green", "red, green and blue", "Which colours?", True),
        ("red, green, blue and yellow", "red, green and blue", "Which colours?", False),
        ("XIV century", "14th century", "In what century?", True),
        ("the 1300s", "14th century", "In what century?", True),
        ("the nineteen-twenties", "1920s", "In which decade?", True),
        ("0.71", "71 %", "What percentage?", True),
        ("42.2 km", "42.195 km", "How long is a marathon in km?", True),
        ("42.5 km", "42.195 km", "How long is a marathon in km?", False),
        ("4 or 5", "4", "How many?", False),
        ("The Modern Prometheus", "Frankenstein; or, The Modern Prometheus", "Which novel?", True),
        ("It used to be Federer, but Djokovic has it now.", "Roger Federer", "Who holds the record?", False),
        ("Georg Solti, with 31. Beyoncé is close.", "Beyoncé", "Who has won the most?", False),
        (
            "The Vltava; the Danube runs through Vienna.", "Danube", "Which river runs through Budapest?", False,
        ),
        ("| Who | n |\n|---|---|\n| Roger Federer | 8 |", "Federer", "Who holds the record?", True),
    ],
)  # fmt: skip
def test_what_is_said_counts_however_it_is_said(said, accepted, question, right):
    assert matches(said, [accepted], "entities", question) is right


def test_forms_of_a_name_hold_both_titles_and_no_firm():
    made = forms_of(["A Tale; or, The Other Tale", "Android, Inc.", "Star Wars: The Empire Strikes Back"])
    assert {"A Tale", "Other Tale", "Android", "The Empire Strikes Back"} <= set(made)


_LETTER = r"[^\W_\u1100-\u11ff\u3040-\u30ff\u3400-\u9fff]"


@given(st.text("ab s北é", max_size=30), st.sampled_from(["a", "ab", "a b", "b a"]))
def test_whole_words_are_where_a_pattern_finds_them(text, form):
    plain = " ".join(text.split())
    expected = [each.span() for each in re.finditer(rf"(?<!{_LETTER}){form}s?(?!{_LETTER})", plain)]
    assert word_answers._whole_words(plain, form) == expected


@pytest.mark.parametrize(
    "unit", ["A. ", "Ab, ", "1/1/1991 ", "from Ab to ", "so the a is ", "| a |\n|-|\n", "May 1 ", "(A) "]
)
def test_a_long_reply_of_variants_takes_time_in_proportion(unit):
    accepted = ["Ab Cd", "red, green and blue", "May 1, 1991", "The Nile", "14th century"]
    started = time.process_time()
    matches(unit * (200_000 // len(unit)), accepted, "entities", "Who was the first?")
    assert time.process_time() - started < 3
