"""How sure a reply says that it is: which of its numbers, words and lines is the confidence, and which is a bet."""

import pytest

from metacog_pipeline.benchmark.answers import stated, sureness
from metacog_pipeline.benchmark.answers.percents import percent
from metacog_pipeline.benchmark.contract import Call
from metacog_pipeline.benchmarks.questions import parsing
from tests.questions.test_second_calls import ITEMS
from tests.tables import every


def sure(reply, condition="verbal_percent", kind="choice"):
    return parsing.read(ITEMS[kind], condition, {"answer": Call("ok", reply)}, 5).confidence


@every(
    ("said", "share"),
    [
        ("Based on 2 guidelines, 90%", 0.9), ("I've checked 3 sources and am 95% sure", 0.95),
        ("The 2019 text says so: 90%", 0.9),
        ("3 sources agree, so 95%", 0.95), ("2 of 3 books agree, so 90%", 0.9), ("1 of the 4 options fits: 96 %", 0.96),
        ("not 100%, maybe 70%", 0.7), ("isn't 100%; it's 90%", 0.9), ("far from 100%, 40%", 0.4),
        ("not only 80% but 95%", 0.95),
        ("20% chance this is wrong, so 80%", 0.8), ("1-2% chance I'm wrong, so 98%", 0.98), ("100 - 15 = 85%", 0.85),
        ("15% chance of being wrong", 0.85), ("10% risk of error", 0.9), ("5% probability that it is incorrect", 0.95),
        ("not 100%", None), ("Based on 2 guidelines", None), ("I have 3 sources", None),
    ],
)  # fmt: skip
def test_what_is_counted_denied_or_the_chance_of_an_error_is_not_the_share(said, share):
    assert sure(f"Answer: B\nConfidence: {said}") == pytest.approx(share)


@every(
    ("said", "share"),
    [
        ("85, since 90% of chemists agree", 0.85), ("85 (100% of sources agree)", 0.85), ("0.85 (95% CI)", 0.85),
        ("about 85, as 95% of trials agree", 0.85), ("I'd say 85 because 3 of 4 books agree", 0.85),
        ("High (85), 90% agree", 0.85),
        ("less than 50%", 0.5), ("not less than 90%", 0.9), ("not sure, 50%", 0.5),
        ("95% (5% chance of being wrong)", 0.95),
        ("90% chance it is not wrong", 0.9), ("90% chance that B is right and A is wrong", 0.9), ("80 points", 0.8),
        ("ninety", 0.9), ("three quarters", 0.75), ("two books", None), ("one of the best known facts", None),
    ],
)  # fmt: skip
def test_the_number_behind_the_label_counts_whatever_follows(said, share):
    assert sure(f"Answer: B\nConfidence: {said}") == pytest.approx(share)


@every(
    ("label", "share"),
    [
        ("Confidence that option B is correct (0 to 100): 85", 0.85),
        ("Confidence in option B on a scale of 0 to 100: 85", 0.85),
        ("Confidence that option 2 is right, in percent: 85", 0.85),
        ("Confidence (0 = a guess, 100 = certain): 85", 0.85),
        ("Confidence that B is right on a scale from 0 to 10: 8", 0.8), ("Confidence in B (out of 10): 8", 0.8),
        ("Confidence from 0 to 100: 85", 0.85), ("Confidence out of 100: 85", 0.85),
        ("Confidence, on a scale of 0-100: 85", 0.85),
        ("Confidence of 85%: high", 0.85), ("Confidence (85%): 3 books agree", 0.85), ("Confidence (70-90)", 0.8),
        ("How confident I am: 85%", 0.85), ("How sure I am of this: 85", 0.85), ("How confident am I? 85%", 0.85),
        ("I'd put it at 85%", 0.85), ("I would put my confidence at about 85%.", 0.85),
        ("I'd say I'm 85% confident", 0.85),
        ("My certainty is about 0.85", 0.85), ("My certainty: 85%", 0.85), ("How likely my answer is right: 85%", 0.85),
        ("I'm not 100% sure.", None), ("I am not 100% sure, but 80% sure.", 0.8),
    ],
)  # fmt: skip
def test_a_label_says_what_it_is_about(label, share):
    assert sure(f"Answer: B\n{label}") == share


@every(
    ("reply", "share"),
    [
        ("Confidence: A 5%, B 85%, C 5%, D 5%\nAnswer: B", 0.85),
        ("Confidence: A 5%, B 85%, C 5%, D 5%\nAnswer: A", 0.05),
        ("Answer: B\nConfidence: A (Iron) 5%, B (Mercury) 85%", 0.85),
        ("Answer: B\nConfidence: 5% for A and 85% for B", 0.85),
        ("Answer: B\nConfidence:\n- A: 5%\n- B: 85%", 0.85),
        ('{"answer": "B", "confidence": {"A": 0.05, "B": 0.85}}', 0.85),
        ("Answer: B\nConfidence in option B: 85%\nConfidence in option A: 5%", 0.85),
        ("Answer: C\nConfidence: A 5%, B 85%", None),
        ("Answer: B\nConfidence: 95% (A: 3%, C: 1%, D: 1%)", 0.95),
    ],
)  # fmt: skip
def test_of_shares_of_several_letters_that_of_the_answer_is_its_confidence(reply, share):
    assert sure(reply) == share


