"""Every published layout becomes rows; whatever is wrong in a file is one line that names file, row and field."""

import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from metacog_pipeline.benchmarks.selfknowledge.construction import loaders
from metacog_pipeline.errors import SourceError
from tests.tables import every

Load = Callable[[Path], loaders.Loaded]
QA = Path(os.environ.get("METACOG_DATA") or Path(__file__).resolve().parents[3] / "shared" / "data") / "qa"

TRIVIA = {
    "question_id": "tc_1",
    "question": "Which?",
    "answer": {"aliases": ["This one", "That"], "value": "x"},
}
FREEBASE = {
    "Question-ID": "FreebaseQA-eval-0",
    "RawQuestion": "Who flew first?",
    "ProcessedQuestion": "who flew first",
    "Parses": [
        {"Parse-Id": "p0", "Answers": [{"AnswersMid": "m.1", "AnswersName": ["orville", ""]}]},
        {"Parse-Id": "p1", "Answers": [{"AnswersName": ["wilbur", "orville"]}, {"AnswersName": []}]},
    ],
}
NQ = {"question": "who came", "answer": ["Ann", "Bob"]}
HUB = {"url": "http://x/en/a", "question": "what is it?", "answers": ["It"]}
BRMSON = {"qId": "wqs000000", "qText": "what is it?", "answers": ["It"]}
MKQA = {
    "example_id": -7449157003522518870,
    "query": "who sang",
    "queries": {"en": "who sang", "zh_cn": "谁唱的", "ko": "", "es": "quién cantó", "de": "wer sang"},
    "answers": {
        "en": [
            {"type": "entity", "text": "Ana", "aliases": ["Anna", "Ana"]},
            {"text": "Ben", "aliases": ["Anna"]},
        ],
        "zh_cn": [{"type": "entity", "text": "安娜"}],
        "ko": [{"type": "unanswerable", "text": None}],
        "es": [{"type": "entity", "text": "", "aliases": ["Ana"]}],
    },
}
FICTIONAL = {
    "event_id": "event_000", "question_id": "event_000_style_news_num_000_question_000", "question": "What rose?",
    "natural_answer": "the tide", "span_answer": "a tide", "duplicate_relationship": None, "duplicate_root": "x",
}  # fmt: skip
GOLDEN = {"id": "test_1", "question": "Who?", "golden_answers": ["Me"], "metadata": {"prop": "author"}}
AWARE = {"question_id": 1, "question": "Why?", "answer": ["so"], "answerable": True, "source": "hotpot"}

LAYOUTS: dict[str, tuple[Load, dict[str, Any], str | None]] = {
    "trivia_qa": (loaders.trivia_qa, TRIVIA, "Data"), "freebase_qa": (loaders.freebase_qa, FREEBASE, "Questions"),
    "nq_open": (loaders.nq_open, NQ, None), "web_hub": (loaders.web_questions, HUB, None),
    "web_brmson": (loaders.web_questions, BRMSON, None), "mkqa": (loaders.mkqa, MKQA, None),
    "fictional_qa": (loaders.fictional_qa, FICTIONAL, None), "golden": (loaders.golden_answers, GOLDEN, None),
    "selfaware": (loaders.selfaware, AWARE, "example"),
}  # fmt: skip


def lines(path: Path, *rows: object) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def said(load: Load, path: Path) -> str:
    with pytest.raises(SourceError) as caught:
        load(path)
    text = str(caught.value)
    assert "\n" not in text and str(path) in text and len(text) < 600
    return text


# --- the real files ----------------------------------------------------------------------------------------------


