"""The bet reader: the last labelled value, then the speaker's own words; never clipped."""

from metacog_pipeline.benchmarks.metacogbench.parsing.bet import read_bet
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
