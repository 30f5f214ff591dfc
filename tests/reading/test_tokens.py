"""Log-probabilities of an answer: those of its own place, a chance never above 1, shares that sum to 1."""

import math

import pytest

from metacog_pipeline.llm.types import TokenLogprob
from metacog_pipeline.reading.tokens import at, chance, shares


def test_only_the_tokens_at_the_place_of_the_answer_say_it():
    tokens = [TokenLogprob(text, -0.1, ()) for text in ("Answer: ", "B", ", sure")]
    reply = "Answer: B, sure"
    assert [each.token for each in at(tokens, reply, 8, 9)] == ["B"]
    assert at(tokens, "another reply", 0, 1) == ()


def test_alternatives_that_mean_the_same_are_summed_up_to_certainty():
    said = TokenLogprob("Yes", 0.0, (("Yes", 0.0), (" yes", -0.1), ("No", -9.0)))
    assert chance([said], lambda text: text.lower() == "yes") == 1.0


def test_shares_of_the_options_sum_to_1_beside_the_mass_outside_them():
    token = TokenLogprob(
        "A", math.log(0.4), (("A", math.log(0.4)), ("B", math.log(0.2)), ("no", math.log(0.3)))
    )
    found, outside = shares(token, "AB")
    assert found == pytest.approx([2 / 3, 1 / 3]) and outside == pytest.approx(0.4)