@every(
    ("file", "load", "rows", "unanswerable"),
    [
        ("nq_open_dev.jsonl.gz", loaders.nq_open, 3610, 0),
        ("nq_efficientqa_dev_1.1.jsonl.gz", loaders.nq_open, 1800, 0),
        ("webquestions_test.jsonl.gz", loaders.web_questions, 2032, 0),
        ("triviaqa_unfiltered_validation_1000.jsonl.gz", loaders.golden_answers, 1000, 0),
        ("popqa_test_1000.jsonl.gz", loaders.golden_answers, 1000, 0),
        ("selfaware.jsonl.gz", loaders.selfaware, 3369, 1032),
        ("mkqa_fixture_6.jsonl.gz", loaders.mkqa, 6, 3),
    ],
)
def test_published_files_have_the_published_number_of_questions(file, load, rows, unanswerable):
    path = QA / file
    if not path.exists():
        pytest.skip(f"{path} is not here; set METACOG_DATA")
    found = load(path).rows
    assert len(found) == rows and sum(not row.answers["en"] for row in found) == unanswerable
    assert [row.number for row in found] == list(range(rows))


def test_mkqa_as_published_has_four_languages_and_keeps_its_unanswerable_questions():
    path = QA / "mkqa_fixture_6.jsonl.gz"
    if not path.exists():
        pytest.skip(f"{path} is not here; set METACOG_DATA")
    rows = loaders.mkqa(path).rows
    assert all(set(row.questions) == set(row.answers) == {"en", "zh", "ko", "es"} for row in rows)
    assert rows[4].answers["en"][:2] == ("Hafþór Júlíus Björnsson", "Hafthór Júlíus Björnsson")
    assert rows[5].answers["ko"] == ("리들리 스콧",) and rows[5].question_id == "7631360939705650347"
    assert [row.topic for row in rows[1:4]] == ["long_answer", "unanswerable", "unanswerable"]


# --- each layout -------------------------------------------------------------------------------------------------


def test_trivia_qa_takes_its_aliases_however_it_is_packed(tmp_path):
    authors = {"QuestionId": "tc_1", "Question": "Which?", "Answer": {"Aliases": ["This one", "That"]}}
    packed = tmp_path / "whole.json"
    packed.write_text(json.dumps({"Data": [authors], "Version": 1.0}, indent=2))
    one_line = tmp_path / "line.json"
    one_line.write_text(json.dumps({"Data": [authors]}))
    table = tmp_path / "t.parquet"
    pq.write_table(pa.Table.from_pylist([{**TRIVIA, "entity_pages": {"title": ["x"]}}]), table)
    kept = [loaders.trivia_qa(p).rows for p in (lines(tmp_path / "a.jsonl", TRIVIA), packed, one_line, table)]
    assert kept[0] == kept[1] == kept[2] == kept[3]
    assert kept[0][0].answers == {"en": ("This one", "That")} and kept[0][0].question_id == "tc_1"


def test_trivia_qa_keeps_a_question_that_two_kinds_of_evidence_bring_twice(tmp_path):
    assert len(loaders.trivia_qa(lines(tmp_path / "a.jsonl", TRIVIA, TRIVIA)).rows) == 2
    path = lines(tmp_path / "b.jsonl", TRIVIA, {**TRIVIA, "question": "Another?"})
    assert ":2: the id 'tc_1' is that of another question" in said(loaders.trivia_qa, path)


@pytest.mark.parametrize("answer", [{"aliases": []}, {"aliases": [], "value": "<unk>"}, None])
def test_the_test_part_of_trivia_qa_is_refused_with_the_reason(answer, tmp_path):
    row = {"question_id": "tb_1", "question": "Which?"} | ({} if answer is None else {"answer": answer})
    text = said(loaders.trivia_qa, lines(tmp_path / "test.jsonl", row, {**row, "question_id": "tb_2"}))
    assert "test part" in text and "validation" in text


def test_one_question_of_trivia_qa_without_aliases_is_kept(tmp_path):
    empty = {**TRIVIA, "question_id": "tc_2", "answer": {"aliases": []}}
    rows = loaders.trivia_qa(lines(tmp_path / "a.jsonl", TRIVIA, empty)).rows
    assert [row.answers["en"] for row in rows] == [("This one", "That"), ()]


