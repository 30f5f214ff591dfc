"""An answer that a reply sets apart is its answer, whatever numbers stand in the working."""

import pytest

from metacog_pipeline.benchmark.answers import stated, sureness
from metacog_pipeline.benchmark.answers.reading import AnswerKey
from tests.tables import every

KEYS = {
    "285": AnswerKey("number", (285,), question="How many eggs does she sell?"),
    "B": AnswerKey(
        "choice", ("B", "a dog"), question="Which one barks?\nA) a cat\nB) a dog\nC) a cow\nD) a hen"
    ),
    "Paris": AnswerKey("text", ("Paris",), question="What is the capital of France?"),
}
WORKING = "I first thought of 12 and of 13, or of 40.\nHalf of 16 is <<16/2=8>>8.\n"
FRAMES = (
    "#### {}", "A: 3\n#### {}", "<answer>{}</answer>", "<answer>\n{}\n</answer>", "<final_answer>{}</final_answer>",
    "[[{}]]", '{{"reasoning": "of 12 eggs", "final_answer": "{}", "confidence": 80}}', "### Final Answer\n**{}**",
    "Answer:\n\n{}", "Answer\n{}", "Response: {}", "Output: {}", "Ans: {}", "Solution: {}", "Final: {}", "=> {}",
    "정답: {}", "答案：{}", "Respuesta final: {}", "Answer: {}\nConfidence: 85%", "#### {}\nConfidence: 85 %",
)  # fmt: skip


@every("frame", FRAMES)
@every("answer", KEYS)
def test_what_is_set_apart_is_the_answer(frame, answer):
    for before in ("", WORKING):
        assert stated.answer_of(before + frame.format(answer), KEYS[answer]).correct is True


@every("last", ["285", "$285", "285 eggs.", "**285**", "(285)", "285 (confidence: 90%)", "$$ 285 $$"])
def test_a_number_alone_under_a_text_is_the_answer(last):
    assert stated.answer_of(WORKING + last, KEYS["285"]).correct is True


@pytest.mark.parametrize(
    "reply",
    [
        WORKING + "#### 284",
        "She sells 285 eggs.\n#### 12",
        "It is 285.\n\nAnswer: 12\n3",
        "<answer>285</answer> No, wait.\n<answer>12</answer>",
    ],
)
def test_the_last_answer_set_apart_counts(reply):
    assert stated.answer_of(reply, KEYS["285"]).correct is False


def test_a_column_of_numbers_and_a_label_above_working_set_nothing_apart():
    assert stated.answer_of("These are left:\n12\n285", KEYS["285"]).correct is not True
    assert (
        stated.answer_of("Solution:\nHalf of 16 is 8.\nSo she sells 285 eggs.", KEYS["285"]).correct is True
    )


@pytest.mark.parametrize(
    "last",
    ["The correct answer is (285).", "So the answer is **(285)**.", "Thus the final answer is: [$285]",
     "The answer is (12).\nNo, the answer is (285)."],
)  # fmt: skip
def test_a_number_in_brackets_that_ends_a_line_as_the_answer_is_no_remark(last):
    assert stated.answer_of(WORKING + last, KEYS["285"]).correct is True


@pytest.mark.parametrize(
    "last", ["The answer is not (285).", "I don't think the answer is (285).", "The answer is 12 (285)."]
)
def test_a_number_in_brackets_that_is_doubted_or_stands_beside_another_is_a_remark(last):
    assert stated.answer_of(WORKING + last, KEYS["285"]).correct is not True


WORDS = (
    "Antwort", "Réponse", "Réponse finale", "Resposta", "Risposta", "Ответ", "答え", "回答", "الإجابة", "उत्तर",
    "Cevap",
)  # fmt: skip


@pytest.mark.parametrize("word", WORDS)
def test_an_answer_is_set_apart_in_the_words_of_a_language(word):
    key = AnswerKey("number", (12,), question="How many?")
    reply = f"5 + 7 = 12, 13 - 1 = 12, 99 ?\n{word}: 12\n\n(14, 15)"
    assert stated.answer_of(reply, key) == ("12", True)


