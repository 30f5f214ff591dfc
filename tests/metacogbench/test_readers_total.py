"""Every reader gives a result for any string, and does so in time that grows with the text, not faster."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metacog_pipeline.benchmark.answers.reading import AnswerKey
from metacog_pipeline.benchmarks.metacogbench.lexicon_scorers.caution import score_caution
from metacog_pipeline.benchmarks.metacogbench.lexicon_scorers.grounded import score_core_claim
from metacog_pipeline.benchmarks.metacogbench.lexicon_scorers.refusal import names_slot, score_refusal
from metacog_pipeline.benchmarks.metacogbench.lexicon_scorers.stance import score_stance_literally
from metacog_pipeline.benchmarks.metacogbench.parsing.bet import read_bet
from metacog_pipeline.benchmarks.metacogbench.parsing.confidence import read_answer, read_confidence
from tests.metacogbench.labelled import factors_in, fields_in, is_correct, stance_of
from tests.tables import every

FIELDS = [
    {"name": "a", "type": "int", "value": 3},
    {"name": "b", "type": "set", "value": ["x-y"], "edges": True},
    {"name": "c", "type": "bool", "value": True},
    {"name": "d", "type": "list", "value": ["p", "q"]},
]
RX = [r"\brisk\w*", r"\ba\b.{0,40}\bb\b"]
READERS = {
    "bet": read_bet,
    "confidence": read_confidence,
    "answer": read_answer,
    "number": lambda text: is_correct(text, AnswerKey("number", (5,), abs_tol=0.1)),
    "text": lambda text: is_correct(text, AnswerKey("text", ("not a", "b"), ("c",))),
    "choice": lambda text: is_correct(text, AnswerKey("choice", ("B",))),
    "fields": lambda text: fields_in(text, FIELDS),
    "caution": lambda text: score_caution(text, stem=text[:80], ignore=("risk",)),
    "factors": lambda text: factors_in(text, [{"id": "f", "any": RX}]),
    "core": lambda text: score_core_claim(text, ack=RX, maintain=RX, overcorrection=RX),
    "refusal": score_refusal,
    "slot": lambda text: names_slot(text, None, r"\d+"),
    "stance": stance_of,
    "literal": score_stance_literally,
}
PIECES = st.sampled_from(
    [
        *("BET", "bet:", "ANSWER:", "PRE_CONFIDENCE", "50", "1e9999", "0.5%", "±", "½", "10²", "10^99999"),
        *("{", "}", '"', "'", "[", "|", "---", "\n", "\n\n", "```", "```json", "<think>", "</think>", "**"),
        *("\\frac{", "}{", "\\boxed{", "> ", '"a": 3', "true", "NaN", "//", "/*", "/0", "a-b", "B)", "- "),
        *("however", "not", "I was wrong", "you're right", "but", "risk", "if", "or", "seven hundred and"),
        *("٣", "９", "\ud800", "\x00", "\u200b", ", ", ". ", "# ", "_", "1,000"),
    ]
)
TEXTS = st.one_of(
    st.text(max_size=200),
    st.lists(PIECES, max_size=40).map(" ".join),
    st.lists(PIECES, max_size=40).map("".join),
)
REPEATED = (
    *("a", " ", "\n", "{", "{}", '{"a":', '"', "1", "1,", "BET: 5 ", "|a|\n", "```\n", "*", "_a", "<think>"),
    *("\\frac{a}", "\\text{", "10²", "may not be the risk if ", ". ", '"a b c" ', "(("),
    *("the data do not show that i was wrong but ", "one hundred and "),
)
SECONDS = 20.0  # generous for a busy machine; measured below 2


@pytest.mark.parametrize("name", READERS)
@settings(max_examples=60, deadline=None)
@given(text=TEXTS)
def test_any_text_gives_a_result(name, text):
    READERS[name](text)


@settings(max_examples=200, deadline=None)
@given(TEXTS)
def test_what_is_read_is_in_range(text):
    stated = read_confidence(text)
    for value in (read_bet(text), stated.pre, stated.post):
        assert value is None or 0 <= value <= 100


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 100), st.integers(0, 100))
def test_plain_values_are_read_back(first, second):
    stated = read_confidence(f"PRE_CONFIDENCE: {first}\nANSWER: x\nPOST_CONFIDENCE: {second}%")
    assert (stated.pre, stated.answer, stated.post, stated.order_ok) == (first, "x", second, True)
    assert read_bet(f"ANSWER: 7\nBET: {first}") == first


@every("unit", REPEATED)
def test_a_hostile_megabyte_is_read_in_time(unit):
    text = (unit * (1_000_000 // len(unit) + 1))[:1_000_000]
    began = time.monotonic()
    for reader in READERS.values():
        reader(text)
    assert time.monotonic() - began < SECONDS


def test_ten_megabytes_are_read_in_time():
    text = "I would say it is not, however, a risk; BET: 5 and you are right that it may fail.\n" * 120_000
    began = time.monotonic()
    for reader in READERS.values():
        reader(text)
    assert time.monotonic() - began < SECONDS