@every(
    ("behind", "share"),
    [
        ("My confidence would be 50% without the table.", 0.95), ("A confidence of 100% would require a test.", 0.95),
        ("Confidence in option A: 3%", 0.95), ("Confidence without the table: 40%", 0.95),
        ("(Initial confidence: 60%)", 0.95),
        ("My confidence is high because 3 books agree.", 0.95), ("Bet: 50", 0.95),
        ("I would bet 20 dollars on it.", 0.95),
        ("Wager: 20", 0.95), ("No, my confidence is about 80%.", 0.8), ("Confidence: 80%", 0.8),
    ],
)  # fmt: skip
def test_a_confidence_that_is_only_supposed_or_a_bet_does_not_take_the_place_of_the_stated_one(behind, share):
    assert sure(f"Answer: B\nConfidence: 95%\n\n{behind}") == share


@every(
    ("line", "share"),
    [
        ("Bet: 50", 0.5), ("Wager: 50", 0.5), ("Stake: 50 points", 0.5), ("Bet: fifty", 0.5),
        ("**Wager (0-100):** 60", 0.6),
        ("Bet: one hundred points", 1.0), ("My stake is 50.", 0.5), ("I'd wager 50 points", 0.5),
        ("I'm betting 60", 0.6),
        ("Bet: 50\nConfidence: 85%", 0.5), ("Confidence: 85%\nStake: 50", 0.5),
        ("With 100 points at stake I bet 30.", 0.3),
        ("Bet: I'd stake 95 of my 100 tokens.", 0.95), ("Bet: not 100, but 60", 0.6),
        ("Bet: 75 points (25 kept)", 0.75), ("Confidence: 85%", 0.85),
        ("Bet: 150", None),
    ],
)  # fmt: skip
def test_a_stake_is_read_in_its_own_line_by_any_of_its_names(line, share):
    assert sure(f"Answer: B\n{line}", "bet") == share


@every(
    ("said", "share"),
    [
        ("not likely", None), ("not very likely", None), ("isn't likely", None), ("not almost certain", None),
        ("less likely", None),
        ("neither likely nor unlikely", None), ("likely to very likely", None), ("between even and likely", None),
        ("highly likely", None), ("very unlikely to be wrong", None), ("almost no chance of being wrong", None),
        ("very-unlikely", 0.15), ("very_likely", 0.85), ("almost\u00a0certain", 0.95), ("Almost-certain.", 0.95),
        ("likely (I am unlikely to be wrong)", 0.7), ("very likely (not almost certain)", 0.85),
        ("high (very likely)", 0.85),
        ("Almost certain, not merely likely", 0.95), ("likely, even if I am not sure", 0.7), ("even chance", 0.5),
        ("even", 0.5),
        ("\nvery likely", 0.85), ("\n\n**Almost certain**", 0.95), ("\nunlikely", 0.3),
    ],
)  # fmt: skip
def test_a_word_of_the_scale_counts_as_a_whole_and_not_where_it_is_denied(said, share):
    assert sure(f"Answer: B\nConfidence: {said}", "verbal_scale") == share
    if "\n" in said:
        assert sure(f"Answer: B\n### Confidence{said}", "verbal_scale") == share


@every(
    ("kind", "reply", "share"),
    [
        ("number", "Answer: 96\nI'd put it at 85%", 0.85), ("number", "Answer: 96\nI'd put it at 96%", None),
        ("text", "Answer: Lima\nI'd put it at 85%", 0.85), ("text", "I'd put it at 85%", None),
    ],
)  # fmt: skip
def test_a_share_that_is_the_answer_is_no_confidence(kind, reply, share):
    assert sure(reply, kind=kind) == share


@every(
    "reply",
    ["I can say with confidence that it is Lima.", "With full confidence: Lima", "I'd bet it's Lima."],
)
def test_what_is_said_with_confidence_is_the_answer(reply):
    assert stated.answer_of(reply, ITEMS["text"].key).correct is True


@every(
    "unit",
    [
        "confidence ",
        "Confidence in A 5%, ",
        "A 5% ",
        "bet ",
        "very likely (",
        "how sure am i ",
        "not 5% ",
        "5-6 ",
    ],
)
def test_hostile_confidence_is_read_in_linear_time(unit):
    text = "Confidence: " + unit * (29_000 // len(unit))
    sureness.of_reply(text, letter=True, said="B")
    sureness.stake(text)
    sureness.worded(sureness.last_line(text), {"very likely": 0.85, "even": 0.5})
    sureness.without_stated(text)
    percent(text[:200])


@every(
    "said",
    [
        "<0-100>", "[0–100]", "0 to 100", "<a number between 0 and 100>", "[0, 100]", "<0.0 to 1.0>", "<1-10>", "0-1",
        "<the chance that your answer is right, in percent, 0 to 100>", "0 (certainly wrong) to 100 (certainly right)",
    ],
)  # fmt: skip
@every("label", ["Confidence", "Bet"])
def test_the_whole_scale_states_nothing(label, said):
    assert sure(f"Answer: B\n{label}: {said}", "bet" if label == "Bet" else "verbal_percent") is None


@every(("said", "share"), [("<0-100> 80", 0.8), ("0 to 100: 70", 0.7), ("0-10%", 0.05), ("40-60", 0.5)])
def test_a_share_beside_the_scale_and_a_range_inside_it_are_read(said, share):
    assert percent(said) == share


def test_a_sentence_that_repeats_the_scale_is_no_confidence():
    assert sure("Answer: B\nI am between 0 and 100% sure.") is None