def test_freebase_qa_takes_every_name_of_every_parse_once_in_order(tmp_path):
    path = tmp_path / "FreebaseQA-eval.json"
    path.write_text(
        json.dumps({"Dataset": "FreebaseQA-eval", "Version": "1.0", "Questions": [FREEBASE]}, indent=1)
    )
    (row,) = loaders.freebase_qa(path).rows
    assert row.answers == {"en": ("orville", "wilbur")} and row.questions == {"en": "Who flew first?"}
    assert row.question_id == "FreebaseQA-eval-0"


def test_nq_open_names_questions_by_row(tmp_path):
    rows = loaders.nq_open(lines(tmp_path / "a.jsonl", NQ, NQ)).rows
    assert [row.question_id for row in rows] == ["0", "1"] and rows[0].answers["en"] == ("Ann", "Bob")


def test_web_questions_of_the_hub_may_share_a_url_or_have_none(tmp_path):
    none = {"question": "who?", "answers": ["X"]}
    found = loaders.web_questions(lines(tmp_path / "a.jsonl", HUB, HUB, none))
    assert found.layout == "hub"
    assert [row.question_id for row in found.rows] == ["http://x/en/a", "http://x/en/a", "2"]
    assert loaders.web_questions(lines(tmp_path / "b.jsonl", BRMSON)).layout == "brmson"


def test_mkqa_joins_texts_and_aliases_and_falls_back_to_the_english_query(tmp_path):
    (row,) = loaders.mkqa(lines(tmp_path / "a.jsonl", MKQA)).rows
    assert row.answers == {"en": ("Ana", "Anna", "Ben"), "zh": ("安娜",), "ko": (), "es": ("Ana",)}
    assert row.questions == {"en": "who sang", "zh": "谁唱的", "ko": "who sang", "es": "quién cantó"}
    assert row.question_id == "-7449157003522518870" and row.topic == "entity"


def test_mkqa_is_not_asked_in_a_language_without_an_entry(tmp_path):
    less = {**MKQA, "answers": {"es": MKQA["answers"]["es"]}}  # type: ignore[index]
    (row,) = loaders.mkqa(lines(tmp_path / "a.jsonl", less)).rows
    assert set(row.questions) == set(row.answers) == {"es"}
    assert "none of" in said(loaders.mkqa, lines(tmp_path / "b.jsonl", {**MKQA, "answers": {"de": []}}))


def test_fictional_qa_leaves_repeated_questions_out_and_keeps_their_row_numbers(tmp_path):
    again = {**FICTIONAL, "question_id": "b", "duplicate_relationship": "exact"}
    third = {**FICTIONAL, "question_id": "c", "event_id": "event_001"}
    rows = loaders.fictional_qa(lines(tmp_path / "a.jsonl", FICTIONAL, again, third)).rows
    assert [(r.number, r.event_id) for r in rows] == [(0, "event_000"), (2, "event_001")]
    assert rows[0].answers == {"en": ("the tide",)}
    assert "repeats another" in said(loaders.fictional_qa, lines(tmp_path / "b.jsonl", again))


def test_selfaware_has_no_answer_exactly_where_it_says_so(tmp_path):
    nobody = {**AWARE, "question_id": 2, "answer": None, "answerable": False}
    whole = tmp_path / "SelfAware.json"
    whole.write_text(json.dumps({"example": [AWARE, nobody]}, indent=2))
    assert [row.answers["en"] for row in loaders.selfaware(whole).rows] == [("so",), ()]
    others: list[dict[str, object]] = [
        {"answerable": False}, {"answer": None}, {"answerable": "yes"}, {"answer": []},
    ]  # fmt: skip
    for wrong in others:
        assert ":1: answerable is" in said(loaders.selfaware, lines(tmp_path / "a.jsonl", {**AWARE, **wrong}))


