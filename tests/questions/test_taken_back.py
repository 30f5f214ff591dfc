"""An answer that is set apart and then taken back is not the answer; what only speaks of it takes nothing back."""

from metacog_pipeline.benchmark.answers.reading import AnswerKey
from metacog_pipeline.benchmark.answers.stated import answer_of
from tests.tables import every

CHOICE = AnswerKey(
    "choice", ("B",), question="Which planet is the largest?\nA) Mars\nB) Jupiter\nC) Venus\nD) Earth"
)
NUMBER = AnswerKey("number", (1250,), question="What is 25 times 50?")
TEXT = AnswerKey("text", ("Paris",), question="What is the capital of France?")


@every(
    "reply",
    [
        "**Answer: A**\n\nWait, let me reconsider. The correct answer is **B**.",
        "Answer: A\n\nCorrection: B",
        "Answer: A\n\nHmm, actually, looking again, the answer is B.\nConfidence: 80",
        "<answer>D</answer>\nOn second thought, the right one is Jupiter. Answer is: B) Jupiter",
        "Answer: C\n\nI made a mistake above. My answer should be B.",
    ],
)
def test_an_option_that_is_taken_back_is_not_the_answer(reply):
    assert answer_of(reply, CHOICE).said == "B"


@every(
    "reply",
    [
        "Answer: B\n\nWait... no, that's right.",
        "Answer: B\n\nActually, A is smaller than D.",
        "Answer: B\n\nActually, if it were nearer, the answer is C.",
        "Answer: B\n\nI double-checked: the answer is B.",
        "Answer: B\nA common mistake: the answer is D.",
    ],
)
def test_a_remark_takes_no_option_back(reply):
    assert answer_of(reply, CHOICE).said == "B"


@every(
    "reply",
    [
        "**Answer: 1300**\n\nLet me double-check: 25 × 50 = 1250. So the answer is **1250**.",
        "Answer: 1300\nSorry, 1250.",
        "Answer: 1250\n\nLet me double-check: 25 × 50 = 1250.",
        "Answer: 1250\n\nActually, 3 of my steps were not needed.",
    ],
)
def test_a_number_is_taken_back_by_another_one(reply):
    assert answer_of(reply, NUMBER).correct is True


@every(
    ("reply", "right"),
    [
        ("Answer: Lyon\n\nWait, that is wrong. The answer is Paris.", True),
        ("Answer: Paris\n\nWait, that is wrong. The answer is Lyon.", False),
        ("Answer: Paris\n\nOn second thought, I am sure of it.", True),
        ("Answer: Paris\n\nActually, I was there once.", True),
    ],
)
def test_a_name_is_taken_back_where_another_is_named_as_the_answer(reply, right):
    assert answer_of(reply, TEXT).correct is right


@every(
    "reply", ["{'answer': 'B', 'confidence': 85}", "{'answer': \"B\"}", "{ 'final_answer' : 'B) Jupiter' }"]
)
def test_an_object_in_single_quotes_is_read(reply):
    assert answer_of(reply, CHOICE).said == "B"


def test_a_name_of_several_words_is_taken_whole():
    key = AnswerKey("text", ("New York",), question="Which city is the largest of the USA?")
    assert (
        answer_of("Answer: Boston\n\nWait, no. The answer is New York. It has 8 million.", key).correct
        is True
    )
    assert answer_of("Answer: New York\n\nWait, no. The answer is New Haven.", key).correct is False
