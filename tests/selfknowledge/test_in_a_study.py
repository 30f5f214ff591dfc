"""A study of self-knowledge from its file to its numbers, in one process."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from metacog_pipeline.asking import construction, tasks
from metacog_pipeline.asking.session import Partition, query_partition
from metacog_pipeline.benchmark.bound import bound
from metacog_pipeline.benchmarks.selfknowledge import SelfKnowledge
from metacog_pipeline.errors import SourceError, StudyError
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import OneOf
from metacog_pipeline.study import Study, load_study
from tests.tables import every

MODEL = """
[[models]]
name = "knowing"
provider = "simulated"
observer = { accuracy = 0.6, d_type2 = 3.0 }
"""


def study(folder: Path, section: str = "", models: str = MODEL) -> Study:
    path = folder / "study.toml"
    head = '[study]\nname = "s"\n\n[benchmarks.selfknowledge]\n'
    path.write_text(f"{head}{section}\n{models}", "utf-8")
    return load_study(path)


def of(asked: Study) -> SelfKnowledge:
    found = bound(asked, "selfknowledge")
    assert isinstance(found, SelfKnowledge)
    return found


def ask(asked: Study) -> Partition:
    """Build the items and ask the study's only model."""
    benchmark = of(asked)
    construction.build(benchmark)
    (partition,) = tasks.partitions(benchmark)
    spec = partition.spec
    query_partition(
        partition,
        tasks.tasks(benchmark, spec),
        benchmark.modes(spec),
        fingerprint=tasks.fingerprint(benchmark, partition),
        respond=benchmark.observer(spec.observer) if spec.provider == "simulated" else None,
    )
    return partition


def requests(partition: Partition) -> list[dict[str, Any]]:
    """Return what was sent, from the journals."""
    paths = sorted(partition.folder.path.glob("journal-*.jsonl"))
    records = [json.loads(line) for path in paths for line in path.read_text("utf-8").splitlines()]
    return [json.loads(record["request_json"]) for record in records if "request_json" in record]


def test_other_words_decoding_or_length_ask_again(tmp_path):
    first = ask(study(tmp_path, "limit = 2"))
    sampled = [each["sampling"] for each in requests(first)]
    assert {(each["temperature"], each["max_tokens"]) for each in sampled} == {(0.0, 32)}
    (tmp_path / "words.toml").write_text("[en]\ndirect = 'Say: {question}'\n", "utf-8")
    worded = requests(ask(study(tmp_path, 'limit = 2\nwording = "words.toml"')))
    new = [each for each in worded if str(each["messages"][0][1]).startswith("Say: ")]
    assert len(new) == 2 and len(worded) == len(requests(first))
    shipped = ask(study(tmp_path, 'limit = 2\ndecoding = "checkpoint"'))
    assert requests(shipped)[-1]["sampling"]["temperature"] is None
    longer = ask(study(tmp_path, "limit = 2", MODEL.replace('"simulated"', '"simulated"\nmax_tokens = 64')))
    assert requests(longer)[-1]["sampling"]["max_tokens"] == 64


def test_conditions_follow_languages_and_idk(tmp_path):
    def conditions(section: str) -> tuple[str, ...]:
        return tuple(each.name for each in of(study(tmp_path, section)).conditions())

    assert conditions("") == ("dual", "idk")
    assert conditions("idk = false") == ("dual",)
    assert conditions('languages = ["ko", "en"]') == ("dual_ko", "dual", "idk_ko", "idk")
    assert conditions('languages = ["zh", "es"]') == ("dual_zh", "dual_es", "idk_zh", "idk_es")
    every = conditions('languages = ["zh", "en"]\nidk = ["en"]\npreceded = true')
    assert every == ("dual_zh", "dual", "idk", "preceded")


def test_a_published_set_that_is_not_home_is_needed_and_missed(tmp_path):
    away = of(study(tmp_path, 'dataset = "trivia_qa"\nsplit = "all"'))
    assert away.needed_sources() == ("trivia_qa_train", "trivia_qa")
    with pytest.raises(StudyError, match="there are validation, train, all"):
        construction.build(of(study(tmp_path, 'dataset = "trivia_qa"\nsplit = "test"')))


def test_questions_of_ones_own_are_asked_and_are_stale_when_the_file_changes(tmp_path):
    own = of(study(tmp_path, 'dataset = "own"\nquestions = "q.jsonl"\nidk = false'))
    with pytest.raises(SourceError, match=r"q\.jsonl: no such file"):
        construction.build(own)
    (tmp_path / "q.jsonl").write_text(
        '{"question": "Who?", "answer": "Ada"}\n{"id": 7, "question": "?", "answers": []}\n'
    )
    ask(own.study)
    assert {(each.item_id, each.question_id, each.accepted()) for each in own.items} == {
        ("sk-own-000000", "0", ("Ada",)), ("sk-own-000001", "7", ()),
    }  # fmt: skip
    assert not construction.stale_steps(own)
    (tmp_path / "q.jsonl").write_text('{"question": "Who?", "answer": "Bob"}\n')
    assert construction.stale_steps(own)


def test_each_step_is_asked_alone_and_told_how(bench, tmp_path):
    def calls(condition: str, mode: str = "text", section: str = "", **fields: object) -> Any:
        spec = ModelSpec.model_validate({"name": "m", "provider": "openai", "model": "x", **fields})
        chat = bench.Listening(mode, spec, direct="Paris", meta="Yes")
        asyncio.run(of(study(tmp_path, section)).ask(bench.CAPITAL, condition, chat))
        return chat.calls

    both = calls("dual_es")
    assert [step for step, _, _ in both] == ["direct", "meta"]
    for _, messages, _ in both:
        (message,) = messages
        assert message.role == "user" and "Paris" not in message.content
        assert "¿Cuál es la capital de Francia?" in message.content
    assert [how["top_logprobs"] for _, _, how in both] == [0, None]
    assert [step for step, _, _ in calls("idk")] == ["idk"]
    assert {how["max_tokens"] for _, _, how in both} == {32}
    assert {how["max_tokens"] for _, _, how in calls("dual", max_tokens=8)} == {8}
    assert [how["constraint"] for _, _, how in both] == [None, None]
    assert [how["constraint"] for _, _, how in calls("dual_ko", "choice")] == [None, OneOf(("예", "아니요"))]
    assert {how["send_temperature"] for _, _, how in both} == {True}
    free = calls("dual", section='decoding = "checkpoint"')
    assert {how["send_temperature"] for _, _, how in free} == {False}


@every(
    ("section", "said"),
    [
        ('dataset = "trivia"', "trivia_qa"), ('languages = ["en", "en"]', "twice"),
        ('languages = ["zh"]\nidk = ["en"]', 'idk names "en"'),
        ('dataset = "nq_open"\nlanguages = ["ko"]', "English questions only"),
        ('dataset = "own"', "give both"), ('questions = "q.jsonl"', "give both"),
        ('matching = "fuzzy"', "token_boundary"), ('yes_no = "lenient"', "reference"),
        ('languages = ["zh"]\npreceded = true', "preceded asks in English"),
        ("limit = 0", "limit"), ("limt = 3", 'did you mean "limit"'),
    ],
)  # fmt: skip
def test_a_section_that_cannot_be_is_refused_in_one_line(section, said, tmp_path):
    with pytest.raises(StudyError) as refused:
        study(tmp_path, section)
    assert said in str(refused.value) and "\n" not in str(refused.value)
