"""A right text answer that is denied, doubted, taken back or offered beside another one is not right."""

import time

import pytest

from metacog_pipeline.benchmark.answers.reading import AnswerKey, read_stated
from metacog_pipeline.benchmark.answers.stated import answer_of
from tests.tables import every

KEYS = {
    "Rome": AnswerKey("text", ("Rome",), question="What is the capital of Italy?"),
    "Bell": AnswerKey("text", ("Alexander Bell", "Bell"), question="Who invented the telephone?"),
    "Nile": AnswerKey("text", ("Nile",), question="Which river flows through Cairo?"),
    "Venus": AnswerKey("text", ("Venus",), question="Which planet is the hottest?"),
    "femur": AnswerKey("text", ("femur",), question="Which bone is the longest?"),
    "shark": AnswerKey("text", ("shark",), question="Which one is not a mammal: whale, shark or bat?"),
}


def readings(reply, key):
    """Return whether a reply is right by every reader of a text answer."""
    return {answer_of(reply, key).correct is True}


@every(
    ("key", "reply"),
    [
        ("Rome", "Rome? No, Milan."), ("Rome", "Rome? No."), ("Rome", "Rome? I don't think so. Milan."),
        ("Rome", "Rome? Wrong, it's Milan."), ("Rome", "Rome. Wait, no, it's Milan."), ("Rome", "Rome. No, Milan."),
        ("Rome", "Rome is wrong. It's Milan."), ("Rome", "Rome would be incorrect."), ("Rome", "Rome - no, Milan."),
        ("Rome", "Rome is not the right answer."), ("Rome", "Rome, but that is wrong: it is Milan."),
        ("Rome", "Rome is not the capital; it is Milan."), ("Rome", "Rome isn't the capital of Italy."),
        ("Rome", "Rome is no longer the capital."), ("Rome", "Rome... actually, Milan."),
        ("Rome", "Rome. Sorry, I meant Milan."), ("Rome", "Rome. Wait, that's wrong. It is Milan."),
        ("Bell", "Bell did not invent it."), ("Bell", "Bell didn't invent the telephone; Meucci did."),
        ("Bell", "Alexander Bell was not the inventor."), ("Bell", "It was not invented by Bell."),
        ("Nile", "The Nile doesn't flow through Cairo."), ("Venus", "Venus is not the hottest; Mercury is."),
        ("Rome", "Roma no es la capital. Rome no es la capital."),
    ],
)  # fmt: skip
def test_an_answer_that_is_denied_or_taken_back_is_not_right(key, reply):
    assert readings(reply, KEYS[key]) == {False}


@every(
    "reply",
    [
        "I can't say whether it's Rome.", "I don't know if it is Rome.", "I'm not sure that it is Rome.",
        "I don't think it's Rome.", "I doubt that it is Rome.", "I have no idea whether it's Rome.",
        "It's hard to tell if it is Rome.", "I am unsure if Rome is the capital.", "No sé si es Rome.",
    ],
)  # fmt: skip
def test_who_does_not_know_whether_it_is_the_answer_does_not_give_it(reply):
    assert readings(reply, KEYS["Rome"]) == {False}


@every(
    ("key", "reply"),
    [("Rome", "Rome/Milan"), ("Rome", "Milan / Rome"), ("femur", "femur/tibia"), ("Bell", "Bell/Edison")],
)
def test_two_names_around_a_slash_are_of_equal_standing(key, reply):
    assert readings(reply, KEYS[key]) == {False}
    assert read_stated(reply, KEYS[key]).ambiguous


@every(
    ("key", "reply"),
    [
        ("Rome", "Milan? No, Rome."), ("Rome", "Rome, not Milan"), ("Rome", "Rome. No doubt."),
        ("Rome", "Rome, no question"), ("Rome", "Rome. No further explanation is needed."),
        ("Rome", "Rome is not only the capital but also the largest city."), ("Rome", "Rome/Italy"),
        ("Rome", "There is no doubt that it is Rome."), ("Rome", "I do not doubt that it is Rome."),
        ("Rome", "Rome. Wait, let me check. Yes, Rome."), ("Rome", "Rome. I mean the city on the Tiber."),
        ("Rome", "Rome. It is not Milan."), ("Rome", "Rome. Actually, it was not always the capital."),
        ("Rome", "I'm not sure, but I think it's Rome."), ("Rome", "I can't think of any answer but Rome."),
        ("Rome", "Rome is not in doubt."), ("Bell", "Bell was not the first to try, but he holds the patent."),
        ("Bell", "Bell. Edison did not invent it."), ("Bell", "Bell did not live to see television."),
        ("Nile", "The Nile, which does not flow through Nairobi."), ("Venus", "Venus, not Mercury."),
        ("shark", "The shark is not a mammal."),
    ],
)  # fmt: skip
def test_what_denies_something_else_leaves_an_answer_right(key, reply):
    assert readings(reply, KEYS[key]) == {True}


@pytest.mark.parametrize("right", [True, False])
def test_a_set_of_days_before_a_month_is_one_date(right):
    key = AnswerKey("number", (1911,), question="In which year did the expedition arrive?")
    said = "13-14 December 1911" if right else "1909-1911"
    assert (read_stated(said, key).correct is True) is right


@pytest.mark.parametrize(
    "unit", ["Rome? No, ", "Rome/", "n't know if it ", "Rome is not the ", "actually, A", "Rome, "]
)
def test_long_denials_are_read_in_time(unit):
    text = unit * (100_000 // len(unit))
    started = time.process_time()
    answer_of(text, KEYS["Rome"])
    assert time.process_time() - started < 2