SURE = (
    ("Confidence: 80%\nConfidence interval: 70-90", 0.8), ("Konfidenz: 80 %", 0.8), ("Confianza: 0,8", 0.8),
    ("置信度：80%", 0.8), ("Confiance : 8/10", 0.8), ("Уверенность: 80", 0.8), ("확신도: 80%", 0.8),
    ("Confidence: 50/50", 0.5), ("Confidence (0-100): 80", 0.8), ("**Confidence (0–100 %):** 80 %", 0.8),
    ("Confidence (0-10): 8", 0.8), ("Confidence (out of 10): 8", 0.8), ("Confidence (0-1): 0.8", 0.8),
    ("Confidence (0 to 100, where 100 is certain): 80", 0.8), ("Confidence on a scale of 1 to 10: 8", 0.8),
    ("Confidence (0-100): 70-90", 0.8), ("Confidence (70-90)", 0.8), ("Confidence: eighty percent", 0.8),
    ("Confidence: about 8 in 10", 0.8), ("Confidence: nine out of ten", 0.9), ("## Confidence\n80%", 0.8),
    ("Confidence:\n\n80", 0.8), ("Certainty: 80%", 0.8), ("信心水平：80%", 0.8), ("信頼度: 80%", 0.8),
    ("Confidence: 4 out of 5", 0.8), ("Confidence: 4 stars out of 5", 0.8), ("Confidence: four out of five", 0.8),
    ("Confidence: 8 or 9 out of 10", 0.85), ("Confidence: 8 (on a scale from 0 to 10)", 0.8),
    ("Confidence: 0.8 (0-1)", 0.8), ("Confidence [0,1]: 0.8", 0.8), ("Confidence (0-1): 1", 1.0),
    ("Confidence (0-5): 4", 0.8), ("Confidence (0-10): 8 - fairly sure", 0.8), ("Confidence 0-100: 80", 0.8),
    ("Confidence (1-5): 80%", 0.8), ("Certainty level: 80%", 0.8), ("P(correct) = 0.8", 0.8),
    ("Probability that my answer is correct: 80%", 0.8), ("There is an 80% chance that I'm right.", 0.8),
    ("I'm 80% confident.", 0.8), ("It is Paris with 80% confidence.", 0.8), ("I am sure (about 80%).", 0.8),
)  # fmt: skip
UNSAID = (
    "Confidence: high", "Confidence: one of the best known facts", "Confidence: 150%", "I am certain.",
    "80 % of people live there.", "Confidence\nI would say so", "(80%)",
    "Confidence: 4 (1-5)", "Confidence (1-7): 4", "Confidence: 4 on a 5-point scale", "Confidence: 6 out of 5",
    "Probability: 0.8", "The probability that both are right = 0.25", "80% chance that it rains.",
)  # fmt: skip


@pytest.mark.parametrize(("line", "share"), SURE)
def test_a_confidence_is_stated_in_the_words_of_a_language_and_an_interval_is_none(line, share):
    assert sureness.of_reply(f"Paris\n{line}", letter=False) == share
    assert not sureness.states("The 95 % confidence interval is 2 to 5, and Sicherheit is a word.")


@pytest.mark.parametrize("line", UNSAID)
def test_what_states_no_share_is_no_confidence(line):
    assert sureness.of_reply(f"Paris\n{line}", letter=False) is None


@pytest.mark.parametrize(
    "reply",
    [
        "Guess: 42\nProbability: 0.85", "**Guess:** 42\n**Probability:** 85 %", "Answer: 42 (probability: 0.85)",
        '{"answer": 42, "probability": 0.85}', "Answer: 42\nLikelihood of this: 85%", "答え: 42\n確率: 85%",
        "G1: 42\nP1: 0.85\nG2: 45\nP2: 0.1", "Guess 1: 42\nProbability 1: 85%\nGuess 2: 45\nProbability 2: 10%",
    ],
)  # fmt: skip
def test_the_probability_beside_a_named_answer_is_its_confidence_and_no_answer(reply):
    key = AnswerKey("number", (42,), question="How many?")
    assert stated.answer_of(reply, key) == ("42", True)
    assert sureness.of_reply(reply, letter=False) == 0.85 and sureness.states(reply)


REMARKED = (
    "Confidence: 80%\n\nMy confidence is high because the sources agree.",
    "Confidence: 80\nThis confidence comes from 3 sources.",
    "Confidence 80\n(Confidence reflects how well 1990 is known.)",
    "My confidence grew with 2 checks.\nConfidence: 80 %",
    "Confidence: 60%\nNo, my confidence is about 80%.",
    "<answer>42</answer><confidence>80</confidence>",
    "<answer>42</answer>\n<confidence>\n80\n</confidence>",
    '```json\n{"answer": "42", "confidence": 0.8}\n```',
)


@pytest.mark.parametrize("reply", REMARKED)
def test_a_remark_about_confidence_states_none(reply):
    assert sureness.of_reply(reply, letter=False) == 0.8


@pytest.mark.parametrize("reply", ["Count the cases.\nProbability: 0.25", "Probability = 1/4"])
def test_a_probability_that_is_asked_for_is_the_answer(reply):
    key = AnswerKey("number", ("0.25",), question="What is the probability?")
    assert stated.answer_of(reply, key).correct is True
    assert sureness.of_reply(reply, letter=False) is None


def test_a_line_that_says_confidence_goes_before_a_probability():
    assert sureness.of_reply("Guess: 42\nConfidence: 90\nProbability: 0.2", letter=False) == 0.9


@pytest.mark.parametrize("reply", ["B, 80%", "B (80%)", "**B** – 80 %", "B\n80", "B) Rome, the capital\n80%"])
def test_a_share_beside_a_bare_letter_is_the_confidence_where_a_letter_is_asked_for(reply):
    assert sureness.of_reply(reply, letter=True) == 0.8
    assert sureness.of_reply(reply, letter=False) is None
