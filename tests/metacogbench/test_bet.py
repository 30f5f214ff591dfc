"""The bet reader: the last labelled value, then the speaker's own words; never clipped."""

import tomllib

from metacog_pipeline.benchmarks.metacogbench.construction.shipped import shipped_items
from metacog_pipeline.benchmarks.metacogbench.parsing.bet import read_bet
from metacog_pipeline.benchmarks.metacogbench.scoring_rules import score_reply
from metacog_pipeline.files import shipped
from tests.tables import every


@every("key", ["BET", "Bet", "Wager", "stake", "Bet size", "BET (0-100)", "Tokens staked", '"bet"'])
@every("separator", [": ", " = ", " -> ", " → ", " - ", " is "])
def test_every_key_with_every_separator(key, separator):
    assert read_bet(f"{key}{separator}37") == 37


def test_the_last_labelled_value_wins_even_when_it_is_invalid():
    assert read_bet("BET: 80\nBET: 35") == 35
    assert read_bet("BET: 80\nBET: 350") is None


def test_a_label_beats_prose():
    assert read_bet("I'd bet 90 tokens on it.\nBET: 40") == 40


@every("said", ["-5", "minus 5", "101", "1,000", "2 500", "0.4", ".5", "high", "N/A", ""])
def test_what_is_no_number_of_tokens_is_none(said):
    assert read_bet(f"ANSWER: 3\nBET: {said}") is None


@every(
    ("said", "value"),
    [
        ("85%", 85),
        ("9/10", 90),
        ("72,5", 72.5),
        ("20-30", 25),
        ("between ten and twenty", 15),
        ("≤ 15", 15),
        ("[85]", 85),
        ("twenty-five", 25),
        ("all in", 100),
        ("nothing", 0),
        ("٧٠", 70),
        ("1.0", 1),
        ("<0-100> 64", 64),
    ],
)
def test_formats(said, value):
    assert read_bet(f"BET: {said}") == value


def test_denied_bets_and_bets_of_others_are_not_read():
    assert read_bet("I would never bet 80 tokens on that.") is None
    assert read_bet("Some people would wager 80 tokens.") is None


def test_the_stack_is_not_the_stake():
    assert read_bet("Of my 100 tokens I would stake 20.") == 20
    assert read_bet("I was given 100 tokens.") is None


def test_reasoning_is_not_read():
    assert read_bet("<think>BET: 90</think>BET: 30") == 30
    assert read_bet("<think>BET: 90") is None


def test_a_value_in_a_tag_of_its_name_is_keyed():
    assert read_bet("<answer>9</answer><bet>18</bet>") == 18
    assert read_bet("<note>90</note>\nBET: 5") == 5


@every(
    "said",
    [
        "BET: <whole number of tokens from 0 to 100>", "BET: <0-100>", "BET: [0-100]", "BET: 0–100", "BET: 0 to 100 tokens",
        "BET: [insert a number between 0 and 100]", "BET: (whole number, 0-100)", "BET: <e.g. 70>", "BET: [example: 70]",
        "BET: from zero to one hundred", "BET: 0 and 100", "BET: min 0, max 100", '{"bet": "whole number from 0 to 100"}',
        "| BET | 0-100 |", "BET:\n<0-100>",
    ],
)  # fmt: skip
def test_an_echoed_template_is_no_bet(said):
    assert read_bet(f"ANSWER: no single answer\n{said}") is None


@every(
    "said",
    [
        "My stake must be a whole number from 0 to 100.", "I can stake any whole number from zero to a hundred.",
        "I am asked to stake between 0 and 100 tokens on my answer.", "I may bet up to 100 tokens.",
        "I have to bet at least 0 and at most 100 tokens.", "I stake a number in [0, 100].",
        "I bet b tokens, 0 <= b <= 100.",
        "I bet from 0 (certainly wrong) to 100 (certainly right).", "For my bet 0 means unsure and 100 means sure.",
        "I stake between none and all 100 tokens.",
    ],
)  # fmt: skip
def test_the_rules_said_again_are_no_bet(said):
    assert read_bet(f"{said}\nANSWER: it depends") is None


def test_the_instructions_themselves_are_no_bet():
    words = tomllib.loads(shipped("data", "metacogbench", "prompts.toml").read_text(encoding="utf-8"))
    assert read_bet(words["1a"]["free"]) is None


def test_an_echoed_template_passes_no_rule_that_needs_a_bet():
    band = next(item for item in shipped_items() if item.bet_rule == "band")
    scored = score_reply(band, "ANSWER: no single answer\nBET: <whole number of tokens from 0 to 100>")
    assert (scored.status, scored.values["bet"], scored.values["passed"]) == (
        "confidence_unparsed",
        None,
        False,
    )


@every(
    ("said", "value"),
    [
        ("BET: <0-100>\nBET: 64", 64), ("BET: 0-100: 64", 64), ("BET: a number from 0 to 100: 64", 64),
        ("BET: <0-100>\nI would stake forty tokens.", 40), ("BET: <0-100> I stake forty tokens", 40),
        ("On a scale of 0 to 100 tokens I bet 30.", 30), ("I could bet up to 100 tokens, but I stake 20.", 20),
        ("BET: 40 (out of 0-100)", 40), ("BET: up to 100", 100), ("I bet all 100 tokens", 100),
        ("BET: between 40 and 60", 50), ("I bet between 40 and 60 tokens", 50), ("BET: 0-10", 5), ("BET: 90-100", 95),
    ],
)  # fmt: skip
def test_a_bet_beside_the_rules_and_a_range_inside_the_scale_are_read(said, value):
    assert read_bet(said) == value
