"""Question sets become rows, are fetched verified or not at all, and whatever is wrong in a file is one line."""

import gzip
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from metacog_pipeline.benchmarks.selfknowledge import items as sources
from metacog_pipeline.errors import SourceError
from metacog_pipeline.home import Home
from tests.tables import every

QA = Path(os.environ.get("METACOG_DATA") or Path(__file__).resolve().parents[3] / "shared" / "data") / "qa"
TRIVIA = {
    "question_id": "tc_1",
    "question": "Which?",
    "answer": {"aliases": ["This one", "That"], "value": "x"},
}
FREEBASE = {
    "Question-ID": "FreebaseQA-eval-0", "RawQuestion": "Who flew first?", "Parses": [
        {"Answers": [{"AnswersName": ["orville", ""]}]},
        {"Answers": [{"AnswersName": ["wilbur", "orville"]}, {"AnswersName": []}]},
    ],
}  # fmt: skip
NQ = {"question": "who came", "answer": ["Ann", "Bob"]}
WEB = {"qId": "wqs000000", "qText": "what is it?", "answers": ["It"]}
MKQA = {
    "example_id": -7449157003522518870, "query": "who sang",
    "queries": {"en": "who sang", "zh_cn": "谁唱的", "ko": "", "es": "quién cantó", "de": "wer sang"},
    "answers": {
        "en": [{"type": "entity", "text": "Ana", "aliases": ["Anna", "Ana"]}, {"text": "Ben", "aliases": ["Anna"]}],
        "zh_cn": [{"type": "entity", "text": "安娜"}], "ko": [{"type": "unanswerable", "text": None}],
        "es": [{"type": "entity", "text": "", "aliases": ["Ana"]}],
    },
}  # fmt: skip
FICTIONAL = {
    "event_id": "event_000", "question_id": "event_000_question_000", "question": "What rose?",
    "natural_answer": "the tide", "duplicate_relationship": None,
}  # fmt: skip
ROWS: dict[str, dict[str, Any]] = {
    "trivia_qa": TRIVIA, "freebase_qa": FREEBASE, "nq_open": NQ, "web_questions": WEB, "mkqa": MKQA,
    "fictional_qa": FICTIONAL,
}  # fmt: skip


def lines(path: Path, *rows: object) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def read(name: str, path: Path) -> list[sources.Row]:
    return sources.SETS[name].of(path)


def said(name: str, path: Path) -> str:
    with pytest.raises(SourceError) as caught:
        read(name, path)
    text = str(caught.value)
    assert "\n" not in text and str(path) in text and len(text) < 600
    return text


@every(
    ("name", "question_id", "answers"),
    [
        ("trivia_qa", "tc_1", ["This one", "That"]), ("freebase_qa", "FreebaseQA-eval-0", ["orville", "wilbur"]),
        ("nq_open", "0", ["Ann", "Bob"]), ("web_questions", "wqs000000", ["It"]),
        ("mkqa", "-7449157003522518870", ["Ana", "Anna", "Ben"]),
        ("fictional_qa", "event_000_question_000", ["the tide"]),
    ],
)  # fmt: skip
def test_every_layout_is_read_from_lines_an_array_and_packed_files(name, question_id, answers, tmp_path):
    plain = lines(tmp_path / "a.jsonl", ROWS[name])
    packed, array = tmp_path / "a.jsonl.gz", tmp_path / "a.json"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    array.write_text("\ufeff " + json.dumps([ROWS[name]]), encoding="utf-8")
    assert read(name, plain) == read(name, packed) == read(name, array)
    (row,) = read(name, plain)
    assert (row.question_id, row.answers["en"]) == (question_id, answers)
    if name == "trivia_qa":
        pq.write_table(pa.Table.from_pylist([TRIVIA]), tmp_path / "t.parquet")
        assert read(name, tmp_path / "t.parquet") == [row]
    if name == "fictional_qa":  # a question that repeats another is left out
        again = {**FICTIONAL, "question_id": "b", "duplicate_relationship": "exact"}
        assert read(name, lines(tmp_path / "b.jsonl", again, FICTIONAL))[0].number == 1


def test_mkqa_falls_back_to_the_english_query_and_is_not_asked_without_an_entry(tmp_path):
    (row,) = read("mkqa", lines(tmp_path / "a.jsonl", MKQA))
    assert row.questions == {"en": "who sang", "zh": "谁唱的", "ko": "who sang", "es": "quién cantó"}
    assert row.answers["ko"] == [] and row.answers["es"] == ["Ana"] and row.topic == "entity"
    less = {**MKQA, "answers": {"es": MKQA["answers"]["es"]}}  # type: ignore[index]
    assert set(read("mkqa", lines(tmp_path / "b.jsonl", less))[0].questions) == {"es"}


def test_a_question_that_is_there_twice_is_kept_and_another_under_its_id_is_refused(tmp_path):
    assert len(read("trivia_qa", lines(tmp_path / "a.jsonl", TRIVIA, TRIVIA))) == 2
    path = lines(tmp_path / "b.jsonl", TRIVIA, {**TRIVIA, "question": "Another?"})
    assert ":2: the id 'tc_1' is that of another question" in said("trivia_qa", path)


