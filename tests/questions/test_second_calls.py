"""What a second call says about the answer, and what withholds the answer in the first."""

import pytest

from metacog_pipeline.benchmark.answers import sureness
from metacog_pipeline.benchmark.answers.question_rows import question_of
from metacog_pipeline.benchmark.contract import Call
from metacog_pipeline.benchmarks.questions import parsing
from metacog_pipeline.benchmarks.questions.items import Item
from metacog_pipeline.llm.types import TokenLogprob
from metacog_pipeline.transcripts.lines import encode_logprobs
from tests.tables import every


def item(**columns):
    return Item(**question_of(columns, "own"), position=0)


ITEMS = {
    "choice": item(
        question="Which metal is liquid?", options=["Iron", "Mercury", "Zinc", "Lead"], answer="B"
    ),
    "number": item(question="How many legs have twelve spiders?", answer="96", kind="numeric"),
    "text": item(question="What is the capital of Peru?", answer="Lima", kind="short_answer"),
}


def second(condition, said, **more):
    calls = {"answer": Call("ok", "Answer: B"), condition: Call("ok", said, **more)}
    return parsing.read(ITEMS["choice"], condition, calls, 5)


def held(kind, said):
    return parsing.read(ITEMS[kind], "abstain_allowed", {"answer": Call("ok", said)}, 5)


KEPT = (
    "keep", "**Keep.**", '{"decision": "keep"}', "I'd keep it", "I'm keeping my answer", "Keeping", "Kept.",
    "My choice is to keep it",
    "more than happy to keep it", "I can't not keep it", "We keep this.", "I am no expert, but I keep it",
    "I am not sure but I keep it", "I have no doubt and keep it", "Without hesitation I keep it", "No, keep it.",
)  # fmt: skip
WITHDRAWN = (
    "withdraw", "WITHDRAW!", "I withdraw my answer.", "I'm withdrawing it", "Withdrawn", "Consider it withdrawn.",
    "I have decided to withdraw", "Since I am not confident I will withdraw it", "I'm not sure so I withdraw",
    "I won't hesitate to withdraw", "I'd rather withdraw",
)  # fmt: skip


@every(("said", "kept"), [*((each, 1) for each in KEPT), *((each, 0) for each in WITHDRAWN)])
def test_who_keeps_or_withdraws_says_so_in_any_form_of_the_verb(said, kept):
    found = second("keep_withdraw", said)
    assert (found.kept, found.confidence) == (kept, kept)


@every(
    ("said", "kept"),
    [
        *(
            (said, 1)
            for said in (
                "I do not withdraw.", "I wouldn't withdraw my answer.", "I’m not withdrawing it.", "Never withdraw.",
                "There is no need to withdraw.", "I see no reason why I should withdraw it.", "I refuse to withdraw",
                "I don't think I should withdraw.", "I have no intention of withdrawing.", "not withdraw",
                "I cannot and will not withdraw.", "no I won't withdraw it", "Under no circumstances will I withdraw.",
                "It would be a mistake to withdraw.", "Withdrawing would be foolish.", "Withdrawing is not necessary.",
                "I withdraw nothing.", "Withdraw? No.", "I see no reason not to keep it.",
                "The answer should not be withdrawn.",
            )
        ),
        *(
            (said, 0)
            for said in (
                "Don't keep it.", "I would not keep it", "I can't keep this answer.", "I won't keep it.",
                "I can no longer keep it",
                "I'm not confident enough to keep it.", "I am unable to keep it.", "It's too risky to keep.",
                "It is not safe to keep it.", "I don't believe it is wise to keep it.",
                "Keeping it would be too risky.",
                "Not keeping it.", "not keep", "I see no reason not to withdraw.",
                "I don't feel comfortable keeping it",
                "The answer should not be kept.",
            )
        ),
    ],
)  # fmt: skip
def test_who_denies_one_verb_says_the_other(said, kept):
    assert second("keep_withdraw", said).kept == kept


@every(
    ("said", "kept"),
    [
        ("Keep, I see no reason to withdraw.", 1), ("Withdraw, it's too risky to keep.", 0),
        ("I'd rather keep it than withdraw.", 1), ("Withdraw instead of keeping it", 0), ("keep (not withdraw)", 1),
        ("If I withdraw, I get nothing, so keep.", 1), ("Withdrawing would cost a point. Keep.", 1),
        ("I would keep it if I were sure, but I withdraw.", 0), ("I could withdraw, but I keep it", 1),
        ("Keep in mind that I may be wrong. I withdraw.", 0), ("I keep thinking of zinc. Withdraw.", 0),
        ("The drug was withdrawn in 1998. Keep.", 1), ("Keep or withdraw? Keep.", 1), ("keep/withdraw: withdraw", 0),
        ("I withdraw because there isn't enough evidence to keep it", 0), ("Should I withdraw? No. I keep it.", 1),
        ("<think>withdraw</think>keep", 1),
    ],
)  # fmt: skip
def test_what_is_only_mentioned_beside_a_decision_decides_nothing(said, kept):
    assert second("keep_withdraw", said).kept == kept


@every(
    "said",
    ["keep or withdraw", "Keep. Withdraw.", "I can neither keep nor withdraw", "I don't know if I should keep it.",
     "I can't decide whether to keep or withdraw.", "The drug was withdrawn in 1998.", "Maintain", ""],
)  # fmt: skip
def test_who_says_both_or_neither_decides_nothing(said):
    found = second("keep_withdraw", said)
    assert (found.kept, found.status) == (None, "confidence_unparsed")


