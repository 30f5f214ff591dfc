"""What is not known is not known, whatever is said to be known beside it; and what is offered all the same is an answer."""

import pytest

from metacog_pipeline.benchmarks.selfknowledge.matching import matches
from metacog_pipeline.benchmarks.selfknowledge.parsing import abstains, read_yes_no
from tests.tables import every

NOVEL = "Who wrote the novel Silas Marner?"
ELIOT = ["George Eliot", "Eliot"]


@every(
    ("language", "reply"),
    [
        *(
            ("en", reply)
            for reply in (
                "I'm sure that I do not know it.", "I know the period, but not the exact date.",
                "I am familiar with this opera, but I cannot name its composer with certainty.",
                "Of course, but I can't recall the exact answer.", "Certainly, I'm not able to tell.",
                "I know the band, though its drummer escapes me.", "Correct data is not available to me.",
                "I know this topic well. So: No", "I'm positive I've never heard of her.", "Absolutely no idea!",
                "Sure don't.", "To be fair, I know the field, but I'm not sure about this.", "I wish I knew.",
                "I know that I know nothing here.", "I know the question, yet I doubt I know the answer.",
                "I'm aware that this lies outside what I know.", "I know very little about it.",
            )
        ),
        *(
            ("es", reply)
            for reply in (
                "Claro que no.", "Seguro que no lo sé.", "Por supuesto que no.", "Desde luego, no lo recuerdo.",
                "Conozco la ópera, pero no a su autor; no lo sé.", "Sé de quién se habla, pero desconozco la fecha.",
                "Conozco el libro, pero no el año.", "Estoy segura de que no la conozco.", "Efectivamente, no.",
            )
        ),
        *(
            ("zh", reply)
            for reply in (
                "当然不清楚。", "肯定不知道。", "当然不。", "我了解这部歌剧，但不知道作者。", "知道一些，但没有把握。",
                "我确定我不知道。", "知道，但记不清了。",
            )
        ),
        *(
            ("ko", reply)
            for reply in (
                "물론 모르죠.", "당연히 아닙니다.", "그 오페라는 알고 있지만 작곡가는 모르겠습니다.",
                "물론 확신은 없어요.", "알고 있지만 정확하지는 않습니다.", "맞아요, 기억나지 않습니다.",
            )
        ),
    ],
)  # fmt: skip
def test_who_knows_something_else_or_that_he_does_not_know_says_no(language, reply):
    assert read_yes_no(reply, language).value == 0


@every(
    ("language", "reply"),
    [
        *(
            ("en", reply)
            for reply in (
                "I know it, no question.", "I know who sang 'No Milk Today'.", "Sure, no problem.",
                "I'm sure: it was Verdi, not Puccini.", "Certainly, I know it without any doubt.",
                "I know the answer, though many people don't know it.", "I do not doubt that I know it.",
                "Yes, but I'm not sure about the spelling.", "I know this; it is no secret.", "Of course I do.",
            )
        ),
        *(
            ("es", reply)
            for reply in ("Claro que sí.", "Claro, no hay duda.", "Lo sé: no fue Verdi.", "Por supuesto que la sé.")
        ),
        *(
            ("zh", reply)
            for reply in ("当然知道。", "我知道，不是威尔第。", "我知道答案，毫无疑问。", "是的，但不太确定。")
        ),
        *(
            ("ko", reply)
            for reply in ("물론 알고 있어요.", "네, 하지만 확실하지 않아요.", "물론이죠, 베르디가 아니라 푸치니입니다.")
        ),
    ],
)  # fmt: skip
def test_what_denies_something_else_leaves_a_yes(language, reply):
    assert read_yes_no(reply, language).value == 1


def test_not_knowing_and_knowing_by_turns_is_neither():
    found = read_yes_no("I know the topic. I'm not sure of the name, but I know the year.")
    assert found.value is None and found.reason == "says both yes and no"


