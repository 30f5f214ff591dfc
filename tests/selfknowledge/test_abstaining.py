"""Whether a reply withholds the answer."""

from hypothesis import given, settings
from hypothesis import strategies as st

from metacog_pipeline.benchmarks.selfknowledge.parsing import abstains
from metacog_pipeline.benchmarks.selfknowledge.untidy_replies import ABSTENTIONS, ANSWERS, REFUSALS
from tests.tables import every


@every(
    "text",
    [
        *(
            "I don't know", "I don’t know.", "I do not know", "i dont know", "I don't  know", "**I don't know**",
            "“I don't know”",
        ),
        *(
            "Sorry, I don't know the answer", "I really don't know that.", "Don't know", "IDK", "Unknown", "No idea.",
            "I have no clue",
        ),
        *(
            "I don't know, maybe Paris",
            "<think>Paris?</think>I don't know",
            "I'm not sure.",
            "I cannot answer that question",
        ),
        *(
            "I don't actually know",
            "Keywords: unknown",
            "The answer is unknown to me",
            "I honestly do not know who that was",
        ),
        *(each for forms in ABSTENTIONS.values() for each in forms),
        REFUSALS["en"].replace("help with", "answer"),
    ],
)  # fmt: skip
def test_the_default_reads_an_abstention(text):
    assert abstains(text)


@every(
    "text",
    [
        *(
            "Paris", "", "I didn't know", "Je ne sais pas", "You don't know Jack", "The Unknown Soldier",
            "Paris, I'm not sure",
        ),
        *(
            "<think>I don't know... or Paris</think>Paris", "The Known World", "They don't know", "Unknown Pleasures",
        ),
        *(form.format(answer="Paris") for form in ANSWERS),
    ],
)  # fmt: skip
def test_the_default_reads_an_answer(text):
    assert not abstains(text)


def test_an_accepted_answer_of_these_words_is_an_answer():
    song = "I Don't Know How to Love Him"
    assert not abstains(song, answers=["I Don’t Know How To Love Him"])
    assert abstains(song) and abstains(song, "reference")
    assert abstains("I don't know", answers=[song])


def test_the_strict_rule_wants_the_whole_reply():
    assert abstains("“I don’t know.”", "strict")
    assert not abstains("I don't know, maybe Paris", "strict")
    assert not abstains("I do not know", "strict")


@given(st.text(max_size=60), st.lists(st.text(max_size=10), max_size=3))
@settings(max_examples=150)
def test_every_text_is_read_and_the_reference_rule_is_a_substring(text, answers):
    assert abstains(text, "reference") == ("i don't know" in text.lower())
    assert abstains(text, "default", answers) in (True, False)
    assert abstains(text, "strict") in (True, False)
