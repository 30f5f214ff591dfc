"""Phrases found in one pass are those that a search for each would find."""

from hypothesis import given
from hypothesis import strategies as st

from metacog_pipeline.benchmarks.medley.rule_based.phrases import (
    Phrases,
    justification,
    narrative,
    opening,
    trigrams,
)

words = st.text(alphabet="abé", min_size=1, max_size=3)
phrases = st.sets(st.tuples(words, words, words).map(" ".join), max_size=12)
gaps = st.sampled_from([" ", " ", " ", "  ", "\n", "\t", "\xa0"])
texts = st.lists(st.tuples(words, gaps), max_size=40).map(lambda parts: "".join(w + g for w, g in parts))


@given(texts, phrases)
def test_the_index_finds_exactly_the_substrings(text, wanted):
    found = Phrases(wanted).within(text)
    assert found == sum(phrase in text for phrase in wanted)


def test_a_phrase_may_start_and_end_inside_words():
    known = Phrases(["reading drifted slow"])
    assert known.within("the rereading drifted slowly") == 1
    assert known.within("the reading  drifted slow") == 0
    assert known.within("the reading drifted\nslow") == 0


def test_three_words_in_lower_case():
    assert trigrams("One two\nTHREE  four") == {"one two three", "two three four"}
    assert trigrams("one two") == frozenset()


def test_texts_of_a_reply(reply):
    answer = reply(["low"], ["Why"], "All", overall_assessment="Sum")
    assert opening(answer) == "Sum" and opening({"assessment": "All"}) == "All"
    assert narrative(answer) == "all sum why"
    listed = {
        "what_changed": [{"reason": "R", "citing_analyst": "Analyst C"}],
        "what_i_resisted": [{"why_i_resisted": "W"}],
    }
    assert justification({**answer, **listed}) == "r analyst c w"


def test_anything_that_is_no_text_is_passed_over():
    for reply in (
        None,
        3,
        [],
        [1, {"reasoning": 2}],
        {"assessment": ["x"], "claim_level_assessments": {"a": 1}},
    ):
        assert narrative(reply) == opening(reply) == justification(reply) == ""
    assert justification({"what_changed": "text", "what_i_resisted": [None, {"why_i_resisted": 4}]}) == ""