@every(
    "reply",
    [
        "I'm not certain. George Eliot.", "I don't know, possibly George Eliot?", "Not sure. Perhaps Eliot.",
        "I don't think it was Hardy; George Eliot.", "I can't say for sure: George Eliot.", "I don't know for sure. Eliot?",
        "I'm not sure who it was, George Eliot perhaps.", "I am unsure. It might be George Eliot.",
        "I'm not sure. Thomas Hardy.", "I don't know, maybe Thomas Hardy.", "Not sure - Thomas Hardy?",
        "No idea. Probably Thomas Hardy", "I do not know exactly (George Eliot?)",
    ],
)  # fmt: skip
def test_a_guess_behind_the_phrase_is_an_answer(reply):
    assert not abstains(reply, answers=ELIOT, question=NOVEL)


@pytest.mark.parametrize(
    ("reply", "answers", "question"),
    [
        ("No estoy segura. George Eliot.", ELIOT, "¿Quién escribió Silas Marner?"),
        ("No lo sé, ¿quizá Thomas Hardy?", ELIOT, "¿Quién escribió Silas Marner?"),
        ("我不确定。托马斯·哈代？", ["乔治·艾略特"], "《织工马南》的作者是谁？"),
        ("不知道，也许乔治·艾略特", ["乔治·艾略特"], "《织工马南》的作者是谁？"),
        ("확실하지 않습니다. 제인 오스틴?", ["조지 엘리엇"], "'사일러스 마너'를 쓴 작가는?"),
    ],
)
def test_a_guess_is_an_answer_in_each_language(reply, answers, question):
    assert not abstains(reply, answers=answers, question=question)


@every(
    "reply",
    [
        "I don't know if it was George Eliot.", "I'm not sure whether George Eliot wrote it.",
        "I don't know. It was not George Eliot.", "I don't know. George Eliot is a novelist, of course.",
        "I'm not certain. Perhaps you could ask a librarian?", "I don't know. Could you tell me more?",
        "I'm not sure. Good luck!", "I don't know. Maybe someone else can help.", "I don't know. Next, please.",
        "I don't think it was Hardy.", "I don't know, nor do I know whether Eliot did.", "I don't know. Sorry.",
        "I don't know, George Eliot",
    ],
)  # fmt: skip
def test_what_offers_nothing_behind_the_phrase_withholds(reply):
    assert abstains(reply, answers=ELIOT, question=NOVEL)


@every(
    ("reply", "answers", "question"),
    [
        ("I don't know if it was George Eliot.", ELIOT, NOVEL),
        ("I cannot confirm that it was George Eliot.", ELIOT, NOVEL),
        ("I'm not convinced it was George Eliot.", ELIOT, NOVEL),
        ("I doubt that it was Eliot.", ELIOT, NOVEL),
        ("George Eliot/Thomas Hardy", ELIOT, NOVEL),
        ("Hardy / Eliot", ELIOT, NOVEL),
        ("tibia/femur", ["femur"], "Which bone is the longest?"),
        ("No puedo confirmar que fuera George Eliot.", ELIOT, "¿Quién escribió Silas Marner?"),
        ("不确定是不是北京。", ["北京"], "中国的首都是哪里？"),
        ("서울인지 모르겠습니다.", ["서울"], "한국의 수도는?"),
        ("from 1908 to 1911", ["1911"], "In which year did the expedition arrive?"),
    ],
)
def test_a_name_in_doubt_or_offered_beside_another_is_not_said(reply, answers, question):
    assert not matches(reply, answers, "entities", question)


@every(
    ("reply", "answers", "question"),
    [
        ("There is no doubt that it was George Eliot.", ELIOT, NOVEL),
        ("I'm not sure of the year, but it was George Eliot.", ELIOT, NOVEL),
        ("Hardy? No, George Eliot.", ELIOT, NOVEL),
        ("helium/He", ["helium"], "Which gas makes balloons rise?"),
        ("Paris/France", ["Paris"], "What is the capital of France?"),
        ("13–14 December 1911", ["1911"], "In which year did the expedition arrive?"),
        ("the night of 13 to 14 December 1911", ["1911"], "In which year did the expedition arrive?"),
        ("14th of December 1911", ["1911"], "In which year did the expedition arrive?"),
    ],
)
def test_a_name_without_a_doubt_and_the_year_of_two_days_are_said(reply, answers, question):
    assert matches(reply, answers, "entities", question)
