"""What models are sent."""

import pytest

from metacog_pipeline.benchmarks.selfknowledge import prompts
from metacog_pipeline.benchmarks.selfknowledge.items import LANGUAGE_OF, LANGUAGES
from metacog_pipeline.errors import StudyError
from tests.tables import every

LABELS = {"en": "Question:", "zh": "问题:", "ko": "질문:", "es": "Pregunta:"}


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_shipped_text_is_an_instruction_line_and_a_labelled_question(language):
    words = prompts.load_wording()
    for step in (prompts.DIRECT, prompts.META, *([prompts.IDK] if language == "en" else [])):
        instruction, question, rest = words.template(language, step).split("\n")
        assert instruction and question == f"{LABELS[language]} {prompts.PLACE}" and rest == ""
    yes, no = prompts.YES_NO[language]
    meta = words.template(language, prompts.META)
    assert any(f"{a}{yes}{b}" in meta and f"{a}{no}{b}" in meta for a, b in ('""', "“”"))


def test_the_idk_text_names_the_abstention():
    assert '"I don\'t know"' in prompts.load_wording().template("en", prompts.IDK)


def test_a_question_is_put_in_whatever_it_holds(bench):
    (message,) = prompts.messages(bench.PLAIN, "dual", prompts.DIRECT, prompts.load_wording())
    assert message.role == "user"
    assert message.content.endswith("Question: Who wrote {question}? {0} 100%\n")


@pytest.mark.parametrize("condition", LANGUAGE_OF)
def test_an_item_is_asked_in_the_language_of_the_condition(bench, condition):
    question = bench.CAPITAL.question(LANGUAGE_OF[condition])
    for step in prompts.condition_steps(condition):
        (message,) = prompts.messages(bench.CAPITAL, condition, step, prompts.load_wording())
        assert question in message.content


def test_what_is_not_asked_is_refused(bench):
    words = prompts.load_wording()
    for item, condition, step in (
        (bench.PLAIN, "dual_zh", prompts.DIRECT),
        (bench.CAPITAL, "idk", prompts.META),
        (bench.CAPITAL, "dual", prompts.IDK),
    ):
        with pytest.raises(StudyError, match="is not asked for"):
            prompts.messages(item, condition, step, words)
    with pytest.raises(StudyError, match='did you mean "dual_zh"'):
        prompts.condition_steps("dual_zn")


def test_own_texts_replace_the_shipped_ones_and_change_only_their_digests(tmp_path):
    path = tmp_path / "words.toml"
    path.write_text("[es]\ndirect = '''Di: {question}'''\n", "utf-8")
    ours, own = prompts.load_wording(), prompts.load_wording(path)
    assert own.id == "own:words" and own.text("¿Qué?", "es", prompts.DIRECT) == "Di: ¿Qué?"
    changed = {name for name in LANGUAGE_OF if ours.condition_digest(name) != own.condition_digest(name)}
    assert changed == {"dual_es"} and ours.digest != own.digest
    assert own.template("en", prompts.META) == ours.template("en", prompts.META)


@every(
    ("text", "said"),
    [
        ("[en", "cannot be read"),
        ("[fr]\ndirect = 'x'", "unknown key 'fr'"),
        ("[en]\ndirct = 'x'", 'did you mean "direct"'),
        ("[zh]\nidk = '{question}'", "我不知道"),
        ("en = 3", "must be a table"),
        ("[en]\ndirect = ''", "must be a text"),
        ("[en]\ndirect = 'Say it.'", "stands there 0 times"),
        ("[en]\ndirect = '{question} {question}'", "stands there 2 times"),
        ("[en]\nmeta = 'Sure? Yes or no. {question}'", 'the word "No" is not in it'),
        ("[es]\nmeta = '¿Seguro? Si o No. {question}'", 'the word "Sí" is not in it'),
        ("[en]\nidk = '{question} or pass'", "I don't know"),
        ("id = 3", "id = 3"),
    ],
)
def test_a_wording_that_cannot_be_used_is_refused_in_one_line(text, said, tmp_path):
    path = tmp_path / "words.toml"
    path.write_text(text, "utf-8")
    with pytest.raises(StudyError) as refused:
        prompts.load_wording(path)
    assert (
        said in str(refused.value) and "words.toml" in str(refused.value) and "\n" not in str(refused.value)
    )


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(StudyError, match=r"none\.toml"):
        prompts.load_wording(tmp_path / "none.toml")
