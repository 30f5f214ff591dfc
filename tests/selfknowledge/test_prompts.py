"""What models are sent."""

import re

import pytest

from metacog_pipeline.benchmarks.selfknowledge import prompts
from metacog_pipeline.benchmarks.selfknowledge.items import LANGUAGE_OF, LANGUAGES, REFERENCE_PROMPTS, fetch
from metacog_pipeline.errors import SourceError, StudyError
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


def test_a_question_is_put_in_whatever_it_holds(bench):
    (message,) = prompts.messages(bench.PLAIN, "dual", prompts.DIRECT, prompts.load_wording())
    assert message.role == "user"
    assert message.content.endswith("Question: Who wrote {question}? {0} 100%\n")


def test_own_texts_replace_the_shipped_ones_and_change_only_their_digests(tmp_path):
    path = tmp_path / "words.toml"
    path.write_text("[es]\ndirect = '''Di: {question}'''\n", "utf-8")
    ours, own = prompts.load_wording(), prompts.load_wording(path)
    assert own.id == "own:words" and own.template("es", prompts.DIRECT) == "Di: {question}"
    changed = {name for name in LANGUAGE_OF if ours.condition_digest(name) != own.condition_digest(name)}
    assert changed == {"dual_es"}
    assert own.template("en", prompts.META) == ours.template("en", prompts.META)


@every(
    ("text", "said"),
    [
        ("[en", "cannot be read"),
        ("[en]\ndirct = 'x'", 'did you mean "direct"'),
        ("[zh]\nidk = '{question}'", "我不知道"),
        ("[en]\ndirect = 'Say it.'", "is in it 0 times"),
        ("[en]\nmeta = 'Sure? Yes or no. {question}'", '"No" is not in it'),
        ("[es]\nmeta = '¿Seguro? Si o No. {question}'", '"Sí" is not in it'),
        ("[en]\nidk = '{question} or pass'", "I don't know"),
    ],
)
def test_a_wording_that_cannot_be_used_is_refused_in_one_line(text, said, tmp_path):
    path = tmp_path / "words.toml"
    path.write_text(text, "utf-8")
    with pytest.raises(StudyError, match=rf"^[^\n]*words\.toml[^\n]*{re.escape(said)}[^\n]*$"):
        prompts.load_wording(path)


def test_the_authors_words_are_asked_with_where_they_are_fetched(bench, tmp_path):
    benchmark = bench.bind(tmp_path, wording="reference")
    assert benchmark.needed_sources() == (REFERENCE_PROMPTS,)
    with pytest.raises(SourceError, match="not fetched"):
        benchmark.wording  # noqa: B018
    names = [f"{step}{code}" for step in ("DIRECT_QA", "META_QA") for code in ("", "_CN", "_KO", "_ES")]
    (tmp_path / "prompt.py").write_text("".join(f"{name}_PROMPT = '{name} {{question}}'\n" for name in names))
    fetch(benchmark.study.home, [REFERENCE_PROMPTS], folder=tmp_path)
    words = benchmark.wording
    (message,) = prompts.messages(bench.CAPITAL, "dual_ko", prompts.META, words)
    assert message.content == "META_QA_KO 프랑스의 수도는 어디입니까?"
    with pytest.raises(StudyError, match="'reference' has no text 'idk' in 'zh'"):
        words.condition_digest("idk_zh")