YES = (
    "Yes", "yes.", "**Yes**", '{"answer": "yes", "reason": "no other option"}', "Yes. There is no doubt.",
    "Yes, no other metal is liquid.", "Yes, since there is no better option.",
    "Is it right? Yes, no question about it.",
    "There is no doubt that the answer is yes.", "No doubt, yes.", "No other option fits, so yes.", "Yes or no? Yes.",
    "I'm not sure but yes", "Yes; I can't say no.", "Yes if it is warm", "I'd say yes",
)  # fmt: skip
NO = (
    "No", "no.", "No, it isn't.", "No it is not", "No - it is zinc", "No\nIt is zinc.", "I would say no.",
    "It's a no from me.",
    "No, yes would be wrong.", "No. It would be yes only if heat were meant.", "Absolutely not, so no.", "Yes/No: no",
    "no option but zinc is wrong here",
)  # fmt: skip
NEITHER = (
    "I cannot say yes.", "Not yes", "I would not say yes", "It is not a clear yes.", "I don't think the answer is yes.",
    "I can neither say yes nor no.", "yes or no", "Yes and no.", "Yes. No.", "No doubt.", "No one knows.", "No idea",
    "No. 2 is",
    "yesterday", "None",
)  # fmt: skip


@every(
    ("said", "sure"),
    [*((each, 1.0) for each in YES), *((each, 0.0) for each in NO), *((each, None) for each in NEITHER)],
)
def test_a_no_that_is_said_of_something_is_no_answer_and_a_yes_that_is_denied_is_none(said, sure):
    assert second("p_true", said).confidence == sure


def test_log_probabilities_of_the_words_go_before_what_is_said():
    logs = encode_logprobs((TokenLogprob("Yes", -0.1, (("Yes", -0.1), ("No", -2.4))),))
    found = second("p_true", "No", logprobs_json=logs)
    assert found.confidence == pytest.approx(0.909, abs=1e-3)


WITHHELD = (
    "unknown", "**Answer:** Unknown", "Final answer: unknown", '{"answer": "unknown"}', "\\boxed{unknown}",
    "Answer: <unknown>",
    "I am not certain about it.\n\nAnswer: unknown", "Let me think. A is solid.\n\nAnswer: unknown",
    "After some thought: unknown.",
    "So my answer is unknown.", "I'd rather not answer.", "I’d rather not answer.", "I prefer not to say.",
    "I cannot answer this.",
    "Let me think.\nI'd rather not answer.", "Unsure", "I'm uncertain", "N/A", "I'm not sure.", "I don't know.",
    "no idea, sorry",
    "I'm going to abstain.", "Skip", "I'll pass.", "I can't help with that.", "unknown\nConfidence: 0%",
    "Réponse : inconnu",
    "Answer: Unknown (I'd guess B)", "I am not sure, it's hard to tell.", "<think>Answer: B</think>Answer: unknown",
)  # fmt: skip


@every("said", WITHHELD)
@every("kind", ITEMS)
def test_an_answer_is_withheld_where_what_is_stated_as_the_answer_says_so(kind, said):
    found = held(kind, said)
    assert (found.said, found.correct, found.confidence, found.kept) == (None, None, 0.0, 0)


@every(
    ("kind", "said", "right"),
    [
        *(
            ("choice", said, 1)
            for said in (
                "I don't know, but my best guess is B.", "Answer: Not sure, but B", "I don't know, maybe B?",
                "Unknown to many, mercury is the answer. Answer: B", "Not sure; I'd go with B",
                "I'm not sure. It is B.",
                "I am not certain.\nAnswer: B", "B, but I'm not sure", "Answer: B\n\nWhy is unknown to me.",
                "B\n\nNot sure.",
                "B. The rest is unknown.", "Answer: B. I'd rather not explain.",
            )
        ),
        *(
            ("text", said, 1)
            for said in (
                "Lima", "I don't know, but my best guess is Lima.", "I'm not certain, it's Lima",
                "Not sure, maybe Lima",
                "Lima. I don't know more.", "Lima (I'm not sure)", "Answer: Lima\nFounded: unknown",
            )
        ),
        ("text", "I don't know, I'd guess Quito", 0), ("number", "I don't know, but my best guess is 96.", 1),
        ("number", "96 (not sure)", 1), ("number", "I'm not sure.\nAnswer: 96", 1),
    ],
)  # fmt: skip
def test_a_guess_answers_whatever_stands_before_it(kind, said, right):
    found = held(kind, said)
    assert (found.correct, found.confidence, found.kept) == (right, 1.0, 1)


def test_what_an_option_or_a_right_answer_says_withholds_nothing():
    options = ["Iron", "Not enough information", "Zinc"]
    asked = item(question="Which one melts first?", options=options, answer="B")
    for said in ("Answer: B", "Answer: Not enough information", "B) Not enough information"):
        found = parsing.read(asked, "abstain_allowed", {"answer": Call("ok", said)}, 5)
        assert (found.said, found.kept) == ("B", 1), said
    song = item(question="Which song is it?", answer="I Don't Know", kind="short_answer")
    assert parsing.read(song, "abstain_allowed", {"answer": Call("ok", "I Don't Know")}, 5).correct == 1


@every(
    "unit",
    [
        "keep ",
        "I do not keep or ",
        "if i keep ",
        "yes ",
        "no, ",
        "not ",
        "i ",
        "a? ",
        "(",
        "- ",
        "unknown ",
        "maybe ",
    ],
)
def test_hostile_second_calls_are_read_in_linear_time(unit):
    text = unit * (30_000 // len(unit))
    for words in (("keep", "withdraw"), ("yes", "no")):
        sureness.chosen(text, words)
    sureness.withheld(text, None, ITEMS["text"].key, (), ITEMS["text"].question)