def test_a_part_without_any_answers_is_refused_and_one_such_question_is_kept(tmp_path):
    empty = {**TRIVIA, "question_id": "tc_2", "answer": {"aliases": []}}
    assert "a test part?" in said("trivia_qa", lines(tmp_path / "a.jsonl", empty))
    rows = read("trivia_qa", lines(tmp_path / "b.jsonl", TRIVIA, empty))
    assert [row.answers["en"] for row in rows] == [["This one", "That"], []]


@pytest.mark.parametrize("name", ROWS)
def test_a_row_without_one_of_its_fields_or_with_another_type_is_named(name, tmp_path):
    path, row = tmp_path / "bad.jsonl", ROWS[name]
    for field in row:
        gone = {key: value for key, value in row.items() if key != field}
        assert f"{path}:2" in said(name, lines(path, row, gone))
        blank = [] if field in ("event_id", "Parses") else ["", "  "]
        others: list[object] = [3.5, True, [[1]], [None, 2], *blank]
        for wrong in others if field != "duplicate_relationship" else ():
            assert f"{path}:2" in said(name, lines(path, row, {**row, field: wrong}))


@every("name", ROWS)
@every(
    "data",
    [b"", b"{}", b"[1]", b"not json", b"PAR1" + bytes(100) + b"PAR1", b"\x1f\x8b\x08torn", b"[" * 100_000],
)
def test_anything_that_is_no_such_file_is_one_line(name, data, tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_bytes(data)
    said(name, path)


@pytest.mark.parametrize("name", ["nq_open", "web_questions", "efficientqa"])
def test_the_published_files_are_the_pinned_ones(name, tmp_path):
    if not QA.is_dir():
        pytest.skip(f"{QA} is not here; set METACOG_DATA")
    (found,) = sources.fetch(Home(tmp_path), [name], folder=QA)
    assert (
        found.rows
        == sources.SETS[name].rows
        == len(sources.SETS[name].of(sources.SOURCES[name].load(Home(tmp_path))))
    )
    (again,) = sources.fetch(Home(tmp_path), [name])
    assert again.origin == "already here"


def test_a_changed_question_or_another_number_of_them_is_refused(tmp_path):
    with pytest.raises(SourceError, match="2 questions, but source 'mkqa' has 10000"):
        rows = [MKQA, {**MKQA, "example_id": 2}]
        sources.SOURCES["mkqa"].rows(lines(tmp_path / "mkqa.jsonl", *rows))
    path = QA / "nq_open_dev.jsonl.gz"
    if not path.exists():
        pytest.skip(f"{path} is not here; set METACOG_DATA")
    changed = gzip.decompress(path.read_bytes()).replace(b'{"question": "', b'{"question": "so ', 1)
    (tmp_path / "NQ-open.dev.jsonl").write_bytes(changed)
    with pytest.raises(SourceError, match="not the questions of source 'nq_open'"):
        sources.fetch(Home(tmp_path / "home"), ["nq_open"], folder=tmp_path)


def test_the_hub_may_lead_on_to_its_own_store_and_nowhere_else(tmp_path):
    leads = ["https://cas-bridge.xethub.hf.co/file?signed=1"]

    def respond(request: httpx.Request) -> httpx.Response:
        if request.url.host == "huggingface.co":
            return httpx.Response(302, headers={"location": leads[-1]}, request=request)
        return httpx.Response(200, content=iter([json.dumps(FICTIONAL).encode()]), request=request)

    source = replace(sources.SOURCES["fictional_qa"], rows=lambda path: len(read("fictional_qa", path)))
    assert source.fetch(Home(tmp_path), transport=httpx.MockTransport(respond)).rows == 1
    for elsewhere in ("https://nothf.co/x", "https://hf.co.evil.invalid/x", "http://cdn.hf.co/x"):
        leads.append(elsewhere)
        source.path(Home(tmp_path)).unlink(missing_ok=True)
        with pytest.raises(SourceError, match=r"redirected|https only"):
            source.fetch(Home(tmp_path), transport=httpx.MockTransport(respond))


NAMES = [f"{step}{code}" for step in ("DIRECT_QA", "META_QA") for code in ("", "_CN", "_KO", "_ES")]


def prompts_file(path: Path, names: list[str]) -> Path:
    texts = [f'{name}_PROMPT = """{name}: {{question}}\n"""' for name in names]
    path.write_text("\n".join(["raise SystemExit('run')", *texts, "OTHER = 3"]), encoding="utf-8")
    return path


def test_the_authors_prompts_are_read_as_literals_and_nothing_is_run(tmp_path):
    found = sources.reference_prompts(prompts_file(tmp_path / "prompt.py", [*NAMES, "DIRECT_QA_WITH_IDW"]))
    assert found["en", "direct"] == "DIRECT_QA: {question}\n" and found["zh", "meta"].startswith("META_QA_CN")
    assert found["en", "idk"].startswith("DIRECT_QA_WITH_IDW") and len(found) == 9


def test_a_file_without_all_prompts_or_without_code_is_refused(tmp_path):
    (tmp_path / "c.py").write_text("(")
    for path, said in (
        (prompts_file(tmp_path / "a.py", NAMES[1:]), "no prompt for"), (lines(tmp_path / "b.py", "x"), "no prompt for"),
        (tmp_path / "none.py", "no such file"), (tmp_path / "c.py", "not the authors' file of prompts"),
    ):  # fmt: skip
        with pytest.raises(SourceError, match=said):
            sources.reference_prompts(path)