# --- hostile files -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LAYOUTS)
def test_every_layout_is_read_from_lines_an_array_and_packed_files(name, tmp_path):
    load, row, _ = LAYOUTS[name]
    plain = lines(tmp_path / "a.jsonl", row)
    packed = tmp_path / "a.jsonl.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    array = tmp_path / "a.json"
    array.write_text("\ufeff " + json.dumps([row]), encoding="utf-8")
    assert load(plain) == load(packed) == load(array)


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_row_without_one_of_its_fields_or_with_another_type_is_named(name, tmp_path):
    load, row, _ = LAYOUTS[name]
    path = tmp_path / "bad.jsonl"
    needed = set(row) - {"metadata", "source", "ProcessedQuestion", "span_answer", "duplicate_root", "url"}
    for field in needed:
        gone = {key: value for key, value in row.items() if key != field}
        assert ":2" in said(load, lines(path, row, gone))
        if field != "duplicate_relationship":
            others: list[object] = [3.5, True, {"a": 1}, [[1]], [None, 2], ""]
            for wrong in others:
                if not (name == "selfaware" and field == "answerable" and wrong is True):
                    assert ":2" in said(load, lines(path, row, {**row, field: wrong}))


@every("name", ["nq_open", "web_hub", "web_brmson", "golden", "trivia_qa", "selfaware"])
@every("blank", ["", "  ", "\t\n"])
def test_a_blank_answer_is_refused_because_it_would_be_found_in_every_reply(name, blank, tmp_path):
    load, row, _ = LAYOUTS[name]
    field = next(key for key in ("answer", "answers", "golden_answers") if key in row)
    bad = {"aliases": ["ok", blank]} if name == "trivia_qa" else ["ok", blank]
    assert ":1: " in said(load, lines(tmp_path / "a.jsonl", {**row, field: bad}))


@pytest.mark.parametrize("name", ["freebase_qa", "mkqa", "fictional_qa", "golden", "selfaware", "web_brmson"])
def test_an_id_used_twice_is_named_with_both_places(name, tmp_path):
    load, row, _ = LAYOUTS[name]
    path = lines(tmp_path / "a.jsonl", row, row)
    assert f"{path}:2: the id" in (text := said(load, path)) and f"{path}:1 already" in text


@every("name", LAYOUTS)
@every(
    "data",
    [
        b"",
        b"\n\n",
        b"[]",
        b"{}",
        b"[1]",
        b"null",
        b'"text"',
        b"not json",
        b'{"a": 1',
        b"\xff\xfe\x00",
        b"PAR1",
        b"PAR1" + bytes(100) + b"PAR1",
        b"\x1f\x8b\x08torn",
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b'{"question": "a", "question": "b"}',
        b'{"question": NaN}',
        b'{"Data": 3}',
        b'{"Questions": {}}',
        b'{"example": [3]}',
    ],
)
def test_anything_that_is_no_such_file_is_one_line(name, data, tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_bytes(data)
    said(LAYOUTS[name][0], path)


def test_a_torn_packed_file_a_missing_one_and_a_folder_are_one_line(tmp_path):
    torn = tmp_path / "torn.jsonl.gz"
    torn.write_bytes(gzip.compress(b"\n".join([json.dumps(NQ).encode()] * 5000))[:-40])
    assert "cannot be read" in said(loaders.nq_open, torn)
    assert "no such file" in said(loaders.nq_open, tmp_path / "none.jsonl")
    said(loaders.nq_open, tmp_path)


def test_a_huge_text_is_named(tmp_path):
    path = lines(tmp_path / "a.jsonl", NQ, {**NQ, "question": "x" * 30_000})
    assert ":2: question has 30000 characters" in said(loaders.nq_open, path)


def test_half_a_character_is_refused_where_it_stands(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps(NQ) + '\n{"question": "a", "answer": ["\\ud800"]}\n')
    assert ":2: answers[0] holds half a character" in said(loaders.nq_open, path)


def test_a_parquet_file_without_the_columns_or_with_other_types_is_named(tmp_path):
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"text": ["a"]}), path)
    for load, _, _ in LAYOUTS.values():
        said(load, path)
    pq.write_table(pa.table({"question": ["a", "b"], "answer": [["x"], None]}), path)
    assert f"{path}:2: answers is null" in said(loaders.nq_open, path)
    pq.write_table(pa.table({"question": [1], "answer": [["x"]]}), path)
    assert f"{path}:1: question is int" in said(loaders.nq_open, path)
