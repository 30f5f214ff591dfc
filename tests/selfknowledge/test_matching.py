"""When an answer is right: five rules."""

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metacog_pipeline.benchmarks.selfknowledge.matching import RULES, inclusion, matches, normalize, words
from tests.tables import every

TEXT = st.text(max_size=40)
ANSWERS = st.lists(st.text(max_size=12), max_size=4)


@every(
    ("output", "answers", "right"),
    [
        ("Iranian", ["Iran"], "inclusion normalized_inclusion"),
        ("10", ["1"], "inclusion normalized_inclusion"),
        ("STRASSE", ["straße"], "token_boundary entities"),
        ("The Nile.", ["nile"], "inclusion normalized_inclusion exact_match token_boundary entities"),
        ("It is the Nile", ["Nile"], "inclusion normalized_inclusion token_boundary entities"),
        ("Nile", ["The Nile"], "normalized_inclusion exact_match token_boundary entities"),
        ("USA", ["U.S.A."], "normalized_inclusion exact_match token_boundary entities"),
        ("O’Neill", ["O'Neill"], "token_boundary entities"),
        ("J. R. R. Tolkien", ["J.R.R. Tolkien"], "token_boundary entities"),
        ("Jean Paul Sartre", ["Jean-Paul Sartre"], "token_boundary entities"),
        ("the year 1,000", ["1000"], "normalized_inclusion token_boundary entities"),
        ("3.5 km", ["35"], "normalized_inclusion"),
        ("São Paulo", ["Sao Paulo"], "token_boundary entities"),
        ("written in C#", ["C"], "inclusion normalized_inclusion"),
        ("written in C#", ["C#"], "inclusion normalized_inclusion token_boundary entities"),
        ("Henry VIII", ["Henry V"], "inclusion normalized_inclusion"),
        ("答案是北京。", ["北京"], "inclusion normalized_inclusion token_boundary entities"),
        ("서울입니다", ["서울"], "inclusion normalized_inclusion token_boundary entities"),
        ("신서울", ["서울"], "inclusion normalized_inclusion"),
        ("Ｎｉｌｅ", ["Nile"], "token_boundary entities"),
        ("anything", [""], "inclusion"),
        ("", [""], "inclusion"),
        ("anything", [], ""),
        ("The The played", ["The The"], "inclusion normalized_inclusion token_boundary entities"),
        ("all", ["the"], ""),
        ("??? it is", ["???"], "inclusion normalized_inclusion token_boundary"),
    ],
)
def test_each_rule_matches_what_it_should(output, answers, right):
    assert {name for name in RULES if matches(output, answers, name)} == set(right.split())  # type: ignore[arg-type]


@given(TEXT, ANSWERS)
@settings(max_examples=150)
def test_inclusion_is_a_substring_in_lower_case(output, answers):
    assert inclusion(output, answers) == any(each.lower() in output.lower() for each in answers)


@given(TEXT, ANSWERS, st.sampled_from(sorted(RULES)))
@settings(max_examples=150)
def test_one_more_accepted_answer_never_makes_a_reply_wrong(output, answers, rule):
    if RULES[rule](output, answers):
        assert RULES[rule](output, [*answers, "another"])
    assert not RULES[rule](output, [])


@given(st.text(min_size=1, max_size=20).filter(lambda text: any(c.isalnum() for c in text)))
@settings(max_examples=150)
def test_every_answer_is_right_by_every_rule_when_it_is_all_that_is_said(answer):
    assert all(rule(answer, [answer]) for rule in RULES.values())


@given(st.lists(st.from_regex(r"[b-z]{2,6}", fullmatch=True), min_size=1, max_size=6), st.data())
@settings(max_examples=100)
def test_whole_words_are_found_and_parts_of_words_are_not(said, data):
    place = data.draw(st.integers(0, len(said) - 1))
    assert matches(" ".join(said), [said[place]], "token_boundary")
    part = said[place][:-1]
    assert matches(" ".join(said), [part], "token_boundary") == (part in said)


PIECES = [
    "The ", "a", "O'Neill", "U.S.A.", "1,000", "3.5", "C#", "Jean-Paul", "J. R. ", "x", " ", ".", "é", "²", "ß", "북",
]  # fmt: skip


@given(
    st.lists(st.sampled_from(PIECES), max_size=8), st.lists(st.sampled_from(PIECES), min_size=1, max_size=3)
)
@settings(max_examples=200)
def test_an_answer_is_looked_for_among_the_words_however_it_is_spelled(said, answer):
    wanted = re.sub(r"^(?:a|an|the) ", "", words("".join(answer)))
    if wanted and not wanted.endswith("북"):
        found = f" {wanted} " in f" {words(''.join(said))} "
        assert matches("".join(said), ["".join(answer)], "token_boundary") == found


@given(TEXT)
@settings(max_examples=150)
def test_normal_forms_are_stable(text):
    assert words(words(text)) == words(text)
    assert not re.search(r"[!-/:-@\[-`{-~]", normalize(text))


@pytest.mark.parametrize("unit", ["ab", "é ", ".", "1,", "a.", "北", "'a", "a. "])
def test_long_replies_take_time_in_proportion(unit):
    accepted = ["ab" * 40 + "c", "Nile", "é" * 30 + "x", "1." * 20]
    started = time.process_time()
    for rule in RULES.values():
        rule(unit * (400_000 // len(unit)), accepted)
    assert time.process_time() - started < 3


@pytest.mark.parametrize("rule", sorted(RULES))
def test_two_megabytes_are_matched_in_seconds(rule):
    started = time.process_time()
    assert RULES[rule]("No, it's é 北 1,000 a.b. " * 80_000 + "Nile", ["Nile"]) == (rule != "exact_match")
    assert time.process_time() - started < 4
