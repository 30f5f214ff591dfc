"""What a reply says to "do you know it?"."""

import time
import tomllib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metacog_pipeline.benchmarks.selfknowledge.answer_words import YES_NO
from metacog_pipeline.benchmarks.selfknowledge.parsing import language_of, read_yes_no, says_yes
from metacog_pipeline.benchmarks.selfknowledge.untidy_replies import NEITHER, NO, REFUSALS, YES
from tests.tables import every

LANGUAGES = tuple(YES_NO)
REPLIES: dict[str, dict[str, list[str]]] = tomllib.loads(
    Path(__file__).with_name("yes_no_replies.toml").read_text("utf-8")
)


VALUES = {"yes": 1, "no": 0, "neither": None}
SAID = [
    (VALUES[what], code, text) for what in VALUES for code, texts in REPLIES[what].items() for text in texts
]


@every(("value", "language", "text"), SAID)
def test_the_default_reads_a_yes_a_no_or_neither_and_says_why(value, language, text):
    reading = read_yes_no(text, language)
    assert reading.value == value and (value is None) == bool(reading.reason)


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_words_of_the_prompt_are_read_alike_by_every_rule(language):
    for value, word in zip((1, 0), YES_NO[language], strict=True):
        for text in (word, f" {word}. ", f'"{word}"', f"«{word}»", word.upper()):
            assert read_yes_no(text, language).value == value
            assert read_yes_no(text, language, "strict").value == value
            assert read_yes_no(text, language, "reference").value == value


@every(
    ("language", "text", "value"),
    [
        ("en", "Yes, I do", 1), ("en", "**No**: unsure", 0), ("en", "I think yes", None), ("en", "Yesterday", None),
        ("es", "Si", None), ("es", "Si\u0301", 1), ("zh", "是的", None), ("zh", "是。", 1), ("zh", "不是", None),
        ("ko", "예상", None), ("ko", "Yes", None), ("en", "", None), ("en", "?!", None),
    ],
)  # fmt: skip
def test_the_strict_rule_takes_the_first_word_as_asked_for(language, text, value):
    assert read_yes_no(text, language, "strict").value == value


def test_languages_are_told_by_their_codes_as_published():
    codes = ("ko", "ko_kr", "zh", "zh_cn", "zh_hk", "es", "es_mx", "en", "de", "", "ZH")
    assert [*map(language_of, codes)] == ["ko", "en", "zh", "zh", "zh", "es", "en", "en", "en", "en", "en"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_sloppy_forms_of_simulated_observers_mean_what_they_say(language):
    assert {read_yes_no(text, language).value for text in YES[language]} == {1}
    assert {read_yes_no(text, language).value for text in NO[language]} == {0}
    assert {read_yes_no(text, language).value for text in NEITHER[language]} == {None}
    assert read_yes_no(REFUSALS[language], language).value == 0


@given(st.text(max_size=60), st.sampled_from(LANGUAGES), st.sampled_from(["default", "reference", "strict"]))
@settings(max_examples=200)
def test_every_text_is_read_by_every_rule(text, language, rule):
    reading = read_yes_no(text, language, rule)  # type: ignore[arg-type]
    assert (reading.value in (0, 1)) == (reading.reason is None)
    if rule == "reference":
        assert reading.value == int(YES_NO[language][0].lower() in text.lower())


@given(
    st.sampled_from(LANGUAGES),
    st.sampled_from([0, 1]),
    st.text(alphabet=" \n\"'“”«»*_`.,!", max_size=6),
    st.booleans(),
)
@settings(max_examples=200)
def test_quotes_marks_and_spaces_around_a_word_change_nothing(language, side, marks, after):
    word = YES_NO[language][side]
    assert read_yes_no(f"{marks}{word}{marks if after else ''}", language).value == 1 - side


@given(st.sampled_from(LANGUAGES), st.from_regex(r"[a-z]{1,8}", fullmatch=True))
@settings(max_examples=100)
def test_a_letter_glued_to_a_yes_makes_another_word(language, letters):
    if language in ("en", "es"):
        assert read_yes_no(f"{letters}yes", "en").value is None
        assert says_yes(f"{letters}yes", "en")


@pytest.mark.parametrize(
    "unit", ["Yes ", "not ", "<think>", "\n", "'", "是", "<", "( ", "i ", "no\n", "예", "sé "]
)
def test_long_replies_are_read_in_time(unit):
    text = unit * (1_000_000 // len(unit))
    started = time.process_time()
    for language in LANGUAGES:
        read_yes_no(text, language)
        read_yes_no(text, language, "strict")
    assert time.process_time() - started < 5


def test_ten_megabytes_are_read_in_seconds():
    text = "No, or <b>is it</b> 'not' 是 예 sí? " * 300_000
    started = time.process_time()
    assert read_yes_no(text, "en").value == 0
    assert time.process_time() - started < 10
