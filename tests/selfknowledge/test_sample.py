"""Rules the shipped facts must hold."""

from metacog_pipeline.benchmarks.selfknowledge.items import LANGUAGES, SAMPLE_FILE, of_rows, own

FACTS = of_rows(SAMPLE_FILE, own)


def test_there_are_three_hundred_facts_in_four_languages():
    assert len({row.question_id for row in FACTS}) == len(FACTS) >= 300
    for row in FACTS:
        assert tuple(row.questions) == tuple(row.answers) == LANGUAGES and all(row.answers.values())


def test_no_question_gives_its_answer_away():
    for row in FACTS:
        for language, question in row.questions.items():
            assert not any(answer.lower() in question.lower() for answer in row.answers[language]), question


def test_no_fact_is_asked_twice_in_other_words():
    assert len({row.answers["en"][0].lower() for row in FACTS}) == len(FACTS)
