"""What is kept is not staked, and a remark about a bet does not take the place of the bet."""

from metacog_pipeline.benchmarks.metacogbench.parsing.bet import read_bet
from tests.tables import every


@every(
    "reply",
    [
        "I keep all 100 tokens.",
        "I'd keep all 100 tokens.",
        "I keep all my tokens, so 0.",
        "I'm keeping my 100 tokens.",
        "I'll keep every token.",
        "I keep my whole stack.",
        "I'd rather hold back all 100 tokens.",
        "I am holding on to all 100 tokens.",
        "I'd save all my tokens.",
        "I'd rather not bet and keep all 100 tokens.",
        "I stake 0 and keep all 100 tokens.",
        "BET: I keep all 100 tokens",
    ],
)
def test_who_keeps_the_whole_stack_stakes_nothing(reply):
    assert read_bet(reply) == 0


@every(
    ("reply", "bet"),
    [
        ("I bet 5 tokens and keep 95 tokens.", 5),
        ("I bet 5 tokens and keep the other 95 tokens.", 5),
        ("I keep 95 tokens and bet 5.", 5),
        ("I keep nearly all my tokens and bet 5.", 5),
        ("I bet 30 and keep all my remaining tokens.", 30),
        ("I bet 30 tokens and keep the rest of my 100 tokens.", 30),
        ("I want to keep all 100 tokens safe, so I bet 5.", 5),
        ("I keep all but 5 tokens... I stake 5.", 5),
        ("I keep calm and bet 15 tokens.", 15),
        ("I'd keep my bet at 20 tokens.", 20),
        ("I'd keep it to 20 tokens.", 20),
        ("I'd keep 20 tokens at risk.", 20),
        ("I keep 80 tokens.", None),
        ("I would not keep all 100 tokens.", None),
        ("A cautious player keeps all 100 tokens.", None),
        ("I'd put all 100 tokens on Paris.", 100),
    ],
)
def test_a_part_that_is_kept_is_not_the_stake(reply, bet):
    assert read_bet(reply) == bet


@every(
    "remark",
    [
        "If I had the data, my bet would be 90.",
        "With the full table my bet would be 90.",
        "If the speed were given, my bet is 90.",
        "My bet was 50 at first.",
        "(Max bet: 100)",
        "Max. bet: 100",
        "Highest possible bet: 100",
        "The maximum bet is 100.",
        "Minimum stake: 1",
        "Initial bet: 60",
        "A gambler's bet: 100",
        "A bolder bet is 90.",
        "(With bet = 100 the expected loss is 64.)",
        "The bet is 95 tokens below the maximum.",
        "My bet is 95 less than the maximum.",
        "The stake is 20 times lower than the maximum.",
    ],
)
def test_a_remark_about_a_bet_does_not_replace_it(remark):
    assert read_bet(f"ANSWER: 7\nBET: 5\n\n{remark}") == 5


@every(
    "revision",
    [
        "BET: 35",
        "Final bet: 35",
        "On reflection, my bet is 35.",
        "Actually my bet is now 35.",
        "I had hoped for more, so my bet is 35.",
        "I would rather lower it. BET: 35",
        "I am going with BET: 35",
        "Here is a final bet: 35",
    ],
)
def test_a_revised_bet_still_wins(revision):
    assert read_bet(f"BET: 80\n{revision}") == 35


@every(
    "reply",
    [
        "My stake would be 60.",
        "My bet will be 60.",
        "If I had to choose, my bet would be 60.",
        "Max bet: 60",
        "The bet is 60.",
    ],
)
def test_a_remark_counts_where_no_other_bet_is_stated(reply):
    assert read_bet(reply) == 60
