"""A reply that says the right answer as the key has it is right, whatever is written in the key; its signs count."""

from datetime import date, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metacog_pipeline.benchmark.contract import Call
from metacog_pipeline.benchmarks.questions import read
from metacog_pipeline.interchange.question import Question as Item
from metacog_pipeline.interchange.question_rows import question_of
from tests.tables import every


def right(key, reply):
    row = {"id": "q", "question": "What is it called?", "answer": key, "kind": "text"}
    asked = Item(**question_of(row, "own"))
    return bool(read.read(asked, "answer_only", {"answer": Call("ok", reply)}, 1).correct)


KEYS = (
    "\\frac{3}{7}", "-\\dfrac{35}{9}", "(3, \\frac{\\pi}{2})", "\\text{Evelyn}", "90^\\circ", "2\\sqrt{5}", "6 - 5i",
    "x^2+1", "don’t", "O'Brien", "a*b", "x_1", "C++", "C#", "AT&T", "हिन्दी", "ไทย", "東京", "القاهرة", "naïve", "H₂O",
    "50/50", "½ cup", "1½ cups", "Catch-22", "24/7", "±2", "“Hello”",
)  # fmt: skip


@every("said", ["{}", "Answer: {}", "The answer is {}.", "\\boxed{{{}}}", "Answer: {}\nConfidence: 80%"])
@every("key", KEYS)
def test_a_reply_that_is_the_key_is_right(key, said):
    assert right(key, said.format(key)) is True


@every("key", ["→", "😀", "∞"])
def test_a_key_without_a_letter_is_right_where_it_is_all_that_is_said(key):
    assert right(key, f"Answer: {key}\nConfidence: 80%") is True
    assert right(key, "Answer: none") is False


@pytest.mark.parametrize("said", ["nai\u0308ve", "It is nai\u0308ve."])
def test_an_accent_that_is_a_character_of_its_own_breaks_no_word(said):
    assert right("naïve", said) is True


@every(
    ("key", "said"),
    [("3/7", "-3/7"), ("-3/7", "3/7"), ("-\\frac{3}{7}", "\\boxed{\\frac{3}{7}}"), ("6 - 5i", "6 + 5i"),
     ("x^2+1", "x^2 - 1"), ("C++", "C"), ("C++", "C#"), ("±2", "2"), ("p - q", "p + q"), ("5 apples", "-5 apples"),
     ("x<5", "x > 5")],
)  # fmt: skip
def test_another_sign_is_another_answer(key, said):
    assert right(key, said) is not True


ENGLISH, GERMAN, SPANISH = (
    ("January", "May", "June", "September", "December"),
    ("Januar", "Mai", "Juni", "September", "Dezember"),
    ("enero", "mayo", "junio", "septiembre", "diciembre"),
)
MONTHS = (1, 5, 6, 9, 12)


def named(day):
    """Return ways to write a day that mean no other."""
    (y, m, d), at = (day.year, day.month, day.day), MONTHS.index(day.month)
    th = "th" if 10 < d < 14 else {1: "st", 2: "nd", 3: "rd"}.get(d % 10, "th")
    return (
        f"{ENGLISH[at]} {d}, {y}", f"{d} {ENGLISH[at]} {y}", f"the {d}{th} of {ENGLISH[at]}, {y}",
        f"{day:%A}, {ENGLISH[at][:3]} {d}{th}, {y}", f"{d}. {GERMAN[at]} {y}", f"{d} de {SPANISH[at]} de {y}",
        f"{y}-{m:02}-{d:02}", f"{y}年{m}月{d}日", f"{y}년 {m}월 {d}일",
    )  # fmt: skip


def in_digits(day):
    y, m, d = day.year, day.month, day.day
    return (f"{d}/{m}/{y}", f"{m}/{d}/{y}", f"{d:02}.{m:02}.{y}", f"{m:02}-{d:02}-{y}")


DATES = st.dates(date(1000, 1, 1), date(2999, 12, 31)).filter(lambda day: day.month in MONTHS)


