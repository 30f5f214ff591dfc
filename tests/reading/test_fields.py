"""Fields that a benchmark of several values asks for: one JSON object, and confidence before and after an answer."""

import math

import pytest

from metacog_pipeline.reading.envelope import Envelope, plain
from metacog_pipeline.reading.fields import Bet, Confidence, Fields, Number
from metacog_pipeline.reading.names import ShortText, same
from metacog_pipeline.reading.numbers import numbers
from metacog_pipeline.reading.reader import read

PRICE = Fields({"price": "price", "eur": "price", "cups": "cups"})


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        ('{"price": 4.5, "cups": [1, 2]}', {"price": 4.5, "cups": [1, 2]}),
        ('Tried {2, 3}.\n```json\n{"EUR": 4.5}\n```', {"price": 4.5}),
        ('{"price": 1}\nFinal: {"price": 2, "cups": 3}', {"price": 2, "cups": 3}),
        ('{"result": {"price": 2, "cups": 3}}', {"price": 2, "cups": 3}),
        ("{'price': 2, 'cups': None,} // so", {"price": 2, "cups": None}),
        ('{"price": 2, // a "note"\n "cups": 3}', {"price": 2, "cups": 3}),
        ('{price: 2, cups: "a, b"}', {"price": 2, "cups": "a, b"}),
        ("price: 2 EUR\ncups: 3", {"price": "2 EUR", "cups": "3"}),
    ],
)
def test_the_object_with_most_of_the_names_is_read(reply, said):
    assert read(Envelope.of(reply), [PRICE])["fields"].value == said


@pytest.mark.parametrize(
    ("reply", "status"),
    [
        ("The price is 4.5.", "no_answer"),
        ('{"price": 2, "cups": 3', "no_answer"),
        ("I'm sorry, but I can't help with that.", "refused"),
        ("", "no_answer"),
    ],
)
def test_without_an_object_there_are_no_values(reply, status):
    assert read(Envelope.of(reply), [PRICE]).status == status


@pytest.mark.parametrize(
    "reply",
    [
        "PRE_CONFIDENCE: 80\nANSWER: 7\nPOST_CONFIDENCE: 90",
        "Pre-confidence: 80 %\nAnswer: 7\nPost-confidence: 90 %",
        "Confidence (before): 80\nFinal answer: 7\nConfidence (after): 90",
        "PRE\\_CONFIDENCE -> 80 -> ANSWER -> 7 -> POST\\_CONFIDENCE -> 90",
        '{"pre_confidence": 80, "answer": 7, "post_confidence": 90}',
        "| PRE_CONFIDENCE | ANSWER | POST_CONFIDENCE |\n|---|---|---|\n| 80 | 7 | 90 |",
        "| PRE_CONFIDENCE | 80 |\n| ANSWER | 7 |\n| POST_CONFIDENCE | 90 |",
        "- Pre confidence | 80/100\n- Answer | 7\n- Post confidence | 90/100",
        "PRE_CONFIDENCE: 80\nANSWER: 8\nHm, that is the wrong one.\nANSWER: 7\nPOST_CONFIDENCE: 90",
    ],
)
def test_confidence_before_and_after_are_two_fields(reply):
    asked = [Number(), Confidence(0, 100, "pre"), Confidence(0, 100, "post")]
    found = read(Envelope.of(reply), asked)
    assert [found[name].value for name in ("answer", "pre", "post")] == [7, 80, 90]


def test_a_name_may_stand_without_what_it_is_a_name_of():
    assert same("Lake Tanganyika", "Tanganyika") and same("Pacific", "the Pacific Ocean")
    assert not same("Dead Sea", "Dead Lake") and not same("Mexico", "Mexico City")


@pytest.mark.parametrize(
    ("asked", "reply"),
    [
        (Number(), "BET: 60"),
        (Number(), "5079 × 9163 = 45,815,000 + 723,877 ="),
        (ShortText(["Ottawa"]), "How many tokens do I have?"),
        (ShortText(["Ottawa"]), "I won't take part in betting of any kind."),
        (ShortText(()), "I'm unable to verify that"),
        (ShortText(()), "There is not enough information to tell"),
        (ShortText(()), "This cannot be answered."),
    ],
)
def test_what_is_no_answer_gives_none(asked, reply):
    assert read(Envelope.of(reply), [asked, Bet(0, 100)])["answer"].status != "ok"


def test_a_result_that_is_stated_counts_before_other_numbers_of_its_line():
    assert read(Envelope.of("I'll wager 40 tokens. The answer is 86."), [Number()])["answer"].value == 86


def test_a_point_groups_thousands_where_a_whole_number_is_asked_for():
    assert Number(whole=True).read("284.895").value == 284895
    assert Number().read("284.895").value == 284.895


@pytest.mark.parametrize(
    ("said", "value"),
    [
        ("17 × 23 = 391", 391),
        ("391 = 17 × 23", 391),
        ("712 × 29 → 20,648", 20648),
        ("0 (30863 = 7 × 4409)", 0),
        ("2548. Check: 2548 / 26 = 98.", 2548),
        ("2,458... wait, 98 × 26 = 2,548", 2548),
        ("The 1940 Games were cancelled, so 1964", 1964),
        ("19 March 1932, after eight years", 1932),
        ("37^83 mod 113 = 79", 79),
        ("$585 \\times 487 = 284{,}895$", 284895),
        ("nineteen thirty-two", 1932),
        ("nine hundred and seventy-three", 973),
        ("the result is 12, from 3 and 4", 12),
    ],
)
def test_of_several_numbers_the_result_is_read(said, value):
    assert Number().read(said).value == value


@pytest.mark.parametrize(
    "said", ["88 or 85", "11, maybe 12", "1522 - 1530", "began in 1923 and ended in 1932"]
)
def test_numbers_side_by_side_are_ambiguous(said):
    assert Number().read(said).status == "ambiguous"


@pytest.mark.parametrize(
    ("said", "status", "value"), [("0 °C, i.e. 32 °F", "ok", 32), ("1802 K", "no_answer", None)]
)
def test_a_number_is_that_of_the_unit_asked_for(said, status, value):
    found = Number("°F").read(said)
    assert (found.status, found.value) == (status, value)


@pytest.mark.parametrize("stated", ["5/" + "1" * 5000, "1" * 5000 + "/100", "1e999", "0e999", "7/0"])
def test_a_confidence_without_end_is_off_the_scale_and_no_infinite_number(stated):
    sure = read(Envelope.of(f"Answer: 7\nConfidence: {stated}"), [Number(), Confidence(0, 100)])["confidence"]
    assert sure.status == "out_of_range"
    assert sure.value is None or math.isfinite(sure.value)


def test_much_white_space_is_no_answer():
    assert read(Envelope.of(" " * 50_000), [Number(), Bet(0, 100)]).status == "no_answer"
    assert read(Envelope.of("{" * 50_000), [PRICE]).status == "no_answer"


@pytest.mark.parametrize(
    ("text", "value"),
    [("minus 5", -5.0), ("-5", -5.0), ("٤٢", 42.0), ("۴۲", 42.0), ("४२", 42.0)],
)
def test_a_sign_in_words_and_digits_of_other_scripts_are_read(text, value):
    assert Number().read(plain(text)).value == value


@pytest.mark.parametrize(
    ("text", "values"),
    [("5 M", [5.0]), ("$5M", [5e6]), ("1/0", [1.0, 0.0]), ("3/4", [0.75]), ("1,234", [1234.0])],
)
def test_a_molar_number_is_no_million_and_nothing_is_divided_by_0(text, values):
    assert [each.value for each in numbers(text)] == values