@settings(max_examples=10)
@given(DATES, st.integers(1, 400))
def test_a_date_is_met_in_any_way_it_is_written_and_another_is_not(day, later):
    means_one = day.day > 12 or day.day == day.month
    keys = (*named(day), *(in_digits(day) if means_one else ()))
    for key in keys:
        for said in (*keys, f"It was on {keys[1]}.", f"Answer: {keys[4]}\nConfidence: 80%"):
            assert right(key, said) is True, (key, said)
    other = day + timedelta(later) if day.year < 2990 else day - timedelta(later)
    if other.month in MONTHS:
        for key, said in zip(keys, (*named(other)[:5], *in_digits(other)), strict=False):
            assert right(key, said) is not True, (key, said)


@every(
    ("key", "said"),
    [("Sept. 13, 2001", "13th of September 2001"), ("2001-09-13", "13.09.2001"), ("May 1990", "in May of 1990"),
     ("May 1990", "May 5, 1990"), ("05/06/1990", "5 June 1990"), ("May", "May"), (["1990", "May 5, 1990"], "5/5/1990")],
)  # fmt: skip
def test_a_part_of_a_date_is_met_by_it_and_by_a_finer_one(key, said):
    assert right(key, said) is True


@every(
    ("key", "said"),
    [("May 5, 1990", each) for each in ("May 6, 1990", "15 May 1990", "5 May 1991", "May 1990", "5 May", "1990")]
    + [("May 1990", "June 1990"), ("September 11", "9/11"), ("May 5, 1990", "not 5 May 1990")],
)  # fmt: skip
def test_another_date_is_no_match(key, said):
    assert right(key, said) is not True


@every(
    ("key", "said"),
    [("6 - 5i", "6-5i"), ("3/7", "Answer - 3/7"), ("3/7", "x = 3/7"), ("Catch-22", "Catch 22"),
     ("Vitamin K", "vitamin-K"), ("3-D", "3 D"), ("B-52", "B 52"), ("1914-1918", "1914 – 1918"), ("Na+", "Na+"),
     ("1995", "(1995)"), ("y=2x+3", "y = 2x + 3")],
)  # fmt: skip
def test_a_hyphen_in_a_name_and_spaces_in_a_formula_change_nothing(key, said):
    assert right(key, said) is True


def options_and_right(options, answer):
    made = question_of({"question": "Which?", "options": options, "answer": answer}, "own")
    return made["options"], made["answer"]


@pytest.mark.parametrize(
    "options",
    [["A) red", "(B) blue", "C. green", "D: x"], ["a) red", "b)blue", "c. green", "(d) x"],
     {"A": "A) red", "B": "B) blue", "C": "C) green", "D": "D) x"},
     "A) red | B) blue | C) green | D) x", "(A) red\n(B) blue\n(C) green\n(D) x"],
)  # fmt: skip
@pytest.mark.parametrize("right_one", ["B", "b", "(B)", "B) blue", "b. blue", "blue", 1])
def test_letters_that_options_carry_are_taken_off_once(options, right_one):
    assert options_and_right(options, right_one) == (("red", "blue", "green", "x"), "B")
    assert options_and_right(["A) A", "B) B", "C) AB", "D) O"], "D")[0] == ("A", "B", "AB", "O")


@pytest.mark.parametrize(
    "options",
    [["A", "B", "AB", "O"], ["C. elegans", "D. melanogaster"], ["A. thaliana", "C. elegans"], ["A.D.", "B.C."],
     ["(A) and (B)", "(B) and (C)"], ["(A) only", "(B) only"], ["a - b", "b - a"], ["A) red", "B) blue", "green"],
     ["B) red", "A) blue"], ["A:B", "B:A"]],
)  # fmt: skip
def test_options_without_the_letter_of_their_own_place_stay(options):
    assert options_and_right(options, options[1]) == (tuple(options), "B")


def test_a_question_without_texts_in_the_columns_of_options_has_none():
    made = question_of({"question": "Who?", "A": "", "B": None, "answer": "B"}, "own")
    assert (made["options"], made["answer"], made["kind"]) == ((), "B", "text")


@pytest.mark.parametrize(
    ("word", "letter"), [("Wahr", "A"), ("FAUX", "B"), ("да", "A"), ("错", "B"), ("1", "A"), ("b", "B")]
)
def test_a_question_of_true_or_false_may_be_answered_in_any_language(word, letter):
    assert question_of({"question": "So?", "kind": "Boolean", "answer": word}, "own")["answer"] == letter
